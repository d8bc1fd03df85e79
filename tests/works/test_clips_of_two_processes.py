"""Another process can stop, skip and delete clips that one process makes, and each clip is made once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from bot.events import Request
from bot.runs.requests import request_to_json
from tests.fakes.app_process import AppProcess
from tests.fakes.postgres import created
from tests.works.two_processes import WITHIN_S, House, Table, opened

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    async with opened(tmp_path_factory.mktemp("processes"), created(postgres)) as house:
        yield house


@pytest_asyncio.fixture(loop_scope="module")
async def table(house: House) -> AsyncIterator[Table]:
    yield house.table()
    for process in house.processes:
        await process.order("mute", muted=False)
        await process.order("hold_posts", held=False)


async def asked(t: Table) -> Request:
    """An answered run of the table."""
    request = t.request("/rules roll 1d1")
    await t.house.processes[0].order("perform", request=request_to_json(request))
    return request


async def speak(process: AppProcess, request: Request, *keys: str) -> None:
    for key in keys:
        await process.order("speak", request=request_to_json(request), key=key)


async def posted(process: AppProcess, request: Request) -> list[str]:
    """The keys of a run's clips that it has posted or begun to post."""
    texts = (await process.order("heard"))["texts"]
    return [text.removeprefix(f"{request.id}/") for text in texts if text.startswith(request.id)]


async def until(holds: Callable[[], Awaitable[object]], within_s: float = WITHIN_S) -> None:
    ends = time.monotonic() + within_s
    while not await holds():
        assert time.monotonic() < ends, "it has not come"
        await asyncio.sleep(0.05)


async def makes(process: AppProcess, n: int, within_s: float = WITHIN_S) -> None:
    async def so_many() -> bool:
        return bool((await process.order("heard"))["waiting"] == n)

    await until(so_many, within_s)


async def test_stop_and_skip_reach_the_clips_of_another_process(table: Table) -> None:
    maker = table.house.processes[0]
    await maker.order("mute", muted=True)
    request = await asked(table)
    elsewhere = await asked(Table(table.house))
    await speak(maker, request, "one", "two", "three", "four")
    await speak(maker, elsewhere, "of others")
    assert "I continue with the next part." in await table.read(1, "/voice skip")
    await makes(maker, 4)
    both = await asyncio.gather(*(table.read(process, "/voice skip") for process in (0, 1)))
    assert all("I continue with the next part." in answer for answer in both)
    await makes(maker, 2)
    assert "Stopped: 1 text" in await table.read(1, "/voice stop")
    await makes(maker, 1)
    assert "I continue with the next part." not in await table.read(1, "/voice skip")
    await maker.order("mute", muted=False)
    await makes(maker, 0, 10)
    assert await posted(maker, request) == []
    assert await posted(maker, elsewhere) == ["of others begins", "of others"]


async def test_a_clip_silenced_elsewhere_is_not_posted_or_is_deleted_again(
    table: Table,
) -> None:
    maker, other = table.house.processes
    request = await asked(table)
    await maker.order("mute", muted=True)
    await speak(maker, request, "made")
    await other.order("hush", request=request_to_json(request), key="made")
    await makes(maker, 0)
    await maker.order("mute", muted=False)
    await maker.order("hold_posts", held=True)
    await speak(maker, request, "posted")

    async def begun() -> bool:
        return await posted(maker, request) == ["posted begins"]

    await until(begun, 10)
    await other.order("hush", request=request_to_json(request), key="posted")
    await maker.order("hold_posts", held=False)
    await makes(maker, 0, 10)
    assert await posted(maker, request) == []


async def test_a_new_process_leaves_other_processes_clips_until_they_end(
    table: Table, tmp_path: Path
) -> None:
    house = table.house
    third, fourth = (AppProcess(house.folder / "config.toml", tmp_path / f"process-{n}") for n in (3, 4))
    await third.start()
    request = await asked(table)
    await third.order("mute", muted=True)
    await speak(third, request, "one", "two")
    await fourth.start()
    await asyncio.sleep(1)
    processes = [*house.processes, fourth]
    try:
        for process in processes:
            assert (await process.order("heard"))["waiting"] == 0
            assert await posted(process, request) == []
        await speak(fourth, request, "one")  # like a run that continues here
        assert (await fourth.order("heard"))["waiting"] == 0
        await third.kill()

        async def all_posted() -> bool:
            both = [key for process in processes for key in await posted(process, request)]
            return sorted(both) == ["one", "one begins", "two", "two begins"]

        await until(all_posted, 20)
        await asyncio.sleep(1)
        assert await all_posted()
    finally:
        await fourth.leave()
