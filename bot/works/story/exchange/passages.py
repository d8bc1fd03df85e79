"""The form to which stories of other programs are converted first: passages, by a player and a program in turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import takewhile
from typing import Final

from bot.events import UserError
from bot.works.story.exchange.card import ABOUT_CHARS
from bot.works.story.exchange.json_import import BadLine, Imported
from bot.works.story.exchange.lorebook import Lorebook
from bot.works.story.exchange.rows import LINE_CHARS, TURNS, Rows, name_of, story_id, titled
from bot.works.story.limits import NOTE_CHARS

SCENE_CHARS: Final = 4_000
"""The maximum length of prose without a player's turn; longer prose becomes several scenes."""


@dataclass(frozen=True, slots=True)
class Destination:
    """Where an imported story goes: its space, and its id, "" for one made from its contents.

    `player` is the name that a card's greeting addresses.
    """

    space: str
    id: str = ""
    player: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """A player's words (`by_player`) or a program's; `name` is the player or the character who speaks.

    `others` are earlier versions of a program's passage.
    """

    text: str
    by_player: bool = False
    name: str = ""
    at: datetime | None = None
    others: tuple[str, ...] = ()


@dataclass(slots=True)
class StoryContents:
    """The contents of a story's file.

    `branches` are names with all passages, including those before the branch. `counts` are the numbers of parts that
    were left out, by the key of a sentence.
    """

    title: str = ""
    premise: str = ""
    note: str = ""
    passages: list[Passage] = field(default_factory=list)
    branches: list[tuple[str, list[Passage]]] = field(default_factory=list)
    lore: Lorebook = field(default_factory=lambda: Lorebook("", []))
    counts: Counter[str] = field(default_factory=Counter)

    def imported(self, data: bytes, file: str, whose: Destination) -> Imported:
        """The rows of the story. Raises UserError ("story.import_…") for a file without text, settings and lore."""
        rows = Rows(whose.id or story_id(whose.space, data), whose.space, name_of(self.title) or titled(file))
        settings = {"premise": self.premise.strip(), "note": self.note.strip()}
        for name, limit, key in (
            ("premise", ABOUT_CHARS, "story.import_cut_premise"),
            ("note", NOTE_CHARS, "story.import_cut_note"),
        ):
            if len(settings[name]) > limit:
                settings[name] = settings[name][:limit]
                self.counts[key] = limit
        if body := {name: text for name, text in settings.items() if text}:
            rows.add("set", body)
        for n, entry in enumerate(self.lore.entries):
            rows.add("lore", {"id": f"lore-{n}", "entry": entry})
        turns = self._tell(rows, self.passages, file, whose.player, begun=False)
        for name, passages in self.branches:
            left = _left(turns, self.passages, passages)
            at, turn = left if left else (0, "")
            if passages[at:]:
                rows.fork(name_of(name), turn)
                self._tell(rows, passages[at:], file, whose.player, begun=bool(at))
        if not rows.turns and not body and not self.lore.entries:
            raise UserError("story.import_nothing_told", file=file)
        bad = [BadLine(entry.number, entry.key) for entry in self.lore.left_out]
        imported = rows.imported(bad=bad)
        imported.counts.update(self.counts)
        return imported

    def _tell(
        self, rows: Rows, passages: Iterable[Passage], file: str, player: str, *, begun: bool
    ) -> list[tuple[int, str]]:
        """Add the turns. Returns for each complete one how many passages there are up to its end, and its id."""
        whole = list[tuple[int, str]]()
        turn = ""
        for end, passage in enumerate(passages, 1):
            text = passage.text.replace("\0", "").strip()
            if not text:
                continue
            if len(text) > LINE_CHARS:
                self.counts["story.import_left_long"] += 1
            elif passage.by_player:
                act = {"mode": "act", "text": text, "name": passage.name or player}
                turn, begun = rows.add("act", act, at=passage.at), True
            else:
                if not turn:
                    speaker = {"speaker": passage.name} if passage.name else {}
                    mode = "continue" if begun else "open"
                    turn = rows.add("act", {"mode": mode, "text": "", "name": "", **speaker}, at=passage.at)
                others = [other for other in passage.others if len(other) <= LINE_CHARS]
                rows.versions(turn, [*others, text], len(others), passage.at)
                whole.append((end, turn))
                turn, begun = "", True
            if rows.turns > TURNS:
                raise UserError("story.import_long", file=file, limit=TURNS)
        return whole


def _same(first: Passage, second: Passage) -> bool:
    return first.text.strip() == second.text.strip() and (first.by_player, first.name) == (
        second.by_player,
        second.name,
    )


def _left(
    turns: Sequence[tuple[int, str]], story: Sequence[Passage], branch: Sequence[Passage]
) -> tuple[int, str] | None:
    """The last complete turn that the branch shares with the story, as (number of passages, id); None for none."""
    pairs = zip(story, branch, strict=False)
    alike = sum(1 for _ in takewhile(lambda pair: _same(*pair), pairs))
    return next(((end, turn) for end, turn in reversed(turns) if end <= alike), None)


def prose(paragraphs: Iterable[Passage]) -> list[Passage]:
    """Join paragraphs by the same writer into passages of up to SCENE_CHARS."""
    passages = list[Passage]()
    for paragraph in paragraphs:
        last = passages[-1] if passages else None
        if (
            last is not None
            and last.by_player == paragraph.by_player
            and len(last.text) + len(paragraph.text) <= SCENE_CHARS
        ):
            passages[-1] = Passage(f"{last.text}\n\n{paragraph.text}", last.by_player, last.name)
        elif paragraph.text.strip():
            passages.append(paragraph)
    return passages


def text_of(value: object) -> str:
    return value if isinstance(value, str) else ""
