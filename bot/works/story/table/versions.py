"""Undo and redo, and the versions of the last scene: chooses which one counts, and stores one in a person's own
words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bot.events import Request, UserError
from bot.words import Words, meant
from bot.works.story.log.logs import Logs
from bot.works.story.log.turn import SCENE
from bot.works.story.table.outcome import Messages, Outcome, hush_of

DIGITS = 7
"""A number with this many digits is no scene's."""


@dataclass(frozen=True, slots=True)
class Versions:
    _logs: Logs
    _messages: Messages

    async def undo(self, request: Request, say: Words) -> Outcome:
        played = await self._logs.writable(request)
        story = played.story
        if (head := story.head) is None:
            raise UserError("story.nothing_to_undo")
        number = story.length
        to = story.before(head.id)
        await self._logs.record(played, request, "head", {}, turn=to)
        ways = [[say("story.button_redo"), "/story redo"]]
        turns = await self._messages.changed(request, story, head, story.turns.get(to))
        return Outcome("story.undone", {"n": number}, choices=ways, hush=hush_of(head), turns=turns)

    async def redo(self, request: Request, say: Words) -> Outcome:
        played = await self._logs.writable(request)
        if (after := played.story.redo_turn) is None:
            raise UserError("story.nothing_to_redo")
        number, head = played.story.length + 1, played.story.head
        await self._logs.record(played, request, "head", {}, turn=after.id)
        turns = await self._messages.changed(request, played.story, after, head)
        return Outcome("story.redone", {"n": number}, turns=turns)

    async def flip(self, request: Request, say: Words) -> Outcome:
        played = await self._logs.writable(request)
        turn = played.story.head
        if turn is None or turn.scene is None:
            raise UserError("story.nothing_yet")
        versions, present = turn.versions, turn.versions.index(turn.scene)
        to, number = request.text.strip().casefold(), played.story.path.index(turn.id) + 1
        if len(versions) == 1 and to != "1":
            raise UserError("story.one_version", n=number)
        step = {"next": 1, "back": -1}.get(meant(to, "next", "back"))
        chosen = int(to) - 1 if to.isdecimal() else -1 if step is None else (present + step) % len(versions)
        if not 0 <= chosen < len(versions):
            raise UserError("story.no_version", n=to[:40], count=len(versions))
        scene = versions[chosen]
        body = {"scene": scene.id}
        await self._logs.record(played, request, "flip", body, turn=turn.id)
        values: dict[str, str | int] = {"at": chosen + 1, "count": len(versions), "n": number}
        hush = hush_of(turn) if chosen != present else None
        turns = await self._messages.changed(request, played.story, turn)
        return Outcome("story.flipped", values, turns=turns, hush=hush, posts=not turn.shown_by)

    async def hide(self, request: Request, say: Words) -> Outcome:
        """Hide a scene, the last one unless its number is given, from all prompts, or with `unhide` show it to them
        again.
        """
        played = await self._logs.writable(request)
        story, number, hides = played.story, request.text.strip(), request.verb == "hide"
        if not story.length:
            raise UserError("story.nothing_yet")
        at = int(number) if number.isdecimal() and len(number) < DIGITS else 0 if number else story.length
        if not 1 <= at <= story.length:
            raise UserError("story.no_scene", n=number[:9], count=story.length)
        turn = story.turns[story.path[at - 1]]
        if (turn.id in story.hidden) is not hides:
            await self._logs.record(played, request, "hidden", {"hidden": hides}, turn=turn.id)
        turns = await self._messages.changed(request, story, turn)
        back = [[say("story.button_unhide"), f"/story unhide {at}"]] if hides else []
        return Outcome("story.hidden" if hides else "story.unhidden", {"n": at}, choices=back, turns=turns)

    async def edit(self, request: Request, say: Words) -> Outcome:
        """Store a version of the last scene in a person's own words."""
        played = await self._logs.writable(request)
        turn, text = played.story.head, request.text.strip()
        if turn is None:
            raise UserError("story.nothing_yet")
        if not text:
            raise UserError("story.no_turn")
        run, stage = turn.shown_by, turn.stage
        turns = await self._messages.changed(request, played.story, turn)
        body: dict[str, Any] = {"text": text, "edited": True, "run": run or request.id}
        if stage != SCENE:
            body["stage"] = stage
        await self._logs.record(played, request, "scene", body, turn=turn.id)
        number = played.story.path.index(turn.id) + 1
        return Outcome("story.edited", {"n": number}, turns=turns, hush=hush_of(turn), posts=not run)
