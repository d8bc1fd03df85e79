"""The matrix of rules, verbs and ways in through Discord's events: see `tests.matrix`."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import discord
import pytest
from simcord.builders import ChannelHandle
from simcord.enums import InteractionType
from simcord.gateway import FakeGateway

from bot.adapters.discord.received.commands import FILES, texts
from bot.adapters.discord.received.placing import origin_of
from bot.adapters.intake import WINDOW
from bot.adapters.invocation import PendingForm
from bot.commands import HEAR, KINDS, ROWS
from bot.events import Author, Place, Request
from bot.runs.requests import composed, event_id
from bot.settings import ANSWERS, DEFAULT_WORK, IN_PRIVATE
from bot.verb import PRIVATE, Verb
from bot.words import words
from bot.works.voice.hearing import HEARD
from storage.db import new_id
from tests import matrix
from tests.cogs.table import Table
from tests.cogs.test_windows import submitted
from tests.kill.instants import ALL
from tests.matrix import FILE, QUESTION, TEXT, Door, Rule, rows_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

Way = Callable[[Table, Verb], Awaitable[Any]]

PART = 24
"""Of so many cases the slow tests try one, and `make test-kill` all."""


@pytest.fixture
def door(table: Table, monkeypatch: pytest.MonkeyPatch) -> Iterator[Door]:
    intake: Any = table.world.client.intake
    monkeypatch.setattr(intake, "count", lambda *asked: None)
    monkeypatch.setattr(intake, "too_many_hints", lambda location: False)
    connection: Any = table.world.client._connection
    monkeypatch.setattr(connection._intents, "message_content", True)
    monkeypatch.setattr(FakeGateway, "intents", connection.intents)  # it keeps the rules of the start
    door = Door(table.world.app)
    yield door
    door.close()


def path(row: Verb) -> str:
    return row.name if row.bare else f"{row.group or row.work} {row.name}"


def values(table: Table, row: Verb) -> dict[str, Any]:
    """The required values of a slash command."""
    given: dict[str, Any] = {}
    chosen: dict[str, Any] = {
        "person": table.bia,
        "channel": table.guild.create_voice_channel("Talk"),
        "text": TEXT,
    }
    if row.argument is not None:
        kind = row.argument.kind
        text = row.argument.choices[0] if row.argument.choices else chosen[kind]
        given = {FILES[0]: FILE} if row.argument.many else dict.fromkeys(texts(row), text)
    if row.rewords:
        given["file"] = FILE  # otherwise its window opens with the current text
    for option in row.options:
        if option.required:
            given[option.name] = chosen.get(option.kind) or matrix.value(option)
            if option.kind == "text":
                given[option.name] = matrix.value(option)
    return given


async def typed(table: Table, row: Verb) -> None:
    await table.ana.slash(table.general, path(row), **values(table, row))


async def mention(table: Table, row: Verb) -> None:
    many = row.argument is not None and row.argument.many
    await table.say(table.ana, matrix.line(row), attachments=[FILE] if many else [])


async def reply(table: Table, row: Verb) -> None:
    many = row.argument is not None and row.argument.many
    answer = await posted(table, table.general, "feedback:" + new_id() + ":up")
    mentioned = f"{table.world.client.user.mention} " if table.world.client.user else ""
    text = f"{mentioned}{matrix.line(row)}"
    await table.ana.send(table.general, text, reply_to=answer, attachments=[FILE] if many else [])


async def overheard(table: Table, row: Verb) -> None:
    await matrix.listen(table.world.app, place(table), row)
    await table.ana.send(table.general, QUESTION)


async def button(table: Table, row: Verb) -> None:
    run = event_id("discord", table.space, new_id())
    kept = json.dumps({"label": "x", "command": matrix.line(row), "under": ""})
    await table.world.app.resources.records.offers.keep(table.space, run, "choice", [kept])
    await table.ana.click(await posted(table, table.general, f"choice:{run}:0"), label="x")


async def menu(table: Table, row: Verb) -> None:
    run, message = await shown(table)
    records = table.world.app.resources.records
    await records.outbox.claim(table.space, run, "answer")
    await records.outbox.mark_sent(table.space, run, "answer", str(message.id))
    await table.ana.context_menu(table.general, words("en")(row.menu), message)


async def window(table: Table, row: Verb) -> None:
    run = event_id("discord", table.space, new_id())
    given = {option.name: matrix.value(option) for option in row.options if option.required}
    form = PendingForm(row.work, row.name, str(table.ana.id), options=given)
    await table.world.app.resources.records.offers.keep(table.space, run, WINDOW, [form.to_json()])
    await table.deliver(InteractionType.MODAL_SUBMIT, submitted(f"modal:{run}", TEXT))


async def voice_message(table: Table) -> None:
    """The press that answers Ana's recorded words."""
    run, message = await shown(table, "choice:{run}:0", HEAR)
    offers = table.world.app.resources.records.offers
    await offers.keep(table.space, run, HEARD, ["How far?"], author_id=str(table.ana.id))
    await offers.keep(table.space, run, "choice", [json.dumps({"label": "x", "command": "/voice play"})])
    await table.ana.click(message, label="x")


DISCORD: dict[str, Way] = {
    "typed": typed,
    "mention": mention,
    "reply": reply,
    "overheard": overheard,
    "button": button,
    "menu": menu,
    "window": window,
}


async def posted(table: Table, channel: ChannelHandle, custom_id: str) -> discord.Message:
    """A message of the bot with one button."""
    view = discord.ui.View(timeout=None)
    view.add_item(discord.ui.Button(label="x", custom_id=custom_id))
    view.stop()
    real = table.world.client.get_channel(channel.id)
    assert isinstance(real, discord.TextChannel)
    with table.env.time_context():
        return await real.send("An answer", view=view)


async def shown(
    table: Table, custom_id: str = "feedback:{run}:up", row: Verb = ROWS["rules", "ask"]
) -> tuple[str, discord.Message]:
    """A run for Ana and its message."""
    place = Place("discord", table.space, str(table.general.id), "")
    run = event_id("discord", table.space, new_id())
    request = Request(run, place, Author(str(table.ana.id), "Ana"), row.work, row.name, text="Why?")
    await table.world.app.dispatcher._arrivals.receive(composed(request))
    return request.id, await posted(table, table.general, custom_id.replace("{run}", request.id))


def place(table: Table) -> Place:
    return Place("discord", table.space, str(table.general.id), "")


def rules(table: Table) -> list[Rule]:
    """Every rule that can refuse Ana something; she has the role that they name."""
    role = table.guild.create_role("Them")
    table.ana = table.guild.add_member(table.world.person("Ana"), roles=[role])
    return matrix.rules(str(table.ana.id), str(role.id), str(table.general.id))


async def refusal(door: Door, table: Table, row: Verb, way: str) -> str:
    """The key of the sentence that refused it, "" if it was accepted."""
    before = len(door.seen)
    await DISCORD[way](table, row)
    await table.env.settle()
    assert len(door.seen) > before, (way, row.path, "has not come to the door")
    request, key = door.seen[before]
    assert (request.asked_in or request.place).channel == str(table.general.id)
    if way != "button":
        assert (request.work, request.verb) == (row.work, row.name)
    return key


def cases() -> list[tuple[Verb, str]]:
    """The cases to try: members do not see admin commands, and private results are no replies to messages."""
    return [
        (row, way)
        for way in DISCORD
        for row in rows_of(way)
        if not (way == "button" and row.inner)
        and not (way == "typed" and KINDS[row.work].for_admins)
        and not (way in ("mention", "reply") and row.personal and not row.urgent)
    ]


async def tried(door: Door, table: Table, chosen: Callable[[int, int, int], bool]) -> int:
    """Try the numbered cases of each rule; returns how many were tried."""
    every, number = rules(table), 0
    for n, rule in enumerate(every):
        mine = [case for m, case in enumerate(cases()) if chosen(n, m, len(every))]
        if not mine:
            continue
        await matrix.put(door.app, place(table), str(table.ana.id), rule)
        for row, way in mine:
            assert await refusal(door, table, row, way) == rule.refuses(row), (rule.name, way, row.path)
        number += len(mine)
        await matrix.lift(door.app, place(table), rule)
    return number


async def test_every_verb_is_checked_against_the_rules_by_every_way_in(table: Table, door: Door) -> None:
    assert await tried(door, table, lambda rule, case, all: case % all == rule) == len(cases())


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("n", range(len(matrix.rules("", "", ""))))
async def test_every_rule_applies_to_every_verb_by_every_way_in(table: Table, door: Door, n: int) -> None:
    part = 1 if ALL else PART
    assert await tried(door, table, lambda rule, case, _: rule == n and (rule + case) % part == 0) >= (
        len(cases()) // part
    )


async def test_spoken_words_are_checked_against_the_rules(table: Table, door: Door) -> None:
    for rule in rules(table):
        await matrix.put(door.app, place(table), str(table.ana.id), rule)
        for work in ("rules", "council", "story", "course", "script"):
            await door.app.settings.set(place(table), "admin", DEFAULT_WORK, work, "channel")
            before = len(door.seen)
            await voice_message(table)
            await table.env.settle()
            request, key = door.seen[before]
            verb = "act" if work == "story" else "ask"
            expected = rule.refuses(ROWS["voice", "play"]) or rule.refuses(ROWS[work, verb])
            assert key == expected, (rule.name, work)
            assert key or (request.work, request.verb, request.text) == (work, verb, "How far?")
        await matrix.lift(door.app, place(table), rule)


async def test_private_verbs_are_private_by_every_command(table: Table, door: Door) -> None:
    await door.app.settings.set(place(table), "admin", ANSWERS, IN_PRIVATE, "channel")
    offered = [row for row in rows_of("typed") if row.option(PRIVATE.name) is not None]
    assert len(offered) > 5
    for row in offered:
        for way, private in (("typed", True), ("window", True), ("mention", None), ("overheard", None)):
            if way in matrix.ways(row):
                await refusal(door, table, row, way)
                assert door.seen[-1][0].options.get(PRIVATE.name) is private, (way, row.path)


@pytest.mark.parametrize(("work", "private"), [("rules", True), ("course", True), ("story", False)])
async def test_a_spoken_question_is_as_private_as_a_typed_one(
    table: Table, door: Door, work: str, private: bool
) -> None:
    await door.app.settings.set(place(table), "admin", ANSWERS, IN_PRIVATE, "channel")
    await door.app.settings.set(place(table), "admin", DEFAULT_WORK, work, "channel")
    before = len(door.seen)
    await voice_message(table)
    await table.env.settle()
    request, key = door.seen[before]
    assert (request.work, request.text, key) == (work, "How far?", "")
    assert request.options.get(PRIVATE.name, False) is private
    assert origin_of(request.origin).private is private
