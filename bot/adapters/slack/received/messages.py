"""Which messages on Slack are for the bot, what becomes of those that people change or delete, and Slack's stop button.

Hands them to the intake; knows no command and no work, and of a message that is gone neither question nor answer.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from bot.adapters.intake import reads_files
from bot.adapters.slack.placing import PLATFORM, Body, Location, event_of, place, spot_of_event, text_of
from bot.adapters.slack.received import setup
from bot.adapters.slack.received.line import (
    NAMES,
    calls_others,
    command_of,
    heard,
    mentions,
    parsed_of,
    people_in,
)
from bot.adapters.slack.text.help import SETUP
from bot.commands import NAME_FILES
from bot.events import File, Place, Sorry
from bot.faults import in_words
from bot.readers.kinds import readable
from bot.runs.requests import event_id

if TYPE_CHECKING:
    from slack_bolt.async_app import AsyncAck, AsyncApp, AsyncBoltContext

    from bot.adapters.slack.installed.workspaces import Me
    from bot.adapters.slack.received.intake import Intake

ASIDE: Final = ("//", "((")
"""What a message in a thread of the bot's begins with that is not meant for it."""
SPOKEN: Final = (None, "file_share", "thread_broadcast", "me_message")
"""Subtypes of messages that a person wrote (Slack's documentation, "message")."""

TWIN_S: Final = 1.0
"""How much sooner a mention may come than the message itself, which alone tells for sure which files came with it."""
GONE: Final = re.compile(r"\A(channel|group)_(deleted|archive|left)\Z")
"""Events after which nobody, or not the bot, can read a channel any more."""
WAIT_S: Final = 1.0
"""How long an event waits for its run to end; Slack waits three seconds for us."""
_REMAINS: Final = "tombstone"
"""The subtype of what stands where a deleted message has replies."""


def listen(bolt: AsyncApp, intake: Intake) -> None:
    listener = Listener(intake)
    bolt.event({"type": "message", "subtype": SPOKEN})(listener.on_message)
    bolt.event("app_mention")(listener.on_message)
    bolt.event("agent_session_stopped")(listener.on_stopped)
    deletions = Deletions(intake)
    bolt.event({"type": "message", "subtype": "message_changed"})(deletions.on_changed)
    bolt.event({"type": "message", "subtype": "message_deleted"})(deletions.on_deleted)
    bolt.event(GONE)(deletions.on_gone)


class Listener:
    """Takes in what people say; one per process. A mention comes as two events, and either may come first."""

    def __init__(self, intake: Intake, *, twin_s: float = TWIN_S) -> None:
        self._intake = intake
        self._twin_s = twin_s

    async def on_message(self, body: dict[str, Any], context: AsyncBoltContext, ack: AsyncAck) -> None:
        event = body["event"]
        here = spot_of_event(body, context.team_id, context.enterprise_id)
        if not (here.user and here.channel and here.message) or event.get("bot_id") or event.get("hidden"):
            return
        me = await self._intake.workspaces.me(here.team, here.enterprise)
        if here.user in (me.user, "USLACKBOT"):
            return
        text = text_of(event, "text")
        if not _perhaps_meant(here, text, me):
            return
        if await self._meant(here, text, me):
            # Asked about before their turn comes, so that a crowd is waited for together.
            for user in (here.user, *people_in(text)[:NAMES]):
                if user != me.user:
                    self._intake.people.expect(replace(here, user=user))
        if await _lacks_files(event, me):
            await asyncio.sleep(self._twin_s)
        async with self._intake.turns.of((here.channel, here.root)):
            if await self._meant(here, text, me):
                await self._hear(here, event, me, ack)

    async def on_stopped(self, body: dict[str, Any], context: AsyncBoltContext) -> None:
        """Slack's own stop button, which anybody in the channel may press."""
        here = spot_of_event(body, context.team_id, context.enterprise_id)
        with in_words():
            held = await self._intake.thread_row(here)
        await self._intake.app.stop(place(here, event="", goes="here", held=held))

    async def _meant(self, here: Location, text: str, me: Me) -> bool:
        """Whether the message is for the bot: said to it alone, naming it, or in a thread that it holds."""
        if here.direct or mentions(text, me.user):
            return True
        return await self._intake.holds(here)

    async def _hear(self, here: Location, event: Mapping[str, Any], me: Me, ack: AsyncAck) -> None:
        intake, id = self._intake, event_of("message", here.channel, here.message)
        raw, files = text_of(event, "text"), files_of(event)
        text = await heard(raw, me.user, partial(self._intake.people.name, here))
        books = [one.name for one in files if readable(one.name)]
        if books and not reads_files(command_of(text) or text):
            await intake.hint(here, id, "slack.books", file=books[0], name=me.name)
        elif not text and (here.direct or mentions(raw, me.user)):
            await intake.hint(here, id, "slack.short", name=me.name)
        if text.strip("/").lower() == SETUP:
            await intake.aside(here, id, SETUP, lambda: setup.tell_checklist(self._intake, here))
        elif text:
            await intake.line(here, id, text, ack, files=files)


def files_of(event: Body) -> tuple[File, ...]:
    """As a request carries them, with addresses that take the workspace's token; a work refuses what it can't read."""
    files = event.get("files")
    found = [one for one in files if isinstance(one, dict)] if isinstance(files, list) else []
    return tuple(
        File(
            str(one.get("name") or one.get("title") or one.get("id") or ""),
            "",
            size if isinstance(size := one.get("size"), int) else 0,
            text_of(one, "url_private") or text_of(one, "url_private_download"),
        )
        for one in found
        if one.get("mode") != "tombstone"
    )


def _perhaps_meant(here: Location, text: str, me: Me) -> bool:
    """Most of what people say in a channel is not: nothing need be asked for that, neither Slack nor the storage."""
    if here.direct or mentions(text, me.user):
        return True
    return here.thread != "" and not calls_others(text, me.user) and not text.lstrip().startswith(ASIDE)


async def _lacks_files(event: Body, me: Me) -> bool:
    """Whether it is a mention that wants files and has none (yet)."""
    if event.get("type") != "app_mention" or files_of(event):
        return False

    async def as_it_is(user: str) -> str:
        return user

    line = command_of(await heard(text_of(event, "text"), me.user, as_it_is)) or ""
    said = line.lower().removeprefix("/").split()
    return " ".join(said[:2]) in NAME_FILES or said[:1] == ["add"]


class Deletions:
    """One per process."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake

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
        here = spot_of_event(body, context.team_id, context.enterprise_id)
        there = (here.space, here.channel)
        await self._intake.app.stop_where(lambda one: (one.place.space, one.place.channel) == there)

    async def _reword(self, here: Location, message: Body) -> None:
        if not (ts := text_of(message, "ts")):
            return
        run, app = _run(here, ts), self._intake.app
        async with self._turn(here, message):
            past = await app.request_of(here.space, run)
            if past is None or not past.origin:  # taken back: its words stay away
                return
            me = await self._intake.workspaces.me(here.team, here.enterprise)
            name = partial(self._intake.people.name, here)
            try:
                text = parsed_of(await heard(text_of(message, "text"), me.user, name)).text
            except Sorry:  # not a line that could be asked: what was asked stands
                return
            if text:
                await app.reword(here.space, run, text, text_of(message, "edited", "ts"))

    async def _forget(self, here: Location, message: Body) -> None:
        if not (ts := text_of(message, "ts")):
            return
        async with self._turn(here, message):
            # Of the message itself Slack may tell only now, as after a connection that broke.
            self._intake.never(here, event_of("message", here.channel, ts))
            forgetting = self._intake.later(self._intake.app.forget(here.space, _run(here, ts)))
            # It is kept at once; that a run has ended is no reason to keep Slack waiting.
            await asyncio.wait({forgetting}, timeout=WAIT_S)
            if forgetting.done():
                forgetting.result()
        await self._close(Location(here.user, here.team, here.channel, here.enterprise, thread=ts))

    def _turn(self, here: Location, message: Body) -> asyncio.Lock:
        """What was written a moment ago may be on its way in, and would come in after all; so may other words."""
        root = text_of(message, "thread_ts") or text_of(message, "ts")
        return self._intake.turns.of((here.channel, root))

    async def _close(self, thread: Location) -> None:
        """Was it a root that the bot had posted, what still runs under it stops; its conversation is put away."""
        with in_words():
            if (held := await self._intake.thread_row(thread)) is None:
                return
        await self._intake.thread_deleted(
            Place(PLATFORM, thread.space, held.channel, held.thread), thread.real
        )


def _reworded(now: Body, before: Body) -> bool:
    """Whether whoever wrote it has changed its words."""
    edited = now.get("edited") or {}
    by_themselves = isinstance(edited, dict) and edited.get("user") == now.get("user") is not None
    written = now.get("subtype") in SPOKEN and not now.get("bot_id")
    return by_themselves and written and text_of(now, "text") != text_of(before, "text")


def _run(here: Location, ts: str) -> str:
    """The run that the message asked for, if it asked for one."""
    return event_id(PLATFORM, here.space, event_of("message", here.channel, ts))
