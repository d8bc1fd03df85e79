"""The gateway of the fake Discord, driven by the real client: intents, shards, and broken connections."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator
from typing import Any

import aiohttp
import discord
import pytest
import yarl
from discord.gateway import DiscordWebSocket

from tests.fakes.discord import FakeDiscord
from tests.wire.small_bot import INTENTS, SmallBot, connected, table

CONTENT = discord.Intents(guilds=True, guild_messages=True, dm_messages=True, message_content=True)


async def test_a_wrong_token_is_refused() -> None:
    async with table() as t:
        second_bot = SmallBot()
        with pytest.raises(discord.LoginFailure):
            await second_bot.login("wrong")
        await second_bot.close()
        assert t.fake.refused[-1].status == 401


async def test_without_the_intent_only_messages_for_the_bot_have_content() -> None:
    async with table() as t:
        root = await t.post(t.channel, content="the bot's own")
        await t.fake.say(t.ana, t.channel, "aside", files=[("a.md", b"x")])
        await t.fake.say(t.ana, t.channel, "named", mention=True)
        await t.fake.say(t.ana, t.channel, "a reply", reply_to=root)
        await t.fake.say(t.ana, t.channel, "a quiet reply", reply_to=root, ping=False)
        await t.fake.say(t.ana, t.fake.dm(t.ana), "in private")
        await t.fake.until(lambda: len(t.bot.heard) == 6)
        me = f"<@{t.fake.world.bot.id}>"
        texts = [message.content for message in t.bot.heard]
        assert texts == ["the bot's own", "", f"{me} named", "a reply", "", "in private"]
        assert t.bot.heard[1].attachments == []


async def test_with_the_intent_all_messages_have_content() -> None:
    async with table(SmallBot(CONTENT)) as t:
        await t.fake.say(t.ana, t.channel, "aside")
        await t.fake.until(lambda: t.bot.heard)
        assert t.bot.heard[0].content == "aside"


async def test_an_intent_that_the_portal_lacks_closes_the_connection() -> None:
    async with FakeDiscord(portal=()) as fake:
        bot = SmallBot(CONTENT)
        base, gateway = discord.http.Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY
        discord.http.Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY = fake.api, yarl.URL(fake.gateway_url)
        try:
            with pytest.raises(discord.PrivilegedIntentsRequired):
                await bot.start(fake.token)
        finally:
            discord.http.Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY = base, gateway
            await bot.close()
        assert (4014, "Disallowed intent(s).") in fake.gateway.closed
        assert not discord.ApplicationFlags._from_value(fake.flags).gateway_message_content_limited


async def test_events_without_their_intent_are_not_sent() -> None:
    async with table(SmallBot(discord.Intents(guilds=True))) as t:
        await t.fake.say(t.ana, t.channel, "x", mention=True)
        t.guild.text("new")
        await t.fake.until(lambda: "CHANNEL_CREATE" in t.bot.events)
        assert "MESSAGE_CREATE" not in t.bot.events


async def test_events_of_invisible_channels_are_not_sent() -> None:
    async with table() as t:
        hidden = t.guild.text("hidden", deny=["VIEW_CHANNEL"])
        await t.fake.say(t.ana, hidden, "x", mention=True)
        await t.fake.say(t.ana, t.channel, "y", mention=True)
        await t.fake.until(lambda: t.bot.heard)
        assert [message.channel.id for message in t.bot.heard] == [t.channel.id]


async def test_after_a_cut_the_client_resumes_and_misses_nothing() -> None:
    async with table() as t:
        await t.fake.drop()
        assert t.fake.gateway.live == []
        await t.fake.say(t.ana, t.channel, "meanwhile", mention=True)
        await t.fake.connected()
        await t.fake.until(lambda: t.bot.heard)
        assert t.fake.gateway.resumed == 1
        assert len(t.fake.gateway.identified) == 1
        assert t.bot.events[-1] == "RESUMED"


async def test_a_resume_can_repeat_the_last_events() -> None:
    async with table() as t:
        message = await t.fake.say(t.ana, t.channel, "once", mention=True)
        await t.fake.until(lambda: t.bot.heard)
        await t.fake.replay(1)
        await t.fake.until(lambda: len(t.bot.heard) == 2)
        assert [one.id for one in t.bot.heard] == [message.id, message.id]


async def test_a_client_that_is_asked_to_reconnect_resumes() -> None:
    async with table() as t:
        await t.fake.reconnect()
        await t.fake.connected()
        assert (t.fake.gateway.resumed, len(t.fake.gateway.identified)) == (1, 1)


async def test_an_invalid_resumable_session_is_resumed() -> None:
    async with table() as t:
        await t.fake.invalidate(True)
        await t.fake.connected()
        assert (t.fake.gateway.resumed, len(t.fake.gateway.identified)) == (1, 1)


async def test_an_invalid_session_that_has_ended_is_replaced() -> None:
    async with table() as t:
        await t.fake.invalidate(False)
        await t.fake.connected()
        assert (t.fake.gateway.resumed, len(t.fake.gateway.identified)) == (0, 2)
        await t.fake.say(t.ana, t.channel, "x", mention=True)
        await t.fake.until(lambda: t.bot.heard)


async def test_a_properly_closed_connection_ends_the_session() -> None:
    async with FakeDiscord() as fake:
        async with connected(fake, sync=False):
            assert len(fake.gateway.sessions) == 1
            [socket] = fake.gateway.sockets
            [session] = fake.gateway.sessions.values()
        await fake.until(lambda: not fake.gateway.sockets)
        assert (session.socket, socket.ws.closed) == (None, True)


async def test_each_shard_gets_the_events_of_its_guilds() -> None:
    async with FakeDiscord(shards=2) as fake:
        guilds = [fake.guild("Even"), fake.guild("Odd")]
        assert [(guild.id >> 22) % 2 for guild in guilds] == [0, 1]
        ana = fake.user("Ana")
        async with connected(fake, QuickShards(), shards=2) as bot:
            assert [(session.shard, session.shards) for session in fake.gateway.live] == [(0, 2), (1, 2)]
            for guild in guilds:
                guild.join(ana)
                await fake.say(ana, guild.text("general"), guild.name, mention=True)
            await fake.say(ana, fake.dm(ana), "private")
            await fake.until(lambda: len(bot.heard) == 3)
            frames = [[json.loads(text)["d"] for _, text in session.sent] for session in fake.gateway.live]
            of_messages = [[frame["content"] for frame in sent if "content" in frame] for sent in frames]
            me = fake.world.bot.mention
            assert of_messages == [[f"{me} Even", "private"], [f"{me} Odd"]]
            asked = await fake.slash(ana, guilds[1].channels[0], "hello")
            assert asked.kind == 5


class QuickShards(SmallBot):
    """A client that does not wait five seconds between shards, unlike discord.py's default."""

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        return


async def test_shards_that_identify_too_fast_are_refused() -> None:
    async with FakeDiscord(shards=2, max_concurrency=1) as fake:
        async with aiohttp.ClientSession() as http:
            hasty = [await _identified(http, fake, shard=[number, 2]) for number in range(2)]
        assert [frame["op"] for frame in hasty] == [0, 9]
        assert hasty[1]["d"] is False
        assert fake.gateway.closed == [(9, "identified too soon")]


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ({"op": 2, "d": {"token": "wrong", "intents": 1}}, 4004),
        ({"op": 2, "d": {"token": "right", "intents": 1, "shard": [2, 2]}}, 4010),
        ({"op": 2, "d": {"token": "right", "intents": 1 << 30}}, 4013),
        ({"op": 2, "d": {"token": "right", "intents": 1 << 1}}, 4014),
        ({"op": 3, "d": {}}, 4003),
        ({"op": 55, "d": {}}, 4001),
        ({"op": 1, "d": "x" * 5000}, 4002),
        ("no json", 4002),
        ({"op": 6, "d": {"token": "wrong", "session_id": "x", "seq": 1}}, 4004),
    ],
)
async def test_a_malformed_frame_closes_the_connection(frame: Any, code: int) -> None:
    async with FakeDiscord() as fake, aiohttp.ClientSession() as http:
        text = (frame if isinstance(frame, str) else json.dumps(frame)).replace("right", fake.token)
        async with http.ws_connect(fake.gateway_url) as ws:
            assert (await ws.receive_json())["op"] == 10
            await ws.send_str(text)
            assert (await ws.receive()).type is aiohttp.WSMsgType.CLOSE
            assert ws.close_code == code


async def test_a_client_without_heartbeats_is_disconnected() -> None:
    async with FakeDiscord() as fake, aiohttp.ClientSession() as http:
        fake.gateway.heartbeat = 0.05
        async with http.ws_connect(fake.gateway_url) as ws:
            assert (await ws.receive_json())["d"]["heartbeat_interval"] == 50
            await ws.receive()
            assert ws.close_code == 4009


async def test_an_unknown_session_cannot_be_resumed() -> None:
    async with FakeDiscord() as fake, aiohttp.ClientSession() as http:
        resume = {"token": fake.token, "session_id": "no", "seq": 1}
        async with _ws(http, fake) as ws:
            await ws.send_json({"op": 6, "d": resume})
            assert await ws.receive_json() == {"op": 9, "t": None, "s": None, "d": False}


async def test_joining_and_leaving_a_guild_are_events() -> None:
    async with table() as t:
        late = t.fake.guild("Late")
        await t.fake.until(lambda: t.bot.get_guild(late.id))
        t.fake.kick(late)
        await t.fake.until(lambda: t.bot.get_guild(late.id) is None)
        await t.refused(50001, "GET", f"/guilds/{late.id}")
        names = [guild["name"] for guild in await t.bot.raw("GET", "/users/@me/guilds")]
        assert names == ["Table"]


async def test_a_failed_wait_describes_the_fakes_state() -> None:
    async with table() as t:
        await t.fake.say(t.ana, t.channel, "findable")
        with pytest.raises(AssertionError, match="findable"):
            await t.fake.until(lambda: False, seconds=0.01)


@contextlib.asynccontextmanager
async def _ws(
    http: aiohttp.ClientSession, fake: FakeDiscord
) -> AsyncGenerator[aiohttp.ClientWebSocketResponse]:
    async with http.ws_connect(fake.gateway_url) as ws:
        await ws.receive_json()
        yield ws


async def _identified(http: aiohttp.ClientSession, fake: FakeDiscord, **more: Any) -> dict[str, Any]:
    """Identify, and return the next message; the connection stays open."""
    ws = await http.ws_connect(fake.gateway_url)
    await ws.receive_json()
    await ws.send_json({"op": 2, "d": {"token": fake.token, "intents": INTENTS.value} | more})
    frame: dict[str, Any] = await asyncio.wait_for(ws.receive_json(), 60)
    return frame
