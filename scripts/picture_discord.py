"""Draws docs/discord.svg (a question and its answer) and docs/council.svg (a council) as the bot sends them to Discord.

Runs the bot as a process against the loopback Discord of the tests, without a model or with the tests' fake models as a
council, and draws what it posted: the words, cards and buttons are the bot's, but only resemble Discord's looks.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
sys.path.insert(0, str(ROOT))

from scripts.drawing import Line, Looks, drawn, wrapped  # noqa: E402
from tests.fakes.discord import FakeDiscord, Message  # noqa: E402
from tests.wire import council_model  # noqa: E402

QUESTION = "How far does a lit lantern show things?"
LOOKS = Looks(
    text="#dbdee1",
    faint="#949ba4",
    name="#f2f3f5",
    back="#313338",
    card="#2b2d31",
    button="#4e5058",
    label="#f2f3f5",
)
DISCORD = '[discord]\napi_base = "{api}"\ngateway_url = "{gateway}"\n'
NO_MODEL = '[embedding]\nmodel = "none"\n[roles]\n'


@asynccontextmanager
async def bot_at_a_table(settings: str) -> AsyncGenerator[tuple[FakeDiscord, Any, Any], None]:
    """The loopback Discord with the bot connected, a channel, and Ana in it, who manages the server."""
    with tempfile.TemporaryDirectory() as folder:
        async with FakeDiscord() as discord:
            guild = discord.guild("Table")
            channel, ana = guild.text("general"), discord.user("Ana")
            guild.join(ana, manage=True)
            config = Path(folder) / "config.toml"
            where = DISCORD.format(api=discord.api, gateway=discord.gateway_url)
            config.write_text(settings + where, encoding="utf-8")
            environ = os.environ | {"DISCORD_TOKEN": discord.token, "SUTRADHAR_LOCALE": "en"}
            command = ("-m", "bot", "run", "--config", str(config), "--data", f"{folder}/data")
            bot = await asyncio.create_subprocess_exec(sys.executable, *command, cwd=ROOT, env=environ)
            try:
                await discord.until(lambda: discord.gateway.live and discord.commands.everywhere, seconds=60)
                yield discord, channel, ana
            finally:
                bot.terminate()
                await bot.wait()


async def question() -> list[Message]:
    """The messages in the channel and in the thread once a question is answered."""
    async with bot_at_a_table(NO_MODEL) as (discord, channel, ana):
        book = (ROOT / "examples" / "lanterns.md").read_bytes()
        added = await discord.slash(ana, channel, "library add", file=("lanterns.md", book), shelf="rules")
        await discord.until(lambda: "Added 1 file" in added.text, seconds=60)
        interaction = await discord.slash(ana, channel, "rules ask", question=QUESTION)
        await discord.until(
            lambda: channel.threads and any(message.buttons for message in channel.threads[-1].messages)
        )
        assert interaction.response is not None
        return [interaction.response, *channel.threads[-1].messages]


async def council() -> list[Message]:
    """The messages there once a council has answered."""
    async with (
        council_model.CouncilService() as service,
        bot_at_a_table(council_model.settings(service.base_url)) as (discord, channel, ana),
    ):
        interaction = await discord.slash(ana, channel, "council ask", question=council_model.QUESTION)
        await discord.until(
            lambda: (
                channel.threads and any(len(message.buttons) > 3 for message in channel.threads[-1].messages)
            ),
            seconds=60,
        )
        assert interaction.response is not None
        return [interaction.response, *channel.threads[-1].messages]


def lines(message: Message) -> Iterator[Line]:
    yield Line(f"{message.author.name}  APP", LOOKS.name, bold=True)
    yield from _drawn(message.components, message, "")
    yield Line()


def _drawn(components: list[dict[str, Any]], message: Message, card: str) -> Iterator[Line]:
    for component in components:
        match component["type"]:
            case 17:
                yield from _drawn(
                    component["components"], message, f"#{component.get('accent_color') or 0:06x}"
                )
            case 10:
                code = False
                for line in component["content"].splitlines():
                    if line.startswith("```"):
                        code = not code
                    elif code:
                        yield Line(line, card=card, code=True)
                    else:
                        yield from _wrapped(_named(line, message), card)
            case 1:
                yield Line(
                    buttons=tuple(
                        " ".join(filter(None, ((b.get("emoji") or {}).get("name"), b.get("label"))))
                        for b in component["components"]
                    ),
                    card=card,
                )


def _named(line: str, message: Message) -> str:
    """Mentions as Discord shows them."""
    world = message.channel.world
    line = re.sub(r"<@(\d+)>", lambda match: f"**@{world.users[int(match[1])].name}**", line)
    return re.sub(r"<#(\d+)>", lambda match: f"**#{world.channels[int(match[1])].name}**", line)


def _wrapped(line: str, card: str) -> Iterator[Line]:
    quoted, small, title = line.startswith(">"), line.startswith("-# "), line.startswith("### ")
    words = line.removeprefix(">").removeprefix("-# ").removeprefix("### ").strip()
    colour = LOOKS.faint if small else LOOKS.name if title else LOOKS.text
    yield from wrapped(words, Line(colour=colour, bold=title, quoted=quoted, card=card))


if __name__ == "__main__":
    for name, posted in (("discord.svg", question), ("council.svg", council)):
        rows = (line for message in asyncio.run(posted()) for line in lines(message))
        (DOCS / name).write_text(drawn(rows, LOOKS), encoding="utf-8")
