"""The messages that come with a message to the bot: those that it shares or links. Their words and files become part of
the question, and their origin is shown under the answer.

A linked message is read only if the person who links it is a member of its conversation, because the bot may be in more
conversations.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from bot.adapters.invocation import Brought, quotation, shown_time
from bot.adapters.markdown import clean
from bot.adapters.slack.placing import Body, Location, files_of, text_of
from bot.adapters.slack.received.fetched import with_files
from bot.adapters.slack.received.line import text_without_mention, words_of
from bot.adapters.slack.received.people import is_member
from bot.adapters.surface import Gone, PlaceClosed, Refused, SurfaceFault
from bot.events import Quoted
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.adapters.slack.installed.workspaces import Installed
    from bot.adapters.slack.received.people import People
    from bot.events import File

LINK: Final = re.compile(
    r"https://[\w.-]+/archives/([CDG][A-Z0-9]{1,30})/p(\d{10})(\d{6})(?:\?[^\s<>|]*?\bthread_ts=(\d{10}\.\d{6}))?"
)
"""A message's address: its conversation, its ts without the dot, and its thread."""
MESSAGES: Final = 3
"""The most messages that come with one question."""
FETCH_S: Final = 1.5
"""Seconds that fetching linked messages may take, because Slack waits three. Then the question continues
without them.
"""

NAME_S: Final = 0.7
"""Seconds that fetching a channel's name may take."""

_log = logging.getLogger(__name__)


async def linked(people: People, location: Location, text: str) -> Brought:
    """The messages that the links in a command's text refer to."""
    me = await people.workspaces.installed(location.team, location.enterprise)
    return await brought(people, location, {"text": text, "ts": f"{time.time():.6f}"}, me)


async def brought(people: People, location: Location, event: Body, me: Installed) -> Brought:
    """The messages that come with this message. The bot's own messages are left out, because it knows them."""
    shared = {(text_of(each, "channel_id"), text_of(each, "ts")): each for each in _shared(event)}
    links = {
        (channel, f"{seconds}.{rest}"): thread
        for channel, seconds, rest, thread in LINK.findall(text_of(event, "text"))
    }
    to_fetch = [(*link, thread or link[1]) for link, thread in links.items() if link not in shared]
    room = max(0, MESSAGES - len(shared))
    fetched = await asyncio.gather(*(_fetched(people, location, *each) for each in to_fetch[:room]))
    linked = [(to_fetch[n][0], message) for n, message in enumerate(fetched) if not isinstance(message, str)]
    refused = [message for message in fetched if isinstance(message, str)]
    refused += ["thread.link_many"] * len(to_fetch[room:])
    name, now = partial(people.name, location), _time(text_of(event, "ts"))
    quotes, files, quoted = list[str](), list["File"](), list[Quoted]()
    messages = [*((channel, each) for (channel, _), each in shared.items()), *linked][:MESSAGES]
    names = await asyncio.gather(*(_channel_name(people, location, channel) for channel, _ in messages))
    for where, (_, message) in zip(names, messages, strict=True):
        author = text_of(message, "author_id") or text_of(message, "user")
        if me.user == author:
            continue
        text = await text_without_mention(words_of(message), "", name)
        attached = await attached_to(people, location, message)
        if not (text or attached):
            continue
        quotes.append(quotation(text))
        files += attached
        quoted.append(await _source(where, message, name, now))
    for where, (channel, message) in zip(names, messages, strict=True):
        if message.get("reply_count"):  # the message is a root; the run reads its replies
            quoted.append(Quoted(where, thread=f"{channel}:{text_of(message, 'ts')}"))
    quoted += [Quoted(refused=key) for key in refused]
    return Brought("\n\n".join(filter(None, quotes)), tuple(files), quoted=tuple(quoted))


async def attached_to(people: People, location: Location, message: Body) -> list[File]:
    """The files of the message and of those that it shares."""
    parts = (with_files(people.workspaces, location, part) for part in (message, *_shared(message)))
    return [file for part in await asyncio.gather(*parts) for file in files_of(part)]


async def source_of(
    people: People, location: Location, channel: str, message: Mapping[str, Any], asked_at: str
) -> Quoted:
    """The source of a message in the channel, for a question that is answered at `location`; `asked_at` is a ts."""
    channel_name = await _channel_name(people, location, channel)
    return await _source(channel_name, message, partial(people.name, location), _time(asked_at))


async def _source(
    channel_name: str, message: Mapping[str, Any], name: Callable[[str], Awaitable[str]], now: datetime
) -> Quoted:
    author = text_of(message, "author_id") or text_of(message, "user")
    author_name = (
        await name(author) if author else text_of(message, "author_name") or text_of(message, "username")
    )
    return Quoted(channel_name, clean(author_name), shown_time(_time(text_of(message, "ts")), now))


def _time(ts: str) -> datetime:
    try:
        return datetime.fromtimestamp(float(ts), UTC)
    except (ValueError, OverflowError, OSError):  # not the ts of a message
        return datetime.fromtimestamp(0, UTC)


def _shared(event: Body) -> list[Mapping[str, Any]]:
    """The messages that a person has shared with their own (Slack's documentation, "Attachments")."""
    attachments = event.get("attachments")
    return [
        each
        for each in (attachments if isinstance(attachments, list) else [])
        if isinstance(each, dict) and (each.get("is_share") or each.get("is_msg_unfurl"))
    ]


async def _channel_name(people: People, location: Location, channel: str) -> str:
    """The channel's name, such as "#rules"; "" for the question's own channel, a private one, or if Slack does not
    answer.
    """
    if channel == location.channel or not channel.startswith("C"):
        return ""
    try:
        async with asyncio.timeout(NAME_S):
            client = await people.workspaces.client(location.team, location.enterprise)
            answer: Any = await client.conversations_info(channel=channel)
    except (SurfaceFault, StorageFault, TimeoutError):
        return ""
    channel_info = answer["channel"]
    return f"#{clean(text_of(channel_info, 'name'))}" if channel_info.get("is_private") is False else ""


async def _fetched(
    people: People, location: Location, channel: str, ts: str, thread: str
) -> Mapping[str, Any] | str:
    """A linked message if the person may read it, else the key of the sentence that says why not."""
    try:
        async with asyncio.timeout(FETCH_S):
            client = await people.workspaces.client(location.team, location.enterprise)
            if channel != location.channel and not await is_member(
                client, channel, location.user, beyond=False
            ):
                return "thread.link_closed"
            answer: Any = await client.conversations_replies(
                channel=channel, ts=thread, oldest=ts, latest=ts, inclusive=True
            )
    except (SurfaceFault, StorageFault, TimeoutError) as fault:
        _log.info("message %s cannot be read: %s", ts, type(fault).__name__)
        if isinstance(fault, PlaceClosed) and fault.code != "thread_not_found":
            return "thread.link_closed"
        gone = isinstance(fault, PlaceClosed | Gone | Refused)
        return "thread.link_gone" if gone else "thread.link_late"
    messages = answer.get("messages") or ()
    matching = (each for each in messages if each.get("ts") == ts and not each.get("hidden"))
    return next(matching, "thread.link_gone")
