"""The budgets that admins set for people, channels and spaces, per day or month, in dollars or in tokens.

Knows no model and no price. `bot.budget` enforces them before each call, through the ledger.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from bot.budget import amount_in, refused_by
from bot.events import Place, Request, UserError
from bot.settings import ADMIN_NOTES, ADMINS_EXEMPT, BUDGETS, ON, TIMEZONE, zone_of
from storage.ledger import Allowance
from storage.settings import TOLD

if TYPE_CHECKING:
    from bot.settings import Settings
    from bot.words import Words
    from storage.ledger import Ledger, Per, Whose
    from storage.settings import SettingRow

Holder: TypeAlias = Literal["person", "group", "each", "channel", "space"]
"""Whose usage a budget limits: one person's, each group member's, each person's, a channel's or a space's."""
Unit: TypeAlias = Literal["usd", "tokens"]
Shown: TypeAlias = "Callable[[Words], str]"
"""A function that writes an amount in the language of the words passed to it."""
PERIODS: Final[tuple[Per, ...]] = ("day", "month")
UNITS: Final[tuple[Unit, ...]] = get_args(Unit)
MOST: Final = 200
"""The most budgets that a space may have; every model call reads them all."""
_AMOUNT: Final = re.compile(
    r"(?:US)?\$?\s*(\d{1,12}(?:\.\d{1,4})?)\s*(\$|usd|dollars?|dólar(?:es)?|tokens?)?", re.IGNORECASE
)
WARNED_AT: Final = Decimal("0.8")
"""The used part of a budget at which people are warned."""


@dataclass(frozen=True, slots=True)
class SetBudget:
    """One budget. `of` is the id of the person, group or channel, "" for the others; `name` is its name when it was
    set.
    """

    holder: Holder
    of: str
    per: Per
    unit: Unit
    amount: Decimal
    name: str
    config: bool = False
    """Whether config.toml sets it."""

    @property
    def setting(self) -> str:
        """The name of the setting that stores the budget."""
        return setting_of(self.holder, self.of, self.per, self.unit)

    @property
    def shown(self) -> Shown:
        return shown(self.amount, self.unit)


def setting_of(holder: Holder, of: str, per: Per, unit: Unit) -> str:
    """The name of the setting that stores the budget: "budgets.<holder>.<id>.<per>.<unit>"."""
    return f"{BUDGETS}{holder}.{of}.{per}.{unit}"


def shown(amount: Decimal, unit: Unit) -> Shown:
    """The amount as a function of the reader's words."""
    return partial(amount_in, amount, unit)


def amount_of(text: str) -> tuple[Decimal, Unit]:
    """Parse a typed amount into its value and unit. Raises UserError."""
    typed = text.strip().replace(",", ".") if text.count(",") == 1 and "." not in text else text.strip()
    match = _AMOUNT.fullmatch(typed)
    if match is None or Decimal(match[1]) <= 0:
        raise UserError("budgets.amount", value=text.strip()[:60])
    unit: Unit = "tokens" if (match[2] or "").casefold().startswith("token") else "usd"
    if unit == "tokens" and Decimal(match[1]) % 1:
        raise UserError("budgets.amount", value=text.strip()[:60])
    return Decimal(match[1]), unit


def budget_of(row: SettingRow) -> SetBudget | None:
    """The budget that a row stores; None for a row of another release."""
    holder, _, rest = row.name.removeprefix(BUDGETS).partition(".")
    of, per, unit = (["", "", *rest.rsplit(".", 2)])[-3:]
    amount, _, name = row.value.partition(" ")
    if holder not in get_args(Holder) or per not in PERIODS or unit not in UNITS:
        return None
    try:
        config = row.scope == "config"
        return SetBudget(holder, of, per, unit, Decimal(amount), name, config)  # type: ignore[arg-type]
    except InvalidOperation:
        return None


@dataclass(frozen=True, slots=True)
class AdminNote:
    """A note that most of a budget of the space is used: the key and values of its message. It is posted in `channels`;
    if there are none, it goes to `person`, who has set the budget."""

    key: str
    values: dict[str, Shown]
    channels: tuple[str, ...]
    person: str


class Budgets:
    """Reads the budgets of a space for requests, model calls and warnings."""

    def __init__(self, settings: Settings, ledger: Ledger) -> None:
        self._settings = settings
        self._ledger = ledger

    async def all(self, space: str) -> list[SetBudget]:
        """The budgets of a space, ordered by holder, name and setting."""
        budgets = filter(None, map(budget_of, await self._settings.of_space(space, BUDGETS)))
        order = get_args(Holder)
        return sorted(budgets, key=lambda budget: (order.index(budget.holder), budget.name, budget.setting))

    async def of(self, request: Request) -> list[Allowance]:
        """The allowances of the request's author, its channel and its space; an empty list for an admin if admins are
        exempt.
        """
        place, author = request.asked_in or request.place, request.author
        if author.admin and await self._exempt(place):
            return []
        budgets = await self.all(place.space)
        since = await self._since(place)
        whose: dict[Holder, Whose] = {"channel": "channel", "space": "space"}
        return [
            Allowance(
                whose.get(budget.holder, "person"),
                {"channel": place.channel, "space": ""}.get(budget.holder, author.id),
                budget.per,
                since[budget.per],
                budget.amount if budget.unit == "usd" else None,
                int(budget.amount) if budget.unit == "tokens" else None,
            )
            for per in PERIODS
            for unit in UNITS
            for budget in _applying([b for b in budgets if (b.per, b.unit) == (per, unit)], request)
        ]

    async def check(self, request: Request) -> None:
        """Raise UserError ("budget.over_…") if nothing is left of a budget."""
        for allowance in await self.of(request):
            usd, tokens = await self._ledger.used(request.place.space, allowance)
            if allowance.usd is not None and usd >= allowance.usd:
                raise refused_by(allowance, usd)
            if allowance.tokens is not None and tokens >= allowance.tokens:
                raise refused_by(allowance, Decimal(tokens))

    async def words(self, request: Request) -> list[tuple[str, dict[str, object]]]:
        """Warnings, as message keys and values, about budgets of which 80 % are used: one for each budget and period.
        Warnings about the space's budget are for admins."""
        place, sentences = request.place, []
        for allowance in await self.of(request):
            if allowance.whose == "space" and not request.author.admin:
                continue
            usd, tokens = await self._ledger.used(place.space, allowance)
            unit: Unit = "usd" if allowance.usd is not None else "tokens"
            cap = allowance.usd if allowance.usd is not None else Decimal(allowance.tokens or 0)
            used = usd if unit == "usd" else Decimal(tokens)
            if cap and used >= WARNED_AT * cap and await self._first(request, allowance, unit):
                values: dict[str, object] = {"spent": shown(used, unit), "cap": shown(cap, unit)}
                sentences.append((f"budget.most_{allowance.kind}", values))
        return sentences

    async def notes(self, request: Request) -> list[AdminNote]:
        """Notes for admins about budgets of the request's space of which 80 % are used: one for each budget and
        period.
        """
        place, notes = request.place, list[AdminNote]()
        rows = await self._settings.of_space(place.space, BUDGETS)
        of_space = [(row, b) for row in rows if (b := budget_of(row)) is not None and b.holder == "space"]
        if not of_space:
            return []
        since = await self._since(place)
        for row, budget in of_space:
            allowance = Allowance("space", "", budget.per, since[budget.per])
            usd, tokens = await self._ledger.used(place.space, allowance)
            used = usd if budget.unit == "usd" else Decimal(tokens)
            if used < WARNED_AT * budget.amount or not await self._first(
                request, allowance, budget.unit, "admins."
            ):
                continue
            posted = await self._settings.of_channels(place.space, [ADMIN_NOTES])
            channels = tuple(row.of for row in posted if row.of and row.value == ON)
            values = {"spent": shown(used, budget.unit), "cap": budget.shown}
            notes.append(AdminNote(f"budget.most_{allowance.kind}", values, channels, row.author_id))
        return notes

    async def _first(self, request: Request, allowance: Allowance, unit: Unit, audience: str = "") -> bool:
        """Whether this run is the first to warn about the allowance in its period.

        `audience` is "admins." for a note to admins, "" for a warning to the request's author.
        """
        store, space = self._settings.store, request.place.space
        scope = allowance.whose
        name = f"{TOLD}{audience}{allowance.per}.{unit}"
        stamp = f"{allowance.since:%Y-%m-%d}"
        if await store.add(space, f"{name}.{stamp}", request.id, "", scope, allowance.of):
            earlier = await store.named(space, [], [f"{name}."])
            warnings = {row.name for row in earlier if (row.scope, row.of) == (scope, allowance.of)}
            if expired := sorted(warnings - {f"{name}.{stamp}"}):
                await store.reset_all(space, expired, "", scope, allowance.of)
            return True
        row = await store.get(space, f"{name}.{stamp}", scope, allowance.of)
        return row is not None and row.value == request.id  # shown again after a crash

    async def _exempt(self, place: Place) -> bool:
        rows = await self._settings.nearest(place, "", ADMINS_EXEMPT)
        return bool(rows) and rows[0].value == ON

    async def _since(self, place: Place) -> dict[Per, datetime]:
        """When the current day and month began, in the space's time zone."""
        rows = await self._settings.nearest(replace(place, channel="", thread=""), "", TIMEZONE)
        zone = rows[0].value if rows else "UTC"
        midnight = datetime.now(zone_of(zone)).replace(hour=0, minute=0, second=0, microsecond=0)
        return {"day": midnight.astimezone(UTC), "month": midnight.replace(day=1).astimezone(UTC)}


def _applying(budgets: Sequence[SetBudget], request: Request) -> list[SetBudget]:
    """Those of the budgets (of one period and unit) that apply to the request.

    These are the person's own, otherwise the largest of their groups', otherwise each person's; also the channel's and
    the space's.
    """
    groups = request.author.groups or ()
    own = [b for b in budgets if b.holder == "person" and b.of == request.author.id]
    of_groups = [b for b in budgets if b.holder == "group" and b.of in groups]
    of_everyone = [b for b in budgets if b.holder == "each"]
    personal = own or sorted(of_groups, key=lambda b: -b.amount)[:1] or of_everyone
    channel = (request.asked_in or request.place).channel
    of_channel = [b for b in budgets if b.holder == "channel" and b.of == channel]
    of_space = [b for b in budgets if b.holder == "space"]
    return [*personal, *of_channel, *of_space]
