"""The fake Discord as a separate process, controlled by typed lines."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncGenerator

import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route

from tests.wire.small_bot import SmallBot


@contextlib.asynccontextmanager
async def started() -> AsyncGenerator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.fakes.discord"),
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
        where = json.loads(await process.stdout.readline())
        base, gateway = Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY
        Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY = where["api"], yarl.URL(where["gateway_url"])
        bot = SmallBot()
        try:
            await bot.login(where["token"])
            await bot.tree.sync()
            running = asyncio.create_task(bot.connect())
            await asyncio.wait_for(bot.wait_until_ready(), 60)
            process.stdin.write(b"/rules ask question=What is a bonus? shelf=srd\n/nothing\n")
            printed = [(await asyncio.wait_for(process.stdout.readline(), 60)).decode() for _ in range(2)]
            assert bot.question == ("What is a bonus?", "srd")
            assert "general: What is a bonus?\n" in printed
            assert any(line.startswith("! nobody registered 'nothing'") for line in printed)
        finally:
            await bot.close()
            await asyncio.wait([running], timeout=60)
            Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY = base, gateway
