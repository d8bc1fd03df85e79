"""Scenes that the game master tries in private: written for one person, then played at the table or removed.

A trial is in the log as part of the game master's screen, and on no branch: no list, recall or index includes it.
Playing it makes its turn and its scene the table's, without another call to a model.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from bot.events import (
    Author,
    Choice,
    Choices,
    Event,
    Notice,
    OptionValue,
    Place,
    Request,
    Stage,
    Text,
    UserError,
)
from bot.words import words
from bot.work import Run
from bot.works.story.log.logs import Logs, PlayedStory, node
from bot.works.story.log.turn import SCENE
from bot.works.story.scene.choices import scene_changed, words_of
from bot.works.story.screen.entries import Entry, entries, entry_of, next_number
from bot.works.story.screen.screen import screen_node, seen_by_others
from bot.works.story.turn import dice
from bot.works.story.turn.turn_plan import TurnPlan, applying_entries, lore_search, prompt
from bot.works.story.world.order import names_of
from storage.stories import NodeRow

if TYPE_CHECKING:
    from bot.words import Words
    from bot.works.story.log.story import Story
    from bot.works.story.screen.screen import Screen
    from bot.works.story.turn.scene_verbs import SceneVerbs


@dataclass(frozen=True, slots=True)
class Trial:
    """The plan of a trial's scene, the body of its act, and the turn `after` which it would be played."""

    plan: TurnPlan
    act: dict[str, Any]
    after: str


@dataclass(frozen=True, slots=True)
class Decision:
    """The game master's decision about the trial `n`: to play it in the place `there`, or, if `story` is "", to remove
    it.
    """

    n: int
    story: str = ""
    there: Place | None = None


@dataclass(frozen=True, slots=True)
class PlayedTrial:
    """The plan of the turn that a trial has become; None if the story has continued meanwhile."""

    plan: TurnPlan | None = None


class Trials:
    def __init__(self, logs: Logs, scene_verbs: SceneVerbs, screen: Screen) -> None:
        self._logs = logs
        self._scene_verbs = scene_verbs
        self._screen = screen

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        yield Stage(request.verb, "", answer=not seen_by_others(run))
        if seen_by_others(run):
            yield Text(say("story.screen_public"))
            return
        if request.options.keys() & {"play", "drop"}:
            decided = await run.step("decided", lambda: self._decide(request), Decision)
            if decided.story:
                about: dict[str, OptionValue] = {"n": decided.n, "story": decided.story}
                await run.begin("tried", "tried", options=about, for_all=True, there=decided.there)
            yield Text(say("story.trial_goes" if decided.story else "story.entry_removed", n=decided.n))
            return
        async with aclosing(self._write(run, say)) as events:
            async for event in events:
                yield event

    async def _decide(self, request: Request) -> Decision:
        played = await self._screen.played(request)
        if (n := request.options.get("play")) is None:
            entry = entry_of(played.story, request.options["drop"], "trial")
            await self._screen.change(played, request, entry.n, removed=True)
            return Decision(entry.n)
        entry = entry_of(played.story, n, "trial")
        _check_fits(played, entry)
        return Decision(entry.n, played.row.id, played.table)

    async def _write(self, run: Run, say: Words) -> AsyncGenerator[Event, None]:
        request, space = run.request, run.request.place.space
        tried = await run.step("turn", lambda: self._plan(request), Trial)
        plan = tried.plan
        yield Stage(request.verb, say("story.trial"), answer=True)
        for line in tried.act.get("dice", ()):
            yield Text(f"🎲 {line}\n\n")
        if plan.writer is None:
            yield Notice(say("story.needs_writer"))
            return
        story = _with_turn(
            await self._logs.story(space, plan.story, plan.branch, plan.at), request, tried.act
        )
        lore = (
            await asyncio.to_thread(applying_entries, *lore_search(story, plan), plan) if story.lore else []
        )
        models, text, finish = self._scene_verbs.models.with_roles(plan.roles), "", ""
        async with aclosing(models.stream(run, "writer", "scene", prompt(story, plan, lore))) as pieces:
            async for piece in pieces:
                if isinstance(piece, str):
                    text += piece
                    yield Text(piece)
                else:
                    finish = piece.finish
        if finish == "refusal" or not text.strip():
            yield Notice(say("story.finish_refusal" if finish == "refusal" else "story.nothing_written"))
            return

        async def stored() -> int:
            played = await self._screen.played(request)
            n = next_number(played.story)
            about = request.text.strip() or say("story.button_continue")
            body = {"kind": "trial", "n": n, "text": about, "scene": text.strip(), "after": tried.after}
            body |= {"branch": plan.branch, "act": tried.act}
            await self._logs.append(played, screen_node(request, "trial", body))
            return n

        n = await run.step("kept", stored, int)
        yield Notice(say("story.trial_kept", n=n))
        again = f"/story try -- {request.text.strip()}" if request.text.strip() else "/story try"
        yield Choices(
            say("story.trial_what"),
            (
                Choice(say("story.button_trial_play"), f"/story try --play {n}"),
                Choice(say("story.button_trial_drop"), f"/story try --drop {n}"),
                Choice(say("story.button_trial_again"), again),
            ),
        )

    async def _plan(self, request: Request) -> Trial:
        """Plan the scene to try. Raises UserError."""
        played, text = await self._screen.played(request), request.text.strip()
        if played.story.head is None:
            raise UserError("story.nothing_yet")
        limit = self._scene_verbs.settings.turn_chars
        if len(text) > limit:
            raise UserError("story.long_turn", length=len(text), limit=limit)
        body: dict[str, Any] = {
            "mode": "act" if text else "continue",
            "text": text,
            "name": request.author.name,
        }
        body |= dice.roll_turn(text, words(request.locale))
        drafted = replace(played, story=_with_turn(played.story, request, body))
        assert drafted.story.head is not None
        plan = await self._scene_verbs.plan(request, drafted, drafted.story.head.id, played.story.seq)
        return Trial(plan, body, played.story.head.id)

    async def play(self, run: Run) -> AsyncGenerator[Event, None]:
        """Play a trial where the story is played; shows nothing if the story has continued since the press."""
        request = run.request
        played_trial = await run.step("turn", lambda: self._begin(request), PlayedTrial)
        if (plan := played_trial.plan) is None:
            return
        story = await self._logs.story(request.place.space, plan.story, plan.branch)
        say, turn = words_of(story, request), story.turns[plan.turn]
        if turn.scene is None or turn.id in story.withdrawn_turns:
            return
        shown = scene_changed(story, turn, say)
        yield Stage(SCENE, shown.title, answer=True)
        for content in shown.contents:
            yield content
        if plan.before is not None and (before := plan.before.changed(story, say)) is not None:
            yield before

    async def _begin(self, request: Request) -> PlayedTrial:
        played = await self._logs.played_in(request.place, request.id)
        if played is None or played.row.id != request.options["story"]:
            return PlayedTrial()
        entry = entries(played.story).get(int(str(request.options["n"])))
        if entry is None or entry.kind != "trial":
            return PlayedTrial()
        try:
            _check_fits(played, entry)
        except UserError:
            return PlayedTrial()
        by = Author(entry.by, names_of(played.story).get(entry.by, ""))
        act = node(request.id, "act", "act", entry.body["act"], author=entry.by)
        plan = await self._scene_verbs.append_turn(replace(request, author=by), played, act, entry.text)
        scene = node(request.id, SCENE, "scene", {"text": entry.body["scene"], "at": plan.at}, turn=act.id)
        played_now = {"kind": "change", "n": entry.n, "shown": True}
        await self._logs.append(played, scene, screen_node(replace(request, author=by), "change", played_now))
        return PlayedTrial(plan)


def _check_fits(played: PlayedStory, entry: Entry) -> None:
    """Raise UserError if the story has continued since the trial was written."""
    head = played.story.head
    if entry.shown:
        raise UserError("story.trial_played", n=entry.n)
    if head is None or head.id != entry.body["after"] or played.branch != entry.body["branch"]:
        raise UserError("story.trial_late", n=entry.n)
    if played.place is None or played.place.away:
        raise UserError("story.taken_away")


def _with_turn(story: Story, request: Request, act: dict[str, Any]) -> Story:
    """A copy of the story with one more turn, which is not in the log."""
    assert story.head is not None
    copy = story.branched(story.head.id)
    new = node(request.id, "act", "act", act, author=request.author.id)
    now = datetime.now(UTC)
    copy.add(
        NodeRow(story.seq + 1, new.id, "", "", "", "act", new.turn, request.id, new.author_id, new.body, now)
    )
    return copy
