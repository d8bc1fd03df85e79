"""`settings budget`: how much people, groups, channels and the space may spend in a day or a month."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from decimal import Decimal
from typing import TYPE_CHECKING, cast

from bot.admin_budgets import MOST, UNITS, Budgets, Holder, SetBudget, Unit, amount_of, setting_of, shown
from bot.events import Event, Request, Stage, Text, UserError
from bot.markdown import code, table_row
from bot.names import Names
from bot.words import Words, meant, words
from bot.work import Run
from bot.works.settings.subject import subject_of

if TYPE_CHECKING:
    from bot.resources import Resources
    from storage.ledger import Per


class BudgetTable:
    """The verb "budget"."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._settings = resources.settings
        self._budgets = Budgets(resources.settings, resources.ledger)

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        """Set a budget, remove one with `off`, or show all of them."""
        request, say = run.request, words(run.request.locale)
        shows = not request.text.strip()
        text = await run.step("budget", lambda: (self._table if shows else self._set)(request, say), str)
        yield Stage("budget", say("budgets.title"))
        yield Text(text)

    async def used(self, run: Run) -> AsyncGenerator[Event, None]:
        """Notify admins that most of the space's budget is used."""
        options, say = dict(run.request.options), words(run.request.locale)
        key = str(options.pop("key"))
        yield Stage("budget", say("budgets.title"))
        yield Text(f"{say(key, **options)} {say('budgets.admins')}")

    async def _set(self, request: Request, say: Words) -> str:
        if not request.author.admin:
            raise UserError("settings.admins", name="budget")
        holder, holder_id, name = await self._holder(request)
        per = cast("Per", request.options.get("per") or "day")
        author, place = request.author.id, request.place
        whose = self._holder_name(holder, name or holder_id, say)
        if meant(request.text, "none"):
            names = [setting_of(holder, holder_id, per, unit) for unit in UNITS]
            removed = await self._settings.reset_all(place, author, names, "space")
            configured = [
                budget for budget in await self._budgets.all(place.space) if budget.setting in names
            ]
            if configured:
                return say("budgets.in_config", amount=", ".join(budget.shown(say) for budget in configured))
            return say(
                "budgets.off" if removed else "budgets.was_none", whose=whose, per=say(f"budgets.a_{per}")
            )
        amount, unit = amount_of(request.text)
        setting = setting_of(holder, holder_id, per, unit)
        budgets = await self._budgets.all(place.space)
        if len(budgets) >= MOST and setting not in {budget.setting for budget in budgets}:
            raise UserError("budgets.many", limit=MOST)
        await self._settings.set(place, author, setting, f"{amount} {name}".strip(), "space")
        period = say(f"budgets.a_{per}")
        return say("budgets.set", whose=whose, amount=shown(amount, unit), per=period)

    async def _holder(self, request: Request) -> tuple[Holder, str, str]:
        """The kind, id and name of the holder that a request names. Raises UserError."""
        whose, subject_id, name = await subject_of(self._resources, request)
        holder = request.options.get("whose")
        if whose != "everyone":
            if holder:
                raise UserError("budgets.one")
            return whose, subject_id, name
        if holder == "channel":
            channel = request.place.channel
            return "channel", channel, await Names(self._resources).channel(request.place, channel)
        return ("each" if holder == "each" else "space"), "", ""

    async def _table(self, request: Request, say: Words) -> str:
        """The table of budgets: all of them for an admin, for others those that apply to them."""
        budgets = await self._budgets.all(request.place.space)
        if not request.author.admin:
            budgets = [budget for budget in budgets if _applies_to(budget, request)]
        rows = [
            table_row(
                self._holder_name(budget.holder, budget.name or budget.of, say),
                budget.shown(say) + (f" ({say('settings.for_config')})" if budget.config else ""),
                say(f"budgets.a_{budget.per}"),
            )
            for budget in budgets
        ]
        table = "\n".join([say("budgets.header"), "|---|---|---|", *rows]) if rows else say("budgets.none")
        lines = []
        for allowance in await self._budgets.of(request):
            usd, tokens = await self._resources.ledger.used(request.place.space, allowance)
            unit: Unit = "usd" if allowance.usd is not None else "tokens"
            cap = allowance.usd if allowance.usd is not None else Decimal(allowance.tokens or 0)
            used = shown(usd if unit == "usd" else Decimal(tokens), unit)
            key = f"budget.used_{allowance.kind}"
            lines.append("- " + say(key, spent=used, cap=shown(cap, unit)))
        return "\n\n".join(filter(None, [table, "\n".join(lines), say("budgets.how")]))

    def _holder_name(self, holder: Holder, name: str, say: Words) -> str:
        return say(f"budgets.of_{holder}", name=code(name) if name else "")


def _applies_to(budget: SetBudget, request: Request) -> bool:
    """Whether the budget limits the person or the place of a request."""
    match budget.holder:
        case "person":
            return budget.of == request.author.id
        case "group":
            return budget.of in (request.author.groups or ())
        case "channel":
            return budget.of == request.place.channel
        case _:
            return True
