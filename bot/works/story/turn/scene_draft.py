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
    """The draft of one scene.

    `completion` is that of the last answer, None if it was cut off; a refusal in prose has the finish "refusal" and no
    text. `acted_for` are the players' characters for whom the scene speaks or acts nevertheless.
    """

    def __init__(self, models: Models, run: Run, plan: TurnPlan, players: Players | None) -> None:
        """Without `players` nothing is checked."""
        self._models, self._run, self._plan, self._players = models, run, plan, players
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
        async with aclosing(self._stream(self._plan.stage, prompt, first)) as pieces:
            async for piece in pieces:
                yield piece
        if not first.acted_for:
            return
        names = ", ".join(first.acted_for)
        _log.info("%s acts for players' characters, and is written on once more", self._run.id)
        yield Status(say("story.written_on", names=names))
        words_left = max(self._plan.words - len(self.text.split()), LEAST_WORDS)
        wording = self._plan.prompts[AGAIN].fill(names=untrusted.data(names), words=str(words_left))
        later = context.follow_up(prompt, self.text, "\n".join(wording), answer=self._plan.answer)
        again = WatchedScene(self._players, stop=False)
        completion, shown_before = self.completion, len(self._shown)
        try:
            async with aclosing(self._stream(f"{self._plan.stage}-again", later, again)) as pieces:
                async for piece in pieces:
                    yield piece
        except UserError as error:
            _log.info("%s is not written on: %s", self._run.id, error)
        self.acted_for = again.acted_for
        # The sentence that was held back is better than an end in the middle of one.
        if len(self._shown) == shown_before:
            self.acted_for, self.completion = first.acted_for, completion
            yield self._show(first.kept_back)

    async def _stream(self, step: str, prompt: Prompt, watched: WatchedScene) -> AsyncGenerator[Event, None]:
        speaker = self._plan.speaker
        reply = NameRemover(speaker.name if speaker is not None else "")
        self.completion = None
        held: str | None = ""  # the beginning, while it may become a refusal
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
