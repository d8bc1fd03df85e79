"""Handles edited messages of turns: the turn gets the new text, after a question if scenes have followed it.

The edit begins a run of its own for the question. The answer is appended as that run's, so that its words are deleted
with the message, and a second answer finds the first.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bot.events import Author, Changed, Choice, Choices, Event, Request, Speaker, Stage, Text, UserError
from bot.words import Words, words
from bot.work import Run
from bot.works.story.log.logs import Logs, PlayedStory, node, spot
from bot.works.story.log.turn import SAID, TALK
from bot.works.story.turn.scene_verbs import SceneVerbs
from bot.works.story.turn.turn_plan import TurnPlan
from bot.works.story.world.selves import speaker_and_words

if TYPE_CHECKING:
    from bot.kind import Runs

EDITED = "edited"
"""The stage that shows the question."""
BRANCH, WORDS = "branch", "words"


@dataclass(frozen=True, slots=True)
class Edited:
    """A turn whose message was edited, the number `n` of its scene, and how many `later` ones the branch has.

    `said` are its new words, which may be shown under the `character`'s name. `talk` says that the message is now talk
    outside the story, so that the turn keeps its words.
    """

    branch: str = ""
    turn: str = ""
    n: int = 0
    later: int = 0
    head: bool = False
    said: str = ""
    character: str = ""
    talk: bool = False


@dataclass(frozen=True, slots=True)
class TurnOnBranch:
    """A turn on a branch, with the body of its first node."""

    played: PlayedStory
    turn: str
    author: str
    body: dict[str, Any]

    @property
    def n(self) -> int:
        """The number of its scene."""
        return self.played.story.path.index(self.turn) + 1

    @property
    def text(self) -> str:
        return self.played.story.turns[self.turn].act.text

    def reworded(self, text: str) -> dict[str, Any]:
        """The text, and the character if there is one, of the turn's body for a message with these words."""
        act = self.played.story.turns[self.turn].act
        author = Author(self.author, act.name)
        named, words = speaker_and_words(self.played.story, author, text)
        character = named if words != text else act.character
        return {"text": words} | ({"character": character} if character else {})

    def as_edited(self) -> Edited:
        length = self.played.story.length
        return Edited(self.played.branch, self.turn, self.n, max(length - self.n, 0), head=self.n == length)


class EditedMessages:
    def __init__(self, logs: Logs, scene_verbs: SceneVerbs, runs: Runs) -> None:
        self._logs = logs
        self._scene_verbs = scene_verbs
        self._runs = runs

    async def edited(self, run: Run) -> AsyncGenerator[Event, None]:
        """Replace the last turn's text, or ask what to do about an earlier turn; other messages are ignored."""
        request, say = run.request, words(run.request.locale)

        async def edit() -> Edited:
            turn = await self._turn_of(request.place.space, request.answers, request)
            if turn is None or turn.reworded(request.text) == turn.reworded(turn.text):
                return Edited()
            if request.text.startswith(TALK):
                return Edited(talk=True)
            edited = turn.as_edited()
            if not edited.later:  # the last turn, or one that was undone
                await self._reword(turn, request.id, request.text)
                body = turn.reworded(request.text)
                edited = replace(edited, said=body["text"], character=body.get("character", ""))
            return edited

        edited = await run.step("edited", edit, Edited)
        if edited.talk:
            yield Stage(EDITED, "")
            yield Text(say("story.edited_talk"))
        if edited.later:
            yield Stage(EDITED, "")
            for event in question(edited, say):
                yield event
        elif edited.head:
            yield Stage(EDITED, "")
            yield Text(say("story.reworded", n=edited.n))
            yield Choices(say("story.reworded_or"), (Choice(say("story.button_retry"), "/story retry"),))
        if edited.character:
            speaker, said = Speaker(edited.character, own=True), (Text(edited.said),)
            yield Changed(request.answers, SAID, "", said, in_place=True, speaker=speaker)

    async def answered(self, run: Run) -> AsyncGenerator[Event, None]:
        """Carry out the answer to the question; only the first press counts."""
        request, say = run.request, words(run.request.locale)
        answer, _, branch = request.text.partition(" ")
        if answer == BRANCH:
            plan = await run.step("turn", lambda: self._play_on_branch(request, branch, say), TurnPlan)
            async with aclosing(self._scene_verbs.writer.scene(run, plan)) as events:
                async for event in events:
                    yield event
        edited = await run.step("done", lambda: self._decide(request, branch, answer), Edited)
        if answer == WORDS:
            yield Stage("reword", "")
            yield Text(say("story.reworded_only", n=edited.n))
        *question_contents, choices = question(edited, say)
        taken_now = replace(choices, taken=0 if answer == BRANCH else 1, by=request.author.name)
        yield Changed(request.answers, EDITED, "", (*question_contents, taken_now), in_place=True)

    async def _decide(self, request: Request, branch: str, answer: str) -> Edited:
        turn, text = await self._question_turn(request, branch)
        if answer == WORDS:
            await self._reword(turn, request.answers, text, by=request.id)
        return turn.as_edited()

    async def _play_on_branch(self, request: Request, branch: str, say: Words) -> TurnPlan:
        """Play the turn with its new text on a new branch, which this thread plays from then on."""
        turn, text = await self._question_turn(request, branch)
        played, id = turn.played, request.answers
        space, story = played.row.space, played.row.id
        name = say("story.branch_reworded", n=turn.n)
        await self._logs.fork(played, id, name, played.story.before(turn.turn), request.author.id)
        await self._logs.stories.play(spot(request.place), story, id, request.id)
        body = turn.body | turn.reworded(text) | {"by": request.id}  # the dice are not rolled again
        act = node(id, "act", "act", body, author=turn.author)
        at = await self._logs.stories.append(space, story, id, [act])
        story_then = await self._logs.story(space, story, id, at)
        plan = await self._scene_verbs.plan(request, PlayedStory(played.row, id, story_then), act.id, at)
        return replace(plan, branched=name)

    async def _question_turn(self, request: Request, branch: str) -> tuple[TurnOnBranch, str]:
        """The turn that a question is about, and the present words of its message.

        Raises UserError if these were withdrawn, or somebody has already decided.
        """
        space = request.place.space
        questions = await self._runs.request_of(space, request.answers)
        message = await self._runs.request_of(space, questions.answers) if questions is not None else None
        turn = await self._turn_of(space, questions.answers, branch=branch) if questions is not None else None
        if turn is None or message is None or not message.text:
            raise UserError("story.edit_gone")
        if message.text.startswith(TALK):
            raise UserError("story.edited_talk")
        nodes = await self._logs.stories.of_run(space, request.answers)
        if any(not row.body or json.loads(row.body).get("by") != request.id for row in nodes):
            raise UserError("story.edit_decided")
        return turn, message.text

    async def _turn_of(
        self, space: str, run: str, request: Request | None = None, branch: str = ""
    ) -> TurnOnBranch | None:
        """The turn that a run has added, on the branch that is played in the request's place if that has it."""
        nodes = await self._logs.stories.of_run(space, run)
        act = next((row for row in nodes if row.kind == "act" and row.id == row.turn and row.body), None)
        row = await self._logs.stories.story(space, act.story_id) if act is not None else None
        if act is None or row is None:
            return None
        body = json.loads(act.body)
        if body["mode"] not in ("act", "say"):
            return None
        played = await self._logs.played_in(request.place, request.id) if request is not None else None
        if played is None or played.row.id != row.id or act.turn not in played.story.path:
            branch = branch or act.branch_id
            played = PlayedStory(row, branch, await self._logs.story(space, row.id, branch))
        return TurnOnBranch(played, act.turn, act.author_id, body) if act.turn in played.story.path else None

    async def _reword(self, turn: TurnOnBranch, run: str, text: str, *, by: str = "") -> None:
        """Append another wording of the turn; its dice are not rolled again."""
        body = turn.body | turn.reworded(text) | ({"by": by} if by else {})
        act = node(run, "act", "act", body, turn=turn.turn, author=turn.author)
        await self._logs.append(turn.played, act)


def question(edited: Edited, say: Words) -> tuple[Text, Choices]:
    choices = (
        Choice(say("story.edited_branch"), f"/story reword {BRANCH} {edited.branch}"),
        Choice(say("story.edited_words"), f"/story reword {WORDS} {edited.branch}"),
        Choice(say("story.edited_leave"), ""),
    )
    title = Text(say("story.edited_turn", n=edited.n, later=edited.later))
    return title, Choices(say("story.edited_how"), choices)
