"""Mentions, presses, deletions and the welcome, with the complete client on the fake Discord."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator
from functools import partial
from pathlib import Path

import discord
import pytest

from bot.events import Choice, Choices, Citation, Event, Stage, Text, UserError
from bot.runs.requests import event_id
from bot.work import Run
from tests.adapters.discord.line import Line, line
from tests.adapters.discord.table import answer
from tests.fakes.discord import Channel, Message
from tests.fakes.discord.faults import Fault
from tests.fakes.reply import Gate


async def hello(run: Run) -> AsyncGenerator[Event, None]:
    yield Stage("answer", "Answer")
    yield Text("Its speed is zero. [1]")
    yield Citation(1, "Handbook", "Combat › Grappled", "A grappled creature's speed becomes 0.", 195)


async def endless(run: Run) -> AsyncGenerator[Event, None]:
    yield Stage("answer", "Answer")
    yield Text("It begins.")
    await asyncio.Event().wait()


@pytest.fixture
async def on(tmp_path: Path) -> AsyncIterator[Line]:
    async with line(tmp_path, defaultdict(lambda: hello, {"endless": endless})) as made:
        yield made


def find(messages: list[Message], text: str) -> Message | None:
    return next((message for message in messages if text in message.text and not message.deleted), None)


def button(message: Message, kind: str) -> str | None:
    """The custom_id of the message's button of this kind, or ""."""
    return next(
        (str(button.custom_id) for button in message.buttons if str(button.custom_id).startswith(kind)), None
    )


def inside(where: Channel) -> list[Message]:
    """The messages in a channel and in its threads."""
    return [*where.messages, *(message for thread in where.threads for message in thread.messages)]


def answers(where: Channel) -> list[Message]:
    return [message for message in inside(where) if "Its speed is zero." in message.text]


async def seen(on: Line, text: str, where: Channel | None = None) -> Message:
    """Wait for a message with this text."""
    message = await on.discord.until(lambda: find(inside(where or on.channel), text))
    assert message is not None
    return message


def texts(on: Line, text: str) -> list[Message]:
    """The messages with this text."""
    return [message for message in inside(on.channel) if text in message.text]


def _more_than(on: Line, before: int) -> bool:
    return len(texts(on, "It takes long.")) > before


async def pressable(on: Line, message: Message, kind: str) -> str:
    """Wait for a button of this kind; returns its custom_id."""
    found = await on.discord.until(lambda: button(message, kind))
    assert found is not None
    return found


def running(on: Line, asked: Message) -> bool:
    space = str(on.guild.id)
    live = on.app.runs.of(space, event_id("discord", space, str(asked.id)))
    return live is not None and not live.answered.done()


async def begun(on: Line) -> tuple[Message, Message]:
    """Ask a question; returns the question, and the unfinished answer with its Stop button."""
    asked = await on.discord.say(on.ana, on.channel, "endless", mention=True)
    answer = await seen(on, "It begins.")
    await pressable(on, answer, "stop")
    return asked, answer


async def test_a_mention_is_answered_and_the_bot_is_typing_meanwhile(on: Line) -> None:
    await on.discord.say(on.ana, on.channel, "what is grappled?", mention=True)
    await seen(on, "Its speed is zero.")
    assert any(call.path.endswith("/typing") for call in on.discord.calls)
    assert on.discord.refused == []


async def test_stop_ends_the_answer_and_tells_everybody_in_the_pressers_language(
    on: Line,
) -> None:
    asked, answer = await begun(on)
    pressed = await on.discord.press(on.ana, answer, await pressable(on, answer, "stop"))
    await on.discord.until(lambda: not running(on, asked))
    assert pressed.acked is not None
    await seen(on, "Ana interrompeu isto.")
    await on.discord.until(lambda: button(answer, "stop") is None)
    assert "It begins." in answer.text
    assert on.discord.refused == []


async def test_removing_a_dead_stop_button_does_not_restore_old_text(on: Line) -> None:
    stop = f"stop:{'0' * 32}"
    channel = on.client.get_channel(on.channel.id)
    assert isinstance(channel, discord.TextChannel)
    posted = await channel.send(view=answer("Half an answer", stop))
    shown = await seen(on, "Half an answer")
    # The complete answer arrives during the press.
    on.discord.fail("POST", "/interactions/*/callback", status=200, delay=0.5)
    pressing = asyncio.create_task(on.discord.press(on.ana, shown, stop))
    await posted.edit(view=answer("A whole answer", stop))
    pressed = await pressing
    await on.discord.until(lambda: button(shown, "stop") is None)
    assert shown.text == "A whole answer"
    assert any("Isto já terminou" in message.text for message in pressed.followups)


async def test_deleting_a_question_ends_its_answer(on: Line) -> None:
    asked, answer = await begun(on)
    await on.discord.delete(asked)
    await on.discord.until(lambda: button(answer, "stop") is None)


async def test_a_question_that_is_deleted_at_once_is_not_answered(on: Line) -> None:
    message = await on.discord.say(on.ana, on.channel, "endless", mention=True)
    await on.discord.delete(message)
    await on.discord.say(on.ana, on.channel, "what is grappled?", mention=True)
    await seen(on, "Its speed is zero.")
    past = await on.app.request_of(str(on.guild.id), event_id("discord", str(on.guild.id), str(message.id)))
    assert past is not None
    assert past.text == ""


async def test_messages_that_arrive_together_are_stored_in_order(on: Line) -> None:
    people = [on.discord.user(f"Person {n}") for n in range(30)]
    for one in people:
        on.guild.join(one)
    for n, one in enumerate(people):
        await on.discord.say(one, on.channel, f"question {n}", mention=True)
    await on.discord.until(lambda: len(on.channel.threads) == len(people), seconds=60)
    asked = [json.loads(row.payload)["text"] for row in await on.app.resources.records.inbox._rows()]
    assert asked == [f"question {n}" for n in range(len(people))]


async def test_sources_of_a_real_answer_open_for_the_presser(on: Line) -> None:
    await on.discord.say(on.ana, on.channel, "what is grappled?", mention=True)
    answer = await seen(on, "Its speed is zero.")
    id = await pressable(on, answer, "sources")
    pressed = await on.discord.press(on.bia, answer, id)
    await on.discord.until(lambda: "speed becomes 0" in pressed.text)
    assert pressed.ephemeral
    assert "Handbook › Combat › Grappled, p. 195" in pressed.text


async def test_a_real_private_answer_is_shared_unchanged(on: Line) -> None:
    asked = await on.discord.slash(on.bia, on.channel, "rules ask", question="grappled?", private=True)
    await on.discord.until(lambda: asked.response and button(asked.response, "share"))
    assert asked.response is not None
    assert find(on.channel.messages, "Its speed is zero.") in (None, asked.response)
    await on.discord.press(on.bia, asked.response, str(button(asked.response, "share")))
    shared = await seen(on, "shared by Bia")
    assert "Its speed is zero." in shared.text
    assert shared.mentions == []
    await on.discord.until(lambda: asked.response and button(asked.response, "share") is None)
    assert "Its speed is zero." in asked.text


async def test_a_guest_shares_in_the_response_to_the_press(on: Line) -> None:
    guild = on.discord.guild("Elsewhere", bot=False)
    channel = guild.text("general")
    guild.join(on.bia)
    asked = await on.discord.slash(
        on.bia, channel, "rules ask", question="grappled?", private=True, guest=True
    )
    await on.discord.until(lambda: asked.response and button(asked.response, "share"))
    assert asked.response is not None
    pressed = await on.discord.press(on.bia, asked.response, await pressable(on, asked.response, "share"))
    shared = await seen(on, "shared by Bia", channel)
    assert "Its speed is zero." in shared.text
    assert shared.only_for is None
    await on.discord.until(lambda: any("Shared here." in message.text for message in pressed.followups))
    assert on.discord.refused == []


async def test_retry_of_a_stopped_answer_asks_it_again(on: Line) -> None:
    _, answer = await begun(on)
    await on.discord.press(on.ana, answer, await pressable(on, answer, "stop"))
    id = await pressable(on, answer, "retry")
    pressed = await on.discord.press(on.bia, answer, id)
    (thread,) = on.channel.threads

    def retried() -> Message | None:
        return find([message for message in thread.messages if message is not answer], "It begins.")

    again = await on.discord.until(retried)
    assert again is not None
    assert pressed.acked is not None
    await pressable(on, again, "stop")
    assert "Stopped" in answer.text


async def test_a_redelivered_mention_is_answered_once(on: Line) -> None:
    await on.discord.say(on.ana, on.channel, "", mention=True)
    await on.discord.until(lambda: find(on.channel.messages, "/ajuda") or find(on.channel.messages, "/help"))
    before = len(on.channel.messages)
    await on.discord.replay(5)
    await on.discord.connected()
    await on.discord.say(on.ana, on.channel, "what is grappled?", mention=True)
    await seen(on, "Its speed is zero.")
    assert len([message for message in on.channel.messages[before:] if "/help" in message.text]) == 0


async def test_a_reply_with_hidden_text_gets_a_hint_how_to_address_the_bot(on: Line) -> None:
    await on.discord.say(on.ana, on.channel, "what is grappled?", mention=True)
    answer = await seen(on, "Its speed is zero.")
    await on.discord.say(on.ana, on.channel.threads[0], "and prone?", reply_to=answer, ping=False)
    await seen(on, "only when you mention me")


async def test_a_reply_with_its_ping_is_answered(on: Line) -> None:
    await on.discord.say(on.ana, on.channel, "what is grappled?", mention=True)
    answer = await seen(on, "Its speed is zero.")
    await on.discord.say(on.ana, on.channel.threads[0], "and prone?", reply_to=answer)
    await on.discord.until(lambda: len(answers(on.channel)) == 2)


async def test_in_free_chat_people_may_reply_to_each_other_without_a_ping(tmp_path: Path) -> None:
    async with line(tmp_path, defaultdict(lambda: hello), free_chat=True) as on:
        await on.discord.slash(on.bia, on.channel, "rules ask", question="what is grappled?")
        await on.discord.until(lambda: on.channel.threads)
        (thread,) = on.channel.threads
        await seen(on, "Its speed is zero.", thread)
        hers = await on.discord.say(on.bia, thread, "// I knew it")
        await on.discord.say(on.ana, thread, "you did not", reply_to=hers, ping=False)
        await on.discord.say(on.ana, thread, "and prone?")
        await on.discord.until(lambda: len(answers(thread)) == 2)
        for said in (hers, *[message for message in thread.messages if message.text == "you did not"]):
            space = str(on.guild.id)
            assert await on.app.request_of(space, event_id("discord", space, str(said.id))) is None


async def test_a_new_server_is_welcomed_in_its_language(on: Line) -> None:
    guild = on.discord.guild("Mesa", bot=False, locale="pt-BR")
    channel = guild.text("geral")
    guild.home = True
    guild.join(on.discord.world.bot)
    joined = guild.create_payload()
    del joined["unavailable"]  # the event that says that a known server is available again
    on.discord.world.emit("GUILD_CREATE", joined, guild=guild)
    welcome = await seen(on, "Olá!", channel)
    assert welcome.text.count("\n- ") == 3


async def test_removing_the_bot_from_a_server_stops_its_runs_there(on: Line) -> None:
    asked, _ = await begun(on)
    assert running(on, asked)
    on.discord.kick(on.guild)
    await on.discord.until(lambda: not running(on, asked))


async def test_a_press_without_effect_is_explained_to_the_presser_alone(tmp_path: Path) -> None:
    """Also one that has waited visibly in the queue; and by direct message if the press is too old."""
    go_on = asyncio.Event()

    async def offers(run: Run) -> AsyncGenerator[Event, None]:
        yield Stage("answer", "Answer")
        yield Text("Which way?")
        yield Choices("", (Choice("Down", "/rules ask refused"),))

    async def slow(run: Run) -> AsyncGenerator[Event, None]:
        yield Stage("answer", "Answer")
        yield Text("It takes long.")
        await go_on.wait()

    async def refused(run: Run) -> AsyncGenerator[Event, None]:
        if run.request.text:
            raise UserError("story.gone_on")
        yield Text("")

    async with line(tmp_path, {"offers": offers, "slow": slow, "refused": refused}) as on:
        await on.discord.say(on.ana, on.channel, "offers", mention=True)
        offered = await seen(on, "Which way?")
        down, (thread,) = await pressable(on, offered, "choice"), on.channel.threads
        for waits, expires in ((False, False), (True, False), (True, True)):
            go_on.clear()
            if waits:
                before = len(texts(on, "It takes long."))
                await on.discord.say(on.ana, thread, "slow", mention=True)
                await on.discord.until(partial(_more_than, on, before))
            pressed = await on.discord.press(on.bia, offered, down)
            if waits:
                await seen(on, "Number 2")
                if expires:
                    await on.discord.expire(pressed)
                go_on.set()
            told = partial(
                getattr, on.discord.dm(on.bia) if expires else pressed, "messages" if expires else "followups"
            )
            await on.discord.until(told)
            (message,) = told()
            assert message.ephemeral is not expires
            assert (f"<#{thread.id}>" in message.text) is expires
            assert "has moved on" in message.text
            await on.discord.until(lambda: find(inside(on.channel), "Number 2") is None)
            public = [message for message in inside(on.channel) if not (message.ephemeral or message.deleted)]
            assert not [message for message in public if "moved on" in message.text]
            assert button(offered, "choice"), "the pressed message stays as it is"
        assert [refusal for refusal in on.discord.refused if "50027" not in str(refusal)] == []


async def test_adding_a_link_does_not_restore_withdrawn_words(on: Line) -> None:
    """The line that names the asker gets its link while the question is being withdrawn."""
    opens, links, space = Gate(), Gate(), str(on.guild.id)
    on.discord.faults.waiting.append(Fault("POST", "/channels/*/threads", 200, gate=opens))
    asked = await on.discord.slash(on.bia, on.channel, "rules ask", question="what is grappled?")
    await opens.reached.wait()
    on.discord.faults.waiting.append(Fault("PATCH", "/webhooks/*", 200, gate=links))
    opens.set()
    await links.reached.wait()
    run, line = event_id("discord", space, str(asked.id)), asked.response
    assert line is not None
    assert "what is grappled?" in line.text
    await on.app.ended(run)
    assert await on.app.forget(space, run)
    waiting = on.client.lines.lock(run)
    await on.discord.until(lambda: "grappled" not in line.text or waiting._waiters)
    links.set()
    async with asyncio.timeout(60):
        while await on.app.records.unshown.all():  # noqa: ASYNC110 - a database tells nobody
            await asyncio.sleep(0.02)
    assert "grappled" not in line.text
    assert on.discord.refused == []
