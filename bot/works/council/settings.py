"""`council members|chair|criteria`: a space's own council, set in chat instead of the config's.

A space's own members are kept as they are written (see `bot.config.model_spec`). Knows no stage of a council.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import TYPE_CHECKING

from bot import models
from bot.config import model_spec
from bot.config.model_spec import ModelSpec, model_of
from bot.events import Event, Stage, Text, UserError
from bot.llm.completion import Usage
from bot.markdown import table_row
from bot.words import Words, named, words
from bot.work import Run
from bot.works.council import formatting
from bot.works.council.config import CouncilConfig
from bot.works.council.estimate import ANSWER_TOKENS, CRITIQUE_TOKENS, TASK_TOKENS, VERDICT_TOKENS
from bot.works.council.values import Seats

if TYPE_CHECKING:
    from decimal import Decimal

    from bot.config import Config
    from bot.llm.registry import Models
    from bot.settings import Settings as SpaceSettings
    from storage.settings import SettingRow

PREFIX = "council."
"""The prefix of the settings' names."""

RESET = "reset"
"""Typed instead of a value, this restores the config's value."""

CHAIRS = 5
"""The maximum number of models for the chair, including its substitutes."""

CRITERIA_CHARS = 1_000
"""The maximum length of the criteria, which every judge reads."""


class Checks:
    """Checks values for a space's council against the config."""

    def __init__(self, config: Config) -> None:
        self._config = config

    def checked(self, name: str, typed: str) -> str:
        """The value as it is stored. Raises UserError."""
        match name:
            case "members":
                return json.dumps([str(member) for member in self._parsed_members(typed)], ensure_ascii=False)
            case "chair":
                return json.dumps(self._parsed_chain(typed), ensure_ascii=False)
            case _:
                value = " ".join(typed.split())
                if len(value) > CRITERIA_CHARS:
                    raise UserError("council_settings.long", length=len(value), limit=CRITERIA_CHARS)
                return value

    def _parsed_chain(self, typed: str) -> list[str]:
        specs = self._parsed_members(typed)
        chain = list(dict.fromkeys(map(str, specs)))
        if len(chain) > CHAIRS:
            raise UserError("council_settings.chairs", n=len(chain), limit=CHAIRS)
        return chain

    def _parsed_members(self, typed: str) -> tuple[ModelSpec, ...]:
        """The typed members, if each of the models is allowed. Raises UserError."""
        members = model_spec.parse_list(typed)
        if not members:
            raise UserError("council_settings.nobody")
        for member in members:
            if (provider := member.model.partition(":")[0]) not in self._config.providers:
                provider_names = ", ".join(sorted(self._config.providers))
                raise UserError("council_settings.provider", provider=provider[:40], known=provider_names)
            if not self._is_permitted(member.model):
                raise UserError(
                    "council_settings.model", model=member.model, models=", ".join(self._permitted())
                )
            self._config.providers[provider].check(member)
        return members

    def _permitted(self) -> list[str]:
        """The models that spaces may choose: the config's list, and its own members. [] without a list."""
        listed = self._config.section(CouncilConfig).models
        own = [
            *(member.model for member in self._members()),
            *map(model_of, self._config.roles.chain("chair")),
        ]
        return list(dict.fromkeys([*listed, *own])) if listed else []

    def _is_permitted(self, model: str) -> bool:
        """Whether the config has the model's provider, and its list of models, if any, has the model."""
        provider_known = model.partition(":")[0] in self._config.providers
        return provider_known and (
            not self._config.section(CouncilConfig).models or model_of(model) in self._permitted()
        )

    def _members(self) -> list[ModelSpec]:
        return [model_spec.parse(member_text) for member_text in self._config.roles.council]


class Settings(Checks):
    """The verbs "members", "chair" and "criteria": everybody may read these settings, only admins change them."""

    def __init__(self, settings: SpaceSettings, models: Models, config: Config) -> None:
        self._settings = settings
        self._store = settings.store
        self._models = models
        super().__init__(config)

    async def seats(self, space: str) -> Seats:
        """The space's present council: its own settings, or else the config's ("" for no criteria).

        A model that the config no longer allows is left out; if no model is left, the config's members apply again.
        """
        return self._seats(await self._settings.under(space, PREFIX))

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        """Show a setting; with a text, change it first. Raises UserError."""
        request, say = run.request, words(run.request.locale)
        name, value = request.verb, request.text.strip()
        if value:
            if not request.author.admin:
                raise UserError("council_settings.admins", name=name)
            changed = await run.step("set", lambda: self._set(run, name, value), str)
        text = await run.step("show", lambda: self._overview(request.place.space, name, say), str)
        yield Stage("council", say(f"council_settings.{name}"))
        if value:
            yield Text(f"{say(f'council_settings.{changed}')}\n\n")
        yield Text(text)

    async def _set(self, run: Run, name: str, value: str) -> str:
        """Store the setting; returns the outcome: "saved", "reset" or "was_default"."""
        space, author = run.request.place.space, run.request.author.id
        if named([RESET], "value", value):
            return "reset" if await self._store.reset(space, PREFIX + name, author) else "was_default"
        await self._store.set(space, PREFIX + name, self.checked(name, value), author)
        return "saved"

    def _seats(self, stored: Mapping[str, SettingRow]) -> Seats:
        members = [member for member in _own_members(stored) if self._is_permitted(member.model)]
        chair = [model for model in _own_chair(stored) if self._is_permitted(model)]
        criteria = stored["criteria"].value if "criteria" in stored else ""
        own = {"members": bool(members), "chair": bool(chair), "criteria": bool(criteria)}
        return Seats(
            members or self._members(),
            chair or list(self._config.roles.chain("chair")),
            criteria or self._config.section(CouncilConfig).criteria,
            [name for name, is_set in own.items() if is_set],
        )

    async def _overview(self, space: str, name: str, say: Words) -> str:
        stored = await self._settings.under(space, PREFIX)
        seats = self._seats(stored)
        whose = say(f"council_settings.{'own' if name in seats.own else 'default'}", name=name)
        match name:
            case "members":
                parts = [await self._member_table(seats.members, say)]
                barred = [
                    member.model for member in _own_members(stored) if not self._is_permitted(member.model)
                ]
            case "chair":
                parts = [await self._chair_table(seats, say)]
                barred = [model for model in _own_chair(stored) if not self._is_permitted(model)]
            case _:
                parts = [formatting.quoted(seats.criteria or say("council.criteria"))]
                barred = []
        if barred:
            parts.append(say("council_settings.barred", models=", ".join(barred)))
        return "\n\n".join([*parts, whose])

    async def _member_table(self, members: Sequence[ModelSpec], say: Words) -> str:
        if not members:
            return say("council_settings.no_members")
        lines = [say("council_settings.members_header"), "|---:|---|---|---|---:|"]
        for n, member in enumerate(members, 1):
            settings = str(member).removeprefix(member.model).strip() or "–"
            price = await self._price(member.model, _member_usage(len(members)))
            state = await asyncio.to_thread(self._state, member.model, say)
            lines.append(table_row(str(n), member.model, settings, state, _dollars(price, say)))
        return "\n".join([*lines, "", say("council_settings.assumed", tokens=ANSWER_TOKENS)])

    async def _chair_table(self, seats: Seats, say: Words) -> str:
        if not seats.chair:
            return say("council_settings.no_chair")
        lines = [say("council_settings.chair_header"), "|---:|---|---|---:|"]
        for n, model in enumerate(seats.chair, 1):
            price = await self._price(model, _chair_usage(len(seats.members)))
            state = await asyncio.to_thread(self._state, model, say)
            lines.append(table_row(str(n), model, state, _dollars(price, say)))
        return "\n".join([*lines, "", say("council_settings.assumed", tokens=ANSWER_TOKENS)])

    async def _price(self, model: str, usage: Usage) -> Decimal | None:
        provider_known = model.partition(":")[0] in self._config.providers
        return await self._models.price("council", model, usage) if provider_known else None

    def _state(self, model: str, say: Words) -> str:
        """Whether the model can be asked, as far as this machine knows."""
        provider = self._config.providers.get(model.partition(":")[0])
        if provider is None:
            return say("council_settings.state_unknown")
        if provider.kind == "demo":
            # An unknown one of its models is also reported as missing.
            files = models.needed(model)
            present = bool(files) and all(
                models.present(self._config.models_dir, model_name) for model_name in files
            )
            return say("council_settings.state_ready" if present else "council_settings.state_absent")
        if variable := self._config.key_missing(model):
            return say("council_settings.state_key", variable=variable)
        return say("council_settings.state_ready")


def _own_members(stored: Mapping[str, SettingRow]) -> list[ModelSpec]:
    return (
        [model_spec.parse(member_text) for member_text in json.loads(stored["members"].value)]
        if "members" in stored
        else []
    )


def _own_chair(stored: Mapping[str, SettingRow]) -> list[str]:
    return [str(model) for model in json.loads(stored["chair"].value)] if "chair" in stored else []


def _member_usage(n: int) -> Usage:
    """The usage of one member's answer and ballot in a council of `n`, for a short question."""
    return Usage(2 * TASK_TOKENS + n * ANSWER_TOKENS, ANSWER_TOKENS + n * CRITIQUE_TOKENS)


def _chair_usage(n: int) -> Usage:
    """The usage of the synthesis, which reads every answer and every judge's words about it."""
    return Usage(TASK_TOKENS + n * ANSWER_TOKENS + n * n * CRITIQUE_TOKENS, VERDICT_TOKENS)


def _dollars(price: Decimal | None, say: Words) -> str:
    return say("council_settings.price_unknown") if price is None else formatting.dollars(price, say)
