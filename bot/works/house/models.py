"""`models`: admins list, try and choose a space's models in chat.

A choice is stored as the space's settings for the roles: it takes precedence over config.toml, and a channel's or a
person's own setting takes precedence over it. Looks for servers on this machine only when asked.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bot.config import model_spec
from bot.events import TransientError, UserError
from bot.llm.base import Message, Prompt, room
from bot.llm.local_servers import MOST_MODELS, TITLES, local_servers, on_this_machine
from bot.markdown import code, harmless, table_row
from bot.settings import MODEL, ROLES
from bot.words import named, words
from bot.works.settings import checks

if TYPE_CHECKING:
    from bot.events import Request
    from bot.resources import Resources
    from bot.words import Words
    from bot.work import Run

ACTIONS: Final = ("use", "try")
LISTED: Final = 20
"""The maximum number of one server's models that are listed."""

_TRIAL: Final = Prompt(
    "Answer in one short sentence.",
    (Message("user", "Say hello, and your name."),),
    max_tokens=room(50, "low"),
    effort="low",
)


class ModelChoice:
    """The verb "models"."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._config = resources.config
        self._from_file = resources.config.roles_from == "config"

    def _default_models(self, say: Words) -> str:
        """The models of a space that has not chosen any."""
        return say("models_chat.own_config" if self._from_file else "models_chat.own_default")

    async def answer(self, run: Run) -> str:
        """Carry out the verb; returns the result as Markdown. Raises UserError."""
        request = run.request
        say = words(request.locale)
        action, _, model = request.text.strip().partition(" ")
        model = model.strip()
        match named(ACTIONS, "action", action) or action:
            case "":
                return await self._list(request, say)
            case "use" if model.casefold() == "config":
                return await self._reset(request, say)
            case "use" if model:
                return await self._use(request, await self._model(model), say)
            case "try" if model:
                return await self._try(run, await self._model(model), say)
        raise UserError("models_chat.how_wrong")

    async def _list(self, request: Request, say: Words) -> str:
        lines = [say("models_chat.header"), "|---|---|---|"]
        chosen = await self._resources.settings.roles(request)
        roles = replace(self._config.roles, **{role: tuple(models) for role, models in chosen.items()})
        unchosen = "models_chat.by_config" if self._from_file else "models_chat.by_default"
        for role in ROLES:
            chain = roles.chain(role)
            by_chat = role in chosen or ("answerer" in chosen and not getattr(roles, role))
            whose = say("models_chat.by_chat" if by_chat else unchosen) if chain else "–"
            lines.append(table_row(role, code(", ".join(chain)) or "–", whose))
        notes = []
        servers = await local_servers(self._config.providers)
        running = {server.name for server in servers}
        used = {model_spec.model_of(model).partition(":")[0] for role in ROLES for model in roles.chain(role)}
        for name in TITLES:
            address = self._config.providers[name].base_url or ""
            if name in used and name not in running and on_this_machine(address):
                notes.append(
                    say("models_chat.gone", server=TITLES[name], address=address, own=self._default_models)
                )
        for server in servers:
            models = ", ".join(code(f"{server.name}:{model}") for model in server.models[:LISTED])
            notes.append(say("models_chat.found_here", server=server.title, name=server.name, models=models))
        providers_with_key = [
            name for name, provider in self._config.providers.items() if _has_key(self._resources, name)
        ]
        if providers_with_key:
            notes.append(say("models_chat.keyed", names=", ".join(map(code, providers_with_key))))
        notes.append(say("models_chat.how", own=self._default_models))
        return "\n".join([*lines, "", *(f"- {note}" for note in notes)])

    async def _use(self, request: Request, model: str, say: Words) -> str:
        provider, _, name = model_spec.model_of(model).partition(":")
        for server in await local_servers(self._config.providers, [provider] if provider in TITLES else []):
            if len(server.models) < MOST_MODELS and not {name, f"{name}:latest"} & {*server.models}:
                models = ", ".join(server.models[:LISTED])
                raise UserError("models_chat.not_among", server=server.title, model=name, models=models)
        chosen = {MODEL + role: model for role in ROLES}
        await self._resources.settings.set_all(request.place, request.author.id, chosen, "space")
        return say("models_chat.used", model=code(model), own=self._default_models)

    async def _reset(self, request: Request, say: Words) -> str:
        names = [MODEL + role for role in ROLES]
        await self._resources.settings.reset_all(request.place, request.author.id, names, "space")
        return say("models_chat.back", own=self._default_models)

    async def _try(self, run: Run, model: str, say: Words) -> str:
        began = time.monotonic()
        answer = await self._resources.models.ask(run, "answerer", "try", _TRIAL, chain=[model])
        seconds = f"{time.monotonic() - began:.1f}"
        text = harmless(" ".join(answer.text.split())[:300])
        return say("models_chat.tried", model=code(model), seconds=seconds, text=text)

    async def _model(self, typed: str) -> str:
        """The "provider:model" and settings for a name that people use. Raises UserError if it cannot be asked."""
        name = typed.split()[0]
        if ":" not in name:
            typed = f"{await self._first_model(name.casefold())}{typed.removeprefix(name)}"
        spec = model_spec.parse(checks.models(self._resources, typed))
        if variable := self._config.key_missing(spec.model):
            raise TransientError(
                "model.key_missing", provider=spec.model.partition(":")[0], variable=variable
            )
        return str(spec)

    async def _first_model(self, name: str) -> str:
        """The first model on the server with this name."""
        checks.provider(self._config, name)
        if name not in TITLES:
            raise UserError("models_chat.which", name=name)
        for server in await local_servers(self._config.providers, [name]):
            return f"{name}:{server.models[0]}"
        raise UserError(
            "models_chat.not_there", server=TITLES[name], address=self._config.providers[name].base_url or ""
        )


def _has_key(resources: Resources, name: str) -> bool:
    variable = resources.config.providers[name].api_key_env
    return bool(variable and resources.config.secret(variable))
