"""Makes docs/admins-discord.svg, docs/admins-slack.svg and docs/usage.png, the pictures of docs/administrators.md.

Runs the bot as a process against the loopback Discord and Slack of the tests, does as an admin what the page describes,
and draws what the bot showed. The bot draws the picture of usage itself; it counts a council of the tests' fake models.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
sys.path.insert(0, str(ROOT))

from scripts import picture_discord, picture_slack  # noqa: E402
from scripts.drawing import Line, drawn  # noqa: E402
from tests.fakes.discord import Message  # noqa: E402
from tests.fakes.slack import Message as SlackMessage  # noqa: E402
from tests.wire import council_model  # noqa: E402

EVENING: tuple[tuple[str, dict[str, Any]], ...] = (
    ("settings set", {"setting": "works", "value": "rules, course", "for": "channel"}),
    ("settings set", {"setting": "answers", "value": "private", "for": "channel"}),
    (
        "settings set",
        {"setting": "instruction", "value": "Answer in at most five sentences.", "for": "channel"},
    ),
    ("settings deny", {"right": "story"}),
    ("settings budget", {"amount": "20 usd", "per": "month"}),
)
"""What the admin sets first, as Discord commands."""
SHOWN = ("settings channels", "settings access", "settings budget")


def files(asked: Any) -> list[Any]:
    """The files in the answer to a command."""
    answers = [message for message in (asked.response, *asked.followups) if message is not None]
    return [file for message in answers for file in message.files]


async def discord() -> tuple[list[Message], bytes]:
    """What an admin sees on Discord, and the picture of usage."""
    async with (
        council_model.CouncilService() as service,
        picture_discord.bot_at_a_table(council_model.settings(service.base_url)) as (fake, channel, ana),
    ):
        await fake.slash(ana, channel, "council ask", question=council_model.QUESTION)
        await fake.until(
            lambda: (
                channel.threads and any(len(message.buttons) > 3 for message in channel.threads[-1].messages)
            ),
            seconds=60,
        )
        used = await fake.slash(ana, channel, "usage", picture=True, by="model")
        await fake.until(lambda: files(used), seconds=30)
        picture = files(used)[0].data
        for path, values in EVENING:
            asked = await fake.slash(ana, channel, path, **values)
            await fake.until(lambda asked=asked: asked.text, seconds=60)  # type: ignore[misc]
        shown = []
        for path in SHOWN:
            asked = await fake.slash(ana, channel, path)
            await fake.until(lambda asked=asked: asked.text, seconds=60)  # type: ignore[misc]
            await asyncio.sleep(1)  # its buttons come with the end
            assert asked.response is not None
            shown.append(asked.response)
        return shown, picture


async def slack() -> list[SlackMessage]:
    """What an admin sees on Slack."""
    async with picture_slack.bot_at_a_table() as (fake, channel, ana):

        def whispers() -> list[SlackMessage]:
            return [message for message in channel.everything if message.ephemeral_to is ana]

        lines = ("set works rules, course --for channel", "budget 20 usd --per month", "channels")
        for n, line in enumerate(lines, 1):
            await fake.command(ana, channel, "/settings", line)
            await fake.until(lambda n=n: len(whispers()) >= n, seconds=60)  # type: ignore[misc]
        await asyncio.sleep(1)
        return whispers()[-1:]


def lines_of(messages: list[SlackMessage]) -> Iterator[Line]:
    for message in messages:
        yield from picture_slack.posted(message)
        yield Line()


def main() -> None:
    shown, picture = asyncio.run(discord())
    rows: Any = (line for message in shown for line in picture_discord.lines(message))
    (DOCS / "admins-discord.svg").write_text(drawn(rows, picture_discord.LOOKS), encoding="utf-8")
    (DOCS / "usage.png").write_bytes(picture)
    (DOCS / "admins-slack.svg").write_text(
        drawn(lines_of(asyncio.run(slack())), picture_slack.LOOKS), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
