"""`council stats`: each member's results in this space, as a table and, over time, as a picture.

A member is a model with its persona, temperature and effort. Knows no texts of councils.
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from decimal import Decimal
from typing import TYPE_CHECKING

from bot.config.model_spec import ModelSpec, parse
from bot.events import Event, Picture, Request, Stage, Text, UserError
from bot.markdown import table_row
from bot.words import Words, words
from bot.work import Run
from bot.works.council import chart, formatting

if TYPE_CHECKING:
    from storage.councils import CouncilRow, Councils, SeatRow

MOST_LINES = 8
"""The maximum number of lines in the picture that the eye can tell apart; the table has everybody."""

WINDOW = 5
"""The number of councils averaged for one point of a line; with many councils, a tenth of them."""


@dataclass(slots=True)
class Record:
    """One member's results, oldest first. `scores`, `costs` and `seconds` are by the number of the council."""

    member: ModelSpec
    seats: int = 0
    failed: int = 0
    wins: int = 0
    unpriced: int = 0
    ranks: list[float] = field(default_factory=list)
    scores: list[tuple[int, float]] = field(default_factory=list)
    costs: list[tuple[int, float]] = field(default_factory=list)
    seconds: list[tuple[int, float]] = field(default_factory=list)
    cost: Decimal = Decimal(0)

    @property
    def score(self) -> float | None:
        """The mean of its normalised Borda counts: comparable between councils of any size."""
        return statistics.fmean(value for _, value in self.scores) if self.scores else None

    @property
    def merit(self) -> tuple[float, int, int]:
        """The sort key: the mean score, then wins, then seats."""
        return (-1.0 if self.score is None else self.score, self.wins, self.seats)


@dataclass(frozen=True, slots=True)
class Stats:
    """The verb "stats", which reads only stored councils. `_draw` makes the PNG, in a thread."""

    _councils: Councils
    _zone: Callable[[Request], Awaitable[tzinfo]]
    _draw: Callable[[chart.Chart], bytes] = chart.draw

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        say = words(run.request.locale)
        rows = await self._councils.records(run.request.place.space)
        yield Stage("stats", say("council_stats.title"))
        if not rows:
            yield Text(say("council_stats.nothing"))
            return
        records, moments = await asyncio.to_thread(member_records, rows)
        zone = await self._zone(run.request)
        moments = [moment.astimezone(zone) for moment in moments]
        yield Text(table(records, len(moments), say))
        numbers_scored = {at for record in records for at, _ in record.scores}
        if len(numbers_scored) < 2:
            yield Text("\n\n" + say("council_stats.no_picture"))
            return
        png = await asyncio.to_thread(self._draw, chart_of(records, moments, say))
        yield Picture("council-stats.png", png, description(records, moments, say))


def member_records(rows: Sequence[tuple[CouncilRow, SeatRow]]) -> tuple[list[Record], list[datetime]]:
    """Each member's record, the best first, and the time of each council, oldest first."""
    began = {row.run_id: row.created_at for row, _ in rows}
    order = sorted(began, key=lambda run: (began[run], run))
    number = {run: at for at, run in enumerate(order)}
    records_by_member: dict[ModelSpec, Record] = {}
    for row, seat in sorted(rows, key=lambda row_pair: (number[row_pair[0].run_id], row_pair[1].seat)):
        member = _member_of(seat)
        _add_seat(records_by_member.setdefault(member, Record(member)), seat, number[row.run_id])
    records = sorted(records_by_member.values(), key=lambda record: record.merit, reverse=True)
    return records, [began[run] for run in order]


def table(records: Sequence[Record], councils: int, say: Words) -> str:
    """A table of all members, the best first, with an explanation of the columns."""
    lines = [say("council_stats.header"), "|---|---:|---:|---:|---:|---:|---:|---:|"]
    for name, record in zip(names(records), records, strict=True):
        cells = [
            name,
            str(record.seats),
            f"{record.wins}/{len(record.scores)}" if record.scores else "–",
            formatting.figure(statistics.fmean(record.ranks) if record.ranks else None, say),
            formatting.figure(record.score, say),
            str(record.failed) if record.failed else "–",
            _cost(record, say),
            formatting.duration(_median(record), say) if record.seconds else "–",
        ]
        lines.append(table_row(*cells))
    return "\n".join([*lines, "", say("council_stats.meaning", n=councils)])


def description(records: Sequence[Record], moments: Sequence[datetime], say: Words) -> str:
    """The chart as text, for people who cannot see it."""
    window = _window(len(moments))
    parts = [_subtitle(moments, say)]
    for name, record in list(zip(names(records), records, strict=True))[:MOST_LINES]:
        if not record.scores:
            continue
        trend = _smooth([value for _, value in record.scores], window)
        parts.append(
            say(
                "council_stats.line",
                name=name,
                first=f"{trend[0]:.2f}",
                last=f"{trend[-1]:.2f}",
                wins=record.wins,
                cost=_cost(record, say),
                time=formatting.duration(_median(record), say) if record.seconds else "–",
            )
        )
    return " ".join(parts)


def chart_of(records: Sequence[Record], moments: Sequence[datetime], say: Words) -> chart.Chart:
    """The chart of scores, costs and times of all members that were ever judged."""
    window = _window(len(moments))
    shown = [(name, record) for name, record in zip(names(records), records, strict=True) if record.scores][
        :MOST_LINES
    ]

    def panel(
        key: str,
        values: Callable[[Record], Sequence[tuple[int, float]]],
        mark: Callable[[float], str],
        high: float | None = None,
    ) -> chart.Panel:
        series = []
        for name, record in shown:
            at, points = [at for at, _ in values(record)], [value for _, value in values(record)]
            series.append(chart.Series(name, at, points, _smooth(points, window)))
        return chart.Panel(say(f"council_stats.panel_{key}"), series, mark, high)

    panels = [panel("score", lambda record: record.scores, lambda value: f"{value:.2f}", 1.0)]
    if any(value for _, record in shown for _, value in record.costs):
        panels.append(panel("cost", lambda record: record.costs, lambda value: "$" + _amount(value)))
    if any(record.seconds for _, record in shown):
        panels.append(panel("seconds", lambda record: record.seconds, _amount))
    dates = [moment.date() for moment in moments]
    return chart.Chart(say("council_stats.title"), _subtitle(moments, say), dates, panels)


def names(records: Sequence[Record]) -> list[str]:
    """Each model's name, with its distinctive settings where several members have it."""
    member_names = [record.member.short for record in records]
    for fuller in (_name_with_settings, str):
        member_names = [
            fuller(record.member) if member_names.count(name) > 1 else name
            for name, record in zip(member_names, records, strict=True)
        ]
    return member_names


def _name_with_settings(member: ModelSpec) -> str:
    persona = f"“{member.persona}”" if member.persona else ""
    settings = str(replace(member, persona="")).removeprefix(member.model).strip()
    return " ".join(filter(None, [member.short, persona, settings]))


def _add_seat(record: Record, seat: SeatRow, at: int) -> None:
    record.seats += 1
    if seat.state != "answered":
        record.failed += 1
    else:
        record.seconds.append((at, seat.seconds))
    if seat.score is not None:
        record.scores.append((at, seat.score))
        record.wins += seat.place == 1
        if seat.mean_rank is not None:
            record.ranks.append(seat.mean_rank)
    if seat.cost_usd is not None:
        record.cost += seat.cost_usd
        record.costs.append((at, float(seat.cost_usd)))
    elif seat.tokens is not None:
        record.unpriced += 1


def _member_of(seat: SeatRow) -> ModelSpec:
    """The member in a seat, without limits of time and length, which do not make it another member."""
    try:
        return replace(parse(seat.settings or seat.model), timeout=None, tokens=None)
    except UserError:  # written by another release
        return ModelSpec(seat.model)


def _cost(record: Record, say: Words) -> str:
    if not record.costs:
        return say("council_stats.unknown")
    spent = formatting.dollars(record.cost, say)
    return f"≥ {spent}" if record.unpriced else spent


def _median(record: Record) -> float:
    return statistics.median(value for _, value in record.seconds)


def _window(councils: int) -> int:
    return max(WINDOW, councils // 10)


def _smooth(values: Sequence[float], window: int) -> list[float]:
    """The mean of each value and those before it, of at most `window` values."""
    return [statistics.fmean(values[max(0, at - window + 1) : at + 1]) for at in range(len(values))]


def _subtitle(moments: Sequence[datetime], say: Words) -> str:
    days = dict.fromkeys(f"{moment:%Y-%m-%d}" for moment in (moments[0], moments[-1]))
    window = _window(len(moments))
    subtitle = say("council_stats.subtitle", n=len(moments), when=" – ".join(days), window=window)
    return f"{subtitle} {say('council_stats.marks')}" if len(moments) <= chart.DOTS else subtitle


def _amount(value: float) -> str:
    return f"{value:.6f}".rstrip("0").rstrip(".")
