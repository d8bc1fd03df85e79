"""The data for `usage` as a picture: a bar for each day, in parts by work, or a bar for each group of the table."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from bot.accounts import days_of, key_of, summed, usd_of
from bot.kind import value_in
from bot.words import Words, words

if TYPE_CHECKING:
    from bot.accounts import Accounts
    from bot.events import Request
    from storage.ledger import Totals

PARTS: Final = 7
"""How many works have a colour of their own; the others share one."""
GROUPS: Final = 15
"""The maximum number of bars, except for days."""


@dataclass(frozen=True, slots=True)
class Bars:
    """Amounts for each of `names`, in each of the parts by name: dollars if `usd`, otherwise tokens.

    `by` is the kind of `names`, as in `--by`; `alt` says the same in words. Without names there is nothing to draw.
    """

    title: str
    by: str
    usd: bool
    names: list[str]
    parts: dict[str, list[float]]
    alt: str


async def bars_of(accounts: Accounts, request: Request) -> Bars:
    """The bars that the request asks for, by day and work by default; without names if there would be fewer than two
    bars.
    """
    say, by = words(request.locale), str(request.options.get("by") or "day")
    groups, other = await accounts.groups(request), say("usage.other_work")
    usd = any(usd_of(group.totals) for group in groups)

    def amount(totals: Totals) -> float:
        tokens = totals.input_tokens + totals.output_tokens + totals.cache_read_tokens
        return float(usd_of(totals)) if usd else tokens + totals.cache_write_tokens + totals.reserved_tokens

    sums = {key: amount(total) for key, total in summed(groups, lambda group: key_of(group, by)).items()}
    spent = sorted((key for key in sums if sums[key]), key=lambda key: (-sums[key], key))
    if by == "day":
        works = {work: amount(total) for work, total in summed(groups, lambda group: group.work).items()}
        largest = [work for work in sorted(works, key=lambda work: -works[work]) if work][:PARTS]
        names = _days(min(spent, default=""))
        of_day = {
            key: amount(total)
            for key, total in summed(
                groups, lambda group: (group.day, group.work if group.work in largest else other)
            ).items()
        }
        parts = {work: [of_day.get((day, work), 0.0) for day in names] for work in (*largest, other)}
        parts = {value_in(say, work): row for work, row in parts.items() if any(row)}
        sums_by_name = {work: sum(row) for work, row in parts.items()}
    else:
        names_by_key = await accounts.names_of(request.place, by, spent[:GROUPS])
        unknown = say("usage.nameless") if by == "person" else other
        labels = {key: value_in(say, key) for key in spent[:GROUPS]} if by == "work" else names_by_key
        names = [labels.get(key) or key or unknown for key in spent[:GROUPS]]
        parts = {"": [sums[key] for key in spent[:GROUPS]]}
        sums_by_name = dict(zip(names, parts[""], strict=True))
    kind, days = say(f"usage.chart_{by}"), days_of(request)
    title = say("usage.chart_dollars" if usd else "usage.chart_tokens", by=kind, days=days)
    alt = ", ".join(f"{name} {mark(value, say, usd=usd)}" for name, value in sums_by_name.items())
    return Bars(title, by, usd, names if len(spent) > 1 else [], parts, f"{title}: {alt}")


def mark(amount: float, say: Words, *, usd: bool) -> str:
    """An amount as people read it."""
    if usd:
        return say("council.usd", n=f"{amount:.2f}" if amount >= 0.1 or not amount else f"{amount:.2g}")
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if amount >= size:
            return f"{amount / size:.3g}{letter}"
    return f"{amount:g}"


def _days(first: str) -> list[str]:
    """The days in UTC from this one to today; none for ""."""
    if not first:
        return []
    day, days = datetime.fromisoformat(first).replace(tzinfo=UTC), list[str]()
    while day <= datetime.now(UTC):
        days.append(f"{day:%Y-%m-%d}")
        day += timedelta(days=1)
    return days
