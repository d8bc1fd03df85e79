"""The work "story": dispatches each verb."""

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
    from bot.works.story.cast_verbs import CastVerbs
    from bot.works.story.edited_messages import EditedMessages
    from bot.works.story.exports import Exports
    from bot.works.story.extraction import Extraction
    from bot.works.story.imports import Imports
    from bot.works.story.logs import Logs
    from bot.works.story.memory.memory import Memory
    from bot.works.story.outlines import Outlines
    from bot.works.story.party import Party
    from bot.works.story.prompt_files import PromptFiles
    from bot.works.story.questions import Questions
    from bot.works.story.recall import Recall
    from bot.works.story.safety import Safety
    from bot.works.story.scene_verbs import SceneVerbs
    from bot.works.story.session_zero import SessionZero
    from bot.works.story.story import Story
    from bot.works.story.table import Table
    from bot.works.story.world import World

MOVED = ("flip", "edit", "redo", "fork", "switch", "open", "opened", "edited", "reword")
"""The verbs after which other scenes may count."""
SHORT = 10
"""A story with so few turns is in the prompt as a whole: it needs no vectors."""

_log = logging.getLogger(__name__)


class Stories:
    """The work of stories."""

    def __init__(
        self,
        scene_verbs: SceneVerbs,
        cast_verbs: CastVerbs,
        edited_messages: EditedMessages,
        table: Table,
        recall_verbs: Recall,
        logs: Logs,
        memory: Memory,
        extraction: Extraction,
        world: World,
        questions: Questions,
        prompt_files: PromptFiles,
        outlines: Outlines,
        imports: Imports,
        safety: Safety,
        exports: Exports,
        party: Party,
        session_zero: SessionZero,
    ) -> None:
        self._session_zero = session_zero
        self._exports = exports
        self._party = party
        self._imports = imports
        self._safety = safety
        self._outlines = outlines
        self._questions = questions
        self._prompt_files = prompt_files
        self._extraction = extraction
        self._world = world
        self._logs = logs
        self._memory = memory
        self._scene_verbs = scene_verbs
        self._cast_verbs = cast_verbs
        self._edited_messages = edited_messages
        self._table = table
        self._recall_verbs = recall_verbs

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        verb, text = run.request.verb, run.request.text.strip()
        if verb == "act" and text.startswith(("((", "(OOC", "(ooc")):
            yield Stage("talk", "")
            yield Text(words(run.request.locale)("story.talk"))
            return
        run_of = {
            **dict.fromkeys(WRITTEN, self._scene_verbs.run),
            "ask": self._questions.ask,
            "ideas": self._questions.ideas,
            "prompt": self._prompt_files.run,
            "branches": self._table.branches,
            "opened": self._table.opened,
            "recall": self._recall_verbs.recall,
            "recap": self._recall_verbs.recap,
            "forget": self._recall_verbs.forget,
            "nudge": self._recall_verbs.nudge,
            **dict.fromkeys(("state", "correct", "keep", "characters", "plot", "chapter"), self._world.show),
            "extracted": self._extraction.run,
            "import": self._imports.files,
            "history": self._imports.history,
            "stopcard": self._safety.stopcard,
            "safety": self._safety.agree,
            **dict.fromkeys(("export", "share"), self._exports.run),
            "zero": self._session_zero.run,
            **dict.fromkeys(("join", "leave", "play", "gm", "deadline", "whisper"), self._party.run),
            "whispered": self._party.whispered,
            "overdue": self._party.overdue,
            "missed": self._recall_verbs.recap,
            "edited": self._edited_messages.edited,
            "reword": self._edited_messages.answered,
            **({"fork": self._table.apart} if run.request.options.get("thread") else {}),
        }
        if verb == "start" and run.request.options.get("together"):
            run_of["start"] = self._session_zero.run
        if verb == "cast" and run.request.options.get("write"):
            run_of["cast"] = self._cast_verbs.invent
        elif verb == "chapter" and run.request.options.get("write"):
            run_of["chapter"] = self._outlines.run
        elif verb == "cast" and cast.typed(text, run.request.options)[0] in ("speak", "all"):
            run_of["cast"] = self._cast_verbs.run
        events = run_of.get(verb, self._table.run)(run)
        async with aclosing(events):
            async for event in events:
                yield event
        if verb in (*WRITTEN, *MOVED, "undo", "stopcard", "pass", "mode"):
            await self._party.wait(run)
        if verb in (*WRITTEN, OVERDUE) or (verb == "cast" and "cast" in run_of):
            yield Answered()
            looked_into = await self._extraction.begin(run)
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
            await self._extraction.begin(run)

    async def _learn(self, space: str, id: str, branch: str, story: Story, *, looked_into: bool) -> None:
        """Make the vectors of the new turns, and the missing ones of earlier turns. After a crash the next turn does
        it.

        The last scenes wait until somebody has `looked_into` them: where they were goes into their vectors.
        """
        until = self._extraction.settled(story, SHORT) if looked_into else story.length
        try:
            if story.length > SHORT:
                await self._memory.learn(space, id, branch, story, until=until)
        except (UserError, StorageFault) as fault:
            _log.warning("a story has no vectors of its last turns yet: %s", fault)

    async def _learn_lore(self, space: str, id: str, story: Story) -> None:
        try:
            if story.lore and self._scene_verbs.settings.lore_near:
                await self._memory.learn_lore(space, id, story)
        except (UserError, StorageFault) as fault:
            _log.warning("a story has no vectors of its lorebook yet: %s", fault)
