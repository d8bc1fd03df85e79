"""Each rule, for each verb, by each way in, on both platforms, at the door: see `tests.matrix`."""

from __future__ import annotations

import ast
from collections.abc import AsyncGenerator, Collection
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from bot.app import App
from bot.commands import HEAR, ROWS
from bot.events import Author, Place, Request, UserError
from bot.platforms import Platform, Standing
from bot.runs.requests import composed
from bot.settings import DEFAULT_WORK, INSTRUCTION, LANGUAGE, MODEL, OUTSIDERS
from bot.verb import SHELF, Verb
from bot.works.schedule.calendar import SCHEDULED, Calendar
from bot.works.voice.hearing import HEARD
from storage.db import new_id
from storage.schedules import ScheduleRow
from tests import matrix
from tests.fakes.scripted_app import Recorder
from tests.matrix import FOR_STRANGERS, NEEDS, SCHEDULES, Door, needs, rows_of
from tests.works.test_settings import Asker, opened

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROOT = Path(__file__).resolve().parents[2]
ANA, GROUP, CHANNEL = Author("ana", "Ana"), "g1", "hall"
PLATFORMS = ("discord", "slack")
CHANGES: dict[str, dict[str, Any]] = {
    "typed": {},
    "mention": {"origin": "{}"},
    "reply": {"origin": "{}"},
    "overheard": {"origin": "{}"},
    "button": {"answers": "run"},
    "menu": {"answers": "run", "origin": "{}"},
    "window": {"window": True},
}
"""How a request differs by the way in which an adapter makes it."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def asker(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Asker]:
    async def standing(place: Place, person: str, groups: Collection[str]) -> Standing:
        return Standing((GROUP,) if person == ANA.id else ())

    recorder = Recorder()
    async with opened(tmp_path_factory.mktemp("matrix")) as asker:
        for name in PLATFORMS:
            asker.app.attach(Platform(name, recorder.view, standing=standing))
        yield asker


@pytest.fixture
def door(asker: Asker) -> Any:
    door = Door(asker.app)
    yield door
    door.close()


def place_of(platform: str) -> Place:
    return Place(platform, new_id(), CHANNEL, "t")


def asked(row: Verb, place: Place, author: Author = ANA, **changes: Any) -> Request:
    return replace(Request(new_id(), place, author, row.work, row.name, text="x"), **changes)


async def refusal(app: App, request: Request) -> str:
    try:
        await app.perform(request)
    except UserError as error:
        return error.key
    return ""


async def spoken(app: App, place: Place, author: Author, work: str) -> Request:
    """The press of the button that plays transcribed words, if this work has one."""
    await app.settings.set(place, "admin", DEFAULT_WORK, work, "channel")
    heard = asked(HEAR, place, author)
    await app.dispatcher._arrivals.receive(composed(heard))
    await app.resources.records.offers.keep(place.space, heard.id, HEARD, ["How far?"], author_id=author.id)
    return asked(ROWS["voice", "play"], place, author, answers=heard.id)


async def scheduled(app: App, place: Place, kind: str) -> None:
    """A due schedule of Ana's, and a round of the calendar."""
    now = datetime.now(UTC)
    rule = '{"zone": "UTC", "first": "2026-01-01T19:00", "every": ""}'
    at = (place.space, place.platform, place.channel, place.thread)
    row = ScheduleRow(new_id(), *at, ANA.id, "en", kind, "x", "{}", rule, "once", now, now)
    await app.records.schedules.add(row)
    await Calendar(app.records.schedules, app).round()
    await app.records.schedules.remove(place.space, row.id)


async def test_each_verb_has_its_row_in_the_matrix() -> None:
    assert set(NEEDS) == set(ROWS), "decide what may forbid a new verb, in tests/matrix.py"
    assert {way for row in ROWS.values() for way in matrix.ways(row)} == set(matrix.WAYS)
    assert {(kind.work, kind.verb) for kind in SCHEDULED.values()} == set(SCHEDULES)


async def test_each_caller_of_the_door_is_a_way_in_of_the_matrix() -> None:
    calling = set()
    for file in sorted((ROOT / "bot").rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "perform" in text else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                whose = ast.unparse(node.func.value).rpartition(".")[2].strip("_")
                if node.func.attr == "perform" and whose in ("app", "runs"):
                    calling.add(str(file.relative_to(ROOT)))
    assert calling == set(matrix.ENTRANCES), "a new way in needs its cases, in tests/matrix.py"
    ways = {way for found in matrix.ENTRANCES.values() for way in found}
    assert ways | {"voice message"} == set(matrix.WAYS)


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("n", range(len(matrix.rules("", "", ""))))
async def test_each_rule_applies_to_each_verb_by_each_way_in(
    asker: Asker, door: Door, platform: str, n: int
) -> None:
    app, place = asker.app, place_of(platform)
    rule = matrix.rules(ANA.id, GROUP, CHANNEL)[n]
    await matrix.put(app, place, ANA.id, rule)
    other = replace(place, space=new_id())
    tried = 0
    for way, changes in CHANGES.items():
        for row in rows_of(way):
            if row.inner and not changes.get("answers"):
                continue
            request = asked(row, place, **changes)
            if (row.work, row.name) == ("voice", "play"):  # stands for other words: see below
                continue
            expected = rule.refuses(row)
            assert await refusal(app, request) == expected, (rule.name, way, row.path)
            elsewhere = replace(request, id=new_id(), place=other)
            assert await refusal(app, elsewhere) == rule_of_admins(row), (way, row.path, "another space")
            tried += 1
    assert tried > 400


def rule_of_admins(row: Verb) -> str:
    return "app.admins" if row.admin else ""


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("n", range(len(matrix.rules("", "", ""))))
async def test_schedules_and_spoken_words_pass_the_same_door(
    asker: Asker, door: Door, platform: str, n: int
) -> None:
    app, place = asker.app, place_of(platform)
    rule = matrix.rules(ANA.id, GROUP, CHANNEL)[n]
    await matrix.put(app, place, ANA.id, rule)
    for path, kind in SCHEDULES.items():
        await scheduled(app, place, kind)
        request, key = door.seen[-1]
        assert (request.work, request.verb) == path
        assert key == rule.refuses(ROWS[path]), (rule.name, kind)
    for row in rows_of("voice message"):
        if row.hears or row.inner or row.name not in ("ask", "act"):
            continue
        request = await spoken(app, place, ANA, row.work)
        key = await refusal(app, request)
        expected = rule.refuses(ROWS["voice", "play"]) or rule.refuses(row)
        assert key == expected, (rule.name, row.path)
        if not expected:
            meant = next(request for request, _ in door.seen[::-1] if request.work == row.work)
            assert meant.verb == row.name


@pytest.mark.parametrize("allowed", FOR_STRANGERS)
async def test_the_rights_of_outsiders_are_the_same_by_each_way_in(
    asker: Asker, door: Door, allowed: str
) -> None:
    app, place = asker.app, place_of("slack")
    eva = Author("eva", "Eva", outside=True)
    await app.settings.set(place, "admin", OUTSIDERS, allowed, "channel")
    for way, changes in CHANGES.items():
        for row in rows_of(way):
            if (row.inner and not changes.get("answers")) or row.name == "play":
                continue
            key = await refusal(app, asked(row, place, eva, **changes))
            assert key == matrix.refuses_strangers(row, allowed), (way, row.path)
    for work in ("rules", "story", "council"):
        key = await refusal(app, await spoken(app, place, eva, work))
        assert key == matrix.refuses_strangers(ROWS["voice", "play"], allowed)


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_a_channels_choices_apply_by_each_way_in(asker: Asker, door: Door, platform: str) -> None:
    app, place = asker.app, place_of(platform)
    chosen = {SHELF.name: "fate", "course": "Fractions", "script": "Lighthouse"}
    more = {LANGUAGE: "pt-BR", MODEL + "answerer": "house:two", INSTRUCTION: "Speak as a pirate."}
    for name, text in {**chosen, **more}.items():
        await app.settings.set(place, "admin", name, text, "channel")
    asks = [row for row in ROWS.values() if "models" in needs(row) and not row.background]
    filled = set()
    for way, changes in CHANGES.items():
        for row in asks:
            if way not in matrix.ways(row) or row.hears:
                continue
            await app.perform(asked(row, place, **changes))
            if await holds(app, door.seen[-1][0], chosen):
                filled.add((way, row.work))
    assert filled >= {
        (way, work) for way in ("typed", "mention", "window") for work in ("rules", "course", "script")
    }
    for row in rows_of("voice message"):
        if row.name == "ask":
            await app.perform(await spoken(app, place, ANA, row.work))
            request = next(request for request, _ in door.seen[::-1] if request.work == row.work)
            assert await holds(app, request, chosen) == (row.work != "council"), row.path


async def holds(app: App, request: Request, chosen: dict[str, str]) -> bool:
    """Whether the channel's shelf, course or screenplay is filled in; its other choices always are."""
    row = ROWS[request.work, request.verb]
    at = request.asked_in or request.place
    assert await app.settings.locale(at, request.author.id, "en") == "pt-BR"
    assert (await app.settings.roles(request))["answerer"] == ["house:two"]
    assert "pirate" in await app.resources.models._instruction(request)
    named = [option.name for option in row.options if option.name in chosen]
    assert {name: request.options.get(name) for name in named} == {name: chosen[name] for name in named}
    return named != []


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_an_edit_has_no_effect_if_its_author_has_lost_the_right(asker: Asker, platform: str) -> None:
    app, place = asker.app, place_of(platform)
    begun: list[Request] = []

    async def begin(request: Request, key: str) -> str:
        begun.append(request)
        return request.id

    rules = [rule for rule in matrix.rules(ANA.id, GROUP, CHANNEL) if "work" in rule.of]
    dispatcher: Any = app.dispatcher
    real, dispatcher.begin = dispatcher.begin, begin
    try:
        for rule in rules:
            turn = asked(ROWS["story", "act"], place, replace(ANA, admin=True, groups=()))
            await dispatcher._arrivals.receive(composed(turn))
            assert await app.reword(place.space, turn.id, "I open the door.", "before")
            assert len(begun) == 1, "a member's edit reaches the story"
            await matrix.put(app, place, ANA.id, rule)
            assert await app.reword(place.space, turn.id, "I open the window.", "after")
            assert len(begun) == 1, rule.name
            past = await app.request_of(place.space, turn.id)
            assert past is not None
            assert past.text == "I open the window.", "the words are the author's own"
            await matrix.lift(app, place, rule)
            begun.clear()
    finally:
        dispatcher.begin = real
