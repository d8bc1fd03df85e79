"""Makes ready, behind the start, what the next turn of the stories played last needs: a Service.

The first turn of a process would else import libraries, fold a long story, count and index all of it before the writer
is asked: seconds of processor. Nobody waits for it, no model is asked, and what fails the turn itself does.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Protocol

from bot.events import Author, Place, Request, UserError
from bot.works.story.log.logs import Logs, PlayedStory
from bot.works.story.memory.excerpts import query_of
from bot.works.story.turn.turn_plan import TurnPlan, parts
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.works.story.config import RecallConfig
    from bot.works.story.log.story import Story
    from bot.works.story.memory.memory import Memory
    from bot.works.story.turn.scene_verbs import SceneVerbs
    from storage.stories import PlaceRow, StoryRow

STORIES: Final = 3
LEAST: Final = 50
"""The fewest turns of a story that is worth it."""

_log = logging.getLogger(__name__)


class Work(Protocol):
    """What of the work of stories is needed."""

    @property
    def scene_verbs(self) -> SceneVerbs: ...
    @property
    def memory(self) -> Memory: ...


@dataclass(slots=True)
class PlayedLast:
    """`_work` is None where the bot was given other works than its own."""

    _logs: Logs
    _work: Work | None
    _recall: RecallConfig
    ready: asyncio.Task[None] | None = field(default=None, init=False)

    async def start(self, taken_up: Iterable[Request]) -> list[Request]:
        if self._work is not None:
            self.ready = asyncio.create_task(self._stories(self._work))
        return []

    async def close(self) -> None:
        if self.ready is not None:
            self.ready.cancel()
            await asyncio.wait({self.ready})

    async def _stories(self, work: Work) -> None:
        try:
            for row, place in await self._logs.stories.played_last(STORIES):
                try:
                    await self._story(work, row, place)
                except UserError as error:
                    _log.info("story %s is not made ready: %s", row.id, error)
        except StorageFault as fault:
            _log.warning("no story is made ready: %s", fault)

    async def _story(self, work: Work, row: StoryRow, place: PlaceRow) -> None:
        """Raises UserError, StorageFault."""
        space, branch = row.space, place.branch_id
        story = await self._logs.story(space, row.id, branch)
        if story.length < LEAST or (head := story.head) is None:
            return
        here = Place(place.platform, space, place.channel, place.thread)
        request = Request(f"{row.id}/ready", here, Author("", ""), "story", "act")
        played = PlayedStory(row, branch, story, place)
        plan = await work.scene_verbs.plan(request, played, head.id, story.seq)
        if plan.writer is None or plan.demo:
            return
        await work.scene_verbs.models.with_roles(plan.roles).prepare("writer")
        # A copy, since turns are added to the story meanwhile; what is counted of its texts is known of all copies.
        copy = await self._logs.copy(space, row.id, branch)
        await asyncio.to_thread(_prepared, copy, plan)
        story = await self._logs.story(space, row.id, branch)
        if plan.turn not in story.path[: story.length]:
            return
        parts(story, plan)
        if plan.recall_tokens:
            by = replace(self._recall, meaning=0.0)  # the model of meanings may be a service
            query = query_of(story, story.turns[plan.turn], self._recall)
            await work.memory.recall(space, row.id, branch, story, query, 1, by=by)


def _prepared(story: Story, plan: TurnPlan) -> None:
    from pydantic import TypeAdapter

    TypeAdapter(TurnPlan)
    parts(story, plan)
