"""A message to the bot includes the message that it replies to, links or forwards, or its thread's first one."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import discord
import pytest
from simcord.builders import ChannelHandle

from bot.adapters.discord.received.brought import LINKS
from bot.adapters.discord.received.history import linked_thread
from bot.adapters.discord.received.placing import origin_of
from bot.config import DiscordConfig
from bot.conversation import read_along
from bot.events import Event, Request, Text, UserError
from bot.runs.requests import event_id
from bot.words import words
from bot.work import Run
from tests.adapters.discord.line import line
from tests.adapters.discord.table import Table, table
from tests.adapters.discord.test_last import overwrite_of
from tests.adapters.discord.test_listen_on_the_line import seen
from tests.fakes.discord import Message
from tests.fakes.discord.faults import Fault
from tests.fakes.images import png
from tests.fakes.reply import Gate

RULE = "A grappled creature's speed becomes 0."
QUOTED = f"> {RULE}"


async def hello(run: Run) -> AsyncGenerator[Event, None]:
    yield Text("hello")


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Table]:
    """With the Message Content intent."""
    settings = DiscordConfig(free_chat=True)
    async with table(tmp_path, defaultdict(lambda: hello), settings) as made:
        yield made


def me(at: Table) -> str:
    assert at.client.user is not None
    return at.client.user.mention


async def requests(at: Table, space: str = "") -> list[Request]:
    past = [await at.app.request_of(space or at.space, run) for run in at.recorder.events]
    return [request for request in past if request is not None]


def link(at: Table, message: discord.Message) -> str:
    return f"https://discord.com/channels/{at.guild.id}/{message.channel.id}/{message.id}"


async def test_a_reply_includes_the_text_and_files_of_the_other_message(at: Table) -> None:
    bia = at.guild.add_member(at.env.create_user("Bia"))
    said = await bia.send(at.channel, RULE, attachments=[("map.png", png(8, 8))])
    asked = await at.ana.send(at.channel, f"{me(at)} is that so?", reply_to=said)
    await at.ana.send(at.channel, me(at), reply_to=said)
    await at.ana.send(at.channel, f"{me(at)} /rules roll 1d6", reply_to=said)
    first, alone, rolled = await requests(at)
    assert (first.text, [file.name for file in first.files]) == (f"is that so?\n\n{QUOTED}", ["map.png"])
    assert (alone.text, [file.name for file in alone.files]) == (QUOTED, ["map.png"])
    assert (rolled.text, rolled.files) == ("1d6", ())

    await at.ana.edit(asked, f"{me(at)} is that really so?")
    assert (await requests(at))[0].text == f"is that really so?\n\n{QUOTED}"


async def test_the_bots_own_messages_are_not_included(at: Table) -> None:
    channel = at.client.get_channel(at.channel.id)
    assert isinstance(channel, discord.TextChannel)
    await at.ana.send(at.channel, f"{me(at)} and then?", reply_to=await channel.send("An answer"))
    assert [request.text for request in await requests(at)] == ["and then?"]


async def test_a_linked_message_is_included_if_the_person_may_read_it(at: Table) -> None:
    bia = at.guild.add_member(at.env.create_user("Bia"))
    nobody = discord.PermissionOverwrite(view_channel=False)
    secret = at.guild.create_text_channel("secret", overwrites={at.ana: nobody})
    open_to_all = at.guild.create_text_channel("rules")
    other_guild = at.env.create_guild()
    other = other_guild.create_text_channel("general")
    stranger = other_guild.add_member(at.env.create_user("Caio"))
    hidden, shown = await bia.send(secret, "The heir is Mira."), await bia.send(open_to_all, RULE)
    foreign = await stranger.send(other, "Of another server.")
    for message in (hidden, foreign, shown):
        where = link(at, message).replace(str(at.guild.id), str(message.guild.id if message.guild else 0))
        await at.ana.send(at.channel, f"{me(at)} what of {where}?")
    # A link with this server's id and another server's channel.
    await at.ana.send(at.channel, f"{me(at)} what of {link(at, foreign)}?")
    asked = await requests(at)
    texts = [request.text for request in asked]
    assert [[quoted.refused or quoted.where for quoted in request.quoted] for request in asked] == [
        ["thread.link_closed"],
        ["thread.link_elsewhere"],
        ["#rules"],
        ["thread.link_closed"],
    ]
    assert [("Mira" in text, "another server" in text, QUOTED in text) for text in texts] == [
        (False, False, False),
        (False, False, False),
        (False, False, True),
        (False, False, False),
    ]


async def test_a_forwarded_message_is_a_question_in_a_thread_and_in_a_direct_message(at: Table) -> None:
    bia = at.guild.add_member(at.env.create_user("Bia"))
    said = await bia.send(at.channel, RULE)
    await at.ana.forward(said, await at.thread(free_chat=True))
    assert [request.text for request in await requests(at)] == [QUOTED]
    await at.ana.user.send_dm(
        reference={"type": 1, "channel_id": str(at.channel.id), "message_id": str(said.id)}
    )
    assert [request.text for request in await asked_directly(at)] == [QUOTED]


async def asked_directly(at: Table) -> list[Request]:
    return await requests(at, f"user:{at.ana.id}")


async def test_embeds_are_included(at: Table) -> None:
    embed = {"title": "Grappled", "description": RULE, "fields": [{"name": "Ends", "value": "When let go."}]}
    bia = at.guild.add_member(at.env.create_user("Bia"))
    shown = at.env.backend.create_message(at.channel.id, bia.id, "https://rules.example", embeds=[embed])
    channel = at.client.get_channel(at.channel.id)
    assert isinstance(channel, discord.TextChannel)
    told = "> Grappled\n>\n> A grappled creature's speed becomes 0.\n>\n> Ends\n> When let go."
    said = await channel.fetch_message(shown.id)
    await at.ana.send(at.channel, f"{me(at)} is that so?", reply_to=said)
    assert [request.text for request in await requests(at)] == [
        f"is that so?\n\n> https://rules.example\n>\n{told}"
    ]
    await at.ana.user.send_dm("What is this? https://rules.example", embeds=[embed])
    assert [request.text for request in await asked_directly(at)] == [
        f"What is this? https://rules.example\n\n{told}"
    ]


async def opened_from(at: Table, message: discord.Message) -> ChannelHandle:
    channel = at.client.get_channel(at.channel.id)
    assert isinstance(channel, discord.TextChannel)
    thread = await channel.get_partial_message(message.id).create_thread(name="About that")
    return next(handle for handle in at.channel.threads if handle.id == thread.id)


async def test_the_first_question_in_a_thread_includes_the_threads_starter_message(at: Table) -> None:
    bia = at.guild.add_member(at.env.create_user("Bia"))
    thread = await opened_from(at, await bia.send(at.channel, RULE))
    asked = await at.ana.send(thread, f"{me(at)} is that so?")
    await at.ana.send(thread, f"{me(at)} and when prone?")
    assert [request.text for request in await requests(at)] == [f"is that so?\n\n{QUOTED}", "and when prone?"]
    await at.ana.edit(asked, f"{me(at)} is it?")
    assert (await requests(at))[0].text == f"is it?\n\n{QUOTED}"


async def test_the_bots_role_counts_as_the_bot_and_an_unreadable_message_is_named(tmp_path: Path) -> None:
    """Without the Message Content intent, Discord hides the content of other people's messages."""
    async with line(tmp_path / "with", defaultdict(lambda: hello), free_chat=True) as on:
        await on.discord.say(on.ana, on.channel, f"<@&{on.guild.bot_role}> what is prone?")
        (thread,) = await on.discord.until(lambda: on.channel.threads)
        await on.discord.until(lambda: on.ana.id in thread.people)
        assert "what is prone?" in thread.name
        await on.discord.say(on.ana, on.channel, f"<@&{on.guild.id + 2}> what is prone?")
        assert len(on.channel.threads) == 1, "another role"
    async with line(tmp_path / "without", defaultdict(lambda: hello)) as on:
        rule = await on.discord.say(on.bia, on.channel, RULE)

        def told() -> int:
            return sum("*Ask about this message*" in message.text for message in on.channel.messages)

        await on.discord.say(on.ana, on.channel, "", mention=True, reply_to=rule)
        await on.discord.until(lambda: told() == 1)
        await on.discord.say(on.ana, on.channel, "/rules ask Is that so?", mention=True, reply_to=rule)
        (thread,) = await on.discord.until(lambda: on.channel.threads)
        await on.discord.until(lambda: told() == 2 and on.ana.id in thread.people)


async def test_the_answer_shows_its_sources_and_names_what_was_not_read(tmp_path: Path) -> None:
    async with line(tmp_path, defaultdict(lambda: noted), free_chat=True) as on:
        rules, general = on.guild.text("rules"), on.channel
        rule, gone = [await on.discord.say(on.bia, rules, text) for text in (RULE, "Of no use.")]
        await on.discord.delete(gone)
        links = [
            f"https://discord.com/channels/{on.guild.id}/{message.channel.id}/{message.id}"
            for message in (rule, gone)
        ]
        elsewhere = f"https://discord.com/channels/{on.guild.id + 77}/{rules.id}/{rule.id}"
        await on.discord.say(on.ana, general, f"{elsewhere} {' '.join(links)} {links[0]}9", mention=True)
        answer = await seen(on, "hello")
        now = f"{rule_time(rule):%H:%M} UTC"
        assert f"Read with: #rules, Bia, {now}." in answer.text
        assert "I did not read a linked message, because it was deleted." in answer.text
        assert "I only read messages of the server where you ask." in answer.text
        assert "I read at most 3 linked messages with a question, so I left out one." in answer.text


def rule_time(message: Message) -> datetime:
    return discord.utils.snowflake_time(message.id)


async def noted(run: Run) -> AsyncGenerator[Event, None]:
    yield Text("hello")
    for notice in read_along(run.request, (), words("en")):
        yield notice


async def test_the_run_reads_a_linked_thread_with_the_askers_rights(tmp_path: Path) -> None:
    async with line(tmp_path, defaultdict(lambda: noted), free_chat=True) as on:
        rules = on.guild.text("rules")
        root = await on.discord.say(on.bia, rules, RULE)
        channel = await on.discord.until(lambda: on.client.get_channel(rules.id))
        assert isinstance(channel, discord.TextChannel)
        made = await channel.get_partial_message(root.id).create_thread(name="Grappling")
        (thread,) = rules.threads
        for n in range(30):
            await on.discord.say((on.bia, on.ana)[n % 2], thread, f"Message {n}.")
        link = f"https://discord.com/channels/{on.guild.id}/{thread.id}"
        asked = await on.discord.say(on.ana, on.channel, f"Sum up {link}", mention=True)
        await seen(on, "hello")
        space = str(on.guild.id)
        request = await on.app.request_of(space, event_id("discord", space, str(asked.id)))
        assert request is not None
        assert request.text.endswith(QUOTED), "the message that the thread was opened from"
        assert [(each.where, each.thread) for each in request.quoted] == [
            ("#rules", ""),
            ("#Grappling", str(made.id)),
        ]
        read = await linked_thread(on.client, request, str(thread.id), 20)
        assert [message.text for message in read.messages] == [f"Message {n}." for n in range(10, 30)]
        assert (read.messages[-1].name, read.total) == ("Ana", 30)
        stranger = replace(origin_of(request.origin), guild=on.guild.id + 1).to_json()
        elsewhere = replace(request, origin=stranger)
        for asker, id in ((elsewhere, thread.id), (request, rules.id), (request, 77)):
            with pytest.raises(UserError, match=r"thread\.link_closed"):
                await linked_thread(on.client, asker, str(id), 5)
        nobody = channel.overwrites_for(channel.guild.default_role)
        hers = discord.PermissionOverwrite(view_channel=False)
        channel._overwrites.append(overwrite_of(on.ana.id, hers))
        assert nobody.view_channel is not False
        with pytest.raises(UserError, match=r"thread\.link_closed"):
            await linked_thread(on.client, request, str(thread.id), 5)
        await on.discord.say(on.ana, on.channel, f"Sum up {link}", mention=True)
        refused = await seen(on, "because you or I cannot read it here")
        assert "Message 29" not in refused.text


async def test_a_link_in_a_command_is_read_with_the_askers_rights(tmp_path: Path) -> None:
    async with line(tmp_path, defaultdict(lambda: noted), free_chat=True) as on:
        rules = on.guild.text("rules")
        rule = await on.discord.say(on.bia, rules, RULE)
        link = f"https://discord.com/channels/{on.guild.id}/{rules.id}/{rule.id}"
        asked = await on.discord.slash(on.bia, on.channel, "rules ask", question=f"Is it so? {link}")
        await seen(on, "Read with: #rules, Bia")
        space = str(on.guild.id)
        request = await on.app.request_of(space, event_id("discord", space, str(asked.id)))
        assert request is not None
        assert request.text == f"Is it so? {link}\n\n{QUOTED}"
        elsewhere = link.replace(space, "77")
        await on.discord.slash(on.bia, on.channel, "rules ask", question=f"Is it so? {elsewhere}")
        refused = await seen(on, "I only read messages of the server where you ask")
        assert RULE not in refused.text


async def test_messages_are_fetched_concurrently_and_included_in_order(tmp_path: Path) -> None:
    async with line(tmp_path, defaultdict(lambda: hello), free_chat=True) as on:
        places = [on.guild.text(f"rules-{n}") for n in range(LINKS)]
        rules = [await on.discord.say(on.bia, place, f"Rule {n}.") for n, place in enumerate(places)]
        held = [Gate() for _ in rules]
        on.discord.faults.waiting += [
            Fault("GET", f"/channels/{place.id}/messages/*", 200, gate=gate)
            for place, gate in zip(places, held, strict=True)
        ]
        links = [f"https://discord.com/channels/{on.guild.id}/{rule.channel.id}/{rule.id}" for rule in rules]
        asking = asyncio.create_task(on.discord.say(on.ana, on.channel, " ".join(links), mention=True))
        async with asyncio.timeout(60):
            for gate in reversed(held):  # fetched one after another, they would exceed the time limit
                await gate.reached.wait()
        for gate in reversed(held):
            gate.set()
        asked = await asking
        await on.discord.until(lambda: on.channel.threads)
        space = str(on.guild.id)
        request = await on.app.request_of(space, event_id("discord", space, str(asked.id)))
        assert request is not None
        assert request.text.endswith("\n\n".join(f"> Rule {n}." for n in range(LINKS)))
