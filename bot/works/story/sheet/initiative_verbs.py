"""`/story initiative`: begins a fight, shows whose turn it is, advances to the next, and ends it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bot.events import Choice, Choices, Event, Request, Stage, Text, TransientError, UserError
from bot.markdown import harmless
from bot.words import Words, meant, words
from bot.work import Run
from bot.works.story.log.logs import Logs, node
from bot.works.story.log.turn import Initiative
from bot.works.story.sheet import initiative
from bot.works.story.sheet.proposals import body as body_of
from bot.works.story.world.order import leader, may_lead, names_of
from bot.works.story.world.selves import selves

if TYPE_CHECKING:
    from bot.events import Author
    from bot.works.story.log.story import Story
    from storage.stories import Node

_STEPS: Final = ("begin", "add", "next", "delay", "remove", "end")


@dataclass(frozen=True, slots=True)
class Shown:
    """The text and the title of an answer."""

    text: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class InitiativeVerbs:
    _logs: Logs

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        shown = await run.step("initiative", lambda: self._initiative(request, say), Shown)
        yield Stage("initiative", shown.title)
        yield Text(shown.text)
        played = await self._logs.played_in(request.place)
        if played is not None and (now := played.story.initiative) is not None:
            yield _buttons(now, say)

    async def _initiative(self, request: Request, say: Words) -> Shown:
        """Show the fight, or carry out a step of it. Raises UserError."""
        first, _, rest = request.text.strip().partition(" ")
        step = meant(first, *_STEPS)
        if not step:
            if first:
                raise UserError("story.initiative_how")
            story = (await self._logs.played(request)).story
            return _shown(story, story.initiative, say)
        played = await self._logs.writable(request)
        story, now = played.story, played.story.initiative
        self._check_may(story, now, step, rest, request.author)
        then = _after_step(story, now, step, rest)
        nodes = nodes_of(request, story, then, story.head_id, ends=now if step == "next" else None)
        await self._logs.append(played, *nodes)
        after = await self._logs.played_in(request.place)
        if not then.order or after is None:
            return Shown(say("story.initiative_over"))
        return _shown(after.story, then, say)

    def _check_may(self, story: Story, now: Initiative | None, step: str, rest: str, author: Author) -> None:
        """Raise UserError if the step is another person's: players end and delay their own turns, and add their own
        characters.
        """
        if may_lead(story, author):
            return
        own = now is not None and initiative.acting(now).name in selves(story, author)
        name = rest.rstrip("+-−0123456789 ")
        if not ((step in ("next", "delay") and own) or (step == "add" and name in selves(story, author))):
            raise UserError("story.only_gm_fights", name=names_of(story).get(leader(story), "?"))


def _after_step(story: Story, now: Initiative | None, step: str, rest: str) -> Initiative:
    """The fight after the step. Raises UserError."""
    if step == "begin":
        if not (order := initiative.fighters(story, rest)) or len(order) > initiative.MOST:
            raise UserError("story.initiative_how")
        return initiative.first_round(order)
    if now is None:
        raise UserError("story.initiative_none")
    match step:
        case "add":
            if not rest.strip():
                raise UserError("story.initiative_how")
            return initiative.add(now, initiative.fighters(story, rest))
        case "next" | "delay":
            if rest.strip() not in ("", mark(now)):  # the button of an earlier turn
                raise UserError("story.initiative_late")
            return initiative.advance(now) if step == "next" else initiative.delay(now)
        case "remove":
            return initiative.remove(now, " ".join(rest.split()))
    return Initiative()


def nodes_of(
    request: Request, story: Story, then: Initiative, turn: str, *, ends: Initiative | None
) -> list[Node]:
    """The nodes that store the fight `then`, and what ends with the turn of the fight `ends`, if that is given."""
    author = request.author.id
    nodes = [node(request.id, "initiative", "initiative", initiative.body(then), turn=turn, author=author)]
    if ends is not None:
        name = initiative.acting(ends).name
        if changes := [body_of(change) for change in initiative.changes_at_end(story, name)]:
            body: dict[str, Any] = {"name": name, "changes": changes}
            nodes.append(node(request.id, "sheet-ends", "sheet", body, turn=turn, author=author))
    return nodes


def nodes_of_turn(request: Request, story: Story, act: str, say: Words) -> tuple[list[Node], str]:
    """The nodes by which a player's turn `act` advances the fight, and a line about who is next; [] and "" if it was
    not the player's turn.
    """
    now = story.initiative
    if now is None or not initiative.may_act(story, request.author):
        return [], ""
    then = initiative.advance(now)
    nodes = nodes_of(request, story, then, act, ends=now)
    return nodes, say("story.initiative_next", name=harmless(initiative.acting(then).name), n=then.round)


def check_turn(story: Story, author: Author) -> None:
    """Raise UserError if it is somebody else's turn in a fight; the game master may always narrate."""
    now = story.initiative
    if now is not None and not initiative.may_act(story, author) and leader(story) != author.id:
        raise TransientError("story.initiative_wait", name=initiative.acting(now).name)


def mark(now: Initiative) -> str:
    """What a button for the present turn of the fight carries, such as "2.1" for the first turn of the second round."""
    return f"{now.round}.{now.at + 1}"


def _shown(story: Story, now: Initiative | None, say: Words) -> Shown:
    if now is None:
        return Shown(say("story.initiative_none"))
    lines = []
    for n, fighter in enumerate(now.order):
        player = initiative.player_of(story, fighter.name)
        name = f"{harmless(fighter.name)}{f' ({harmless(player[1])})' if player else ''}"
        lines.append(f"- ▶ **{name}** {fighter.score}" if n == now.at else f"- {name} {fighter.score}")
    return Shown("\n".join(lines), say("story.initiative_round", n=now.round))


def _buttons(now: Initiative, say: Words) -> Choices:
    choices = [
        Choice(say(f"story.initiative_button_{step}"), f"/story initiative {step} {mark(now)}")
        for step in ("next", "delay")
    ]
    return Choices("", (*choices, Choice(say("story.initiative_button_end"), "/story initiative end")))
