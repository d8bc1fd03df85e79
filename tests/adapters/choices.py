"""Scripted runs that offer choices, on Discord and Slack over loopback, and in a terminal."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from bot.adapters.stored_choices import VoteCounts
from bot.adapters.terminal.conversation import Conversation
from bot.adapters.terminal.feed import Feed
from bot.adapters.terminal.outputs import JsonLines
from bot.adapters.writer import Pace, Writers
from bot.app import App
from bot.events import Changed, Choice, Choices, Event, Link, Request, Stage, Text, UserError
from bot.runs.requests import request_from_json
from bot.work import Run
from tests.adapters.discord.line import Line, line
from tests.adapters.slack.table import Scripts, Table, table
from tests.fakes.discord import Message
from tests.fakes.discord.messages import walk
from tests.fakes.scripted_app import Script
from tests.fakes.slack import Message as SlackMessage

QUICK = Pace(edit_every_s=0.01, posts=50, posts_in_s=1.0)
LONG_REQUESTS = Choice("Do something else", "/rules ask --k 3 scene 7:", "What do you do?")


async def echo(run: Run) -> AsyncGenerator[Event, None]:
    yield Stage("answer", "Answer")
    yield Text(f"Did {run.request.text}")


async def offers(run: Run) -> AsyncGenerator[Event, None]:
    yield Stage("scene", "Scene")
    yield Text("It is dark.")
    yield Choices("What now?", (Choice("Left", "/rules ask left"), LONG_REQUESTS))


QUESTION = Choices("Is it worth that?", (Choice("Go on", "/rules ask go on"), Choice("Leave it", "")))


async def asks_first(run: Run) -> AsyncGenerator[Event, None]:
    yield Stage("cost", "Cost")
    yield Text("Much.")
    yield QUESTION


async def goes_on(run: Run) -> AsyncGenerator[Event, None]:
    yield Stage("answer", "Answer")
    contents = (Text("Much."), replace(QUESTION, taken=0))
    yield Changed(run.request.answers, "cost", "Cost", contents)
    yield Text("It went on.")


async def asked(app: App) -> list[Request]:
    """All stored requests, in order."""
    from storage.tables import inbox

    async with app.resources.records.database.read() as connection:
        rows = await connection.execute(inbox.select().order_by(inbox.c.seq))
        return [request_from_json(row.payload) for row in rows]


async def ended(app: App, n: int) -> list[Request]:
    """All stored requests, once there are `n` of them and each has ended."""
    async with asyncio.timeout(60):
        while len(requests := await asked(app)) < n:
            pass
        for request in requests:
            await app.ended(request.id)
    return requests


@asynccontextmanager
async def on_discord(tmp_path: Path) -> AsyncIterator[Line]:
    async with line(tmp_path, Play()) as made:
        made.client.writers = Writers(QUICK)
        made.client.counts = VoteCounts(made.client.writers)
        yield made


@asynccontextmanager
async def on_slack(tmp_path: Path) -> AsyncIterator[Table]:
    async with table(tmp_path, Play(), pace=QUICK) as made:
        yield made


async def offered(on: Line, what: str = "offers", label: str = "Left") -> Message:
    """The bot's message with choices in a thread; `what` is what Bia writes to get it."""
    await on.discord.say(on.bia, on.channel, what, mention=True)

    def found() -> list[Message]:
        posts = [message for thread in on.channel.threads for message in thread.messages]
        return [post for post in posts if any(label in button.label for button in post.buttons)]

    return (await on.discord.until(found))[-1]


async def offered_on_slack(at: Table, what: str = "offers", label: str = "Left") -> SlackMessage:
    await at.slack.say(at.ana, at.channel, f"{at.team.bot.mention} {what}")

    def found() -> list[SlackMessage]:
        return [message for message in at.channel.everything if label in json.dumps(message.blocks)]

    return (await at.slack.until(found))[-1]


async def presses_anyway(on: Line, message: Message, custom_id: str) -> str:
    """Press a button that an outdated client still shows; returns the answer."""
    for node in walk(message.components):
        node.pop("disabled", None)
    return (await on.discord.press(on.bia, message, custom_id)).text


VOTE = Choices(
    "Where to?",
    (Choice("Left", ""), Choice("Right", ""), Choice("Ask on", "/rules ask why")),
    votes=True,
)


async def votes(run: Run) -> AsyncGenerator[Event, None]:
    yield Stage("scene", "Scene")
    yield Text("Two doors.")
    yield Choices("First", (Choice("Go", "/rules ask go"),))
    yield VOTE


def labels(message: Message) -> list[str]:
    return [button.label for button in message.buttons if button.label]


async def again(run: Run) -> AsyncGenerator[Event, None]:
    """Change the text above the vote of the named run; the vote stays open."""
    yield Changed(run.request.text.split()[-1], "scene", "Scene", (Text("Three doors."), VOTE))
    yield Text("Said.")


async def closes(run: Run) -> AsyncGenerator[Event, None]:
    """Close the vote of the named run."""
    earlier = run.request.text.split()[-1]
    contents = (Text("Two doors."), replace(VOTE, taken=1))
    yield Changed(earlier, "scene", "Scene", contents)
    yield Text("Closed.")


async def leads(run: Run) -> AsyncGenerator[Event, None]:
    """Link to every named run."""
    yield Stage("links", "Links")
    for part in run.request.text.split()[1:]:
        yield Link(part, f"<@1> *{part[:4]}* https://evil.example")


async def opens(run: Run) -> AsyncGenerator[Event, None]:
    yield Stage("window", "Window")
    yield Choices("What now?", (Choice("Say it", "/rules ask --k 3", "What do you say?"),))


async def refuses(run: Run) -> AsyncGenerator[Event, None]:
    yield Stage("answer", "Answer")
    raise UserError("rules.no_such_source", n=7)


SCRIPTS: dict[str, Script] = {
    "opens": opens,
    "refuse": refuses,
    "offers": offers,
    "asks first": asks_first,
    "go on": goes_on,
    "vote": votes,
    "close": closes,
    "again": again,
    "leads": leads,
}


class Play(Scripts):
    """Chooses the script by the whole text or by its first word; echoes a text without a script."""

    def __missing__(self, text: str) -> Script:
        return SCRIPTS.get(text) or SCRIPTS.get(text.split()[0], echo)


async def lines(app: App, *typed: str, conversation: Conversation | None = None) -> list[dict[str, Any]]:
    """The output of `chat --json`."""

    async def opened() -> App:
        return app

    async def given() -> AsyncIterator[str]:
        for typed_line in typed:
            yield typed_line

    out = io.BytesIO()
    feed = Feed(conversation or Conversation("en", None), JsonLines(out), overtake=False)
    await feed.run(opened(), given())
    return [json.loads(line) for line in out.getvalue().decode().splitlines()]
