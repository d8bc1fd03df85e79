"""The work "story": dispatches each verb."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from bot.commands import UNDER
from bot.events import Answered, Changed, Choice, Choices, Event, Request, Stage, Text, UserError
from bot.words import words
from bot.work import Run
from bot.works.story.log.logs import TAKEN_AWAY, WRITING_VERBS
from bot.works.story.log.turn import TALK
from bot.works.story.scene.buttons import AT_HEAD, LATE
from bot.works.story.scene.choices import played_elsewhere, present_buttons_owner
from bot.works.story.table.party import OVERDUE
from bot.works.story.world import cast
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.works.story.exchange.exports import Exports
    from bot.works.story.exchange.imports import Imports
    from bot.works.story.exchange.library import LibraryVerbs
    from bot.works.story.extraction.extraction import Extraction
    from bot.works.story.log.logs import Logs
    from bot.works.story.log.story import Story
    from bot.works.story.memory.memory import Memory
    from bot.works.story.memory.recall import Recall
    from bot.works.story.scene.buttons import Buttons
    from bot.works.story.screen.screen import Screen
    from bot.works.story.sheet.initiative_verbs import InitiativeVerbs
    from bot.works.story.sheet.sheet_verbs import SheetVerbs
    from bot.works.story.table.branch_verbs import BranchVerbs
    from bot.works.story.table.party import Party
    from bot.works.story.table.proxied import ProxiedNames
    from bot.works.story.table.safety import Safety
    from bot.works.story.table.table import Table
    from bot.works.story.turn.cast_verbs import CastVerbs
    from bot.works.story.turn.continuation import Continuation
    from bot.works.story.turn.edited_messages import EditedMessages
    from bot.works.story.turn.interview import Interview
    from bot.works.story.turn.outlines import Outlines
    from bot.works.story.turn.questions import Questions
    from bot.works.story.turn.recap import Recap
    from bot.works.story.turn.scene_verbs import SceneVerbs
    from bot.works.story.turn.session_zero import SessionZero
    from bot.works.story.turn.trial import Trials
    from bot.works.story.world.world_verbs import WorldVerbs

T = TypeVar("T")

MOVING_VERBS = ("flip", "edit", "more", "redo", "fork", "switch", "open", "opened", "edited", "reword")
"""The verbs after which other scenes may count."""
TRIED = "tried"
"""The verb that plays a scene that the game master has tried."""
SHORT = 10
"""The maximum number of turns of a story that needs no vectors, since its prompt has all of it."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Stories:
    """Runs each verb of stories with the part that implements it."""

    scene_verbs: SceneVerbs
    cast_verbs: CastVerbs
    edited_messages: EditedMessages
    table: Table
    branches: BranchVerbs
    recall_verbs: Recall
    recap_verbs: Recap
    logs: Logs
    memory: Memory
    extraction: Extraction
    world: WorldVerbs
    questions: Questions
    longer: Continuation
    outlines: Outlines
    interview: Interview
    imports: Imports
    safety: Safety
    exports: Exports
    party: Party
    proxied: ProxiedNames
    kept: LibraryVerbs
    session_zero: SessionZero
    screen: Screen
    trials: Trials
    buttons: Buttons
    sheets: SheetVerbs
    initiative: InitiativeVerbs

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        pressed = run.request.verb in AT_HEAD and UNDER in run.request.options
        late = pressed and await run.step("late", lambda: self.buttons.is_late(run.request), bool)
        if late and not run.alone:  # a failure is shown only to the person who pressed
            raise UserError("story.gone_on")
        async with aclosing(self.buttons.answer_late(run) if late else self._run(run)) as events:
            async for event in events:
                yield await self._with_scene(run.request, event)

    async def _with_scene(self, request: Request, event: Event) -> Event:
        """The event, in which each button that continues from the present scene names that scene."""
        if isinstance(event, Changed):
            contents = [await self._choices_with_scene(request, content) for content in event.contents]
            return replace(event, contents=tuple(contents))
        return await self._choices_with_scene(request, event)

    async def _choices_with_scene(self, request: Request, event: T) -> T:
        if not isinstance(event, Choices) or not any(map(_continues, event.choices)):
            return event
        if (played := await self.logs.played_in(request.place)) is None:
            return event
        present = present_buttons_owner(played.story, played.row.id)
        choices = [
            replace(choice, under=present) if _continues(choice) else choice for choice in event.choices
        ]
        return replace(event, choices=tuple(choices))

    async def _run(self, run: Run) -> AsyncGenerator[Event, None]:
        verb, text = run.request.verb, run.request.text.strip()
        if verb == "act" and text.startswith(TALK):
            yield Stage("talk", "")
            yield Text(words(run.request.locale)("story.talk"))
            return
        run_of = {
            **dict.fromkeys(WRITING_VERBS, self.scene_verbs.run),
            "ask": self.questions.ask,
            "ideas": self.questions.ideas,
            "suggest": self.questions.suggest,
            "interview": self.interview.run,
            "more": self.longer.run,
            "prompt": self.questions.prompts,
            "context": self.questions.window,
            "branches": self.branches.branches,
            "opened": self.branches.opened,
            "posted": self.table.posted,
            LATE: self.buttons.answer_late,
            "recall": self.recall_verbs.recall,
            "recap": self.recap_verbs.recap,
            "forget": self.recall_verbs.forget,
            "nudge": self.recap_verbs.nudge,
            **dict.fromkeys(
                (
                    "state",
                    "correct",
                    "settle",
                    "keep",
                    "enlist",
                    "characters",
                    "plot",
                    "threads",
                    "arc",
                    "chapter",
                ),
                self.world.show,
            ),
            "extracted": self.extraction.run,
            "import": self.imports.files,
            "history": self.imports.history,
            "stopcard": self.safety.stopcard,
            "safety": self.safety.agree,
            **dict.fromkeys(("export", "share"), self.exports.run),
            "zero": self.session_zero.run,
            **dict.fromkeys(("join", "leave", "play", "as", "gm", "deadline", "whisper"), self.party.run),
            **dict.fromkeys(("proxy", "proxied"), self.proxied.run),
            "whispered": self.party.whispered,
            **dict.fromkeys(("screen", "plan", "roll", "reveal"), self.screen.run),
            "revealed": self.screen.revealed,
            "try": self.trials.run,
            TRIED: self.trials.play,
            "overdue": self.party.overdue,
            **dict.fromkeys(("sheet", "apply"), self.sheets.run),
            "initiative": self.initiative.run,
            "missed": self.recap_verbs.recap,
            "edited": self.edited_messages.edited,
            "reword": self.edited_messages.answered,
            **({"fork": self.branches.fork_to_thread} if run.request.options.get("thread") else {}),
        }
        # With UNDER it is a button of an earlier release that settles a flagged scene.
        if verb in ("keep", "bring") and UNDER not in run.request.options:
            run_of[verb] = self.kept.run
        if verb in WRITING_VERBS:
            await self.kept.refresh(run.request)
        if verb == "start" and run.request.options.get("together"):
            run_of["start"] = self.session_zero.run
        if verb == "cast" and run.request.options.get("write"):
            run_of["cast"] = self.cast_verbs.invent
        elif verb == "arc" and run.request.options.get("write"):
            run_of["arc"] = self.outlines.arc
        elif verb == "chapter" and run.request.options.get("write"):
            run_of["chapter"] = self.outlines.run
        elif verb == "cast" and cast.parse_typed(text, run.request.options)[0] in ("speak", "all"):
            run_of["cast"] = self.cast_verbs.run
        events = run_of.get(verb, self.table.run)(run)
        try:
            async with aclosing(events):
                async for event in events:
                    yield event
        except UserError as error:
            if error.key != TAKEN_AWAY or "branch" not in error.values:
                raise
            other_run, branch, id = (str(error.values[name]) for name in ("run", "branch", "story"))
            story = await self.logs.story(run.request.place.space, id, branch)
            scene = present_buttons_owner(story, id)
            for event in played_elsewhere(other_run, branch, scene, words(run.request.locale)):
                yield event
        if verb in (*WRITING_VERBS, *MOVING_VERBS, TRIED, "undo", "stopcard", "pass", "mode"):
            await self.party.wait(run)
        if verb in (*WRITING_VERBS, OVERDUE, TRIED) or (verb == "cast" and "cast" in run_of):
            yield Answered()
            extracts = await self.extraction.begin(run)
            if (played := await self.logs.played_in(run.request.place)) is not None:
                row = played.row
                await self._learn_lore(row.space, row.id, played.story)
                await self._learn(row.space, row.id, played.branch, played.story, extracts=extracts)
        elif verb in ("lore", "import"):
            yield Answered()
            if (played := await self.logs.played_in(run.request.place)) is not None:
                await self._learn_lore(played.row.space, played.row.id, played.story)
        elif verb == "extracted":
            space, options = run.request.place.space, run.request.options
            id, branch = str(options["story"]), str(options["branch"])
            await self._learn(space, id, branch, await self.logs.story(space, id, branch), extracts=True)
        elif verb in MOVING_VERBS:
            yield Answered()
            await self.extraction.begin(run)

    async def _learn(self, space: str, id: str, branch: str, story: Story, *, extracts: bool) -> None:
        """Make the missing vectors of the story's turns; after a crash the next turn makes them.

        With `extracts`, a model extracts from scenes, and those that it has not read yet are left for later, since the
        vector of a scene includes what was found in it.
        """
        until = self.extraction.extracted_turns(story, SHORT) if extracts else story.length
        try:
            if story.length > SHORT:
                await self.memory.learn(space, id, branch, story, until=until)
        except (UserError, StorageFault) as fault:
            _log.warning("a story has no vectors of its last turns yet: %s", fault)

    async def _learn_lore(self, space: str, id: str, story: Story) -> None:
        """Make the missing vectors of the lorebook's entries."""
        try:
            if story.lore and self.scene_verbs.settings.lore_near:
                await self.memory.learn_lore(space, id, story)
        except (UserError, StorageFault) as fault:
            _log.warning("a story has no vectors of its lorebook yet: %s", fault)


def _continues(choice: Choice) -> bool:
    """Whether the button continues from the present scene without naming a scene yet."""
    match choice.command.split():
        case ["/story", verb, *_]:
            return verb in AT_HEAD and not choice.under
    return False
