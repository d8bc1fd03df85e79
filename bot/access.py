"""Who may start which work, ask models and add books: rules that admins set for a person, a group or everyone.

Knows no platform and no work. `App.perform` checks the rules, so they apply to every request.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from bot.admin_budgets import budget_of
from bot.channel_rules import GOVERNED, governed
from bot.events import Place, Request, UserError
from bot.kind import values_in
from bot.platforms import Platform, Standing
from bot.settings import ACCESS, BUDGETS

if TYPE_CHECKING:
    from bot.settings import Settings
    from bot.verb import Verb
    from storage.settings import SettingRow

MODELS, BOOKS = "models", "books"
RULED: Final = (*GOVERNED, MODELS, BOOKS)
"""What a rule can be about: a kind of work, everything that asks models or costs money, or everything that reads books
and files.
"""

Whose: TypeAlias = Literal["person", "group", "everyone"]
ALLOW, DENY = "allow", "deny"
MOST: Final = 200
"""The most rules that a space may have; every request reads them all."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One access rule. `of` is the id of the person or group, "" for everyone; `name` is their name when the rule was
    set.
    """

    what: str
    whose: Whose
    of: str
    allows: bool
    name: str
    config: bool = False
    """Whether config.toml sets it."""

    @property
    def setting(self) -> str:
        """The name of the setting that stores the rule."""
        return setting_of(self.what, self.whose, self.of)


def setting_of(what: str, whose: Whose, of: str) -> str:
    """The name of the setting that stores the rule: "access.<what>.<whose>.<id>"."""
    return f"{ACCESS}{what}.{whose}.{of}"


def value_of(allows: bool, name: str) -> str:
    """The stored value of a rule: "allow <name>" or "deny <name>"."""
    return f"{ALLOW if allows else DENY} {name}".strip()


def rule_of(row: SettingRow) -> Rule | None:
    """The rule that a row stores; None for a row of another release."""
    what, _, rest = row.name.removeprefix(ACCESS).partition(".")
    whose, _, of = rest.partition(".")
    verdict, _, name = row.value.partition(" ")
    if what not in RULED or whose not in get_args(Whose) or verdict not in (ALLOW, DENY):
        return None
    return Rule(what, whose, of, verdict == ALLOW, name, row.scope == "config")  # type: ignore[arg-type]


class Access:
    """Checks requests against the rules of their space."""

    def __init__(self, settings: Settings, platforms: Mapping[str, Platform]) -> None:
        self._settings = settings
        self._platforms = platforms

    async def rules(self, space: str) -> list[Rule]:
        """The rules of a space, ordered by what they are about, then by whose they are."""
        rules = list(filter(None, map(rule_of, await self._settings.of_space(space, ACCESS))))
        return sorted(rules, key=lambda rule: (RULED.index(rule.what), get_args(Whose).index(rule.whose)))

    async def check(self, verb: Verb, request: Request) -> Request:
        """The request, with its author's groups filled in if rules or budgets name groups.

        Raises UserError if a rule forbids the request, or if the platform does not report the groups.
        """
        if not (rights := needs(verb, request)):
            return request
        rules = await self.rules(request.place.space)
        group_ids = {rule.of for rule in rules if rule.whose == "group"}
        for row in await self._settings.of_space(request.place.space, BUDGETS):
            budget = budget_of(row)
            group_ids |= {budget.of} if budget is not None and budget.holder == "group" else set()
        author = request.author
        admin, groups = author.admin, author.groups or ()
        if author.groups is None and author.id and (group_ids or (rules and not admin)):
            standing = await self._standing(request.place, author.id, group_ids)
            admin, groups = admin or standing.admin, standing.groups
            request = replace(request, author=replace(author, groups=groups))
        # Requests of the process itself, such as those of a watched folder, have no author. Admins could change every
        # rule anyway.
        if admin or not author.id:
            return request
        for right in rights:
            of_right = [rule for rule in rules if rule.what == right]
            rule = decisive(of_right, author.id, groups)
            if rule is not None and not rule.allows:
                raise UserError(
                    f"access.by_{rule.whose}",
                    what=partial(values_in, [right]),
                    name=rule.name or rule.of,
                    may=_allowed(of_right),
                )
        return request

    async def _standing(self, place: Place, person: str, groups: Collection[str]) -> Standing:
        platform = self._platforms.get(place.platform)
        if platform is None or platform.standing is None:
            return Standing(())
        return await platform.standing(place, person, groups)


def needs(verb: Verb, request: Request) -> list[str]:
    """The rights that the request needs. Stop cards, privacy, help and a person's own settings need none."""
    rights = [verb.work] if governed(verb) else []
    if verb.background:
        rights.append(BOOKS)
    if verb.turn or verb.speaks or verb.asks_models(request.text, request.options):
        rights.append(MODELS)
    return rights


def decisive(rules: Sequence[Rule], person: str, groups: Collection[str]) -> Rule | None:
    """The rule that decides for a person.

    Their own rule comes first, then a group's denial, then a group's permission, then the rule for everyone.
    """

    def order(rule: Rule) -> tuple[int, bool]:
        return get_args(Whose).index(rule.whose), rule.allows

    applying = [
        rule
        for rule in rules
        if rule.whose == "everyone"
        or (rule.whose == "person" and rule.of == person)
        or (rule.whose == "group" and rule.of in groups)
    ]
    return min(applying, key=order, default=None)


def _allowed(rules: Sequence[Rule]) -> str:
    """The names of the groups that the rules allow, "–" if there are none."""
    return ", ".join(rule.name or rule.of for rule in rules if rule.whose == "group" and rule.allows) or "–"
