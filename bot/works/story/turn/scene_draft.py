"""The draft of a scene: shown while it streams, and continued once if it acts for a player's character."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bot import untrusted
from bot.events import Event, Status, Text, UserError
from bot.llm.completion import Completion
from bot.words import Words
from bot.work import Run
from bot.works.story.extraction.attribution import Players, WatchedScene
from bot.works.story.turn import context
from bot.works.story.turn.refusal import is_refusal, may_become_refusal
from bot.works.story.world.cast import NameRemover

if TYPE_CHECKING:
    from bot.llm.base import Prompt
    from bot.llm.registry import Models
    from bot.works.story.turn.turn_plan import TurnPlan

AGAIN: Final = "story_again"
LEAST_WORDS: Final = 30
"""The minimum number of words for the continuation."""

_log = logging.getLogger(__name__)


class SceneDraft:
    """One scene. `completion`: of the last answer, None if it was cut off; one that refuses in prose has the finish
    "refusal" and no text. `acted_for` lists the players' characters for whom it speaks or acts nevertheless.
    """

    def __init__(self, models: Models, run: Run, plan: TurnPlan, players: Players | None) -> None:
        """`players`: None turns the check off."""
        self._models, self._run, self._taken, self._players = models, run, plan, players
        self._shown = list[str]()
        self.completion: Completion | None = None
        self.acted_for: list[str] = []

    @property
    def text(self) -> str:
        """The text that was shown."""
        return "".join(self._shown).strip()

    async def events(self, prompt: Prompt, say: Words) -> AsyncGenerator[Event, None]:
        """Stream the scene. Raises what Models.stream raises for the first answer."""
        first = WatchedScene(self._players, stop=True)
        async with aclosing(self._written(self._taken.stage, prompt, first)) as pieces:
            async for piece in pieces:
                yield piece
        if not first.acted_for:
            return
        names = ", ".join(first.acted_for)
        _log.info("%s acts for players' characters, and is written on once more", self._run.id)
        yield Status(say("story.written_on", names=names))
        words_left = max(self._taken.words - len(self.text.split()), LEAST_WORDS)
        wording = self._taken.prompts[AGAIN].fill(names=untrusted.data(names), words=str(words_left))
        later = context.then(prompt, self.text, "\n".join(wording), answer=self._taken.answer)
        again, completion, shown_before = (
            WatchedScene(self._players, stop=False),
            self.completion,
            len(self._shown),
        )
        try:
            async with aclosing(self._written(f"{self._taken.stage}-again", later, again)) as pieces:
                async for piece in pieces:
                    yield piece
        except UserError as error:
            _log.info("%s is not written on: %s", self._run.id, error)
        self.acted_for = again.acted_for
        if len(self._shown) == shown_before:  # better than a scene that ends in the middle of a sentence
            self.acted_for, self.completion = first.acted_for, completion
            yield self._show(first.kept_back)

    async def _written(self, step: str, prompt: Prompt, watched: WatchedScene) -> AsyncGenerator[Event, None]:
        speaker = self._taken.speaker
        reply = NameRemover(speaker.name if speaker is not None else "")
        self.completion = None
        held: str | None = ""  # the beginning, as long as it may become a refusal
        async with aclosing(self._models.stream(self._run, "writer", step, prompt)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Completion):
                    self.completion = piece
                    continue
                if held is not None:
                    held += piece
                    if may_become_refusal(held):
                        continue
                    piece, held = held, None
                if passage := watched.feed(reply.feed(piece)):
                    yield self._show(passage)
        if held and is_refusal(held, spoken=speaker is not None):
            if self.completion is not None:
                self.completion = replace(self.completion, finish="refusal")
            return
        if passage := watched.feed(reply.feed(held or "")):
            yield self._show(passage)
        if passage := watched.feed(reply.feed("", last=True), last=True):
            yield self._show(passage)

    def _show(self, text: str) -> Text:
        self._shown.append(text)
        return Text(text)
