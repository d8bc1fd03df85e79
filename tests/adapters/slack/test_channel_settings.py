"""Channel settings on Slack decide who sees answers and which messages are for the bot."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from bot.adapters.slack.placing import PLATFORM
from bot.admin_budgets import setting_of
from bot.app import App
from bot.budget import unknown
from bot.events import Place
from bot.llm.completion import Usage
from bot.retrieval.intake import Item
from bot.settings import (
    ANSWERS,
    EVERYTHING,
    IN_PRIVATE,
    INSTRUCTION,
    LISTENS,
    MENTIONS,
    SILENT,
    UNANSWERED,
    WORKS,
)
from tests.adapters.slack.table import Table
from tests.fakes.slack import Message

pytestmark = pytest.mark.asyncio(loop_scope="module")


def acknowledged(said: Message) -> bool:
    return all(delivery.acked for delivery in said.sent)


async def put(at: Table, name: str, value: str) -> None:
    place = Place(PLATFORM, at.space, at.channel.id, "")
    await at.app.settings.set(place, at.bia.id, name, value, "channel")


async def test_answers_are_private_where_the_channel_is_set_so(at: Table) -> None:
    await put(at, ANSWERS, IN_PRIVATE)
    await at.slack.command(at.ana, at.channel, "/rules", "ask Who?")
    await at.slack.say(at.ana, at.channel, "And why?", mention=True)
    await at.ended(2)
    assert [origin.private for origin in at.origins] == [True, True]
    await put(at, ANSWERS, "thread")
    await at.slack.command(at.ana, at.channel, "/rules", "ask Who?")
    await at.ended(3)
    assert not at.origins[-1].private


async def test_threads_need_mentions_where_the_channel_is_set_so(at: Table) -> None:
    root = await at.slack.say(at.ana, at.channel, "Who?", mention=True)
    await at.ended()
    await at.slack.say(at.ana, at.channel, "And why?", thread=root)
    await at.ended(2)
    assert at.requests[-1].text == "And why?"
    await put(at, LISTENS, MENTIONS)
    unmeant = await at.slack.say(at.ana, at.channel, "I would say so, too.", thread=root)
    await at.slack.until(lambda: all(delivery.acked for delivery in unmeant.sent))
    await at.slack.say(at.ana, at.channel, "And when?", thread=root, mention=True)
    await at.ended(3)
    assert [request.text for request in at.requests] == ["Who?", "And why?", "And when?"]


async def test_a_disabled_work_is_refused_with_a_sentence(at: Table) -> None:
    await put(at, WORKS, "-council")
    await at.slack.command(at.ana, at.channel, "/council", "ask Which ending?")
    told = await at.whispered(at.ana)
    assert "`council` is turned off in this channel" in told.text
    assert at.requests == []


async def test_a_private_answer_obeys_the_rules_of_the_channel_where_it_was_asked_for(at: Table) -> None:
    channel = at.team.channel("quiet")
    place = Place(PLATFORM, at.space, channel.id, "")
    for name, value in ((WORKS, "-council"), ("shelf", "house")):
        await at.app.settings.set(place, at.bia.id, name, value, "channel")
    await at.slack.command(at.ana, channel, "/council", "ask Which ending? --private")
    told = await at.whispered(at.ana, channel)
    assert "`council` is turned off in this channel" in told.text
    await at.slack.command(at.ana, channel, "/rules", "ask Who? --private")
    await at.ended()
    assert at.asked.options["shelf"] == "house"
    assert at.asked.place.channel == f"@{at.ana.id}"


async def test_a_private_answer_has_the_channels_voice_and_uses_its_budget(at: Table) -> None:
    channel, other = at.team.channel("voiced"), at.team.channel("unvoiced")
    place = Place(PLATFORM, at.space, channel.id, "")
    budget = setting_of("channel", channel.id, "day", "tokens")
    await at.app.settings.set(place, at.bia.id, INSTRUCTION, "Be brief.", "channel")
    await at.app.settings.set(place, at.bia.id, budget, "100 voiced", "space")
    await at.slack.command(at.ana, channel, "/rules", "ask Who? --private")
    await at.ended()
    models = at.app.resources.models
    assert at.asked.place.channel == f"@{at.ana.id}"
    assert "Be brief." in await models._instruction(at.asked)
    await models.budget._reserve(at.asked, "step", "p:m", Usage(input_tokens=60, output_tokens=40), unknown)
    await at.slack.command(at.ana, channel, "/rules", "ask Who else? --private")
    told = await at.whispered(at.ana, channel)
    assert "The budget of this channel" in told.text
    await at.slack.command(at.ana, other, "/rules", "ask Who? --private")
    await at.ended(2)
    assert await models._instruction(at.requests[-1]) == ""


async def test_the_bot_stays_silent_without_a_find_where_the_channel_is_set_so(
    at: Table, tmp_path: Path
) -> None:
    channel = at.team.channel("books")
    place = Place(PLATFORM, at.space, channel.id, "")
    await at.app.settings.set(place, at.bia.id, LISTENS, EVERYTHING, "channel")
    await shelve(tmp_path, at.app, at.space)
    await at.slack.say(at.ana, channel, "Does anyone know how submarines dive?")
    await at.ended()
    await at.app.settings.set(place, at.bia.id, UNANSWERED, SILENT, "channel")
    said = await at.slack.say(at.ana, channel, "Does anyone know how submarines surface?")
    await at.slack.until(partial(acknowledged, said))
    await at.slack.say(at.ana, channel, "Does anyone know how long a candle burns?")
    await at.slack.say(at.ana, channel, "How do submarines turn?", mention=True)
    await at.ended(3)
    assert [request.text for request in at.requests] == [
        "Does anyone know how submarines dive?",
        "Does anyone know how long a candle burns?",
        "How do submarines turn?",
    ], "a person who mentions the bot gets a reply even if nothing is found"
    assert at.whispers(at.ana, channel) == []


async def shelve(folder: Path, app: App, space: str) -> None:
    (folder / "book.md").write_text("# Light\n\nA candle burns four hours while walking.\n", encoding="utf-8")
    item = Item("book.md", str(folder / "book.md"))
    assert (await app.resources.intake.take(space, "rules", item, "k", replace=False)).key == ""


async def test_every_question_is_answered_where_the_channel_is_set_so(at: Table) -> None:
    channel = at.team.channel("ask")
    await at.slack.say(at.ana, channel, "How does grappling work?")
    place = Place(PLATFORM, at.space, channel.id, "")
    await at.app.settings.set(place, at.bia.id, LISTENS, EVERYTHING, "channel")
    for text in (
        "Thanks, that helped!",
        f"{at.ana.mention} are you coming tonight?",
        "// How does grappling work?",
    ):
        said = await at.slack.say(at.bia, channel, text)
        await at.slack.until(partial(acknowledged, said))
    await at.slack.say(at.ana, channel, "Does anyone know how grappling works?")
    await at.ended()
    assert at.asked.text == "Does anyone know how grappling works?"
