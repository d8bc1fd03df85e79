"""Which messages on Discord are for the bot, and which requests they become."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import discord
import pytest
from simcord.builders import ChannelHandle
from simcord.enums import MessageType

from bot.adapters.discord.received.messages import Listener
from bot.adapters.intake import HINTS
from bot.config import DiscordConfig
from bot.events import Event, Place, Text
from bot.work import Run
from tests.adapters.discord.table import Table, table
from tests.fakes.images import png


async def hello(run: Run) -> AsyncGenerator[Event, None]:
    yield Text("hello")


def opened(data: Path, settings: DiscordConfig | None = None) -> AbstractAsyncContextManager[Table]:
    return table(data, defaultdict(lambda: hello), settings)


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Table]:
    """A table without the Message Content intent, as for most bots."""
    async with opened(tmp_path) as made:
        yield made


@pytest.fixture
async def chatty(tmp_path: Path) -> AsyncIterator[Table]:
    """A table with the Message Content intent."""
    async with opened(tmp_path, DiscordConfig(free_chat=True)) as made:
        yield made


def me(at: Table) -> str:
    assert at.client.user is not None
    return at.client.user.mention


async def bots_message(at: Table, where: ChannelHandle) -> discord.Message:
    channel = at.client.get_channel(where.id)
    assert isinstance(channel, discord.abc.Messageable)
    return await channel.send("An answer")


async def test_a_mention_is_asked_without_the_mention(at: Table) -> None:
    await at.ana.send(at.channel, f"{me(at)}, what about   grappling?")
    await at.ana.send(at.channel, f"Say {me(at)} what is prone?")
    assert await at.asked() == ["/rules ask what about   grappling?", "/rules ask Say what is prone?"]


async def test_a_mention_may_contain_a_line_with_a_slash(at: Table) -> None:
    await at.ana.send(at.channel, f"{me(at)} /rules lookup Grappled")
    assert await at.asked() == ["/rules lookup Grappled"]


async def test_mentions_of_other_people_become_names(at: Table) -> None:
    bia = at.guild.add_member(at.env.create_user("Bia"))
    await at.ana.send(at.channel, f"{me(at)} may {bia.mention} do that in {at.channel.mention}?")
    assert await at.asked() == ["/rules ask may @Bia do that in #general?"]


async def test_a_direct_message_is_always_for_the_bot(at: Table) -> None:
    await at.ana.user.send_dm("what is prone?")
    (run,) = at.recorder.events
    request = await at.app.request_of(f"user:{at.ana.id}", run)
    assert request is not None
    assert request.text == "what is prone?"


async def test_plain_messages_and_mentions_of_roles_or_everyone_are_not_for_the_bot(at: Table) -> None:
    role = at.guild.create_role("Players")
    for said in ("hello all", "@everyone hello", f"{role.mention} hello"):
        await at.ana.send(at.channel, said)
    assert await at.asked() == []
    assert len(at.said()) == 3


async def test_replies_to_the_bot_are_for_it_and_replies_to_others_are_not(chatty: Table) -> None:
    mine = await bots_message(chatty, chatty.channel)
    theirs = await chatty.ana.send(chatty.channel, "I think so")
    await chatty.ana.send(chatty.channel, "and prone?", reply_to=mine)
    await chatty.ana.send(chatty.channel, "no, not that", reply_to=theirs)
    assert await chatty.asked() == ["/rules ask and prone?"]


async def test_messages_of_bots_webhooks_and_discord_are_ignored(chatty: Table) -> None:
    other = chatty.guild.add_member(chatty.env.create_user("Other", bot=True))
    await other.send(chatty.channel, f"{me(chatty)} hello")
    await chatty.guild.create_webhook(chatty.channel).send(f"{me(chatty)} hello")
    chatty.guild.create_system_message(
        chatty.channel, MessageType.PREMIUM_GUILD_SUBSCRIPTION, author=chatty.ana
    )
    assert await chatty.asked() == []


async def test_an_empty_mention_is_answered_with_an_example(at: Table) -> None:
    await at.ana.send(at.channel, me(at))
    assert await at.asked() == []
    assert "For example" in at.said()[-1]


async def test_hints_for_empty_mentions_are_limited(at: Table) -> None:
    for _ in range(HINTS + 3):
        await at.ana.send(at.channel, me(at))
    assert len([text for text in at.said() if "For example" in text]) == HINTS


async def test_with_free_chat_every_message_that_addresses_nobody_else_is_for_the_bot(
    chatty: Table,
) -> None:
    thread = await chatty.thread(free_chat=True)
    bia = chatty.guild.add_member(chatty.env.create_user("Bia"))
    hers = await bia.send(thread, "can a grappled creature cast?")
    for aside in ("// brb", "((brb))", f"{bia.mention} your turn", "@everyone pizza"):
        await chatty.ana.send(thread, aside)
    await chatty.ana.send(thread, "I thought so", reply_to=hers)
    await chatty.ana.send(thread, "and prone?")
    assert await chatty.asked() == ["/rules ask can a grappled creature cast?", "/rules ask and prone?"]
    requests = [await chatty.app.request_of(chatty.space, run) for run in chatty.recorder.events]
    assert {(request.place.channel, request.place.thread) for request in requests if request} == {
        (str(chatty.channel.id), "talk")
    }


async def test_without_free_chat_only_messages_that_address_the_bot_are_for_it(chatty: Table) -> None:
    thread = await chatty.thread()
    await chatty.ana.send(thread, "and prone?")
    await chatty.ana.send(thread, f"{me(chatty)} and blinded?")
    assert await chatty.asked() == ["/rules ask and blinded?"]


async def test_a_thread_without_its_own_choice_follows_its_channels_setting(chatty: Table) -> None:
    thread = await chatty.thread(free_chat=None)
    settings, place = (
        chatty.app.resources.settings,
        Place("discord", chatty.space, str(chatty.channel.id), "talk"),
    )
    await chatty.ana.send(thread, "and prone?")
    await settings.set(place, "bia", "free_chat", "off", "space")
    await chatty.ana.send(thread, "and blinded?")
    await settings.set(place, "bia", "free_chat", "on", "channel")
    await chatty.ana.send(thread, "and charmed?")
    await chatty.app.resources.records.threads.set_free_chat(chatty.space, str(thread.id), False)
    await chatty.ana.send(thread, "and deafened?")
    assert await chatty.asked() == ["/rules ask and prone?", "/rules ask and charmed?"]


async def test_messages_in_other_peoples_threads_are_ignored(chatty: Table) -> None:
    channel = chatty.client.get_channel(chatty.channel.id)
    assert isinstance(channel, discord.TextChannel)
    await channel.create_thread(name="Theirs", type=discord.ChannelType.public_thread)
    await chatty.ana.send(chatty.channel.threads[0], "and prone?")
    assert await chatty.asked() == []


async def test_without_the_intent_the_bot_explains_once_how_to_address_it(at: Table) -> None:
    thread = await at.thread(free_chat=True)
    for said in ("and prone?", "hello?"):
        await at.ana.send(thread, said)
    assert await at.asked() == []
    hints = [text for text in at.said(thread) if "only when you mention me" in text]
    assert len(hints) == 1
    await at.restart()
    await at.ana.send(thread, "hello??")
    assert len([text for text in at.said(thread) if "only when you mention me" in text]) == 1


async def test_a_mention_in_the_bots_thread_continues_its_conversation(at: Table) -> None:
    thread = await at.thread()
    await at.ana.send(thread, f"{me(at)} and prone?")
    (run,) = at.recorder.events
    request = await at.app.request_of(at.space, run)
    assert request is not None
    assert (request.place.channel, request.place.thread) == (str(at.channel.id), "talk")


async def test_a_book_with_a_mention_gets_a_hint_how_to_add_it(at: Table) -> None:
    await at.ana.send(at.channel, me(at), attachments=[("srd.md", b"# Grappled")])
    assert await at.asked() == []
    assert "srd.md" in at.said()[-1]
    assert "/library add" in at.said()[-1]


async def test_a_book_with_a_question_is_passed_on(at: Table) -> None:
    await at.ana.send(at.channel, f"{me(at)} what is prone?", attachments=[("srd.md", b"# Grappled")])
    (run,) = at.recorder.events
    request = await at.app.request_of(at.space, run)
    assert request is not None
    assert [file.name for file in request.files] == ["srd.md"]
    assert at.said()[1:] == []
    await at.ana.send(at.channel, f"{me(at)} /rules books", attachments=[("srd.md", b"# Grappled")])
    assert "/library add" in at.said()[-1]


async def test_a_picture_is_passed_on_with_a_question_and_is_no_question_itself(at: Table) -> None:
    for line in ("", " /rules ask"):
        await at.ana.send(at.channel, me(at) + line, attachments=[("rune.png", png())])
        assert await at.asked() == []
        assert "example" in at.said()[-1]
    await at.ana.send(at.channel, f"{me(at)} what does it do?", attachments=[("rune.png", png())])
    (run,) = at.recorder.events
    request = await at.app.request_of(at.space, run)
    assert request is not None
    assert (request.text, [file.name for file in request.files]) == ("what does it do?", ["rune.png"])


async def test_a_book_with_a_line_that_adds_it_is_passed_on(at: Table) -> None:
    admin = at.guild.create_role("Keepers", permissions=discord.Permissions(manage_guild=True))
    bia = at.guild.add_member(at.env.create_user("Bia"), roles=[admin])
    line = f"{me(at)} /library add --shelf rules"
    await bia.send(at.channel, line, attachments=[("srd.md", b"# Grappled")])
    (run,) = at.recorder.events
    request = await at.app.request_of(at.space, run)
    assert request is not None
    assert (request.verb, [file.name for file in request.files]) == ("add", ["srd.md"])
    assert not any("answer from srd.md" in text for text in at.said())


async def test_messages_where_the_bot_may_not_write_are_ignored(at: Table) -> None:
    assert at.client.user is not None
    muted = discord.PermissionOverwrite(send_messages=False)
    channel = at.guild.create_text_channel("news", overwrites={at.client.user: muted})
    await at.ana.send(channel, f"{me(at)} what is prone?")
    assert await at.asked() == []


async def test_the_same_message_delivered_twice_is_asked_once(at: Table) -> None:
    message = await at.ana.send(at.channel, f"{me(at)} what is prone?")
    await Listener(at.client).on_message(message)
    assert await at.asked() == ["/rules ask what is prone?"]


async def test_replies_to_unknown_commands_are_limited(at: Table) -> None:
    for _ in range(HINTS + 3):
        await at.ana.send(at.channel, f"{me(at)} /rules fathom")
    assert len(at.said()) == (HINTS + 3) + HINTS


async def test_hints_about_books_are_limited(at: Table) -> None:
    for _ in range(HINTS + 3):
        await at.ana.send(at.channel, me(at), attachments=[("srd.md", b"# Grappled")])
    assert len([text for text in at.said() if "answer from srd.md" in text]) == HINTS


async def test_a_server_that_invites_the_bot_again_while_it_is_off_keeps_its_data(
    at: Table,
) -> None:
    departures = at.app.records.departures
    for space in (at.space, "404"):
        await departures.note_departure(space)
    await at.restart()
    await at.env.settle()
    assert await departures.spaces() == ["404"]
