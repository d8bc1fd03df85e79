"""A story told in passages, by a player and a program in turn, as the rows of a new story.

Every other program's story comes down to these. Knows no format.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from bot.events import UserError
from bot.works.story.exchange.card import ABOUT_CHARS
from bot.works.story.exchange.json_import import BadLine, Imported
from bot.works.story.exchange.lorebook import Lorebook
from bot.works.story.exchange.rows import LINE_CHARS, TURNS, Rows, name_of, story_id, titled
from bot.works.story.limits import NOTE_CHARS

SCENE_CHARS: Final = 4_000
"""Of prose that nobody's turn parts: longer prose becomes several scenes."""


@dataclass(frozen=True, slots=True)
class Whose:
    """What a story gets that is read: its space and its id, "" for what its contents say; `player` is who a card's
    greeting speaks to.
    """

    space: str
    id: str = ""
    player: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """`by_player` are a player's words, by `name`; else the program's, where `name` is the character who speaks, and
    `others` are what it had written before in this place."""

    text: str
    by_player: bool = False
    name: str = ""
    at: datetime | None = None
    others: tuple[str, ...] = ()


@dataclass(slots=True)
class Telling:
    """What a file says of a story. `counts` says by the key of a sentence how much was left out."""

    title: str = ""
    premise: str = ""
    note: str = ""
    passages: list[Passage] = field(default_factory=list)
    lore: Lorebook = field(default_factory=lambda: Lorebook("", []))
    counts: Counter[str] = field(default_factory=Counter)

    def imported(self, data: bytes, file: str, whose: Whose) -> Imported:
        """Raises UserError ("story.import_…") for a file without text, settings and lore."""
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
        turn = ""
        for passage in self.passages:
            text = passage.text.replace("\0", "").strip()
            if not text:
                continue
            if len(text) > LINE_CHARS:
                self.counts["story.import_left_long"] += 1
            elif passage.by_player:
                act = {"mode": "act", "text": text, "name": passage.name or whose.player}
                turn = rows.add("act", act, at=passage.at)
            else:
                if not turn:
                    speaker = {"speaker": passage.name} if passage.name else {}
                    mode = "continue" if rows.turns else "open"
                    turn = rows.add("act", {"mode": mode, "text": "", "name": "", **speaker}, at=passage.at)
                others = [other for other in passage.others if len(other) <= LINE_CHARS]
                rows.versions(turn, [*others, text], len(others), passage.at)
                turn = ""
            if rows.turns > TURNS:
                raise UserError("story.import_long", file=file, limit=TURNS)
        if not rows.turns and not body and not self.lore.entries:
            raise UserError("story.import_nothing_told", file=file)
        bad = [BadLine(entry.number, entry.key) for entry in self.lore.left_out]
        imported = rows.imported(bad=bad)
        imported.counts.update(self.counts)
        return imported


def prose(paragraphs: Iterable[Passage]) -> list[Passage]:
    """Paragraphs by the same writer together, up to SCENE_CHARS a passage."""
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
