"""The `usage` command: what a space has spent on models, what it may still spend, and how its answers were rated.

A person sees their own part, an admin everybody's. Calls no model and changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, TypeVar

from bot import budget
from bot.commands import WORKS
from bot.config import MOST_DAYS
from bot.events import Place, Request
from bot.kind import value_in
from bot.markdown import harmless
from bot.names import Names
from bot.words import Words, words
from storage.ledger import Totals

if TYPE_CHECKING:
    from bot.config import BudgetConfig
    from bot.llm.cache_times import CacheCosts, CacheTimes
    from bot.resources import Resources
    from storage.buttons import Feedback
    from storage.ledger import Conversation, Group, Ledger, Share

K = TypeVar("K")
P = TypeVar("P", "Group", "Share")

DEFAULT_DAYS = 30
"""The past days of a report, unless the request names another number."""

NAMED = 20
"""The most people with a line of their own; the others share one."""

LEAST = Decimal("0.0001")
"""The smallest amount in dollars that `bot.budget` does not round to zero."""

MOST_ROWS = 60
"""The most rows of a table by day, model or channel."""

LOOKED_UP = 200
"""The most people or channels of one answer whose names are looked up; for others their ids are shown."""

WITH_BARS = "terminal"
"""The platform that shows bars made of characters; others show a picture."""
BAR, BAR_CELLS = "█", 20

NAME_CHARS = 40
"""The longest name in a table."""


@dataclass(frozen=True, slots=True)
class Line:
    """What a person or a kind of work has spent. `who` is an id or the work's name, `name` the name to show."""

    who: str
    name: str
    spent: Totals


@dataclass(frozen=True, slots=True)
class Report:
    """The usage of a space in the last `days`, of one person or of `everybody`; the largest spenders first.

    `whole` is the sum of all that is shown, `others` the number of people besides those in `people`. `capped` is what
    the whole space has spent, or reserved for calls under way, in the days that its cap counts. `up` and `down` are the
    ratings of answers in the whole space. `conversation` is the usage of the same people in the conversation in which
    the report was requested, and `cache` what the service's cache costs there. `capped_tokens` are the tokens that
    belong to the dollars in `capped`.
    """

    days: int
    everybody: bool
    people: list[Line]
    others: int
    works: list[Line]
    whole: Totals
    capped: Decimal
    capped_tokens: int
    up: int
    down: int
    conversation: Conversation | None = None
    cache: CacheCosts | None = None


@dataclass(frozen=True, slots=True)
class Breakdown:
    """A table by day, model or channel, and all sums as CSV; each "" if it was not requested."""

    table: str
    csv: str


@dataclass(frozen=True, slots=True)
class Accounts:
    """Reads the ledger and the ratings of answers for the `usage` command and for other reports."""

    _ledger: Ledger
    _feedback: Feedback
    _names: Names
    _settings: BudgetConfig
    _cache_times: CacheTimes | None = None

    @classmethod
    def of(cls, resources: Resources) -> Accounts:
        ledger, feedback = resources.ledger, resources.records.feedback
        return cls(ledger, feedback, Names(resources), resources.config.budget, resources.models.cache_times)

    async def answer(self, request: Request) -> str:
        """The answer to `usage`, as Markdown."""
        report = await self.report(
            request.place.space,
            request.author.id,
            days=days_of(request),
            everybody=request.author.admin,
        )
        place, author = request.place, None if request.author.admin else request.author.id
        names = await self.names_of(place, "person", [line.who for line in report.people])
        report = replace(
            report,
            people=[replace(line, name=names.get(line.who) or line.who) for line in report.people],
            conversation=await self._ledger.conversation(*place.key, author_id=author),
            cache=self._cache_times.costs(place) if self._cache_times is not None else None,
        )
        return as_markdown(report, self._settings, words(request.locale), request.author.id)

    async def breakdown(self, request: Request) -> Breakdown:
        """The answer to `usage --by` and `--csv`: everybody's usage for an admin, otherwise the asker's own."""
        place, groups = request.place, await self.groups(request)
        by = str(request.options.get("by") or "")
        table = ""
        if by:
            sums = list(summed(groups, lambda group: key_of(group, by)).items())
            sums.sort(key=lambda entry: entry[0] if by == "day" else (-usd_of(entry[1]), entry[0]))
            say, shown = words(request.locale), sums[-MOST_ROWS:]
            names = await self.names_of(place, by, [key for key, _ in shown])
            unknown = say("usage.nameless" if by == "person" else "usage.other_work")
            labels = {key: value_in(say, key) for key, _ in shown} if by == "work" else names
            rows = [(labels.get(key) or key or unknown, spent) for key, spent in shown]
            bars = place.platform == WITH_BARS
            table = _table(f"usage.by_{by}", rows, say, bars=bars) if rows else say("usage.nothing")
        if not request.options.get("csv"):
            return Breakdown(table, "")
        people = await self.names_of(place, "person", [group.author_id for group in groups])
        channels = await self.names_of(place, "channel", [group.channel for group in groups])
        return Breakdown(table, _csv(groups, people, channels))

    async def groups(self, request: Request) -> list[Group]:
        """What was spent in the days that the request names: by everybody for an admin, otherwise by the asker."""
        since = datetime.now(UTC) - timedelta(days=days_of(request))
        author = None if request.author.admin else request.author.id
        return await self._ledger.groups(request.place.space, since, author_id=author)

    async def names_of(self, place: Place, by: str, ids: Sequence[str]) -> dict[str, str]:
        """The names of people or channels by their ids; empty if `by` is neither "person" nor "channel"."""
        name_of = {"person": self._names.person, "channel": self._names.channel}.get(by)
        if name_of is None:
            return {}
        unique = list(dict.fromkeys(ids))[:LOOKED_UP]
        return dict(zip(unique, await asyncio.gather(*(name_of(place, id) for id in unique)), strict=True))

    async def report(
        self, space: str, author: str, *, days: int = DEFAULT_DAYS, everybody: bool = False
    ) -> Report:
        """What `author` or everybody in the space has spent; people's names are not filled in yet."""
        now = datetime.now(UTC)
        since = now - timedelta(days=days)
        shares = await self._ledger.shares(space, since, author_id=None if everybody else author)
        people = _sorted_sums(shares, lambda share: share.author_id)
        capped, tokens = await self._ledger.spent(space, now - timedelta(days=self._settings.space_days))
        rated = await self._feedback.count(space, since)
        return Report(
            days=days,
            everybody=everybody,
            people=[Line(person, "", spent) for person, spent in people[:NAMED]],
            others=len(people[NAMED:]),
            works=[Line(work, work, spent) for work, spent in _sorted_sums(shares, lambda share: share.work)],
            whole=_sum([share.totals for share in shares]),
            capped=capped,
            capped_tokens=tokens,
            up=rated["up"],
            down=rated["down"],
        )


def as_markdown(report: Report, settings: BudgetConfig, say: Words, asker: str = "") -> str:
    """The report as Markdown: tables, then sentences. It addresses `asker` as "you"."""
    parts = [say("usage.since", days=report.days)]
    if report.whole.calls:
        parts.append(_people(report, say, asker))
        if len(report.works) > 1 or report.works[0].who:
            names = [
                (value_in(say, work.name) if work.who in WORKS else say("usage.other_work"), work.spent)
                for work in report.works
            ]
            parts.append(_table("usage.by_work", names, say))
    else:
        parts.append(say("usage.nothing"))
    if report.conversation is not None:
        parts.append(_conversation(report.conversation, say))
    if report.cache is not None:
        parts.append(_cache(report.cache, say))
    notes = (*_notes(report, say), *_caps(report, settings, say), say("usage.admin_budgets"))
    parts.append("\n".join(f"- {sentence}" for sentence in notes))
    return "\n\n".join(parts)


def _csv(groups: Sequence[Group], people: Mapping[str, str], channels: Mapping[str, str]) -> str:
    """The sums as CSV, one line for each day, person, work, model and channel; `people` and `channels` map ids to
    names.

    Text that a spreadsheet might interpret as a formula is quoted.
    """
    import csv
    import io

    file = io.StringIO()
    writer = csv.writer(file)
    names = [field.name for field in fields(Totals)]
    writer.writerow(["day", "person", "person_name", "work", "model", "channel", "channel_name", *names])
    for group in groups:
        person, channel = group.author_id, group.channel
        person_name, channel_name = people.get(person, ""), channels.get(channel, "")
        texts = (group.day, person, person_name, group.work, group.model, channel, channel_name)
        cells = [f"'{text}" if text.startswith(("=", "+", "-", "@")) else text for text in texts]
        writer.writerow([*cells, *(getattr(group.totals, name) for name in names)])
    return file.getvalue()


def _conversation(conversation: Conversation, say: Words) -> str:
    spent = conversation.totals
    read = spent.input_tokens + spent.cache_read_tokens + spent.cache_write_tokens
    figures = {
        "read": read,
        "cached": spent.cache_read_tokens,
        "stored": spent.cache_write_tokens,
        "written": spent.output_tokens,
    }
    shown = {name: _figure(n, say) for name, n in figures.items()}
    title = harmless(conversation.title) or say("usage.untitled")
    return say("usage.conversation", title=title, n=spent.calls, cost=_cost(spent, say), **shown)


def _cache(costs: CacheCosts, say: Words) -> str:
    key = "usage.cache_hour" if costs.hour < costs.five_minutes else "usage.cache_five"
    return say(key, n=costs.gaps, five=f"{costs.five_minutes:.2f}", hour=f"{costs.hour:.2f}")


def _people(report: Report, say: Words, asker: str) -> str:
    rows = [(_shown_name(line, asker, say), line.spent) for line in report.people]
    if report.others:
        others = _difference(report.whole, _sum([line.spent for line in report.people]))
        rows.append((say("usage.others", n=report.others), others))
    if len(rows) > 1:
        rows.append((say("usage.whole"), report.whole))
    return _table("usage.by_person", rows, say)


def _shown_name(line: Line, asker: str, say: Words) -> str:
    """The name to show for a line, also for a person whose data were deleted."""
    return say("usage.you") if line.who == asker else line.name or say("usage.nameless")


def _table(header: str, rows: Sequence[tuple[str, Totals]], say: Words, *, bars: bool = False) -> str:
    most_usd = max((usd_of(spent) for _, spent in rows), default=Decimal(0))
    bars = bars and most_usd > 0
    lines = [say(header) + "  |" * bars, "|---|--:|--:|--:|--:|" + "---|" * bars]
    for name, spent in rows:
        read = spent.input_tokens + spent.cache_read_tokens + spent.cache_write_tokens
        figures = [_figure(n, say) for n in (spent.calls, read, spent.output_tokens)]
        cells = [harmless(name[:NAME_CHARS]), *figures, _cost(spent, say)]
        cells += [BAR * int(-(-BAR_CELLS * usd_of(spent) // most_usd))] if bars else []
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _notes(report: Report, say: Words) -> list[str]:
    """What the sums leave out or include, and whose they are."""
    notes = []
    if report.whole.unpriced:
        notes.append(say("usage.unpriced", n=report.whole.unpriced))
    if report.whole.reserved_calls:
        notes.append(say("usage.reserved", n=report.whole.reserved_calls))
    if not report.everybody:
        notes.append(say("usage.own"))
    rated = report.up or report.down
    notes.append(say("usage.judged" if rated else "usage.not_judged", up=report.up, down=report.down))
    return notes


def _caps(report: Report, settings: BudgetConfig, say: Words) -> list[str]:
    caps = [say("usage.run_cap", cap=_dollars(Decimal(str(settings.run_usd)), say))]
    if settings.run_tokens is not None:
        caps.append(say("usage.run_cap_tokens", cap=_figure(settings.run_tokens, say)))
    if settings.space_tokens is not None:
        left = max(settings.space_tokens - report.capped_tokens, 0)
        figures = {"cap": settings.space_tokens, "spent": report.capped_tokens, "left": left}
        shown = {name: _figure(n, say) for name, n in figures.items()}
        caps.append(say("usage.space_cap_tokens", days=settings.space_days, **shown))
    if settings.space_usd is None:
        return caps if settings.space_tokens is not None else [*caps, say("usage.no_space_cap")]
    cap = Decimal(str(settings.space_usd))
    sums = {
        "cap": _dollars(cap, say),
        "spent": _dollars(report.capped, say),
        "left": _dollars(max(cap - report.capped, Decimal(0)), say),
    }
    return [*caps, say("usage.space_cap", days=settings.space_days, **sums)]


def _cost(spent: Totals, say: Words) -> str:
    """The cost in dollars; "?" if no price is known, "≥" before it if some are unknown."""
    usd = usd_of(spent)
    if not spent.unpriced:
        return _dollars(usd, say)
    return f"≥ {_dollars(usd, say)}" if usd >= LEAST else "?"


def usd_of(spent: Totals) -> Decimal:
    """Dollars as the caps count them: what is reserved for a call counts as spent until the call has ended."""
    return spent.cost_usd + spent.reserved_usd


def _dollars(usd: Decimal, say: Words) -> str:
    if 0 < usd < LEAST:
        return f"< {say('council.usd', n=LEAST)}"
    return say("council.usd", n=budget.dollars(usd))


def _figure(n: int, say: Words) -> str:
    grouped = f"{n:,}"
    return grouped.replace(",", ".") if say.locale == "pt-BR" else grouped


def _sorted_sums(shares: Sequence[Share], by: Callable[[Share], str]) -> list[tuple[str, Totals]]:
    """The shares added up by the key that `by` returns, the most expensive first."""
    return sorted(
        summed(shares, by).items(), key=lambda entry: (-usd_of(entry[1]), -entry[1].calls, entry[0])
    )


def days_of(request: Request) -> int:
    """The number of past days that the request asks for."""
    days = request.options.get("days")
    return min(days, MOST_DAYS) if isinstance(days, int) else DEFAULT_DAYS


def key_of(group: Group, by: str) -> str:
    """What the group is counted under in a table by `by`: its day, person, work, model or channel."""
    return str(getattr(group, "author_id" if by == "person" else by))


def summed(parts: Sequence[P], key: Callable[[P], K]) -> dict[K, Totals]:
    """The parts added up by the key that `key` returns."""
    sums: dict[K, list[Totals]] = {}
    for part in parts:
        sums.setdefault(key(part), []).append(part.totals)
    return {shared_key: _sum(totals) for shared_key, totals in sums.items()}


def _sum(totals: Sequence[Totals]) -> Totals:
    """The sum of each field."""
    return Totals(*(sum(getattr(part, field.name) for part in totals) for field in fields(Totals)))


def _difference(whole: Totals, part: Totals) -> Totals:
    """Each field of `whole` less that of `part`."""
    return Totals(*(getattr(whole, field.name) - getattr(part, field.name) for field in fields(Totals)))
