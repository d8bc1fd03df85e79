"""A story as a book: who is in it, and its chapters with what the players did and what was told; as Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final

from bot.works.story import state

if TYPE_CHECKING:
    from bot.words import Words
    from bot.works.story.story import Story
    from bot.works.story.turn import Turn
    from storage.stories import StoryRow

SCENES: Final = 50
"""Of a part without a chapter's title: readers are slow with more at once."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A turn: who did what ("" for nothing), and what was told then, by `speaker` or the narrator ("")."""

    who: str
    act: str
    speaker: str
    scene: str


@dataclass(frozen=True, slots=True)
class BookChapter:
    title: str
    passages: list[Passage] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Book:
    """`cast` has a name, who that is, and who plays it, "" for nobody."""

    id: str
    title: str
    premise: str
    players: list[str]
    cast: list[tuple[str, str, str]]
    chapters: list[BookChapter]
    changed: datetime


def book_of(row: StoryRow, story: Story, say: Words) -> Book:
    """The book of a story as it is told. What was taken back or flipped away is not in it."""
    turns = story.current_turns
    cast = [
        (name, str(sheet.get("about") or ""), str(sheet.get("player") or ""))
        for name, sheet in story.cast.items()
    ]
    players = dict.fromkeys(turn.act.name for turn in turns if turn.act.name and turn.act.text)
    return Book(
        row.id,
        row.title or say("story.untitled"),
        str(story.settings.get("premise") or ""),
        list(players),
        cast,
        list(_chapters(story, turns, say)),
        row.updated_at,
    )


def _chapters(story: Story, turns: list[Turn], say: Words) -> Iterator[BookChapter]:
    begins = {at: title for at, title in state.titles(story, [turn.id for turn in turns]) if at < len(turns)}
    titled = bool(begins)
    chapter: BookChapter | None = None
    for at, turn in enumerate(turns):
        full = chapter is not None and not titled and len(chapter.passages) == SCENES
        if at in begins or chapter is None or full:
            if chapter is not None:
                yield chapter
            last = min(at + SCENES, len(turns))
            chapter = BookChapter(begins.get(at) or say("story.book_scenes", first=at + 1, last=last))
        chapter.passages.append(_passage(turn))
    if chapter is not None:
        yield chapter


def _passage(turn: Turn) -> Passage:
    act = "" if turn.act.withdrawn else turn.act.text.strip()
    speaker = turn.act.character or turn.act.name
    scene = turn.scene.text.strip() if turn.scene is not None else ""
    return Passage(speaker if act else "", act, turn.act.speaker, scene)


def markdown(book: Book, say: Words) -> str:
    """The whole book in one text."""
    lines = [f"# {_line(book.title)}"]
    if book.players:
        lines.append(say("story.book_by", names=", ".join(map(_line, book.players))))
    if book.premise:
        lines.append(f"*{_line(book.premise)}*")
    if book.cast:
        lines.append(f"## {say('story.book_cast')}")
        rows = []
        for name, about, player in book.cast:
            player_note = f" ({say('story.played_by', name=_line(player))})" if player else ""
            rows.append(f"- **{_line(name)}**{player_note}{': ' + _line(about) if about else ''}")
        lines.append("\n".join(rows))
    for chapter in book.chapters:
        lines.append(f"## {_line(chapter.title)}")
        for passage in chapter.passages:
            if passage.act:
                quoted = passage.act.replace("\n", "\n> ")
                lines.append(f"> **{_line(passage.who)}:** {quoted}")
            if passage.scene:
                speaker = f"**{_line(passage.speaker)}:** " if passage.speaker else ""
                lines.append(f"{speaker}{passage.scene}")
    return "\n\n".join(lines) + "\n"


def _line(text: str) -> str:
    return " ".join(text.split())
