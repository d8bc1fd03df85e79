"""Summaries of the story so far: the extractor makes each once, from summaries of its scenes, after a turn."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final

from bot import untrusted
from bot.events import UserError
from bot.llm.base import Message, Prompt, room
from bot.work import Run
from bot.works.story.log.logs import node
from bot.works.story.world.so_far import Part, Tiers, most_chars

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bot.llm.registry import Models
    from bot.prompts import Prompts
    from bot.works.story.log.logs import Logs
    from bot.works.story.log.story import Story

PROMPT: Final = "story_summary"
AT_ONCE: Final = 5
"""How many summaries one run makes, the lower tiers first; the next run makes more."""
CHARS_A_WORD: Final = 7
UNUSABLE: Final = ("model.format", "model.refusal", "model.empty", "model.context", "model.bad_request")
"""Errors that would happen again: the most informative sentences are kept in place of a summary."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """A summary to make: that of the part of a tier from the index `first` on, whose sources are `of`; `turn` is the
    last turn.
    """

    tier: int
    first: int
    turn: str
    of: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Summaries:
    _logs: Logs
    _prompts: Prompts

    async def make(self, run: Run, story: str, branch: str, models: Models) -> bool:
        """Make the next summaries, and erase those of withdrawn words; returns whether more may be missing."""
        space, count = run.request.place.space, 0

        async def missing() -> list[SummaryRequest]:
            now = await self._logs.story(space, story, branch)
            if taken_back := _withdrawn_summaries(now):
                await self._logs.stories.erase(space, dict.fromkeys(taken_back, ""))
                now = await self._logs.story(space, story, branch)
            return list(islice(_requests(now), AT_ONCE))

        for number, want in enumerate(await run.step("lacking", missing, list[SummaryRequest]), 1):
            make = partial(self._make, run, story, branch, models, number, want)
            if not await run.step(f"summed-{number}", make, bool):
                return False
            count += 1
        return count > 0  # those of the tier above are next

    async def _make(
        self, run: Run, story: str, branch: str, models: Models, number: int, want: SummaryRequest
    ) -> bool:
        space = run.request.place.space
        now = await self._logs.story(space, story, branch)
        if (part := _current_part(now, want)) is None:
            return True
        prompt, text = await self._prompt(space, now, want), ""
        try:
            answer = await models.ask(run, "extractor", f"sum-{number}", prompt)
            text = " ".join(answer.text.split()) if answer.finish != "refusal" else ""
        except UserError as error:
            _log.info("the story so far of %s lacks a summary: %s", story, error)
            if error.key not in UNUSABLE:
                return False
        if len(text) > (most := 2 * most_chars(want.tier)):
            text = text[:most].rsplit(" ", 1)[0] + " …"
        body = {"of": want.of, "text": text or part.text}
        await self._logs.stories.append(
            space, story, "", [node(run.id, f"summed-{number}", "summed", body, turn=want.turn)]
        )
        return True

    async def _prompt(self, space: str, story: Story, want: SummaryRequest) -> Prompt:
        count = most_chars(want.tier) // CHARS_A_WORD
        parts = Tiers(story, story.current_turns).parts_below(want.tier, want.first)
        texts = "\n".join(f"<part>{untrusted.data(part.text)}</part>" for part in parts)
        system, task = (await self._prompts.wording(space, PROMPT)).text.fill(words=str(count))
        return Prompt(
            system,
            (Message("user", f"{texts}\n{task.strip()}"),),
            max_tokens=room(count, "low"),
            effort="low",
        )


def _requests(story: Story) -> Iterator[SummaryRequest]:
    turns = story.current_turns
    for tier, part in Tiers(story, turns).missing_summaries():
        yield SummaryRequest(tier, part.first, turns[part.first + part.turns - 1].id, part.sources)


def _withdrawn_summaries(story: Story) -> set[str]:
    """The summaries of withdrawn words, and the summaries of those."""
    gone = {act.id for turn in story.turns.values() for act in turn.acts if act.withdrawn}
    gone |= {scene.id for turn in story.turns.values() for scene in turn.scenes if scene.withdrawn}
    gone |= story.forgotten
    summaries = set[str]()
    for sources, summary in story.summaries.items():  # those below come first
        if not gone.isdisjoint(sources):
            gone.add(summary.id)
            summaries.add(summary.id)
    return summaries


def _current_part(story: Story, want: SummaryRequest) -> Part | None:
    """The part, if the story still has it unchanged and without a summary; otherwise None."""
    turns = story.current_turns
    if want.turn not in story.path[: story.length]:
        return None
    part = Tiers(story, turns).part(want.tier, want.first)
    return part if part.sources == tuple(want.of) and part.needs_summary else None
