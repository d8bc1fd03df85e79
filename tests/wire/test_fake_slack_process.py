"""The fake Slack as a separate process, controlled by typed lines."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncGenerator
from typing import Any

from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncAck
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.slack.small_app import Body, SmallApp

GO = {"type": "button", "action_id": "go", "text": {"type": "plain_text", "text": "Go"}}


@contextlib.asynccontextmanager
async def started() -> AsyncGenerator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.fakes.slack"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.kill()
        await process.communicate()


async def test_typed_lines_are_executed_and_the_bots_messages_are_printed() -> None:
    async with started() as process:
        assert process.stdin is not None
        assert process.stdout is not None
        out = process.stdout

        async def line() -> str:
            return (await asyncio.wait_for(out.readline(), 60)).decode().rstrip()

        where: dict[str, Any] = json.loads(await line())
        small = SmallApp(AsyncWebClient(where["bot_token"], base_url=where["api"]))

        async def answer(body: Body, ack: AsyncAck) -> None:
            await ack()
            if "command" in body:
                blocks = [{"type": "actions", "elements": [GO]}]
                await small.client.chat_postMessage(channel=body["channel_id"], text="x", blocks=blocks)
            else:
                await small.client.chat_postMessage(channel=body["channel"]["id"], text="gone")

        small.doing = answer
        handler: Any = AsyncSocketModeHandler(small.app, where["app_token"])
        try:
            await handler.connect_async()
            process.stdin.write(b"/sutradhar rules\n")
            assert await line() == "general: Go [Go]"
            process.stdin.write(b"press Go\n")
            assert await line() == "general: gone"
            process.stdin.write(b"press Stay\nstop\n")
            assert [await line() for _ in range(2)] == [
                "! there is nothing to press",
                "! the bot is at work nowhere",
            ]
            process.stdin.write(b"hello\ndm psst\nhome\n/sutradhar\n")
            assert await line() == "general: Go [Go]"
            kinds = [event["type"] for event in small.events]
            assert sorted(kinds) == ["app_home_opened", "app_mention", "message", "message"]
        finally:
            await handler.close_async()
