"""A loopback Discord in a separate process: `python -m tests.fakes.discord [--port N]`.

It prints its addresses and token as a line of JSON. Then each line on standard input is an action of Ana in #general
of the guild "Table" (or, after `thread`, in the newest thread), and each message of the bot is printed when it
changes:

    /rules ask question=What is a bonus?      use a command; options by name, to the end or the next name=
    press Stop                                press a button of the newest message that has it
    anything else                             say it, naming the bot
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
from typing import Any

from tests.fakes.discord import Channel, FakeDiscord, Message, User


async def serve(port: int, locale: str) -> None:
    async with FakeDiscord(port) as discord:
        guild = discord.guild("Table")
        channel, ana = guild.text("general"), discord.user("Ana", locale)
        guild.join(ana, manage=True)
        where = {
            "api": discord.api,
            "gateway_url": discord.gateway_url,
            "token": discord.token,
            "application_id": discord.application_id,
        }
        print(json.dumps(where), flush=True)
        showing = asyncio.create_task(show(discord))
        while line := await asyncio.to_thread(sys.stdin.readline):
            try:
                await act(discord, ana, channel, line.strip())
            except (LookupError, ValueError, TypeError, PermissionError) as problem:
                print(f"! {problem}", flush=True)
        if not sys.stdin.isatty():
            await asyncio.Event().wait()
        showing.cancel()


async def act(discord: FakeDiscord, user: User, channel: Channel, line: str) -> None:
    place: Channel = channel.threads[-1] if line.startswith("thread ") and channel.threads else channel
    line = line.removeprefix("thread ")
    if line.startswith("/"):
        words, *settings = re.split(r"\s(?=\w+=)", line)
        options: dict[str, Any] = dict(setting.split("=", 1) for setting in settings)
        await discord.slash(user, place, words, **options)
    elif line.startswith("press "):
        label = line.removeprefix("press ")
        posts = [post for place in (channel, *channel.threads) for post in place.messages]
        matching = [
            post
            for post in posts
            if any(label in (button.label, button.custom_id) for button in post.buttons)
        ]
        await discord.press(user, matching[-1] if matching else None, label)
    elif line:
        await discord.say(user, place, line, mention=True)


async def show(discord: FakeDiscord) -> None:
    """Print each message when its text changes."""
    shown: dict[int, str] = {}

    def fresh() -> list[Message]:
        posts = [post for place in discord.world.channels.values() for post in place.messages]
        return [post for post in posts if post.author.bot and shown.get(post.id) != post.text and post.text]

    while True:
        for post in await discord.until(fresh, seconds=1e9):
            shown[post.id] = post.text
            buttons = " ".join(f"[{button.label}]" for button in post.buttons)
            print(f"{post.channel.name}: {post.text} {buttons}".rstrip(), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fakes.discord")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--locale", default="en-US")
    arguments = parser.parse_args()
    asyncio.run(serve(arguments.port, arguments.locale))


if __name__ == "__main__":
    main()
