"""Which messages on Slack are for the bot, and the button with which people stop it.

Hands them to the intake; knows no command and no work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from bot.adapters.slack.placing import PLATFORM, Body, Spot, event_of, spot_of_event, text_of
from bot.adapters.slack.received import checklist
from bot.adapters.slack.received.heard import NAMES, calls_others, heard, mentions, people_in
from bot.adapters.slack.received.line import command_of
from bot.adapters.slack.text.help import SETUP
from bot.events import File, Place
from bot.faults import in_words
from bot.readers.kinds import readable

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


def listen(bolt: AsyncApp, intake: Intake) -> None:
    listener = Listener(intake)
    bolt.event({"type": "message", "subtype": SPOKEN})(listener.on_message)
    bolt.event("app_mention")(listener.on_message)
    bolt.event("agent_session_stopped")(listener.on_stopped)


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
            held = await self._intake.bound(here)
        channel, thread = held or (here.channel, here.root)
        await self._intake.app.stop(Place(PLATFORM, here.space, channel, thread))

    async def _meant(self, here: Spot, text: str, me: Me) -> bool:
        """Whether the message is for the bot: said to it alone, naming it, or in a thread that it holds."""
        if here.direct or mentions(text, me.user):
            return True
        return await self._intake.holds(here)

    async def _hear(self, here: Spot, event: Mapping[str, Any], me: Me, ack: AsyncAck) -> None:
        intake, id = self._intake, event_of("message", here.channel, here.message)
        raw, files = text_of(event, "text"), files_of(event)
        text = await heard(raw, me.user, partial(self._intake.people.name, here))
        books = [one.name for one in files if readable(one.name)]
        if books and not _reads_files(text):
            await intake.hint(here, id, "slack.books", file=books[0], name=me.name)
        elif not text and (here.direct or mentions(raw, me.user)):
            await intake.hint(here, id, "slack.short", name=me.name)
        if text.strip("/").lower() == SETUP:
            await intake.aside(here, id, SETUP, lambda: checklist.told(self._intake, here))
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


def _perhaps_meant(here: Spot, text: str, me: Me) -> bool:
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

    return _adds(await heard(text_of(event, "text"), me.user, as_it_is))


def _reads_files(text: str) -> bool:
    """Whether the message is a question, which its files may answer, or the command that puts them on a shelf."""
    line = (command_of(text) or "").lower().split()
    return bool(text) and (not line or _adds(text) or line[:2] == ["/rules", "ask"] or line[0] == "/ask")


def _adds(text: str) -> bool:
    """Whether the message is itself the command that puts files on a shelf."""
    line = command_of(text) or ""
    return line.lower().split()[:2] == ["/library", "add"] or line.lower().split()[:1] == ["/add"]
