"""The matrix of rules, verbs and ways in through Slack's events: see `tests.matrix`."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from bot.adapters.intake import WINDOW
from bot.adapters.invocation import PendingForm
from bot.adapters.slack.manifest import COMMAND
from bot.adapters.slack.placing import PLATFORM, Origin, origin_of
from bot.adapters.slack.received import windows
from bot.commands import HEAR, ROWS
from bot.events import Author, Place, Request
from bot.runs.requests import composed, event_id
from bot.settings import ANSWERS, DEFAULT_WORK, IN_PRIVATE, OUTSIDERS
from bot.verb import PRIVATE, Verb
from bot.works.voice.hearing import HEARD
from storage.db import new_id
from tests import matrix
from tests.adapters.slack.pressing import shown as posted
from tests.adapters.slack.table import Table
from tests.fakes.slack import Message, User
from tests.kill.instants import ALL
from tests.matrix import FILE, FOR_STRANGERS, QUESTION, TEXT, Door, Rule, rows_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

Way = Callable[[Table, Verb, User], Awaitable[Any]]

PART = 24
"""Of so many cases the slow tests try one, and `make test-kill` all."""


@pytest.fixture
def door(at: Table, monkeypatch: pytest.MonkeyPatch) -> Iterator[Door]:
    intake: Any = at.bot.intake
    monkeypatch.setattr(intake, "count", lambda *asked: None)
    at.channel = at.team.channel("matrix")
    # The table's works are scripts; the story work checks the buttons of stories itself.
    works = {**at.app.works, "story": at.app.works["rules"]}
    monkeypatch.setattr(at.app.dispatcher, "_works", works)
    # The check of a window's text comes before the rules.
    monkeypatch.setattr(at.app.dispatcher, "check", nothing)
    door = Door(at.app)
    door.touch = at.slack.touch
    yield door
    door.close()


async def nothing(request: Request) -> None: ...


def files(row: Verb) -> list[tuple[str, bytes]]:
    return [FILE] if row.argument is not None and row.argument.many else []


async def typed(at: Table, row: Verb, who: User) -> None:
    await at.slack.command(who, at.channel, COMMAND, matrix.line(row).removeprefix("/"))


async def mention(at: Table, row: Verb, who: User) -> None:
    await at.slack.say(who, at.channel, matrix.line(row), mention=True, files=files(row))


async def reply(at: Table, row: Verb, who: User) -> None:
    root = await at.slack.say(at.bia, at.channel, "A thread", wait=False)
    threads = at.app.resources.records.threads
    await threads.bind(at.space, at.channel.id, root.ts, f"{at.channel.id}:{root.ts}")
    await at.slack.say(who, at.channel, matrix.line(row), thread=root, files=files(row))


async def overheard(at: Table, row: Verb, who: User) -> None:
    await matrix.listen(at.app, place(at), row)
    await at.slack.say(who, at.channel, QUESTION)


async def button(at: Table, row: Verb, who: User) -> None:
    run = event_id(PLATFORM, at.space, "button")
    kept = json.dumps({"label": "x", "command": matrix.line(row), "under": ""})
    await at.app.resources.records.offers.keep(at.space, run, "choice", [kept])
    await at.slack.press(who, await answer(at, f"choice:{run}:0"), f"choice:{run}:0")


async def menu(at: Table, row: Verb, who: User) -> None:
    run = await asked(at, ROWS["rules", "ask"], who)
    message = await answer(at, f"sources:{run}")
    outbox = at.app.resources.records.outbox
    await outbox.claim(at.space, run, "answer")
    await outbox.mark_sent(at.space, run, "answer", message.ts)
    await at.slack.shortcut(who, f"{row.work}_{row.name}", message)


async def window(at: Table, row: Verb, who: User) -> None:
    run = event_id(PLATFORM, at.space, new_id())
    given = {option.name: matrix.value(option) for option in row.options if option.required}
    form = PendingForm(row.work, row.name, who.id, options=given, channel=at.channel.id)
    await at.app.resources.records.offers.keep(at.space, run, WINDOW, [form.to_json()])
    content = windows.modal(f"modal:{run}", "x", [windows.field(0, "Text")], submit="Send")
    view = at.slack.views_kept.open(who, at.slack.views_kept.accept(content, "modal"))
    await at.slack.submit(who, view, {windows.block_id(0): {windows.TYPED: TEXT}})


async def voice_message(at: Table, who: User) -> None:
    """The press that answers a person's recorded words."""
    run = await asked(at, HEAR, who)
    offers = at.app.resources.records.offers
    await offers.keep(at.space, run, HEARD, ["How far?"], author_id=who.id)
    await offers.keep(at.space, run, "choice", [json.dumps({"label": "x", "command": "/voice play"})])
    await at.slack.press(who, await answer(at, f"choice:{run}:0"), f"choice:{run}:0")


SLACK: dict[str, Way] = {
    "typed": typed,
    "mention": mention,
    "reply": reply,
    "overheard": overheard,
    "button": button,
    "menu": menu,
    "window": window,
}


async def asked(at: Table, row: Verb, who: User) -> str:
    """The run of one fixed request by this person."""
    run = event_id(PLATFORM, at.space, f"{row.path} {who.id}")
    origin = Origin("here", at.channel.id, who.id, at.space)
    author = Author(who.id, who.name)
    request = Request(run, place(at), author, row.work, row.name, text="Why?", origin=origin.to_json())
    await at.app.dispatcher._arrivals.receive(composed(request))
    return run


async def answer(at: Table, button: str) -> Message:
    """An answer with this button, posted only once: Slack accepts one message a second in a channel."""
    for message in at.channel.messages:
        if any(
            element.get("action_id") == button
            for block in message.blocks
            for element in block.get("elements", ())
        ):
            return message
    return await posted(at, button)


def place(at: Table) -> Place:
    return Place(PLATFORM, at.space, at.channel.id, "")


def rules(at: Table) -> list[Rule]:
    """Every rule that can refuse Ana something; she is a member of the group that they name."""
    group = at.team.group("them", [at.ana])
    at.bot.groups._cached.clear()
    return matrix.rules(at.ana.id, group.id, at.channel.id)


async def refusal(door: Door, at: Table, row: Verb, way: str, who: User) -> str:
    """The key of the sentence that refused it, "" if it was accepted."""
    before = len(door.seen)
    await SLACK[way](at, row, who)
    await at.slack.until(lambda: len(door.seen) > before)
    request, key = door.seen[before]
    assert (request.asked_in or request.place).channel == at.channel.id
    assert (request.work, request.verb) == (row.work, row.name)
    return key


def cases() -> list[tuple[Verb, str]]:
    """The cases to try; a command has no files."""
    return [
        (row, way)
        for way in SLACK
        for row in rows_of(way)
        if not (way == "button" and row.inner) and not (way == "typed" and files(row))
    ]


async def tried(door: Door, at: Table, chosen: Callable[[int, int, int], bool]) -> int:
    """Try the numbered cases of each rule; returns how many were tried."""
    every, number = rules(at), 0
    for n, rule in enumerate(every):
        mine = [case for m, case in enumerate(cases()) if chosen(n, m, len(every))]
        if not mine:
            continue
        await matrix.put(door.app, place(at), at.ana.id, rule)
        for row, way in mine:
            key = await refusal(door, at, row, way, at.ana)
            assert key == rule.refuses(row), (rule.name, way, row.path)
        number += len(mine)
        await matrix.lift(door.app, place(at), rule)
    return number


async def test_every_verb_is_checked_against_the_rules_by_every_way_in(at: Table, door: Door) -> None:
    assert await tried(door, at, lambda rule, case, all: case % all == rule) == len(cases())


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("n", range(len(matrix.rules("", "", ""))))
async def test_every_rule_applies_to_every_verb_by_every_way_in(at: Table, door: Door, n: int) -> None:
    part = 1 if ALL else PART
    assert await tried(door, at, lambda rule, case, _: rule == n and (rule + case) % part == 0) >= (
        len(cases()) // part
    )


async def test_spoken_words_are_checked_against_the_rules(at: Table, door: Door) -> None:
    for rule in rules(at):
        await matrix.put(door.app, place(at), at.ana.id, rule)
        for work in ("rules", "council", "story", "course", "script"):
            await door.app.settings.set(place(at), "admin", DEFAULT_WORK, work, "channel")
            before = len(door.seen)
            await voice_message(at, at.ana)
            await at.slack.until(lambda before=before: len(door.seen) > before)  # type: ignore[misc]
            request, key = door.seen[before]
            verb = "act" if work == "story" else "ask"
            expected = rule.refuses(ROWS["voice", "play"]) or rule.refuses(ROWS[work, verb])
            assert key == expected, (rule.name, work)
            assert key or (request.work, request.verb, request.text) == (work, verb, "How far?")
        await matrix.lift(door.app, place(at), rule)


async def test_members_of_another_workspace_have_the_same_rights_by_every_way_in(
    at: Table, door: Door
) -> None:
    eva = at.slack.workspace("Guests", installed=False).user("Eva", admin=True)
    at.channel.members.append(eva)
    for n, allowed in enumerate(FOR_STRANGERS):
        await door.app.settings.set(place(at), "admin", OUTSIDERS, allowed, "channel")
        for m, (row, way) in enumerate(cases()):
            # Only a part of them: tests/works/test_matrix.py checks the rules for each.
            if m % (3 * len(FOR_STRANGERS)) != n or way not in ("mention", "button"):
                continue
            key = await refusal(door, at, row, way, eva)
            assert key == matrix.refuses_strangers(row, allowed), (allowed, way, row.path)


async def test_private_verbs_are_private_by_command_and_by_mention(at: Table, door: Door) -> None:
    await door.app.settings.set(place(at), "admin", ANSWERS, IN_PRIVATE, "channel")
    offered = [row for row in rows_of("typed") if row.option(PRIVATE.name) is not None]
    assert len(offered) > 5
    for row in offered:
        for way in ("typed", "window", "mention", "reply", "overheard"):
            if way in matrix.ways(row):
                await refusal(door, at, row, way, at.ana)
                assert door.seen[-1][0].options.get(PRIVATE.name) is True, (way, row.path)


@pytest.mark.parametrize(("work", "private"), [("rules", True), ("course", True), ("story", False)])
async def test_a_spoken_question_is_as_private_as_a_typed_one(
    at: Table, door: Door, work: str, private: bool
) -> None:
    await door.app.settings.set(place(at), "admin", ANSWERS, IN_PRIVATE, "channel")
    await door.app.settings.set(place(at), "admin", DEFAULT_WORK, work, "channel")
    before = len(door.seen)
    await voice_message(at, at.ana)
    await at.slack.until(lambda: len(door.seen) > before)
    request, key = door.seen[before]
    assert (request.work, request.text, key) == (work, "How far?", "")
    assert request.options.get(PRIVATE.name, False) is private
    assert origin_of(request.origin).private is private
    assert request.place.channel == (f"@{at.ana.id}" if private else at.channel.id)
