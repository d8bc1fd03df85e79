"""Safety at the table: its agreement, the places where mature stories are allowed, and the stop card.

The card removes a scene from the story for good, on all branches, with everything that was played after it. Nothing
that is shown or stored says who played it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from bot.events import (
    Answered,
    Changed,
    Choice,
    Choices,
    Event,
    Hush,
    Link,
    Notice,
    Request,
    Stage,
    Text,
    Unquoted,
    UserError,
)
from bot.words import Words, meant, words
from bot.work import Run
from bot.works.story.limits import AGREED_CHARS
from bot.works.story.log.logs import Logs, PlayedStory, node
from bot.works.story.log.stop_card import is_withdrawn, withdrawn_by_cards
from bot.works.story.log.story import Story
from bot.works.story.log.turn import SAID, SCENE
from bot.works.story.scene.choices import CODE_CHARS, something_else_button, words_of
from bot.works.story.world.agreement import AGREED

if TYPE_CHECKING:
    from bot.kind import Runs
    from storage.stories import NodeRow

MATURE: Final = "mature"

WORDED: Final = (
    "act", "scene", "choices", "hint", "extracted", "corrected", "ticked", "chapter", "cast", "intent", "memory",
    "idea", "lore", "summed", "thread", "aside", "arc",
)  # fmt: skip
"""The kinds of nodes whose words a stop card erases."""

Adults = Callable[[Request], Awaitable[bool]]
"""Whether a request comes from a place for adults only."""


@dataclass(frozen=True, slots=True)
class Card:
    """A stop card for a turn, whose scene has the number `n`.

    `again` says that an earlier card has withdrawn the turn already; `stopped` are the runs that were writing it.
    """

    story: str
    branch: str
    turn: str
    n: int
    again: bool = False
    stopped: list[str] = field(default_factory=list)


async def check_rating(story: Story, request: Request, adults: Adults) -> None:
    """Raise UserError for a mature story in a place that is not for adults only."""
    if story.settings.get("rating") == MATURE and not await adults(request):
        raise UserError("story.not_for_all")


def agreement(request: Request) -> dict[str, str]:
    """The parts of the agreement in a request's options; "" removes a part. Raises UserError if one is too long."""
    limits = {}
    for name in AGREED:
        if (value := request.options.get(name)) is not None:
            text = " ".join(str(value).split())
            if len(text) > AGREED_CHARS:
                raise UserError("story.long_agreement", length=len(text), limit=AGREED_CHARS)
            limits[name] = "" if meant(text, "none") else text
    return limits


def agreed_lines(story: Story, say: Words) -> list[str]:
    """The agreement, for people."""
    limits = {name: str(story.settings.get(name) or "") for name in AGREED}
    if limits["rating"]:
        limits["rating"] = say(f"names.rating_{limits['rating']}")
    return [f"**{say(f'story.agreed_{name}')}:** {value}" for name, value in limits.items() if value]


@dataclass(frozen=True, slots=True)
class Safety:
    """The verbs safety and stopcard.

    `_checks` says whether the extractor checks scenes in a request's place; `_drop_cached` drops the cached stories of
    a space, in every process.
    """

    _logs: Logs
    _runs: Runs
    _adults: Adults
    _checks: Callable[[Request], Awaitable[bool]]
    _drop_cached: Callable[[str], Awaitable[None]]
    _playing_card: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def agree(self, run: Run) -> AsyncGenerator[Event, None]:
        """Show the table's agreement, or change it from the next scene on, on all branches."""
        request, say = run.request, words(run.request.locale)

        async def agreed() -> list[str]:
            logs = self._logs
            played = await (logs.writable(request, asks=False) if limits else logs.played(request))
            if limits.get("rating") == MATURE and not await self._adults(request):
                raise UserError("story.not_for_all")
            if limits:
                await logs.record(played, request, "safety", limits)
            now = await logs.story(request.place.space, played.row.id, played.branch)
            return agreed_lines(now, say)

        limits = agreement(request)
        lines = await run.step("agreed", agreed, list[str])
        yield Stage("safety", say("story.safety"))
        yield Text("\n".join(lines) or say("story.nothing_agreed"))
        if lines and not await run.step("checks", lambda: self._checks(request), bool):
            yield Notice(say("story.unchecked"))

    async def stopcard(self, run: Run) -> AsyncGenerator[Event, None]:
        """Withdraw a scene and what quotes its turn, and stop the runs that are writing it."""
        request, say = run.request, words(run.request.locale)
        card = await run.step("card", lambda: self._play_card(request), Card)
        yield Stage("stopcard", "")
        yield Text(say("story.card_again" if card.again else "story.card_played", n=card.n))
        if card.again:
            return
        yield Answered()
        messages = await run.step(
            "shown", lambda: self._withdrawn_messages(request.place.space, card), list[list[str]]
        )
        await run.step("erased", lambda: self._erase(request.place.space, card), int)
        story = await self._logs.story(request.place.space, card.story, card.branch)
        say = words_of(story, request)
        for shown_by, stage in messages:
            yield Hush(shown_by, stage)
        for asked_by in dict.fromkeys(shown_by for shown_by, _ in messages):
            yield Unquoted(asked_by)
        for shown_by, stage in messages[:-1]:
            yield Changed(shown_by, stage, "", (Text(say("story.carded")),))
        for shown_by, stage in messages[-1:]:
            head = story.head
            back = (
                (Link(head.shown_by, say("story.scene", n=story.length)),) if head and head.shown_by else ()
            )
            on = (Choice(say("story.button_continue"), "/story continue"), something_else_button(say))
            notice = Text(say("story.carded_on" if head else "story.carded_all", n=story.length))
            then = Choices(say("story.what_now"), on)
            yield Changed(shown_by, stage, "", (notice, *back, then))

    async def _play_card(self, request: Request) -> Card:
        """Append the stop card to the log, and stop the runs that it affects. Raises UserError."""
        space = request.place.space
        async with self._playing_card:  # of several simultaneous cards, one comes first
            played, turn = await self._card_turn(request)
            story = played.story
            card = Card(played.row.id, played.branch, turn, _number(story, turn))
            if turn in story.withdrawn_turns:
                again = story.stop_cards.get(turn) != request.id
                return Card(card.story, card.branch, turn, card.n, again=again)
            await self._logs.append(played, node(request.id, f"stopcard/{turn}", "stopcard", {}, turn=turn))
            now = await self._logs.story(space, played.row.id, played.branch)
            if now.stop_cards.get(turn) != request.id:  # a card in another process came first
                return replace(card, again=True)
        # Before anything is shown about it.
        return replace(card, stopped=sorted(await self._stop_runs(space, card)))

    async def _card_turn(self, request: Request) -> tuple[PlayedStory, str]:
        """The branch and the turn of the requested scene: named by a button or by its number, or the last one."""
        space, typed = request.place.space, request.text.strip()
        if "/" in typed:
            played_here = await self._logs.played_in(request.place)
            act = await self._act_of_code(space, played_here, typed)
            row = await self._logs.stories.story(space, act.story_id) if act is not None else None
            if act is None or row is None or act.kind != "act":
                raise UserError("story.gone")
            story = await self._logs.story(space, row.id, act.branch_id)
            if played_here is not None and played_here.row.id == row.id and act.id in played_here.story.turns:
                return played_here, act.id
            return PlayedStory(row, act.branch_id, story), act.id
        played = await self._logs.played(request)
        story = played.story
        if mine := next((turn for turn, run in story.stop_cards.items() if run == request.id), ""):
            return played, mine
        if typed:
            number = int(typed) if typed.isascii() and typed.isdecimal() and len(typed) < 9 else 0
            if not 1 <= number <= len(story.path):  # also a withdrawn one, which has no buttons
                raise UserError("story.no_scene", n=typed[:9], count=story.length)
            return played, story.path[number - 1]
        if story.stop_cards and (story.head is None or story.head.first < story.stop_card_seq):
            # Nothing was played since, so both people meant the same scene.
            raise UserError("story.card_just_played", n=story.length)
        if story.head is None:
            raise UserError("story.nothing_yet")
        return played, story.head.id

    async def _act_of_code(self, space: str, played: PlayedStory | None, code: str) -> NodeRow | None:
        """The first act of a turn, by the turn's id or the end of it; turns of the story played here come first."""
        stories, is_code = self._logs.stories, len(code.rpartition("/")[0]) >= CODE_CHARS
        own = [id for id in played.story.turns if id.endswith(code)] if played is not None and is_code else []
        node_row = await stories.node(space, own[0] if len(own) == 1 else code)
        return await stories.turn_ending(space, code) if node_row is None and is_code else node_row

    async def _stop_runs(self, space: str, card: Card) -> set[str]:
        """Stop the runs, in any process, that are writing withdrawn turns or reading the story; returns them."""
        writers, stopped = {run for run, _ in await self._messages(space, card)}, set[str]()
        for going in await self._runs.going(space):
            reads = going.verb == "extracted" and going.options.get("story") == card.story
            if going.id in writers or reads or await self._rewrites(going, card.turn):
                stopped.add(going.id)
                await self._runs.stop_run(space, going.id)
        return stopped

    async def _rewrites(self, going: Request, turn: str) -> bool:
        """Whether the run writes another version of the turn, or of a later one, which is not in the log yet."""
        if going.work != "story" or going.verb not in ("retry", "more"):
            return False
        played = await self._logs.played_in(going.place)
        return played is not None and turn in played.story.turns

    async def _withdrawn_messages(self, space: str, card: Card) -> list[list[str]]:
        """The messages of all withdrawn turns, as pairs of a run and a stage; waits until none is being written."""
        writing = await self._stop_runs(space, card)  # again, in case of a crash in between
        for shown_by in {
            *card.stopped,
            *writing,
            *(shown_by for shown_by, _ in await self._messages(space, card)),
        }:
            await self._runs.ended(shown_by)
        return [list(message) for message in await self._messages(space, card)]

    async def _erase(self, space: str, card: Card) -> int:
        """Erase the words that the card has withdrawn from the story's log and from its runs' stored data; returns how
        many.
        """
        stories = self._logs.stories
        branches = [row.id for row in await stories.branches(space, card.story)]
        turns, unpinned = withdrawn_by_cards(
            [await self._logs.story(space, card.story, branch) for branch in branches]
        )
        rows = await stories.nodes(space, card.story, [(branch, None) for branch in branches])
        bodies, runs = dict[str, str](), set[str]()
        for row in rows:
            body = json.loads(row.body) if row.body and row.kind in WORDED else {}
            if body and is_withdrawn(row, body, turns, unpinned):
                # The scene's message must still be found.
                shown_as = {name: body[name] for name in ("run", "stage") if name in body}
                bodies[row.id] = (
                    json.dumps(shown_as | {"text": ""}) if shown_as and row.kind == "scene" else ""
                )
                runs.add(row.run_id)
        await stories.erase(space, bodies)
        await self._drop_cached(space)
        await self._runs.forget_steps(space, *runs)
        return len(bodies)

    async def _messages(self, space: str, card: Card) -> list[tuple[str, str]]:
        """The messages of the turns, also those whose scenes were not kept, such as one that was stopped at its first
        word.
        """
        messages: dict[tuple[str, str], None] = {}
        for branch in await self._logs.stories.branches(space, card.story):
            story = await self._logs.story(space, card.story, branch.id)
            turns = story.turns_from(card.turn)
            for turn in (turn for id, turn in story.turns.items() if id in turns):
                own = [
                    (turn.id.partition("/")[0], SAID),
                    (turn.id.partition("/")[0], SCENE),
                    *((scene.run, scene.stage) for scene in turn.scenes),
                ]
                messages |= dict.fromkeys([*own, *((run, SCENE) for run in turn.moves)])
        return [message for message in messages if message[0]]


def _number(story: Story, turn: str) -> int:
    """The number of the turn's scene as shown; 0 if it is on another branch."""
    number, id = 0, turn
    while id and id in story.turns:
        number, id = number + 1, story.turns[id].after
    return number
