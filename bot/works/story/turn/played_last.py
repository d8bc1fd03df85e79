"""A service that, after the start, prepares the next turn of the stories that were played last.

Otherwise a process's first turn would import libraries, fold a long story, count its tokens and index it before the
writer is asked: seconds of processor time. Nothing waits for this service and it asks no model; the turn itself does
whatever fails here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Protocol

from bot.events import Author, Place, Request, UserError
from bot.waiting import cancelled
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
"""The minimum number of turns for which preparing a story is worthwhile."""

_log = logging.getLogger(__name__)


class StoryWork(Protocol):
    """What is used here of the work of stories."""

    @property
    def scene_verbs(self) -> SceneVerbs: ...
    @property
    def memory(self) -> Memory: ...


@dataclass(slots=True)
class PlayedLast:
    """Prepares stories in the task `ready`; `_work` is None if the bot runs other works than its own."""

    _logs: Logs
    _work: StoryWork | None
    _recall: RecallConfig
    ready: asyncio.Task[None] | None = field(default=None, init=False)

    async def start(self, taken_up: Iterable[Request]) -> list[Request]:
        if self._work is not None:
            self.ready = asyncio.create_task(self._stories(self._work))
        return []

    async def close(self) -> None:
        await cancelled(self.ready)

    async def _stories(self, work: StoryWork) -> None:
        try:
            for row, place in await self._logs.stories.played_last(STORIES):
                try:
                    await self._story(work, row, place)
                except UserError as error:
                    _log.info("story %s is not made ready: %s", row.id, error)
        except StorageFault as fault:
            _log.warning("no story is made ready: %s", fault)

    async def _story(self, work: StoryWork, row: StoryRow, place: PlaceRow) -> None:
        """Prepare the next turn of one story. Raises UserError, StorageFault."""
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
        # A copy, since turns may be added to the story meanwhile; the cached token counts serve all copies.
        copy = await self._logs.copy(space, row.id, branch)
        await asyncio.to_thread(_prepare, copy, plan)
        story = await self._logs.story(space, row.id, branch)
        if plan.turn not in story.path[: story.length]:
            return
        parts(story, plan)
        if plan.recall_tokens:
            by = replace(self._recall, meaning=0.0)  # the embedding model may be a service
            query = query_of(story, story.turns[plan.turn], self._recall)
            await work.memory.recall(space, row.id, branch, story, query, 1, by=by)


def _prepare(story: Story, plan: TurnPlan) -> None:
    from pydantic import TypeAdapter

    TypeAdapter(TurnPlan)
    parts(story, plan)
