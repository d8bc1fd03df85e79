"""A loopback Slack in a separate process: `python -m tests.fakes.slack [--port N] [--http URL]`.

It prints its addresses and tokens as a line of JSON. Then each line on standard input is an action of Ana in #general
of the workspace "Table", and each message of the bot is printed when it changes:

    /sutradhar rules ask What is a bonus?     use a command
    press Stop                                press a button of the newest message that has it
    stop                                      press the stop button of the newest thread where the bot is at work
    home                                      open the Home tab
    thread … | dm …                           say it in the newest thread, or to the bot alone
    anything else                             say it, naming the bot
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Callable

from tests.fakes.slack import Channel, FakeSlack, Message, User
from tests.fakes.slack.delivery import Sent

Wanted = Callable[[Message], bool]


async def serve(port: int, locale: str, http: str | None) -> None:
    async with FakeSlack(port) as slack:
        team = slack.workspace("Table")
        ana = team.user("Ana", locale, admin=True)
        channel = team.channel("general")
        slack.http(http)
        names = ("api", "bot_token", "app_token", "signing_secret", "client_id", "client_secret")
        where = {name: getattr(slack, name) for name in names}
        print(json.dumps(where | {"authorize": slack.oauth.url, "admin": ana.id}), flush=True)
        showing = asyncio.create_task(show(slack))
        while line := await asyncio.to_thread(sys.stdin.readline):
            try:
                sent = await act(slack, ana, channel, line.strip())
            except (LookupError, ValueError, TypeError, PermissionError) as problem:
                print(f"! {problem}", flush=True)
            else:
                if sent is not None and sent.failed:
                    print(f"! {sent.name} failed: {sent.failed}", flush=True)
        if not sys.stdin.isatty():
            await asyncio.Event().wait()
        showing.cancel()


async def act(slack: FakeSlack, user: User, channel: Channel, line: str) -> Sent | None:
    first, _, argument = line.partition(" ")
    if first.startswith("/"):
        return await slack.command(user, channel, first, argument)
    if first == "press":
        return await slack.press(user, _newest(slack, lambda message: argument in message.buttons), argument)
    if line == "stop":
        working = _newest(
            slack, lambda message: getattr(slack.session(message), "status", "") == "processing"
        )
        if working is None:
            raise LookupError("the bot is at work nowhere")
        return await slack.stop_session(user, working)
    if line == "home":
        return await slack.open_home(user)
    if first == "thread":
        root = _newest(slack, lambda message: bool(message.thread))
        place = root.channel if root else channel
        await slack.say(user, place, argument, thread=root)
    elif first == "dm":
        await slack.say(user, channel.team.dm(user), argument)
    elif line:
        await slack.say(user, channel, line, mention=True)
    return None


def _all(slack: FakeSlack) -> list[Message]:
    places = [place for team in slack.world.teams.values() for place in team.channels.values()]
    return sorted(
        (message for place in places for message in place.everything), key=lambda message: message.ts
    )


def _newest(slack: FakeSlack, matches: Wanted) -> Message | None:
    return next((message for message in reversed(_all(slack)) if matches(message)), None)


async def show(slack: FakeSlack) -> None:
    """Print each message, and the Home tab, when its text changes."""
    shown: dict[str, str] = {}

    def fresh() -> list[tuple[str, str, str]]:
        messages = [
            (
                message.ts,
                message.channel.name,
                " ".join([message.shown, *(f"[{label}]" for label in message.buttons)]),
            )
            for message in _all(slack)
            if message.user.bot and message.shown
        ]
        homes = [
            (home.id, f"home of {home.user.name}", home.shown) for home in slack.views_kept.homes.values()
        ]
        forms = [(view.id, f"form {view.callback_id}", view.shown) for view in slack.views if view.open]
        return [line for line in (*messages, *homes, *forms) if shown.get(line[0]) != line[2]]

    while True:
        for id, where, text in await slack.until(fresh, seconds=1e9):
            shown[id] = text
            print(f"{where}: {text}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fakes.slack")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--locale", default="en-US")
    parser.add_argument("--http", help="the bot's address; without it, Socket Mode")
    arguments = parser.parse_args()
    asyncio.run(serve(arguments.port, arguments.locale, arguments.http))


if __name__ == "__main__":
    main()
