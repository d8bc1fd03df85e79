"""The messages that a message to the bot brings along: those that it shares or links. Their words and files become part
of the question.

A linked message is read only where the person who links it is a member: the bot may be in more conversations.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from bot.adapters.invocation import quotation
from bot.adapters.slack.placing import Body, Location, files_of, text_of
from bot.adapters.slack.received.line import text_without_mention
from bot.adapters.slack.received.sharing import is_member
from bot.adapters.surface import SurfaceFault
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.adapters.slack.installed.workspaces import Installed
    from bot.adapters.slack.received.intake import Intake
    from bot.events import File

LINK: Final = re.compile(
    r"https://[\w.-]+/archives/([CDG][A-Z0-9]{1,30})/p(\d{10})(\d{6})(?:\?[^\s<>|]*?\bthread_ts=(\d{10}\.\d{6}))?"
)
"""A message's address: its conversation, its ts without the dot, and its thread."""
MESSAGES: Final = 3
"""Messages that one question brings along."""
FETCH_S: Final = 1.5
"""How long linked messages may take to be fetched, as Slack waits three seconds. The question goes on without them."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Brought:
    """`text` is a quotation in Markdown."""

    text: str = ""
    files: tuple[File, ...] = ()

    def __bool__(self) -> bool:
        return self.text != "" or self.files != ()


NOTHING: Final = Brought()


async def brought(intake: Intake, location: Location, event: Body, me: Installed) -> Brought:
    """What this message brings along. The bot's own messages are left out, which it knows."""
    shared = {(text_of(each, "channel_id"), text_of(each, "ts")): each for each in _shared(event)}
    links = {
        (channel, f"{seconds}.{rest}"): thread
        for channel, seconds, rest, thread in LINK.findall(text_of(event, "text"))
    }
    fetched = [
        _fetched(intake, location, channel, ts, thread or ts)
        for (channel, ts), thread in list(links.items())[:MESSAGES]
        if (channel, ts) not in shared
    ]
    linked = [message for message in await asyncio.gather(*fetched) if message is not None]
    name = partial(intake.people.name, location)
    quotes, files = list[str](), list["File"]()
    for message in [*shared.values(), *linked][:MESSAGES]:
        if me.user in (text_of(message, "user"), text_of(message, "author_id")):
            continue
        quotes.append(quotation(await text_without_mention(text_of(message, "text"), "", name)))
        files += files_of(message)
    return Brought("\n\n".join(filter(None, quotes)), tuple(files))


def _shared(event: Body) -> list[Mapping[str, Any]]:
    """The messages that a person has shared with their own (Slack's documentation, "Attachments")."""
    attachments = event.get("attachments")
    return [
        each
        for each in (attachments if isinstance(attachments, list) else [])
        if isinstance(each, dict) and (each.get("is_share") or each.get("is_msg_unfurl"))
    ]


async def _fetched(
    intake: Intake, location: Location, channel: str, ts: str, thread: str
) -> Mapping[str, Any] | None:
    """A linked message, if the person may read it."""
    try:
        async with asyncio.timeout(FETCH_S):
            client = await intake.workspaces.client(location.team, location.enterprise)
            if channel != location.channel and not await is_member(
                client, channel, location.user, beyond=False
            ):
                return None
            answer: Any = await client.conversations_replies(
                channel=channel, ts=thread, oldest=ts, latest=ts, inclusive=True
            )
    except (SurfaceFault, StorageFault, TimeoutError) as fault:
        _log.info("message %s cannot be read: %s", ts, type(fault).__name__)
        return None
    messages = answer.get("messages") or ()
    return next((each for each in messages if each.get("ts") == ts and not each.get("hidden")), None)
