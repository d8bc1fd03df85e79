"""The bot's permissions on the fake Discord, by its role and by the channel's settings."""

from __future__ import annotations

import io
from typing import Any

import discord
import pytest

from tests.wire.small_bot import table


@pytest.mark.parametrize(
    ("permission", "body", "code"),
    [
        ("VIEW_CHANNEL", {"content": "x"}, 50001),
        ("SEND_MESSAGES", {"content": "x"}, 50013),
        ("EMBED_LINKS", {"embeds": [{"title": "x"}]}, 50013),
        ("READ_MESSAGE_HISTORY", {"content": "x", "message_reference": "said"}, 160002),
    ],
)
@pytest.mark.parametrize("where", ["the channel", "the guild"])
async def test_forbidden_requests_are_refused(
    permission: str, body: dict[str, Any], code: int, where: str
) -> None:
    async with table() as t:
        message = await t.fake.say(t.ana, t.channel, "x")
        if "message_reference" in body:
            body = body | {"message_reference": {"message_id": str(message.id)}}
        await t.post(t.channel, **body)
        if where == "the channel":
            t.channel.deny(permission)
        else:
            t.guild.forbid(permission)
        await t.refused(code, "POST", f"/channels/{t.channel.id}/messages", body, status=403)
        if where == "the channel":
            t.channel.allow(permission)
            await t.post(t.channel, **body)


async def test_the_client_computes_the_same_permissions() -> None:
    async with table() as t:
        t.channel.deny("ATTACH_FILES")
        seen = t.bot.get_channel(t.channel.id)
        assert isinstance(seen, discord.TextChannel)
        await t.fake.until(lambda: not seen.permissions_for(seen.guild.me).attach_files)
        # For a text channel, the client omits voice permissions.
        voices = discord.Permissions.voice().value
        assert seen.permissions_for(seen.guild.me).value | voices == t.channel.permissions | voices
        with pytest.raises(discord.Forbidden):
            await seen.send(file=discord.File(io.BytesIO(b"x"), "x.txt"))


async def test_a_person_who_blocks_direct_messages_gets_none() -> None:
    async with table() as t:
        dm = t.fake.dm(t.ana)
        opened = await t.bot.raw("POST", "/users/@me/channels", {"recipient_id": str(t.ana.id)})
        assert int(opened["id"]) == dm.id
        await t.post(dm, content="hi")
        dm.closed = True
        await t.refused(50007, "POST", f"/channels/{dm.id}/messages", {"content": "hi"}, status=403)
