"""Answers with buttons at a table on Slack, their requests, and what the presser sees."""

from __future__ import annotations

import time
from typing import Any

from bot.adapters.footer import Button
from bot.adapters.slack.placing import PLATFORM, AnswerPlace, Origin
from bot.adapters.slack.text.page import rows_of
from bot.events import Author, Place, Request, Text
from bot.runs.requests import event_id
from bot.words import words
from tests.adapters.slack.table import Table
from tests.fakes.slack import Message, User

FEEDBACK = "feedback"


def asked(
    at: Table, text: str, *, space: str = "", home: AnswerPlace = "here", by: User | None = None
) -> Request:
    """A stored question of one person."""
    who = by or at.ana
    run = event_id(PLATFORM, space or at.space, f"{text} {who.id} {home} {time.monotonic_ns()}")
    origin = Origin(home, at.channel.id, who.id, at.space)
    place = Place(PLATFORM, space or at.space, at.channel.id, run)
    return Request(run, place, Author(who.id, who.name), "rules", "ask", {}, text, origin=origin.to_json())


async def done(at: Table, text: str = "hello", **more: object) -> Request:
    request = asked(at, text, **more)  # type: ignore[arg-type]
    await (await at.app.perform(request)).wait()
    return request


async def live(at: Table, **more: object) -> Request:
    """A question whose run never ends."""
    request = asked(at, "endless", **more)  # type: ignore[arg-type]
    await at.app.perform(request)
    await at.bot.record.until(request.id, Text("begun"))
    return request


async def shown(
    at: Table, *ids: str, text: str = "An answer", thread: Message | None = None, to: User | None = None
) -> Message:
    """An answer with buttons of these action_ids, ephemeral if `to` names a person."""
    client = await at.bot.workspaces.client(at.space)
    buttons = [Button(one, one.split(":")[0]) for one in ids]
    run = ids[0].split(":")[1] if ids else ""
    blocks = [{"type": "markdown", "text": text}, *rows_of(buttons, run, words("en"))]
    where: dict[str, Any] = {"channel": at.channel.id, "thread_ts": thread.ts if thread else None}
    if to is None:
        sent = await client.chat_postMessage(**where, text=text, blocks=blocks)
        return at.channel.posts[str(sent["ts"])]
    sent = await client.chat_postEphemeral(**where, user=to.id, text=text, blocks=blocks)
    return at.channel.posts[str(sent["message_ts"])]


async def told(at: Table, who: User, n: int = 1) -> str:
    """The ephemeral texts for this person, once there are `n`."""
    return (await at.slack.until(lambda: at.whispers(who)[n - 1 :]))[0]


async def press(at: Table, who: User, message: Message, what: str) -> None:
    sent = await at.slack.press(who, message, what)
    assert sent.acked is not None
