"""Plot threads: what a story has left open, since which scene, and what has been settled.

Nothing is stored: as with the state, the turns that count decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from bot import untrusted
from bot.events import UserError
from bot.words import meant
from bot.works.story import limits
from bot.works.story.log.story import Story
from bot.works.story.log.turn import KeyEvent, ThreadChange, Turn
from bot.works.story.world.state import version_index

CHARS: Final = limits.VALUE_CHARS
ASKED: Final = 12
"""The open threads that the extractor is asked about: the newest."""
OFFERED: Final = 6
"""The open threads that choices may take up: the newest."""
NEW: Final = 2
"""The maximum number of threads that begin in one scene."""


@dataclass(frozen=True, slots=True)
class Thread:
    """A plot thread. `began` is the number of a scene, 0 for before the first; so is `ended`, 0 while it is open."""

    id: str
    text: str
    began: int
    ended: int = 0
    open: bool = True


def threads(story: Story, turns: Sequence[Turn] | None = None, current: str = "") -> list[Thread]:
    """All threads after these turns, by default all that count, in the order in which they began.

    People's changes after the turn `current`, which follows these turns, are included.
    """
    turns = story.current_turns if turns is None else turns
    by_id: dict[str, Thread] = {}
    _apply(by_id, story.threads.get("", ()), 0)
    for number, turn in enumerate(turns, 1):
        changes = story.threads.get(turn.id, ())
        if not (changes or turn.scenes or turn.extracted_from_text):
            continue
        at = version_index(turn)
        _apply(by_id, [change for change in changes if change.versions <= at], number)
        if (extracted := turn.extracted) is not None:
            for opened in extracted.opened:
                by_id.setdefault(opened.id, Thread(opened.id, opened.text, number))
            for id in extracted.closed:
                if id in by_id and by_id[id].open:
                    by_id[id] = replace(by_id[id], ended=number, open=False)
        _apply(by_id, [change for change in changes if change.versions > at], number)
    if current:
        _apply(by_id, story.threads.get(current, ()), len(turns) + 1)
    return list(by_id.values())


def open_threads(story: Story, turns: Sequence[Turn], current: str = "") -> list[Thread]:
    return [thread for thread in threads(story, turns, current) if thread.open]


def _apply(by_id: dict[str, Thread], changes: Iterable[ThreadChange], number: int) -> None:
    """Apply people's changes to the threads, after the scene of this number."""
    for change in changes:
        before = by_id.get(change.id, Thread(change.id, change.text, number))
        ended = 0 if change.open else number if before.open else before.ended
        by_id[change.id] = replace(before, text=change.text, open=change.open, ended=ended)


def new_texts(texts: Iterable[str], known: Sequence[KeyEvent]) -> list[str]:
    """At most NEW of the texts, without those of the threads `known`."""
    opened = {_key(thread.text) for thread in known}
    by_key = {_key(text): text for text in texts if any(map(str.isalnum, text))}
    return [text for key, text in by_key.items() if key not in opened][:NEW]


def _key(text: str) -> str:
    return " ".join(text.casefold().strip(" .?!…").split())


def as_prompt(opened: Sequence[Thread]) -> str:
    """The newest of these open threads for the writer; "" for none."""
    lines = [f"- {untrusted.data(' '.join(thread.text.split()))}" for thread in opened[-OFFERED:]]
    return "\n".join(["<threads>", *lines, "</threads>"]) if lines else ""


def parse_change(story: Story, text: str, id: str) -> Thread:
    """The thread as "open TEXT", "open N", "close N" or "rename N TEXT" changes it; `id` is that of a new one.

    Raises UserError.
    """
    first, _, rest = " ".join(text.split()).partition(" ")
    word, (number, _, name) = meant(first, "open", "close", "rename"), rest.partition(" ")
    if word == "open" and any(map(str.isalnum, rest)) and not rest.isdecimal():
        return Thread(id, rest[:CHARS], story.length)
    known = threads(story)
    if not word or not number.isdecimal() or (word == "rename") != bool(name):
        raise UserError("story.threads_how")
    if not 1 <= (n := int(number[:9])) <= len(known):
        raise UserError("story.no_thread", n=n, count=len(known))
    if word == "rename":
        return replace(known[n - 1], text=name[:CHARS])
    return replace(known[n - 1], open=word == "open")
