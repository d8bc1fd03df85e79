"""What the fake Discord's voice gateway refuses, and how a session survives its connection, with a minimal client."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from tests.fakes.discord import Channel, FakeDiscord, Guild

INTENTS = 1 << 0 | 1 << 7  # guilds, voice states


class Line:
    """A bot on the gateway that can join a channel and connect to the voice gateway."""

    def __init__(self, fake: FakeDiscord, http: aiohttp.ClientSession, guild: Guild) -> None:
        self.fake, self.http, self.guild = fake, http, guild
        self.session_id = ""
        self.gateway: aiohttp.ClientWebSocketResponse

    async def identify(self, intents: int = INTENTS) -> list[dict[str, Any]]:
        """Identify; returns the guilds from the events."""
        self.gateway = await self.http.ws_connect(self.fake.gateway_url)
        await self.gateway.receive_json()
        await self.gateway.send_json({"op": 2, "d": {"token": self.fake.token, "intents": intents}})
        self.session_id = (await self.gateway.receive_json())["d"]["session_id"]
        return [await self.event("GUILD_CREATE") for _ in self.fake.world.guilds]

    async def event(self, name: str) -> dict[str, Any]:
        """The next event, which must have this name."""
        frame = await asyncio.wait_for(self.gateway.receive_json(), 30)
        assert frame["t"] == name, frame
        data: dict[str, Any] = frame["d"]
        return data

    async def ask(self, channel: Channel | None, **more: Any) -> None:
        where = {"guild_id": str(self.guild.id), "channel_id": str(channel.id) if channel else None}
        state = where | {"self_mute": False, "self_deaf": False} | more
        await self.gateway.send_json({"op": 4, "d": state})

    async def join(self, channel: Channel) -> dict[str, Any]:
        """Join the channel; returns the data for an IDENTIFY on the voice gateway."""
        await self.ask(channel)
        state, server = await self.event("VOICE_STATE_UPDATE"), await self.event("VOICE_SERVER_UPDATE")
        assert state["session_id"] == self.session_id
        return self.credentials(server)

    def credentials(self, server: dict[str, Any]) -> dict[str, Any]:
        return {
            "server_id": server["guild_id"],
            "user_id": str(self.fake.world.bot.id),
            "session_id": self.session_id,
            "token": server["token"],
            "max_dave_protocol_version": 1,
        }

    async def voice(self, *frames: Any, port: int = 0, version: str = "8") -> aiohttp.ClientWebSocketResponse:
        """A connection to the voice gateway, on which these messages were sent after the HELLO."""
        url = f"ws://127.0.0.1:{port or self.fake.port}/?v={version}"
        ws = await self.http.ws_connect(url)
        hello = await ws.receive_json()
        assert hello["op"] == 8
        for frame in frames:
            await (ws.send_bytes(frame) if isinstance(frame, bytes) else ws.send_str(json.dumps(frame)))
        return ws


@asynccontextmanager
async def line() -> AsyncGenerator[tuple[Line, Channel]]:
    async with FakeDiscord() as fake, aiohttp.ClientSession() as http:
        guild = fake.guild("Table")
        channel = guild.voice("Table talk")
        client = Line(fake, http, guild)
        await client.identify()
        yield client, channel


async def closed(ws: aiohttp.ClientWebSocketResponse) -> int | None:
    async with asyncio.timeout(30):
        while (await ws.receive()).type in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY):
            pass
    return ws.close_code


async def test_joining_a_forbidden_or_full_channel_gets_no_event() -> None:
    async with line() as (client, _):
        fake, guild = client.fake, client.guild
        closed_ = guild.voice("Closed", deny=["CONNECT"])
        full = guild.voice("Full", user_limit=1)
        ana = fake.user("Ana")
        guild.join(ana)
        await client.event("CHANNEL_CREATE")
        assert (await client.event("CHANNEL_CREATE"))["user_limit"] == 1
        fake.voice.enter(ana, full)
        assert (await client.event("VOICE_STATE_UPDATE"))["channel_id"] == str(full.id)
        for channel in (closed_, full, guild.text("general")):
            await client.ask(channel)
        await fake.until(lambda: len(fake.voice.ignored) == 3)
        assert fake.voice.ignored[:2] == ["the bot may not connect to Closed", "Full is full"]
        guild.permit("MOVE_MEMBERS")
        await client.event("CHANNEL_CREATE")
        for _ in ("@everyone", "the bot's role"):
            await client.event("GUILD_ROLE_UPDATE")
        await client.join(full)
        assert [member.name for member in fake.voice.members(full)] == ["Ana", "Sutradhar"]
        await client.ask(full, self_mute=True)
        assert (await client.event("VOICE_STATE_UPDATE"))["self_mute"] is True


async def test_without_the_intent_no_voice_states_are_sent() -> None:
    async with FakeDiscord() as fake, aiohttp.ClientSession() as http:
        guild, ana = fake.guild("Table"), fake.user("Ana")
        guild.join(ana)
        fake.voice.enter(ana, guild.voice("Table talk"))
        for intents, states in ((1, 0), (INTENTS, 1)):
            [guild_event] = await Line(fake, http, guild).identify(intents)
            assert len(guild_event["voice_states"]) == states


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ({"op": 5, "d": {}}, 4003),
        (b"\x1a", 4003),
        (b"\x63", 4001),
        ({"op": 99, "d": {}}, 4001),
        ("no frame", 4002),
        ({"op": 3, "d": 1_501_184_119_561}, 4020),
        ({"op": 0, "d": {"token": "wrong"}}, 4004),
        ({"op": 0, "d": {"server_id": "1"}}, 4011),
        ({"op": 0, "d": {"session_id": "wrong"}}, 4006),
        ({"op": 0, "d": {"user_id": "1"}}, 4004),
        ({"op": 0, "d": {"max_dave_protocol_version": 0}}, 4017),
        ({"op": 7, "d": {"seq_ack": -1}}, 4006),
    ],
)
async def test_a_wrong_message_closes_the_connection(frame: Any, code: int) -> None:
    async with line() as (client, line_there):
        credentials = await client.join(line_there)
        if isinstance(frame, dict) and frame["op"] in (0, 7):
            frame = frame | {"d": credentials | frame["d"]}
        assert await closed(await client.voice(frame)) == code


async def test_an_older_version_and_a_second_identify_are_refused() -> None:
    async with line() as (client, line_there):
        identify = {"op": 0, "d": await client.join(line_there)}
        assert await closed(await client.voice(version="4")) == 4020
        ws = await client.voice(identify, identify)
        assert await closed(ws) == 4005
        assert await closed(await client.voice(identify)) == 4006


@pytest.mark.parametrize(
    ("chosen", "code"),
    [
        ({"protocol": "webrtc"}, 4012),
        ({"data": {"address": "127.0.0.1", "port": 9, "mode": "xsalsa20_poly1305"}}, 4016),
        ({"data": {"address": "127.0.0.1"}}, 4002),
    ],
)
async def test_an_unknown_protocol_is_refused(chosen: dict[str, Any], code: int) -> None:
    async with line() as (client, line_there):
        select = {"protocol": "udp", "data": {}} | chosen
        ws = await client.voice({"op": 0, "d": await client.join(line_there)}, {"op": 1, "d": select})
        assert (await ws.receive_json())["d"]["modes"][-1] == "aead_xchacha20_poly1305_rtpsize"
        assert await closed(ws) == code


async def test_a_missing_heartbeat_and_a_refusal_close_the_connection() -> None:
    async with line() as (client, line_there):
        credentials = await client.join(line_there)
        client.fake.voice.heartbeat = 0.05
        assert await closed(await client.voice()) == 4009
        client.fake.voice.heartbeat = 10.0
        ws = await client.voice({"op": 3, "d": {"t": 7, "seq_ack": -1}})
        assert await ws.receive_json() == {"op": 6, "d": {"t": 7}}
        client.fake.voice.refuses = 4021
        assert await closed(await client.voice({"op": 0, "d": credentials})) == 4021


async def test_a_session_can_be_resumed_with_missed_messages_until_it_expires() -> None:
    async with line() as (client, line_there):
        fake, guild = client.fake, client.guild
        ana = fake.user("Ana")
        guild.join(ana)
        credentials = await client.join(line_there)
        ws = await client.voice({"op": 0, "d": credentials})
        assert (await ws.receive_json())["seq"] == 0
        fake.voice.drop(guild)
        await closed(ws)
        await fake.until(lambda: not fake.voice.sockets)
        fake.voice.enter(ana, line_there)
        await client.event("VOICE_STATE_UPDATE")
        ws = await client.voice({"op": 7, "d": credentials | {"seq_ack": 0}})
        assert await ws.receive_json() == {"op": 9, "d": None}
        assert await ws.receive_json() == {"op": 11, "d": {"user_ids": [str(ana.id)]}, "seq": 1}
        fake.voice.crash(guild)
        assert await closed(ws) == 4015
        ws = await client.voice({"op": 7, "d": credentials | {"seq_ack": 1}})
        assert (await ws.receive_json())["op"] == 9
        fake.voice.crash(guild, resumable=False)
        assert await closed(ws) == 4015
        assert await closed(await client.voice({"op": 7, "d": credentials | {"seq_ack": 1}})) == 4006
        assert fake.voice.resumed == 2
        again = await client.join(line_there)
        assert again["token"] != credentials["token"]
        assert (await (await client.voice({"op": 0, "d": again})).receive_json())["op"] == 2


async def test_the_voice_session_ends_with_the_gateway_session() -> None:
    async with line() as (client, line_there):
        fake = client.fake
        ws = await client.voice({"op": 0, "d": await client.join(line_there)})
        await ws.receive_json()
        await client.gateway.close(code=1000)
        assert await closed(ws) == 4014
        assert fake.voice.place(client.guild) is None


async def test_frames_without_speaking_or_without_a_key_are_violations() -> None:
    async with line() as (client, line_there):
        fake = client.fake
        ws = await client.voice({"op": 0, "d": await client.join(line_there)})
        ready = (await ws.receive_json())["d"]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            udp.setblocking(False)
            udp.connect((ready["ip"], ready["port"]))
            loop = asyncio.get_running_loop()
            await loop.sock_sendall(udp, struct.pack(">HHI", 1, 70, ready["ssrc"]).ljust(74, b"\0"))
            reply = await loop.sock_recv(udp, 100)
            assert len(reply) == 74
            assert reply[8 : reply.index(0, 8)] == b"127.0.0.1"
            port = struct.unpack(">H", reply[-2:])[0]
            assert port == udp.getsockname()[1]
            packet = struct.pack(">BBHII", 0x80, 0x78, 1, 960, ready["ssrc"]) + bytes(40)
            await loop.sock_sendall(udp, packet)
            await fake.until(lambda: fake.voice.violations)
            data = {"address": "127.0.0.1", "port": port, "mode": "aead_aes256_gcm_rtpsize"}
            await ws.send_json({"op": 1, "d": {"protocol": "udp", "data": data}})
            assert (await ws.receive_json())["d"]["dave_protocol_version"] == 1
            await ws.send_json({"op": 5, "d": {"speaking": 1, "delay": 0, "ssrc": ready["ssrc"]}})
            session = fake.voice.session(client.guild)
            assert session is not None
            await fake.until(lambda: session.speaking)
            await loop.sock_sendall(udp, packet)
            await loop.sock_sendall(udp, packet)
            await fake.until(lambda: len(fake.voice.violations) == 3)
        reasons = [violation.partition(": ")[2] for violation in fake.voice.violations]
        assert reasons[0] == "a packet before a protocol was selected"
        assert reasons[1] == "a packet that the session's key does not open"
        assert reasons[2] == "the nonce 00000000 has been used before"
