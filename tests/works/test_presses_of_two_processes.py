"""Two people press buttons at the same time in two processes: one is first, and nothing is done twice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import asdict, replace

import pytest
import pytest_asyncio

from bot.commands import UNDER
from bot.events import File
from bot.runs.requests import request_to_json
from storage.db import new_id
from tests.fakes.postgres import created
from tests.fakes.reply import Reply
from tests.works.two_processes import ANA, BIA, House, opened

ROUNDS = 6

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    async with opened(tmp_path_factory.mktemp("processes"), created(postgres)) as house:
        yield house


async def test_one_of_two_presses_wins_and_only_the_other_person_gets_a_note(house: House) -> None:
    t = house.table()
    await t.play("/story start A door in the sea")
    t.model.queue.append(Reply("The hinges cry."))
    await t.play("/story act I open it.")
    for n in range(ROUNDS):
        where = json.dumps(asdict(t.place))
        scene = (await house.processes[0].order("scene", place=where))["text"]
        t.model.queue.append(Reply(f"Gull number {n} lands."))
        presses = []
        for line, by in (("/story act I go in.", ANA), ("/story act I go away.", BIA)):
            request = t.request(line, by)
            presses.append(replace(request, options={UNDER: scene}, answers="a-run"))
        answers = await asyncio.gather(
            *(
                process.order("press", request=request_to_json(request))
                for process, request in zip(house.processes, presses, strict=True)
            )
        )
        assert sorted(answer["late"] for answer in answers) == [False, True], (n, answers)
        (first,) = [request for request, answer in zip(presses, answers, strict=True) if not answer["late"]]
        (by,) = [answer["by"] for answer in answers if answer["late"]]
        assert by in ("", first.author.name)
        assert await t.read(1, f"ended {first.id}") == "done"


async def test_a_stop_card_played_by_two_people_at_once_is_played_once(house: House) -> None:
    t = house.table()
    await t.play("/story start A door in the sea")
    for n in range(ROUNDS):
        t.model.queue.append(Reply(f"Gull number {n} lands."))
        await t.play("/story act I wait.")
        cards = [t.request("/story stopcard", by) for by in (ANA, BIA)]
        shown = await asyncio.gather(
            *(
                process.order("read", request=request_to_json(request))
                for process, request in zip(house.processes, cards, strict=True)
            )
        )
        texts = [answer["text"] for answer in shown]
        assert sorted("is already out of the story" in text for text in texts) == [False, True], (n, texts)


async def test_rules_stored_by_two_people_at_once_are_stored_once(house: House) -> None:
    t = house.table()
    for n in range(ROUNDS):
        file = house.folder / f"rules-{n}.md"
        file.write_text("".join(f"- Rule {n}.{k} gives {k} wings.\n" for k in range(5)), encoding="utf-8")
        shows = t.request("/rules house")
        shows = replace(shows, files=(File(file.name, str(file), file.stat().st_size),))
        await house.processes[0].order("perform", request=request_to_json(shows))
        asked = t.request("/rules house")
        adopts = [
            replace(asked, id=new_id(), author=by, verb="adopt", text="all", answers=shows.id)
            for by in (BIA, replace(ANA, admin=True))
        ]
        await asyncio.gather(
            *(
                process.order("perform", request=request_to_json(request))
                for process, request in zip(house.processes, adopts, strict=True)
            )
        )
        kept = await t.read(1, "/rules house")
        assert [kept.count(f"Rule {n}.{k} ") for k in range(5)] == [1] * 5, (n, kept)
