"""The work "story": each verb to who does it."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING

from bot.events import Answered, Event, Run, Stage, Text, UserError
from bot.words import words
from bot.works.story import cast
from bot.works.story.logs import WRITTEN
from bot.works.story.party import OVERDUE
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.works.story.asking import Asking
    from bot.works.story.bringing import Bringing
    from bot.works.story.extracting import Extracting
    from bot.works.story.handing_out import HandingOut
    from bot.works.story.logs import Logs
    from bot.works.story.memory.memory import Memory
    from bot.works.story.outlining import Outlining
    from bot.works.story.party import Party
    from bot.works.story.playing import Playing
    from bot.works.story.prompt_files import PromptFiles
    from bot.works.story.remembering import Remembering
    from bot.works.story.rewording import Rewording
    from bot.works.story.safety import Safety
    from bot.works.story.session_zero import SessionZero
    from bot.works.story.speaking import Speaking
    from bot.works.story.story import Story
    from bot.works.story.table import Table
    from bot.works.story.world import World

MOVED = ("flip", "edit", "redo", "fork", "switch", "open", "opened", "edited", "reword")
"""The verbs after which other scenes may count."""
SHORT = 10
"""Turns of a story that a prompt holds anyway: nothing of them is searched for yet."""

_log = logging.getLogger(__name__)


class Stories:
    """Stories that a table plays."""

    def __init__(
        self,
        playing: Playing,
        speaking: Speaking,
        rewording: Rewording,
        table: Table,
        remembering: Remembering,
        logs: Logs,
        memory: Memory,
        extracting: Extracting,
        world: World,
        asking: Asking,
        prompt_files: PromptFiles,
        outlining: Outlining,
        bringing: Bringing,
        safety: Safety,
        handing_out: HandingOut,
        party: Party,
        session_zero: SessionZero,
    ) -> None:
        self._session_zero = session_zero
        self._handing_out = handing_out
        self._party = party
        self._bringing = bringing
        self._safety = safety
        self._outlining = outlining
        self._asking = asking
        self._prompt_files = prompt_files
        self._extracting = extracting
        self._world = world
        self._logs = logs
        self._memory = memory
        self._playing = playing
        self._speaking = speaking
        self._rewording = rewording
        self._table = table
        self._remembering = remembering

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        verb, text = run.request.verb, run.request.text.strip()
        if verb == "act" and text.startswith(("((", "(OOC", "(ooc")):
            yield Stage("talk", "")
            yield Text(words(run.request.locale)("story.talk"))
            return
        run_of = {
            **dict.fromkeys(WRITTEN, self._playing.run),
            "ask": self._asking.ask,
            "ideas": self._asking.ideas,
            "prompt": self._prompt_files.run,
            "branches": self._table.branches,
            "opened": self._table.opened,
            "recall": self._remembering.recall,
            "recap": self._remembering.recap,
            "forget": self._remembering.forget,
            "nudge": self._remembering.nudge,
            **dict.fromkeys(("state", "correct", "keep", "characters", "plot", "chapter"), self._world.show),
            "extracted": self._extracting.run,
            "import": self._bringing.files,
            "history": self._bringing.history,
            "stopcard": self._safety.stopcard,
            "safety": self._safety.agree,
            **dict.fromkeys(("export", "share"), self._handing_out.run),
            "zero": self._session_zero.run,
            **dict.fromkeys(("join", "leave", "play", "gm", "deadline", "whisper"), self._party.run),
            "whispered": self._party.whispered,
            "overdue": self._party.overdue,
            "missed": self._remembering.recap,
            "edited": self._rewording.edited,
            "reword": self._rewording.answered,
            **({"fork": self._table.apart} if run.request.options.get("thread") else {}),
        }
        if verb == "start" and run.request.options.get("together"):
            run_of["start"] = self._session_zero.run
        if verb == "cast" and run.request.options.get("write"):
            run_of["cast"] = self._speaking.invent
        elif verb == "chapter" and run.request.options.get("write"):
            run_of["chapter"] = self._outlining.run
        elif verb == "cast" and cast.typed(text, run.request.options)[0] in ("speak", "all"):
            run_of["cast"] = self._speaking.run
        events = run_of.get(verb, self._table.run)(run)
        async with aclosing(events):
            async for event in events:
                yield event
        if verb in (*WRITTEN, *MOVED, "undo", "stopcard", "pass", "mode"):
            await self._party.wait(run)
        if verb in (*WRITTEN, OVERDUE) or (verb == "cast" and "cast" in run_of):
            yield Answered()
            looked_into = await self._extracting.begin(run)
            if (played := await self._logs.here(run.request.place)) is not None:
                await self._learn_lore(played.row.space, played.row.id, played.story)
                id, branch = played.row.id, played.branch
                await self._learn(played.row.space, id, branch, played.story, looked_into=looked_into)
        elif verb in ("lore", "import"):
            yield Answered()
            if (played := await self._logs.here(run.request.place)) is not None:
                await self._learn_lore(played.row.space, played.row.id, played.story)
        elif verb == "extracted":  # now that it is known where the scenes were
            space, options = run.request.place.space, run.request.options
            story, branch = str(options["story"]), str(options["branch"])
            now = await self._logs.story(space, story, branch)
            await self._learn(space, story, branch, now, looked_into=True)
        elif verb in MOVED:
            yield Answered()
            await self._extracting.begin(run)

    async def _learn(self, space: str, id: str, branch: str, story: Story, *, looked_into: bool) -> None:
        """Remember what was told, and what earlier turns have left out. A crash leaves it to the next turn.

        The last scenes wait until somebody has `looked_into` them: where they were goes into their vectors.
        """
        until = self._extracting.settled(story, SHORT) if looked_into else story.length
        try:
            if story.length > SHORT:
                await self._memory.learn(space, id, branch, story, until=until)
        except (UserError, StorageFault) as fault:
            _log.warning("a story has no vectors of its last turns yet: %s", fault)

    async def _learn_lore(self, space: str, id: str, story: Story) -> None:
        try:
            if story.lore and self._playing.settings.lore_near:
                await self._memory.learn_lore(space, id, story)
        except (UserError, StorageFault) as fault:
            _log.warning("a story has no vectors of its lorebook yet: %s", fault)
