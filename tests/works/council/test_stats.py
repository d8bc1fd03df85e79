"""Statistics of members: counted per space, shown in a table, and drawn off the event loop."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from bot.events import Event, Picture, Text
from bot.works.council.chart import DOTS, Chart
from bot.works.council.stats import Stats
from storage.councils import Councils
from storage.db import Database
from tests.fakes import migrated
from tests.fakes.run import MemoryRun
from tests.fakes.scripted_app import settings_of
from tests.storage.council_rows import council, seat


class Board:
    """Past councils and their statistics. `charts` are the drawn ones, `where` the threads that drew them."""

    def __init__(self, db: Database) -> None:
        self.councils = Councils(db)
        self.settings = settings_of(db)
        self.charts: list[Chart] = []
        self.where: list[threading.Thread] = []
        self._held = 0

    def draw(self, chart: Chart) -> bytes:
        self.where.append(threading.current_thread())
        self.charts.append(chart)
        return b"PNG"

    async def hold(self, *seats: dict[str, Any], space: str = "local") -> None:
        """Hold one council a day; `seats` override a seat that answered and was not judged."""
        self._held += 1
        run = f"run-{self._held:06}"
        await self.councils.begin(council(run, space, minute=1_440 * self._held))
        rows = [
            seat(n, **{"settings": one.get("model", f"p:m{n}"), **one, "space": space, "run_id": run})
            for n, one in enumerate(seats)
        ]
        await self.councils.keep_seats(space, run, rows)

    async def events(self, space: str = "local") -> list[Event]:
        run = MemoryRun(space)
        async with aclosing(Stats(self.councils, self.settings.zone, self.draw).run(run)) as events:
            return [event async for event in events]

    async def __call__(self, space: str = "local") -> str:
        return "".join(event.text for event in await self.events(space) if isinstance(event, Text))

    async def rows(self) -> list[list[str]]:
        lines = [line for line in (await self()).splitlines() if line.startswith("| ")]
        return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[1:]]


@pytest.fixture
async def board(tmp_path: Path) -> AsyncIterator[Board]:
    db = await Database.open(migrated.database(tmp_path / migrated.STORAGE))
    yield Board(db)
    await db.close()


def judged(model: str, place: int, score: float, **changes: Any) -> dict[str, Any]:
    return {"model": model, "place": place, "score": score, "mean_rank": float(place), **changes}


async def test_before_the_first_council_the_statistics_say_what_they_need(board: Board) -> None:
    assert "`/council ask`" in await board()
    assert board.charts == []


async def test_each_member_has_its_row_the_best_first(board: Board) -> None:
    cost = Decimal("0.25")
    await board.hold(
        judged("p:sol", 1, 0.5, seconds=10.0, cost_usd=cost), judged("p:opus", 1, 0.5, seconds=4.0)
    )
    await board.hold(
        judged("p:sol", 2, 0.0, seconds=30.0, cost_usd=cost), judged("p:opus", 1, 1.0, seconds=5.0)
    )
    await board.hold(
        {"model": "p:sol", "state": "failed", "seconds": 180.0, "tokens": None, "cost_usd": None},
        {"model": "p:opus", "seconds": 60.0, "cost_usd": None},
    )
    opus, sol = await board.rows()
    assert opus[:6] == ["opus", "3", "2/2", "1.00", "0.75", "–"]
    assert opus[6].startswith("≥ ")
    assert opus[7] == "5 s"
    assert sol == ["sol", "3", "1/2", "1.50", "0.25", "1", "$0.50", "20 s"]


async def test_a_member_is_a_model_with_its_persona(board: Board) -> None:
    for timeout in ("30", "60"):
        await board.hold(
            {"model": "p:sol", "settings": f'p:sol persona="a sceptic" timeout={timeout}'},
            {"model": "p:sol", "settings": "p:sol temperature=1.1"},
            {"model": "q:sol", "settings": "q:sol temperature=1.1"},
            {"model": "p:opus", "settings": "as a later release writes it"},
        )
    assert sorted((row[0], row[1]) for row in await board.rows()) == [
        ("opus", "2"),
        ("p:sol temperature=1.1", "2"),
        ("q:sol temperature=1.1", "2"),
        ("sol “a sceptic”", "2"),
    ]


async def test_a_space_counts_its_own_councils_only(board: Board) -> None:
    for _ in range(2):
        await board.hold(judged("p:sol", 1, 1.0), judged("p:opus", 2, 0.0), space="other")
    assert "There has been no council" in await board()
    assert "sol" in await board("other")


async def test_one_judged_council_draws_no_line_and_two_do(board: Board) -> None:
    await board.hold(judged("p:sol", 1, 1.0), judged("p:opus", 2, 0.0))
    assert "needs two councils" in await board()
    await board.hold({"model": "p:sol"}, {"model": "p:opus"})
    assert "needs two councils" in await board()
    assert board.charts == []
    await board.hold(judged("p:sol", 1, 1.0), judged("p:opus", 2, 0.0))
    assert "needs two councils" not in await board()
    assert len(board.charts) == 1


async def test_the_picture_is_drawn_in_a_thread_and_described_in_words(board: Board) -> None:
    await board.hold(judged("p:sol", 1, 1.0, cost_usd=None), judged("p:opus", 2, 0.0, cost_usd=None))
    await board.hold(judged("p:sol", 2, 0.5, cost_usd=None), judged("p:opus", 1, 0.5, cost_usd=None))
    (picture,) = [event for event in await board.events() if isinstance(event, Picture)]
    assert board.where[0] is not threading.main_thread()
    assert (picture.name, picture.png) == ("council-stats.png", b"PNG")
    assert "sol: points from 1.00 to 0.75" in picture.alt
    assert "opus: points from 0.00 to 0.25" in picture.alt
    (chart,) = board.charts
    assert chart.dates == [date(2026, 3, 5), date(2026, 3, 6)]
    scores, times = chart.panels  # nobody's price is known
    assert [(series.name, series.at, series.values, series.trend) for series in scores.series] == [
        ("sol", [0, 1], [1.0, 0.5], [1.0, 0.75]),
        ("opus", [0, 1], [0.0, 0.5], [0.0, 0.25]),
    ]
    assert [series.name for series in times.series] == ["sol", "opus"]


async def test_a_long_history_is_smoothed_over_a_tenth_of_it(board: Board) -> None:
    for n in range(DOTS + 10):
        await board.hold(judged("p:sol", 1, float(n >= 63)))
    (picture,) = [event for event in await board.events() if isinstance(event, Picture)]
    assert board.charts[0].panels[0].series[0].trend[-7:] == pytest.approx([n / 7 for n in range(1, 8)])
    assert "7 councils" in picture.alt
    assert "Marks" not in picture.alt
