"""`usage`: what a space has spent on models, what it may still spend, and how its answers were judged.

Whoever asks sees their own part, an admin everybody's. Asks no model and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from bot import budget
from bot.commands import WORKS
from bot.config import MOST_DAYS
from bot.events import Request
from bot.runs.requests import request_from_json
from bot.words import Words, words
from storage.ledger import Totals

if TYPE_CHECKING:
    from bot.config import BudgetConfig
    from storage.feedback import Feedback
    from storage.ledger import Ledger, Share

RECENT = 30
"""Days that are looked back where nobody says how many."""

NAMED = 20
"""As many people get a line of their own; the others share one."""

LEAST = Decimal("0.0001")
"""Dollars that can be told apart from none, as `bot.budget` writes them."""

NAME_CHARS = 40
"""As much of a name as a table has room for."""


@dataclass(frozen=True, slots=True)
class Line:
    """What somebody, or a kind of work, has spent. `who` is an id or the work's name, `name` what to call it."""

    who: str
    name: str
    spent: Totals


@dataclass(frozen=True, slots=True)
class Report:
    """The last `days` of a space, those who spent most first: of one person, or of `everybody`.

    `whole` is what all that is shown comes to, `others` how many people there are besides those in `people`.
    `capped` is what the whole space has spent, or set aside for calls under way, in the days that its cap
    counts. `up` and `down` are the verdicts on answers in the whole space.
    """

    days: int
    everybody: bool
    people: list[Line]
    others: int
    works: list[Line]
    whole: Totals
    capped: Decimal
    up: int
    down: int


class Accounts:
    def __init__(self, ledger: Ledger, feedback: Feedback, settings: BudgetConfig) -> None:
        self._ledger = ledger
        self._feedback = feedback
        self._settings = settings

    async def told(self, request: Request) -> str:
        """The answer to `usage`, as Markdown."""
        days = request.options.get("days")
        report = await self.report(
            request.place.space,
            request.author.id,
            days=min(days, MOST_DAYS) if isinstance(days, int) else RECENT,
            everybody=request.author.admin,
        )
        return told(report, self._settings, words(request.locale), request.author.id)

    async def report(self, space: str, author: str, *, days: int = RECENT, everybody: bool = False) -> Report:
        """What `author` has spent, or everybody in the space."""
        now = datetime.now(UTC)
        since = now - timedelta(days=days)
        shares = await self._ledger.shares(space, since, author_id=None if everybody else author)
        people = _added(shares, lambda one: one.author_id)
        named = await self._names(space, shares, [who for who, _ in people[:NAMED]])
        window = await self._ledger.totals(space, now - timedelta(days=self._settings.space_days))
        judged = await self._feedback.count(space, since)
        return Report(
            days=days,
            everybody=everybody,
            people=[Line(who, named.get(who) or who, spent) for who, spent in people[:NAMED]],
            others=len(people[NAMED:]),
            works=[Line(work, work, spent) for work, spent in _added(shares, lambda one: one.work)],
            whole=_sum([one.totals for one in shares]),
            capped=_usd(window),
            up=judged["up"],
            down=judged["down"],
        )

    async def _names(self, space: str, shares: Sequence[Share], people: Sequence[str]) -> dict[str, str]:
        """What people were called when they last asked for something, where that is known."""
        last = {who: max(one.last for one in shares if one.author_id == who) for who in people}
        asked = await self._ledger.requests(space, list(last.values()))
        names = {}
        for who, entry in last.items():
            try:
                names[who] = " ".join(request_from_json(asked[entry]).author.name.split())
            except (KeyError, TypeError, ValueError):  # of an earlier release, or not of the inbox at all
                continue
        return names


def told(report: Report, settings: BudgetConfig, say: Words, asker: str = "") -> str:
    """The report as Markdown: tables, then sentences. `asker` is called "you" in it."""
    parts = [say("usage.since", days=report.days)]
    if report.whole.calls:
        parts.append(_people(report, say, asker))
        if len(report.works) > 1 or report.works[0].who:
            names = [
                (work.name if work.who in WORKS else say("usage.other_work"), work.spent)
                for work in report.works
            ]
            parts.append(_table("usage.by_work", names, say))
    else:
        parts.append(say("usage.nothing"))
    parts.append("\n".join(f"- {one}" for one in (*_notes(report, say), *_caps(report, settings, say))))
    return "\n\n".join(parts)


def _people(report: Report, say: Words, asker: str) -> str:
    rows = [(_called(one, asker, say), one.spent) for one in report.people]
    if report.others:
        rest = _less(report.whole, _sum([one.spent for one in report.people]))
        rows.append((say("usage.others", n=report.others), rest))
    if len(rows) > 1:
        rows.append((say("usage.whole"), report.whole))
    return _table("usage.by_person", rows, say)


def _called(line: Line, asker: str, say: Words) -> str:
    """Whose name was taken off what they spent, with all that was kept about them, has none."""
    return say("usage.you") if line.who == asker else line.name or say("usage.nameless")


def _table(header: str, rows: Sequence[tuple[str, Totals]], say: Words) -> str:
    lines = [say(header), "|---|--:|--:|--:|--:|"]
    for name, spent in rows:
        read = spent.input_tokens + spent.cache_read_tokens + spent.cache_write_tokens
        figures = [_figure(n, say) for n in (spent.calls, read, spent.output_tokens)]
        cells = [name[:NAME_CHARS].replace("|", "\\|"), *figures, _cost(spent, say)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _notes(report: Report, say: Words) -> list[str]:
    """What the sums leave out, or hold besides; and who sees what."""
    said = []
    if report.whole.unpriced:
        said.append(say("usage.unpriced", n=report.whole.unpriced))
    if report.whole.reserved_calls:
        said.append(say("usage.reserved", n=report.whole.reserved_calls))
    if not report.everybody:
        said.append(say("usage.own"))
    judged = report.up or report.down
    said.append(say("usage.judged" if judged else "usage.not_judged", up=report.up, down=report.down))
    return said


def _caps(report: Report, settings: BudgetConfig, say: Words) -> list[str]:
    said = [say("usage.run_cap", cap=_dollars(Decimal(str(settings.run_usd)), say))]
    if settings.space_usd is None:
        return [*said, say("usage.no_space_cap")]
    cap = Decimal(str(settings.space_usd))
    left = max(cap - report.capped, Decimal(0))
    sums = {"cap": _dollars(cap, say), "spent": _dollars(report.capped, say), "left": _dollars(left, say)}
    return [*said, say("usage.space_cap", days=settings.space_days, **sums)]


def _cost(spent: Totals, say: Words) -> str:
    """In dollars; "?" where no price is known, "≥" where some are not."""
    usd = _usd(spent)
    if not spent.unpriced:
        return _dollars(usd, say)
    return f"≥ {_dollars(usd, say)}" if usd >= LEAST else "?"


def _usd(spent: Totals) -> Decimal:
    """As the caps count it: what is set aside for a call is spent until the call says otherwise."""
    return spent.cost_usd + spent.reserved_usd


def _dollars(usd: Decimal, say: Words) -> str:
    if 0 < usd < LEAST:
        return f"< {say('council.usd', n=LEAST)}"
    return say("council.usd", n=budget.dollars(usd))


def _figure(n: int, say: Words) -> str:
    grouped = f"{n:,}"
    return grouped.replace(",", ".") if say.locale == "pt-BR" else grouped


def _added(shares: Sequence[Share], by: Callable[[Share], str]) -> list[tuple[str, Totals]]:
    """The shares' sums by what `by` says of them, the most expensive first."""
    sums: dict[str, list[Totals]] = {}
    for one in shares:
        sums.setdefault(by(one), []).append(one.totals)
    added = [(key, _sum(totals)) for key, totals in sums.items()]
    return sorted(added, key=lambda one: (-_usd(one[1]), -one[1].calls, one[0]))


def _sum(totals: Sequence[Totals]) -> Totals:
    return Totals(*(sum(getattr(one, field.name) for one in totals) for field in fields(Totals)))


def _less(whole: Totals, part: Totals) -> Totals:
    return Totals(*(getattr(whole, one.name) - getattr(part, one.name) for one in fields(Totals)))
