"""The contents of a game master's screen: plans, hidden rolls and scenes that were tried. Pure.

Only the present game master reads it. Access goes with the role: if the table has no game master, nobody reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bot.events import UserError
from bot.works.story.world.order import leader

if TYPE_CHECKING:
    from bot.events import Author
    from bot.words import Words
    from bot.works.story.log.story import Story

TOLD_CHARS: Final = 4_000
"""The maximum length of all plans and rolls that the writer gets at a time."""
KEPT: Final = ("plan", "roll", "trial")
"""The kinds of entries."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry with its number `n` in the story, by the person with the id `by`. `told`: the writer knows it.
    `shown`: the table has seen it.
    """

    n: int
    kind: str
    by: str
    body: Mapping[str, Any]
    told: bool = False
    shown: bool = False

    @property
    def text(self) -> str:
        return str(self.body["text"])


def entries(story: Story) -> dict[int, Entry]:
    """The entries that were not removed, by number."""
    found: dict[int, Entry] = {}
    last = 0
    for by, body in story.screen:
        n, kind = int(body.get("n", 0)), body["kind"]
        if kind in KEPT:
            n = n if n > last else last + 1  # two entries were written at the same time
            found[n], last = Entry(n, kind, by, body), n
        elif kind == "change" and n in found:
            entry = found.pop(n)
            if not body.get("removed"):
                told, shown = bool(body.get("told", entry.told)), bool(body.get("shown", entry.shown))
                found[n] = Entry(n, entry.kind, entry.by, entry.body, told, shown)
    return dict(sorted(found.items()))


def next_number(story: Story) -> int:
    return max((int(body.get("n", 0)) for _, body in story.screen), default=0) + 1


def bound_place(story: Story) -> tuple[str, str] | None:
    """The platform and the channel of the screen, None for none."""
    places = [body for _, body in story.screen if body["kind"] == "place"]
    return (places[-1]["platform"], places[-1]["channel"]) if places else None


def is_master(story: Story, author: Author) -> bool:
    """Whether this person is the table's game master; being an admin is not enough."""
    return author.id != "" and leader(story) == author.id


def check_master(story: Story, author: Author) -> None:
    """Raise UserError for everybody but the game master."""
    if not is_master(story, author):
        raise UserError("story.only_gm" if leader(story) else "story.gm_nobody")


def entry_of(story: Story, n: object, *kinds: str) -> Entry:
    """The entry with this number. Raises UserError if there is none, or one of another kind."""
    entry = entries(story).get(n) if isinstance(n, int) else None
    if entry is None or (kinds and entry.kind not in kinds):
        raise UserError("story.no_entry", n=str(n))
    return entry


def writer_secrets(story: Story) -> list[str]:
    """The plans and rolls for the writer; none if the table has no game master."""
    return [for_writer(entry) for entry in entries(story).values() if entry.told] if leader(story) else []


def for_writer(entry: Entry) -> str:
    if entry.kind == "roll":
        return ": ".join(
            part for part in (str(entry.body.get("for") or ""), str(entry.body["rolled"])) if part
        )
    return entry.text


def one_line(entry: Entry) -> str:
    """The entry in one line of Markdown."""
    if entry.kind == "roll":
        about = str(entry.body.get("for") or "")
        return f"🎲 **{about}:** {entry.text}" if about else f"🎲 {entry.text}"
    return " ".join(entry.text.split())


def lines(story: Story, say: Words) -> list[str]:
    """All entries, one line each, with the number and the status."""
    result = []
    for entry in entries(story).values():
        marks = [say("story.entry_told")] if entry.told else []
        if entry.kind == "trial":
            marks.append(say("story.entry_played" if entry.shown else "story.entry_tried"))
        elif entry.shown:
            marks.append(say("story.entry_shown"))
        result.append(f"**{entry.n}.** " + " · ".join((one_line(entry), *(f"*{mark}*" for mark in marks))))
    return result
