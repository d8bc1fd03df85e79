"""What is to come in a story: the open events, climax and resolution of its chapters, and ideas.

Only the game master may read it, if the table has one; otherwise everybody may, if they choose to. Where others can
read the answer, it is behind a button whose result only the person sees, or hidden as a spoiler.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bot.events import Choice, Choices, Event, Notice, Request, Spoiler, Text
from bot.verb import PRIVATE
from bot.words import Words
from bot.work import Run
from bot.works.story.world.order import leader, masters, names_of

if TYPE_CHECKING:
    from bot.works.story.log.story import Story


@dataclass(frozen=True, slots=True)
class ToCome:
    """Lines of Markdown, for one person. `master` is the name of the table's game master, "" for none; `may` is whether
    this person may read the lines.
    """

    lines: list[str] = field(default_factory=list)
    master: str = ""
    may: bool = True


def for_person(story: Story, request: Request, lines: Sequence[str]) -> ToCome:
    master = leader(story)
    name = (names_of(story).get(master) or "?") if master else ""
    return ToCome(list(lines), name, masters(story, request.author))


def open_to(run: Run, coming: ToCome) -> bool:
    """Whether the run's answer may show it."""
    return run.alone and coming.may


def shown(run: Run, coming: ToCome, path: str, say: Words) -> Iterator[Event]:
    """The events that show it in the run's answer. `path` names the verb that shows it in private."""
    if not coming.lines:
        return
    text = "\n".join(coming.lines)
    if open_to(run, coming):
        yield Text(f"\n\n**{say('story.to_come' if coming.master else 'story.spoiler')}**\n\n{text}")
        return
    if not coming.master and run.hides:
        yield Text(f"\n\n**{say('story.spoiler')}**")
        yield Spoiler(text)
        return
    yield Notice(say("story.only_gm_sees", name=coming.master) if coming.master else say("story.spoiler"))
    if not run.alone:
        show = Choice(say("story.button_to_come"), f"/{path} --{PRIVATE.name}")
        yield Choices("", (show,))
