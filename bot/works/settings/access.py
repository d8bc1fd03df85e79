"""`settings allow`, `deny` and `access`: the rules of who may do what in a space."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from bot.access import MOST, RULED, Access, setting_of, value_of
from bot.events import Event, Request, Stage, Text, UserError
from bot.kind import choice, value_in
from bot.markdown import code, table_row
from bot.words import words
from bot.work import Run
from bot.works.settings.subject import subject_name, subject_of

if TYPE_CHECKING:
    from bot.resources import Resources


class AccessRules:
    """The verbs "allow", "deny" and "access"."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._settings = resources.settings
        self._access = Access(resources.settings, resources.platforms)

    async def change(self, run: Run) -> AsyncGenerator[Event, None]:
        """Set a rule, or remove it with `remove`."""
        request, say = run.request, words(run.request.locale)
        key, remark, outcome = await run.step("set", lambda: self._change_rule(request), tuple[str, str, str])
        subject = outcome.partition(" ")[2]
        yield Stage("access", say("access.title"))
        what = value_in(say, key)
        yield Text(say(f"access.{outcome.partition(' ')[0]}", what=what, whom=subject))
        if remark == "only":
            yield Text(" " + say("access.others", what=what))

    async def _change_rule(self, request: Request) -> tuple[str, str, str]:
        """What the rule governs, a remark, and the outcome followed by its subject. Raises UserError."""
        what = choice("access", request.text, RULED)
        whose, subject_id, name = await subject_of(self._resources, request)
        say = words(request.locale)
        author, place, setting = request.author.id, request.place, setting_of(what, whose, subject_id)
        subject = subject_name(whose, code(name or subject_id), say)
        if request.options.get("remove"):
            removed = await self._settings.reset(place, author, setting, "space")
            if any(rule.setting == setting for rule in await self._access.rules(place.space)):
                return what, "", f"in_config {subject}"
            return what, "", f"{'removed' if removed else 'no_rule'} {subject}"
        rules = await self._access.rules(place.space)
        if len(rules) >= MOST and setting not in {rule.setting for rule in rules}:
            raise UserError("access.many", limit=MOST)
        allows = request.verb == "allow"
        await self._settings.set(place, author, setting, value_of(allows, name), "space")
        open_to_all = (
            allows and whose != "everyone" and not any(r.what == what and not r.allows for r in rules)
        )
        return what, "only" if open_to_all else "", f"{'allowed' if allows else 'denied'} {subject}"

    async def show(self, run: Run) -> AsyncGenerator[Event, None]:
        """All rules of the space, in a table."""
        request, say = run.request, words(run.request.locale)

        async def table() -> str:
            rules = await self._access.rules(request.place.space)
            rows = [
                table_row(
                    code(value_in(say, rule.what)),
                    subject_name(rule.whose, code(rule.name or rule.of), say),
                    say("access.yes" if rule.allows else "access.no")
                    + (f" ({say('settings.for_config')})" if rule.config else ""),
                )
                for rule in rules
            ]
            return "\n".join([say("access.header"), "|---|---|---|", *rows]) if rows else say("access.none")

        text = await run.step("show", table, str)
        yield Stage("access", say("access.title"))
        yield Text(text + "\n\n" + say("access.how"))
