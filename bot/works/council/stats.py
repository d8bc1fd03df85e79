"""`council stats`: how each member has fared in this space, as a table and, over time, as a picture.

A member is a model with what it was told to be: its persona, temperature and effort. Knows no council's texts.
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from decimal import Decimal
from typing import TYPE_CHECKING

from bot.config.members import Member, parse
from bot.events import Event, Picture, Request, Run, Sorry, Stage, Text
from bot.words import Words, words
from bot.works.council import chart, telling

if TYPE_CHECKING:
    from storage.councils import CouncilRow, Councils, SeatRow

DRAWN = 8
"""Lines that the eye can keep apart; the table has everybody."""

WINDOW = 5
"""Councils that a point of a line is the mean of; a tenth of all of them where there are many."""


@dataclass(slots=True)
class Record:
    """One member's, oldest first. `scores`, `costs` and `seconds` are by the number of the council."""

    member: Member
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
        return (-1.0 if self.score is None else self.score, self.wins, self.seats)


class Stats:
    """Needs nothing but what was kept. `draw` makes the PNG, in a thread."""

    def __init__(
        self,
        councils: Councils,
        zone: Callable[[Request], Awaitable[tzinfo]],
        draw: Callable[[chart.Chart], bytes] = chart.draw,
    ) -> None:
        self._councils = councils
        self._zone = zone
        self._draw = draw

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        say = words(run.request.locale)
        rows = await self._councils.records(run.request.place.space)
        yield Stage("stats", say("council_stats.title"))
        if not rows:
            yield Text(say("council_stats.nothing"))
            return
        records, moments = await asyncio.to_thread(recorded, rows)
        zone = await self._zone(run.request)
        moments = [one.astimezone(zone) for one in moments]
        yield Text(table(records, len(moments), say))
        counted = {at for one in records for at, _ in one.scores}
        if len(counted) < 2:
            yield Text("\n\n" + say("council_stats.no_picture"))
            return
        png = await asyncio.to_thread(self._draw, pictured(records, moments, say))
        yield Picture("council-stats.png", png, told(records, moments, say))


def recorded(rows: Sequence[tuple[CouncilRow, SeatRow]]) -> tuple[list[Record], list[datetime]]:
    """The members, the best first, and when each council began, oldest first."""
    began = {row.run_id: row.created_at for row, _ in rows}
    order = sorted(began, key=lambda run: (began[run], run))
    number = {run: at for at, run in enumerate(order)}
    found: dict[Member, Record] = {}
    for row, seat in sorted(rows, key=lambda one: (number[one[0].run_id], one[1].seat)):
        member = _member(seat)
        _count(found.setdefault(member, Record(member)), seat, number[row.run_id])
    records = sorted(found.values(), key=lambda one: one.merit, reverse=True)
    return records, [began[run] for run in order]


def table(records: Sequence[Record], councils: int, say: Words) -> str:
    """Everybody, the best first, and what the columns mean."""
    lines = [say("council_stats.header"), "|---|---:|---:|---:|---:|---:|---:|---:|"]
    for name, one in zip(names(records), records, strict=True):
        cells = [
            name,
            str(one.seats),
            f"{one.wins}/{len(one.scores)}" if one.scores else "–",
            f"{statistics.fmean(one.ranks):.2f}" if one.ranks else "–",
            f"{one.score:.2f}" if one.score is not None else "–",
            str(one.failed) if one.failed else "–",
            _spent(one, say),
            telling.duration(_median(one), say) if one.seconds else "–",
        ]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join([*lines, "", say("council_stats.meaning", n=councils)])


def told(records: Sequence[Record], moments: Sequence[datetime], say: Words) -> str:
    """The picture in words, for who cannot see it."""
    window = _window(len(moments))
    parts = [_subtitle(moments, say)]
    for name, one in list(zip(names(records), records, strict=True))[:DRAWN]:
        if not one.scores:
            continue
        trend = _smooth([value for _, value in one.scores], window)
        parts.append(
            say(
                "council_stats.line",
                name=name,
                first=f"{trend[0]:.2f}",
                last=f"{trend[-1]:.2f}",
                wins=one.wins,
                cost=_spent(one, say),
                time=telling.duration(_median(one), say) if one.seconds else "–",
            )
        )
    return " ".join(parts)


def pictured(records: Sequence[Record], moments: Sequence[datetime], say: Words) -> chart.Chart:
    """The picture: how scores, costs and times went, of those who were ever judged."""
    called, window = names(records), _window(len(moments))
    drawn = [(name, one) for name, one in zip(called, records, strict=True) if one.scores][:DRAWN]

    def panel(
        key: str,
        values: Callable[[Record], Sequence[tuple[int, float]]],
        mark: Callable[[float], str],
        high: float | None = None,
    ) -> chart.Panel:
        series = []
        for name, one in drawn:
            at, found = [at for at, _ in values(one)], [value for _, value in values(one)]
            series.append(chart.Series(name, at, found, _smooth(found, window)))
        return chart.Panel(say(f"council_stats.panel_{key}"), series, mark, high)

    panels = [panel("score", lambda one: one.scores, lambda value: f"{value:.2f}", 1.0)]
    if any(value for _, one in drawn for _, value in one.costs):
        panels.append(panel("cost", lambda one: one.costs, lambda value: "$" + _round(value)))
    if any(one.seconds for _, one in drawn):
        panels.append(panel("seconds", lambda one: one.seconds, _round))
    dates = [one.date() for one in moments]
    return chart.Chart(say("council_stats.title"), _subtitle(moments, say), dates, panels)


def names(records: Sequence[Record]) -> list[str]:
    """The model's name, with what sets it apart where several have it."""
    called = [one.member.short for one in records]
    for fuller in (_set_apart, str):
        called = [
            fuller(one.member) if called.count(name) > 1 else name
            for name, one in zip(called, records, strict=True)
        ]
    return called


def _set_apart(member: Member) -> str:
    persona = f"“{member.persona}”" if member.persona else ""
    rest = str(replace(member, persona="")).removeprefix(member.model).strip()
    return " ".join(filter(None, [member.short, persona, rest]))


def _count(one: Record, seat: SeatRow, at: int) -> None:
    one.seats += 1
    if seat.state != "answered":
        one.failed += 1
    else:
        one.seconds.append((at, seat.seconds))
    if seat.score is not None:
        one.scores.append((at, seat.score))
        one.wins += seat.place == 1
        if seat.mean_rank is not None:
            one.ranks.append(seat.mean_rank)
    if seat.cost_usd is not None:
        one.cost += seat.cost_usd
        one.costs.append((at, float(seat.cost_usd)))
    elif seat.tokens is not None:
        one.unpriced += 1


def _member(seat: SeatRow) -> Member:
    """Whom to count it for: how long a member may take or write makes it no other."""
    try:
        return replace(parse(seat.settings or seat.model), timeout=None, tokens=None)
    except Sorry:  # as another release wrote it
        return Member(seat.model)


def _spent(one: Record, say: Words) -> str:
    if not one.costs:
        return say("council_stats.unknown")
    spent = telling.dollars(one.cost, say)
    return f"≥ {spent}" if one.unpriced else spent


def _median(one: Record) -> float:
    return statistics.median(value for _, value in one.seconds)


def _window(councils: int) -> int:
    return max(WINDOW, councils // 10)


def _smooth(values: Sequence[float], window: int) -> list[float]:
    """The mean of each value and those before it, at most `window` in all."""
    return [statistics.fmean(values[max(0, at - window + 1) : at + 1]) for at in range(len(values))]


def _subtitle(moments: Sequence[datetime], say: Words) -> str:
    days = dict.fromkeys(f"{one:%Y-%m-%d}" for one in (moments[0], moments[-1]))
    window = _window(len(moments))
    told = say("council_stats.subtitle", n=len(moments), when=" – ".join(days), window=window)
    return f"{told} {say('council_stats.marks')}" if len(moments) <= chart.DOTS else told


def _round(value: float) -> str:
    return f"{value:.6f}".rstrip("0").rstrip(".")
