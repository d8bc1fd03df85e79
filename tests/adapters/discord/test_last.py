"""A question with the channel's newest messages, on Discord."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import discord
import pytest
from discord.abc import _Overwrites

from bot.adapters.discord.received.history import last_messages, pinned_messages
from bot.adapters.discord.received.placing import missing
from bot.events import Request, UserError
from bot.runs.requests import event_id
from tests.adapters.discord.line import Line, line
from tests.adapters.discord.test_listen_on_the_line import hello, seen


@pytest.fixture
async def on(tmp_path: Path) -> AsyncIterator[Line]:
    async with line(tmp_path, defaultdict(lambda: hello), free_chat=True) as made:
        yield made


async def asked(on: Line) -> Request:
    message = await on.discord.say(on.ana, on.channel, "/rules ask Who is right? --last 3", mention=True)
    await seen(on, "Its speed is zero.")
    space = str(on.guild.id)
    request = await on.app.request_of(space, event_id("discord", space, str(message.id)))
    assert request is not None
    assert request.options["last"] == 3
    return request


async def test_the_newest_messages_before_the_question_are_read_with_names(on: Line) -> None:
    for n in range(4):
        await on.discord.say((on.ana, on.bia)[n % 2], on.channel, f"Message {n}.")
    request = await asked(on)
    await on.discord.say(on.bia, on.channel, "That came later.")
    said = await last_messages(on.client, request, 3)
    assert [(message.name, message.text) for message in said] == [
        ("Bia", "Message 1."),
        ("Ana", "Message 2."),
        ("Bia", "Message 3."),
    ]


async def test_embeds_are_read_too(on: Line) -> None:
    await on.discord.say(on.bia, on.channel, "Look:")
    post = await on.discord.say(on.bia, on.channel, "https://rules.example")
    post.embeds.append({"title": "Grappled", "description": "Its speed is 0."})
    request = await asked(on)
    said = await last_messages(on.client, request, 2)
    assert [message.text for message in said] == [
        "Look:",
        "https://rules.example\n\nGrappled\n\nIts speed is 0.",
    ]


async def test_pinned_messages_are_read_the_newest_first(on: Line) -> None:
    for n in range(3):
        message = await on.discord.say((on.ana, on.bia)[n % 2], on.channel, f"Message {n}.")
        message.pinned = n != 1
    request = await asked(on)
    pinned = await pinned_messages(on.client, request)
    assert [(message.name, message.text) for message in pinned] == [
        ("Ana", "Message 2."),
        ("Ana", "Message 0."),
    ]
    on.channel.deny("read_message_history")
    await on.discord.until(lambda: missing(on.client, on.channel.id, "read_message_history"))
    with pytest.raises(UserError, match=r"discord\.history_closed"):
        await pinned_messages(on.client, request)


def overwrite_of(person: int, overwrite: discord.PermissionOverwrite) -> Any:
    allow, deny = overwrite.pair()
    return _Overwrites({"id": person, "type": 1, "allow": str(allow.value), "deny": str(deny.value)})


async def test_people_who_may_not_read_the_history_get_none_of_it(
    on: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    await on.discord.say(on.bia, on.channel, "A secret.")
    request = await asked(on)
    channel = on.client.get_channel(on.channel.id)
    assert isinstance(channel, discord.TextChannel)
    theirs = discord.PermissionOverwrite(read_message_history=False)
    monkeypatch.setattr(channel, "_overwrites", [*channel._overwrites, overwrite_of(on.ana.id, theirs)])
    with pytest.raises(UserError) as caught:
        await last_messages(on.client, request, 3)
    assert caught.value.key == "discord.history_yours"


async def test_without_its_own_permission_the_bot_says_so(on: Line) -> None:
    await on.discord.say(on.bia, on.channel, "A secret.")
    request = await asked(on)
    on.channel.deny("read_message_history")
    await on.discord.until(lambda: missing(on.client, on.channel.id, "read_message_history"))
    with pytest.raises(UserError) as caught:
        await last_messages(on.client, request, 3)
    assert caught.value.key == "discord.history_closed"
