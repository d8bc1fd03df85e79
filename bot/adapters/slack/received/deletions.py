"""What people take back or put differently on Slack is honoured: messages, threads, whole channels.

Knows neither what was asked nor what was answered: the application forgets and rewords.
"""

from __future__ import annotations

import asyncio
import re
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from bot.adapters.slack.placing import PLATFORM, Body, Spot, event_of, real, spot_of_event, text_of
from bot.adapters.slack.received.heard import heard
from bot.adapters.slack.received.line import parsed_of
from bot.adapters.slack.received.messages import SPOKEN
from bot.events import Place, Sorry
from bot.faults import in_words
from bot.requests import event_id

if TYPE_CHECKING:
    from slack_bolt.async_app import AsyncApp, AsyncBoltContext

    from bot.adapters.slack.received.intake import Intake

GONE: Final = re.compile(r"\A(channel|group)_(deleted|archive|left)\Z")
"""Events after which nobody, or not the bot, can read a channel any more."""
WAIT_S: Final = 1.0
"""How long an event waits for its run to end; Slack waits three seconds for us."""
_REMAINS: Final = "tombstone"
"""The subtype of what stands where a deleted message has replies."""


def listen(bolt: AsyncApp, intake: Intake) -> None:
    deletions = Deletions(intake)
    bolt.event({"type": "message", "subtype": "message_changed"})(deletions.on_changed)
    bolt.event({"type": "message", "subtype": "message_deleted"})(deletions.on_deleted)
    bolt.event(GONE)(deletions.on_gone)


class Deletions:
    """One per process."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self._going: set[asyncio.Task[bool]] = set()

    async def on_changed(self, body: dict[str, Any], context: AsyncBoltContext) -> None:
        """Other words for what was asked. Slack also reports links that it has unfolded, and replies that came."""
        event = body["event"]
        now, before = event.get("message") or {}, event.get("previous_message") or {}
        here = spot_of_event(body, context.team_id, context.enterprise_id)
        if now.get("subtype") == _REMAINS:
            await self._forget(here, before or now)
        elif _reworded(now, before):
            await self._reword(here, now)

    async def on_deleted(self, body: dict[str, Any], context: AsyncBoltContext) -> None:
        event = body["event"]
        before = {"ts": text_of(event, "deleted_ts"), **(event.get("previous_message") or {})}
        await self._forget(spot_of_event(body, context.team_id, context.enterprise_id), before)

    async def on_gone(self, body: dict[str, Any], context: AsyncBoltContext) -> None:
        """What runs in a channel that is no more stops."""
        here, app = spot_of_event(body, context.team_id, context.enterprise_id), self._intake.app
        with in_words():
            rows = await app.house.inbox.unfinished()
        for row in rows:
            if (row.platform, row.space, row.channel) == (PLATFORM, here.space, here.channel):
                await app.stop_run(here.space, row.id)

    async def _reword(self, here: Spot, message: Body) -> None:
        if not (ts := text_of(message, "ts")):
            return
        run, app = _run(here, ts), self._intake.app
        async with self._turn(here, message):
            past = await app.past(here.space, run)
            if past is None or not past.origin:  # taken back: its words stay away
                return
            me = await self._intake.workspaces.me(here.team, here.enterprise)
            name = partial(self._intake.people.name, here)
            try:
                text = parsed_of(await heard(text_of(message, "text"), me.user, name)).text
            except Sorry:  # not a line that could be asked: what was asked stands
                return
            if text:
                await app.reword(here.space, run, text)

    async def _forget(self, here: Spot, message: Body) -> None:
        if not (ts := text_of(message, "ts")):
            return
        async with self._turn(here, message):
            # Of the message itself Slack may tell only now, as after a connection that broke.
            self._intake.never(here, event_of("message", here.channel, ts))
            forgetting = asyncio.create_task(self._intake.app.forget(here.space, _run(here, ts)))
            self._going.add(forgetting)
            forgetting.add_done_callback(self._going.discard)
            # It is kept at once; that a run has ended is no reason to keep Slack waiting.
            await asyncio.wait({forgetting}, timeout=WAIT_S)
            if forgetting.done():
                forgetting.result()
        await self._close(Spot(here.user, here.team, here.channel, here.enterprise, thread=ts))

    def _turn(self, here: Spot, message: Body) -> asyncio.Lock:
        """What was written a moment ago may be on its way in, and would come in after all; so may other words."""
        root = text_of(message, "thread_ts") or text_of(message, "ts")
        return self._intake.turns.of((here.channel, root))

    async def _close(self, thread: Spot) -> None:
        """Was it a root that the bot had posted, what still runs under it stops; its conversation is put away."""
        house = self._intake.app.house
        with in_words():
            if (held := await self._intake.bound(thread)) is None:
                return
        await self._intake.app.stop(Place(PLATFORM, thread.space, *held))
        with in_words():
            if session := await house.sessions.active(thread.space, PLATFORM, *held):
                await house.owned.archive(thread.space, session.author_id, session.id)
            await house.threads.forget(thread.space, real(thread.channel, thread.root))


def _reworded(now: Body, before: Body) -> bool:
    """Whether whoever wrote it has changed its words."""
    edited = now.get("edited") or {}
    by_themselves = isinstance(edited, dict) and edited.get("user") == now.get("user") is not None
    written = now.get("subtype") in SPOKEN and not now.get("bot_id")
    return by_themselves and written and text_of(now, "text") != text_of(before, "text")


def _run(here: Spot, ts: str) -> str:
    """The run that the message asked for, if it asked for one."""
    return event_id(PLATFORM, here.space, event_of("message", here.channel, ts))
