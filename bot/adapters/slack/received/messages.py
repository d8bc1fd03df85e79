"""Messages on Slack: those for the bot, edited and deleted ones, and Slack's stop button.

Passes them to the intake; independent of commands and works.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from bot.adapters.intake import rewords
from bot.adapters.invocation import Invocation, reads_files, spoken, with_quotation
from bot.adapters.slack.installed.workspaces import REMAINS
from bot.adapters.slack.manifest import SETUP
from bot.adapters.slack.placing import PLATFORM, Body, Location, files_of, location_of_event, place, text_of
from bot.adapters.slack.received import setup
from bot.adapters.slack.received.brought import brought
from bot.adapters.slack.received.fetched import transcript_of, with_files
from bot.adapters.slack.received.line import (
    NAMES,
    calls_others,
    command_of,
    mentions,
    parsed_of,
    people_in,
    text_without_mention,
)
from bot.asking import asks
from bot.commands import NAME_FILES
from bot.events import Author, Place, UserError
from bot.faults import in_words
from bot.readers.kinds import readable
from bot.runs.requests import event_id
from bot.settings import MENTIONS, NOTHING
from storage.faults import StorageFault

if TYPE_CHECKING:
    from slack_bolt.async_app import AsyncAck, AsyncApp, AsyncBoltContext

    from bot.adapters.slack.installed.workspaces import Installed
    from bot.adapters.slack.received.intake import Intake

_log = logging.getLogger(__name__)

ASIDE: Final = ("//", "((")
"""Prefixes of messages in the bot's threads that are not for the bot."""
SPOKEN: Final = (None, "file_share", "thread_broadcast", "me_message")
"""Subtypes of messages that a person wrote (Slack's documentation, "message")."""

TWIN_S: Final = 1.0
"""Seconds that a mention may arrive before the message event; only the latter always lists the files."""
CLIP: Final = "slack_audio"
"""The subtype of a file that was recorded in Slack."""
GONE: Final = re.compile(r"\A(channel|group)_(deleted|archive|left)\Z")
"""Events after which the bot can no longer read a channel."""
WAIT_S: Final = 1.0
"""Seconds that an event waits for its run to end; Slack waits three seconds for us."""


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
    """Handles people's messages; one per process. A mention arrives as two events, in either order."""

    def __init__(self, intake: Intake, *, twin_s: float = TWIN_S) -> None:
        self._intake = intake
        self._twin_s = twin_s

    async def on_message(self, body: dict[str, Any], context: AsyncBoltContext, ack: AsyncAck) -> None:
        event = body["event"]
        if event.get("hidden"):
            return
        location = location_of_event(body, context.team_id, context.enterprise_id)
        if not (location.user and location.channel and location.message):
            return
        me = await self._intake.workspaces.installed(location.team, location.enterprise)
        if location.user in (me.user, "USLACKBOT"):
            return
        text = text_of(event, "text")
        if not _perhaps_meant(location, text, me):
            return
        meant = await self._meant(location, text, me)
        if meant:
            # Requested before their turn, so that the answers for many people arrive together.
            for user in (location.user, *people_in(text)[:NAMES]):
                if user != me.user:
                    self._intake.people.expect(replace(location, user=user))
        if await _lacks_files(event, me):
            await asyncio.sleep(self._twin_s)
        async with self._intake.turns.lock((location.channel, location.thread or location.message)):
            # The thread may have become the bot's while this message waited for its turn.
            if meant or (location.thread and await self._meant(location, text, me)):
                await self._answer(location, event, me, ack)

    async def on_stopped(self, body: dict[str, Any], context: AsyncBoltContext) -> None:
        """Handle Slack's own stop button, which anybody in the channel may press."""
        location = location_of_event(body, context.team_id, context.enterprise_id)
        with in_words():
            thread_row = await self._intake.app.records.threads.get(location.space, location.real)
        await self._intake.app.stop(place(location, event="", goes="here", thread_row=thread_row))

    async def _meant(self, location: Location, text: str, me: Installed) -> bool:
        """Whether the message is for the bot: in a DM, with a mention, or in a thread of the bot."""
        if location.direct or mentions(text, me.user):
            return True
        here = place(location, event="", goes="here")
        if location.outside is not False and await self._intake.app.outsiders.allowed(here) == NOTHING:
            return False  # only people who address the bot get an explanation
        if not location.thread:
            return await self._overheard(location, text, me, here)
        if not await self._intake.holds(location):
            return False
        with in_words():
            return await self._intake.app.channel_rules.listens(here) != MENTIONS

    async def _overheard(self, location: Location, text: str, me: Installed, here: Place) -> bool:
        """Whether a message at the root of a channel that the bot listens to asks it something."""
        words = await text_without_mention(text, me.user, partial(self._intake.people.name, location))
        try:
            return await self._intake.overheard(
                here,
                Author(location.user, ""),
                f"overheard:{location.channel}:{location.message}",
                words,
                mentions_people=bool(people_in(text)),
                replies=False,
            )
        except (UserError, StorageFault) as fault:
            _log.warning("a message was not listened to: %s", fault)
            return False

    async def _answer(
        self, location: Location, event: Mapping[str, Any], me: Installed, ack: AsyncAck
    ) -> None:
        intake, id = self._intake, f"message:{location.channel}:{location.message}"
        event = await with_files(intake.workspaces, location, event)
        raw, files = text_of(event, "text"), files_of(event)
        text = await text_without_mention(raw, me.user, partial(self._intake.people.name, location))
        along = await brought(intake.people, location, event, me)
        readable_files = [file.name for file in files if readable(file.name)]
        if readable_files and not reads_files(command_of(text) or text):
            await intake.hint(location, id, "slack.books", file=readable_files[0], name=me.name)
        elif not text and (clip := _clip(event)) is not None:
            await intake.perform(location, id, clip, ack)
        elif not (text or along) and (location.direct or mentions(raw, me.user)):
            await intake.hint(location, id, "slack.short", name=me.name)
        if text.strip("/").lower() == SETUP:
            await intake.aside(location, id, SETUP, lambda: setup.tell_checklist(self._intake, location))
        elif text or along:
            await intake.line(location, id, text, ack, files=files, along=along)


def _clip(event: Body) -> Invocation | None:
    """The invocation for what somebody said in a Slack clip (Slack's documentation, "File object"); None if there is no
    clip.
    """
    files = event.get("files")
    for file in files if isinstance(files, list) else []:
        if isinstance(file, dict) and file.get("subtype") == CLIP:
            # Without any mention of a transcript, transcribing may not have begun.
            transcript = transcript_of(file) if "transcription" in file else None
            return spoken(files_of({"files": [file]})[0], transcript, id=text_of(file, "id"))
    return None


def _perhaps_meant(location: Location, text: str, me: Installed) -> bool:
    """Whether the message may be for the bot. Asks neither Slack nor the storage, because most messages are not."""
    if location.direct or mentions(text, me.user):
        return True
    if text.lstrip().startswith(ASIDE):
        return False
    return asks(text) != "no" if not location.thread else not calls_others(text, me.user)


async def _lacks_files(event: Body, me: Installed) -> bool:
    """Whether it is a mention with a command for files, but without files so far."""
    if event.get("type") != "app_mention" or files_of(event):
        return False

    async def same_id(user: str) -> str:
        return user

    line = command_of(await text_without_mention(text_of(event, "text"), me.user, same_id)) or ""
    if not line:  # perhaps it shares a message
        return True
    first_words = line.lower().removeprefix("/").split()
    return " ".join(first_words[:2]) in NAME_FILES or first_words[:1] == ["add"]


class Deletions:
    """Handles edited and deleted messages; one per process."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake

    async def on_changed(self, body: dict[str, Any], context: AsyncBoltContext) -> None:
        """Reword the message's request. Slack also reports unfolded links and new replies as changes; these are
        ignored.
        """
        event = body["event"]
        now, before = event.get("message") or {}, event.get("previous_message") or {}
        location = location_of_event(body, context.team_id, context.enterprise_id)
        if now.get("subtype") == REMAINS:
            await self._forget(location, before or now)
            return
        edited = now.get("edited") or {}
        by_themselves = isinstance(edited, dict) and edited.get("user") == now.get("user") is not None
        if by_themselves and now.get("subtype") in SPOKEN and text_of(now, "text") != text_of(before, "text"):
            await self._reword(location, now)

    async def on_deleted(self, body: dict[str, Any], context: AsyncBoltContext) -> None:
        event = body["event"]
        before = {"ts": text_of(event, "deleted_ts"), **(event.get("previous_message") or {})}
        await self._forget(location_of_event(body, context.team_id, context.enterprise_id), before)

    async def on_gone(self, body: dict[str, Any], context: AsyncBoltContext) -> None:
        """Stop the runs and the schedules in a channel that the bot has lost."""
        location = location_of_event(body, context.team_id, context.enterprise_id)
        await self._intake.channel_gone(location.space, PLATFORM, location.channel)

    async def _reword(self, location: Location, message: Body) -> None:
        if not (ts := text_of(message, "ts")):
            return
        run, app = _run(location, ts), self._intake.app
        async with self._turn(location, message):
            past = await app.request_of(location.space, run)
            if past is None or not past.origin:  # withdrawn: its words stay erased
                return
            me = await self._intake.workspaces.installed(location.team, location.enterprise)
            name = partial(self._intake.people.name, location)
            try:
                parsed = parsed_of(await text_without_mention(text_of(message, "text"), me.user, name))
            except UserError:  # the new text is no valid request, so the old one stays
                return
            if not rewords(parsed, past):
                return
            text = parsed.text
            along = await brought(self._intake.people, location, message, me)
            if text and along.text and along.text in past.text:
                text = with_quotation(text, along.text)
            if text:
                await app.reword(location.space, run, text, text_of(message, "edited", "ts"))

    async def _forget(self, location: Location, message: Body) -> None:
        if not (ts := text_of(message, "ts")):
            return
        async with self._turn(location, message):
            # The message event itself may arrive later, for example after a broken connection.
            self._intake.never(location, f"message:{location.channel}:{ts}")
            forgetting = self._intake.later(self._intake.app.forget(location.space, _run(location, ts)))
            # The withdrawal is stored at once; Slack need not wait for the run's end.
            await asyncio.wait({forgetting}, timeout=WAIT_S)
            if forgetting.done():
                forgetting.result()
        await self._close(
            Location(location.user, location.team, location.channel, location.enterprise, thread=ts)
        )

    def _turn(self, location: Location, message: Body) -> asyncio.Lock:
        """The lock of the message's thread; a very recent message or edit may not be stored yet."""
        root = text_of(message, "thread_ts") or text_of(message, "ts")
        return self._intake.turns.lock((location.channel, root))

    async def _close(self, thread: Location) -> None:
        """If the message was a root of the bot, stop the runs of its thread and archive the conversation."""
        with in_words():
            if (thread_row := await self._intake.app.records.threads.get(thread.space, thread.real)) is None:
                return
        await self._intake.thread_deleted(
            Place(PLATFORM, thread.space, thread_row.channel, thread_row.thread), thread.real
        )


def _run(location: Location, ts: str) -> str:
    """The id of the run that the message began; "" if none."""
    return event_id(PLATFORM, location.space, f"message:{location.channel}:{ts}")
