"""Draws docs/slack.svg: a question and its answer, as the bot sends them to Slack.

Runs the bot as a process against the loopback Slack of the tests, without a model, and draws what it posted: the words,
blocks and buttons are the bot's, but only resemble Slack's looks.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "slack.svg"
sys.path.insert(0, str(ROOT))

from scripts.drawing import COLUMNS, Line, Looks, drawn, wrapped  # noqa: E402
from tests.fakes.slack import Channel, FakeSlack, Message, User  # noqa: E402

QUESTION = "How far does a lit lantern show things?"
LOOKS = Looks(
    text="#1d1c1d",
    faint="#616061",
    name="#1d1c1d",
    back="#ffffff",
    card="#f8f8f8",
    button="#ffffff",
    label="#1d1c1d",
    border="#bbbbbb",
    face="#4a154b",
    indent=44,
)
LINK = "#1264a3"
SETTINGS = '[slack]\napi_base = "{api}"\n[embedding]\nmodel = "none"\n[roles]\n'
NARROW = COLUMNS - 8
SIGNS = {"complete": "✓", "in_progress": "…", "error": "✗", "pending": "·"}


@asynccontextmanager
async def bot_at_a_table() -> AsyncGenerator[tuple[FakeSlack, Channel, User], None]:
    """The loopback Slack with the bot connected, a channel, and Ana in it, who administers the workspace."""
    with tempfile.TemporaryDirectory() as folder:
        async with FakeSlack() as slack:
            team = slack.workspace("Table")
            ana, channel = team.user("Ana", admin=True), team.channel("general")
            config = Path(folder) / "config.toml"
            config.write_text(SETTINGS.format(api=slack.api.rstrip("/")), encoding="utf-8")
            environ = os.environ | {
                "SLACK_BOT_TOKEN": slack.bot_token,
                "SLACK_APP_TOKEN": slack.app_token,
                "SUTRADHAR_LOCALE": "en",
                # Empty variables hide those of the environment and of .env.
                **dict.fromkeys(("DISCORD_TOKEN", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"), ""),
            }
            command = ("-m", "bot", "run", "--config", str(config), "--data", f"{folder}/data")
            bot = await asyncio.create_subprocess_exec(sys.executable, *command, cwd=ROOT, env=environ)
            try:
                await slack.until(lambda: slack.sockets.live, seconds=60)
                yield slack, channel, ana
            finally:
                bot.terminate()
                await bot.wait()


async def question() -> list[Message]:
    """The message above the answer's thread, and the messages in the thread."""
    async with bot_at_a_table() as (slack, channel, ana):
        book = ("lanterns.md", (ROOT / "examples" / "lanterns.md").read_bytes())
        added = await slack.say(ana, channel, "/library add --shelf rules", mention=True, files=[book])
        await slack.until(
            lambda: any("Added 1 file" in message.shown for message in added.thread), seconds=60
        )
        await slack.command(ana, channel, "/rules", f"ask {QUESTION}")
        await slack.until(
            lambda: any(message.user.bot and message is not added and any(ended(two) for two in message.thread)
                        for message in channel.messages)
        )  # fmt: skip
        (root,) = [message for message in channel.messages if message.user.bot and message.thread]
        return [root, *root.thread]


def ended(message: Message) -> bool:
    return not message.streaming and "context_actions" in [block["type"] for block in message.blocks]


def lines(messages: Iterable[Message]) -> Iterator[Line]:
    root, *thread = messages
    yield from posted(root)
    yield Line(f"{len(thread)} repl{'y' if len(thread) == 1 else 'ies'}", LINK, bold=True)
    yield Line()
    for message in thread:
        yield from (replace(line, deep=1) for line in posted(message))
        yield Line()


def posted(message: Message) -> Iterator[Line]:
    yield Line(f"{message.user.name}  APP", LOOKS.name, bold=True, face=message.user.name[0])
    for block in message.blocks:
        yield from _block(block)


def _block(block: dict[str, Any]) -> Iterator[Line]:
    match block["type"]:
        case "markdown":
            yield from _markdown(block["text"])
        case "section":
            yield from _markdown(_from_mrkdwn(block["text"]["text"]))
        case "context":
            for element in block["elements"]:
                yield from _markdown(_from_mrkdwn(element["text"]), LOOKS.faint)
        case "actions":
            yield Line(buttons=tuple(element["text"]["text"] for element in block["elements"]))
        case "context_actions":
            yield Line(buttons=("👍", "👎"))
        case "plan":
            yield Line(block["title"], bold=True)
            for task in block["tasks"]:
                yield Line(f"{SIGNS[task['status']]} {task['title']}", card=LOOKS.border)
        case other:
            raise ValueError(f"nobody has drawn {other} yet")


def _markdown(text: str, colour: str = "") -> Iterator[Line]:
    code = False
    for line in text.splitlines():
        if line.startswith("```"):
            code = not code
        elif code:
            yield Line(line, code=True)
        else:
            title, quoted = line.startswith("### "), line.startswith(">")
            words = line.removeprefix("### ").removeprefix(">").strip()
            yield from wrapped(words, Line(colour=colour, bold=title, quoted=quoted), NARROW)


def _from_mrkdwn(text: str) -> str:
    """As Markdown: bold, italics, links by their names."""
    text = re.sub(r"<[^<>|]+\|([^<>]+)>", r"\1", text)
    text = re.sub(r"(?<![\w*])\*([^*\n]+)\*(?![\w*])", r"**\1**", text)
    return unescape(re.sub(r"(?<![\w_])_([^_\n]+)_(?![\w_])", r"*\1*", text))


if __name__ == "__main__":
    PICTURE.write_text(drawn(lines(asyncio.run(question())), LOOKS), encoding="utf-8")
