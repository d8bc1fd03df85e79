"""Channel settings on Discord decide where answers go and which messages are for the bot."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.admin_budgets import setting_of
from bot.budget import unknown
from bot.events import Place
from bot.llm.completion import Usage
from bot.runs.requests import event_id
from bot.settings import (
    ANSWERS,
    EVERYTHING,
    IN_CHANNEL,
    IN_PRIVATE,
    INSTRUCTION,
    LISTENS,
    MENTIONS,
    SILENT,
    UNANSWERED,
    WORKS,
)
from tests.adapters.discord.line import Line, line
from tests.adapters.discord.test_listen_on_the_line import answers, hello, seen, texts
from tests.adapters.slack.test_channel_settings import shelve
from tests.fakes.discord import Channel


@pytest.fixture
async def on(tmp_path: Path) -> AsyncIterator[Line]:
    async with line(tmp_path, defaultdict(lambda: hello), free_chat=True) as made:
        yield made


async def put(on: Line, name: str, value: str) -> None:
    place = Place("discord", str(on.guild.id), str(on.channel.id), "")
    await on.app.settings.set(place, str(on.bia.id), name, value, "channel")


def root(channel: Channel) -> list[str]:
    """The bot's messages outside threads."""
    return [message.text for message in channel.messages if message.author.bot and not message.deleted]


async def test_answers_go_to_the_channel_itself_where_it_is_set_so(on: Line) -> None:
    await put(on, ANSWERS, IN_CHANNEL)
    await on.discord.say(on.ana, on.channel, "what is grappled?", mention=True)
    await seen(on, "Its speed is zero.")
    await on.discord.slash(on.ana, on.channel, "rules ask", question="what is prone?")
    await on.discord.until(lambda: len(answers(on.channel)) == 2)
    assert on.channel.threads == []
    assert sum("Its speed is zero." in text for text in root(on.channel)) == 2


async def test_answers_to_commands_are_private_where_the_channel_is_set_so(on: Line) -> None:
    await put(on, ANSWERS, IN_PRIVATE)
    asked = await on.discord.slash(on.ana, on.channel, "rules ask", question="what is grappled?")
    await on.discord.until(lambda: asked.original is not None and "Its speed is zero." in asked.original.text)
    assert asked.original is not None
    assert asked.original.ephemeral
    assert answers(on.channel) == []
    assert on.channel.threads == []


async def test_a_private_answer_has_the_channels_voice_and_uses_its_budget(on: Line) -> None:
    await put(on, ANSWERS, IN_PRIVATE)
    await put(on, INSTRUCTION, "Be brief.")
    place = Place("discord", str(on.guild.id), str(on.channel.id), "")
    budget = setting_of("channel", place.channel, "day", "tokens")
    await on.app.settings.set(place, str(on.bia.id), budget, "100 general", "space")
    asked = await on.discord.slash(on.bia, on.channel, "rules ask", question="what is grappled?")
    await on.discord.until(lambda: asked.original is not None and "Its speed is zero." in asked.original.text)
    request = await on.app.request_of(place.space, event_id("discord", place.space, str(asked.id)))
    assert request is not None
    assert request.place.thread, "a separate conversation"
    models = on.app.resources.models
    assert "Be brief." in await models._instruction(request)
    await models.budget._reserve(request, "step", "p:m", Usage(input_tokens=60, output_tokens=40), unknown)
    again = await on.discord.slash(on.bia, on.channel, "rules ask", question="what is prone?")
    await on.discord.until(
        lambda: again.original is not None and "The budget of this channel" in again.original.text
    )


async def test_threads_need_mentions_where_the_channel_is_set_so(on: Line) -> None:
    await on.discord.say(on.ana, on.channel, "what is grappled?", mention=True)
    await seen(on, "Its speed is zero.")
    thread = on.channel.threads[0]
    await on.discord.say(on.ana, thread, "and prone?")
    await on.discord.until(lambda: len(answers(on.channel)) == 2)
    await put(on, LISTENS, MENTIONS)
    await on.discord.say(on.ana, thread, "I would say so, too.")
    await on.discord.say(on.ana, thread, "and blinded?", mention=True)
    await on.discord.until(lambda: len(answers(on.channel)) == 3)
    await on.app.idle()
    assert len(answers(on.channel)) == 3


async def test_a_disabled_work_is_refused_with_a_sentence(on: Line) -> None:
    await put(on, WORKS, "-rules")
    await on.discord.say(on.ana, on.channel, "/rules ask what is grappled?", mention=True)
    refused = await seen(on, "is turned off in this channel")
    assert "`rules`" in refused.text
    assert texts(on, "Its speed is zero.") == []


async def test_every_question_is_answered_where_the_channel_is_set_so(on: Line) -> None:
    await on.discord.say(on.ana, on.channel, "How does grappling work?")
    await on.discord.say(on.ana, on.channel, "How does it work?", mention=True)
    await seen(on, "Its speed is zero.")
    await on.app.idle()
    assert len(answers(on.channel)) == 1
    await put(on, LISTENS, EVERYTHING)
    await on.discord.say(on.bia, on.channel, "Thanks, that helped!")
    await on.discord.say(on.bia, on.channel, f"{on.ana.mention} are you coming tonight?")
    await on.discord.say(on.bia, on.channel, "// How does grappling work?")
    await on.discord.say(on.ana, on.channel, "Does anyone know how grappling works?")
    await on.discord.until(lambda: len(answers(on.channel)) > 1)
    await on.app.idle()
    assert len(answers(on.channel)) == 2


async def test_the_bot_stays_silent_without_a_find_where_the_channel_is_set_so(
    on: Line, tmp_path: Path
) -> None:
    await put(on, LISTENS, EVERYTHING)
    await shelve(tmp_path, on.app, str(on.guild.id))
    await on.discord.say(on.ana, on.channel, "Does anyone know how submarines dive?")
    await on.discord.until(lambda: len(answers(on.channel)) == 1)
    await put(on, UNANSWERED, SILENT)
    await on.discord.say(on.ana, on.channel, "Does anyone know how submarines surface?")
    await on.discord.say(on.ana, on.channel, "Does anyone know how long a candle burns?")
    await on.discord.until(lambda: len(answers(on.channel)) == 2)
    await on.discord.say(on.ana, on.channel, "How do submarines turn?", mention=True)
    await on.discord.until(lambda: len(answers(on.channel)) == 3)
    await on.app.idle()
    assert len(answers(on.channel)) == 3
    assert not any("surface" in thread.name for thread in on.channel.threads)
