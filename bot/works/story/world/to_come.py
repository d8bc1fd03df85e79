"""What is to come in a story: the open events, climax and resolution of its chapters, its milestones, and ideas.

Only the game master may read it, if the table has one; otherwise everybody may. Where others can read the answer, it is
hidden as a spoiler, or behind a button whose answer only the person sees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bot.events import Choice, Choices, Event, Notice, Request, Spoiler, Text
from bot.verb import PRIVATE
from bot.words import Words
from bot.work import Run
from bot.works.story.world.order import leader, may_lead, names_of

if TYPE_CHECKING:
    from bot.works.story.log.story import Story


@dataclass(frozen=True, slots=True)
class ToCome:
    """Lines of Markdown, and whether one person `may` read them; `master` is the game master's name, "" for none."""

    lines: list[str] = field(default_factory=list)
    master: str = ""
    may: bool = True


def for_person(story: Story, request: Request, lines: Sequence[str]) -> ToCome:
    """The lines for the person who asks."""
    master = leader(story)
    name = (names_of(story).get(master) or "?") if master else ""
    return ToCome(list(lines), name, may_lead(story, request.author))


def may_show(run: Run, coming: ToCome) -> bool:
    """Whether the run's answer may show the lines openly: only this person sees it, and may read them."""
    return run.alone and coming.may


def events_showing(run: Run, coming: ToCome, path: str, say: Words) -> Iterator[Event]:
    """The events that show the lines in the run's answer, or say where they are; `path` is the verb's command."""
    if not coming.lines:
        return
    text = "\n".join(coming.lines)
    if may_show(run, coming):
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
