"""Reads config.toml. An error names the line and suggests the nearest valid word.

Does not know the environment or the defaults: those are in `bot.config` and `bot.config.settings`.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from bot.config import model_spec
from bot.config.errors import SettingError, SettingErrors
from bot.config.settings import (
    BUILT_IN,
    EMBEDDERS,
    KEYED,
    BudgetConfig,
    DiscordConfig,
    EmbeddingConfig,
    LimitsConfig,
    OperateConfig,
    ProviderConfig,
    RetrievalConfig,
    RolesConfig,
    SlackConfig,
    SpeechConfig,
    StorageConfig,
    TracingConfig,
)
from bot.config.text import (
    VARIABLES,
    address,
    nearest,
    password,
    repr_of,
    secret,
    secret_setting,
    variable,
)
from bot.events import UserError
from bot.works import ALL

TABLES: Final[Mapping[str, type]] = {
    "roles": RolesConfig,
    "budget": BudgetConfig,
    "limits": LimitsConfig,
    "embedding": EmbeddingConfig,
    "retrieval": RetrievalConfig,
    "storage": StorageConfig,
    "tracing": TracingConfig,
    "operate": OperateConfig,
    "speech": SpeechConfig,
    "discord": DiscordConfig,
    "slack": SlackConfig,
}
"""The tables of config.toml besides those of the works."""

_KINDS: Final = ("openai-compatible", "openai", "anthropic")
_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
"""The name of an HTTP header (RFC 9110, 5.1)."""
_SPACE: Final = re.compile(r"(discord|slack|terminal):\w[\w-]*")
"""The platform and the id of a space."""
_OURS: Final = ("model", "messages", "input", "instructions", "system", "tools", "stream")
"""The fields that a request sets itself; a `body` may not change them."""
_SECRET_FIELD: Final = re.compile(
    r"^(?:.*[_-])?(?:api[_-]?key|(?:access|auth|bearer|secret)[_-]?(?:key|token)|secret|password|authorization)$",
    re.I,
)
"""A field of a `body` that holds a secret, by its name. OpenAI's `prompt_cache_key` holds none."""
URLS: Final = {
    "base_url": ("http://", "https://"),
    "chroma_url": ("http://", "https://"),
    "api_base": ("http://", "https://"),
    "endpoint": ("http://", "https://"),
    "gateway_url": ("ws://", "wss://"),
    "url": ("sqlite+aiosqlite:///", "postgresql+psycopg://"),
}


def sections() -> dict[str, type]:
    """The works' own tables, by name; imports the works."""
    kinds = (import_module(f"bot.works.{name}").KIND for name in ALL)
    return {name: section for kind in kinds for name, section in kind.sections.items()}


class ConfigFile:
    """One config.toml being read. Every error names the file and the line.

    A wrong setting is noted and counts as not set, so that the rest is read, too: see `errors`.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        try:
            self.text = file.read_text(encoding="utf-8-sig")
            self.raw = tomllib.loads(self.text)
        except FileNotFoundError:
            raise UserError("config.missing", file=file) from None
        except OSError as fault:
            raise UserError("config.unreadable", file=file, reason=fault.strerror or str(fault)) from fault
        except UnicodeDecodeError as fault:
            raise UserError("config.encoding", file=file) from fault
        except tomllib.TOMLDecodeError as fault:
            raise UserError("config.syntax", file=file, reason=str(fault)) from fault
        self.errors = SettingErrors(file, self.text)

    def tables(self) -> dict[str, Any]:
        """The arguments of Config that the file sets."""
        names_allowed = [*TABLES, "providers", "suggested", "spaces"]
        of_works = {} if set(names_allowed).issuperset(self.raw) else sections()
        self._check_names((), self.raw, [*names_allowed, *of_works])
        providers = self._providers
        tables_read: dict[str, Any] = {"providers": providers}
        for name, kind in TABLES.items():
            if name in self.raw:
                tables_read[name] = self._fill((name,), kind, {})
        for part in fields(RolesConfig) if "roles" in tables_read else ():
            key_path, models = ("roles", part.name), getattr(tables_read["roles"], part.name)
            with self.errors.noting():
                self._check_models(key_path, tuple(map(model_spec.model_of, models)), providers)
                self._check_members(key_path, models)
                self._check_kinds(key_path, models, providers)
        tables_read["spaces"] = self._spaces()
        tables_read["sections"] = {
            kind: self._section(name, kind, providers) for name, kind in of_works.items() if name in self.raw
        }
        for name, check in (("retrieval", self._check_order), ("discord", self._check_shards)):
            if name in tables_read and not self.errors.any_below(name):
                with self.errors.noting():
                    check(tables_read[name])
        return tables_read

    def _spaces(self) -> dict[str, dict[str, Any]]:
        """The tables of spaces; `bot.space_file` checks their contents at the start."""
        for name in self._table(("spaces",)):
            with self.errors.noting():
                self._check_space(name)
        return self._table(("spaces",))

    def _check_space(self, name: str) -> None:
        key_path = ("spaces", name)
        if not _SPACE.fullmatch(name):
            raise self.errors.error("config.space_name", key_path, value=name)
        pending: list[Any] = [self._table(key_path)]
        while pending:
            part = pending.pop()
            if isinstance(part, dict | list):
                pending += part.values() if isinstance(part, dict) else part
            elif isinstance(part, str) and secret("", part):
                raise self.errors.error("config.space_secret", key_path)

    def _section(self, name: str, kind: type, providers: Mapping[str, ProviderConfig]) -> Any:
        section = self._fill((name,), kind, {})
        for member in fields(kind):
            if member.type == "Offered":
                with self.errors.noting():
                    self._check_models((name, member.name), getattr(section, member.name), providers)
        return section

    def suggested(self) -> dict[str, RolesConfig]:
        """The [suggested.…] tables: which models of a service play which role once its key is found."""
        self._check_names(("suggested",), self._table(("suggested",)), list(KEYED))
        roles_by_name = {}
        providers = self._providers
        for name in filter(KEYED.__contains__, self._table(("suggested",))):
            parts = self._fill(("suggested", name), RolesConfig, {})
            roles_by_name[name] = RolesConfig(
                **{
                    part.name: tuple(f"{name}:{model}" for model in getattr(parts, part.name))
                    for part in fields(RolesConfig)
                }
            )
            for part in fields(RolesConfig):
                key_path, seats = ("suggested", name, part.name), getattr(roles_by_name[name], part.name)
                with self.errors.noting():
                    self._check_members(key_path, seats)
                    self._check_kinds(key_path, seats, providers)
        return roles_by_name

    @cached_property
    def _providers(self) -> dict[str, ProviderConfig]:
        providers = dict(BUILT_IN)
        for name in self._table(("providers",)):
            providers.setdefault(
                name, ProviderConfig(name, "")
            )  # known, even if something in its table is wrong
            with self.errors.noting():
                providers[name] = self._provider(name)
        return providers

    def _provider(self, name: str) -> ProviderConfig:
        key_path = ("providers", name)
        built_in = BUILT_IN.get(name)
        if ":" in name or not name.strip():
            raise self.errors.error("config.provider_name", key_path)
        start = built_in or ProviderConfig(name, "")
        raw = self._table(key_path)
        if "kind" not in raw and built_in is None:
            self.errors.add(self.errors.error("config.provider_kind", key_path, choices=", ".join(_KINDS)))
        compatible = start.kind == "openai-compatible"
        defaults = {"name": name, "kind": start.kind, "base_url": start.base_url}
        filled: ProviderConfig = self._fill(key_path, ProviderConfig, defaults)
        kinds = (start.kind,) if built_in and not compatible else _KINDS
        if "kind" in raw and not self.errors.any_below(*key_path, "kind") and filled.kind not in kinds:
            self._wrong_choice((*key_path, "kind"), filled.kind, kinds)
        if filled.kind == "openai-compatible" and filled.base_url is None and "base_url" not in raw:
            raise self.errors.error("config.provider_url", key_path)
        # A service at its own address needs its own key; a service at another address may need none.
        elsewhere = compatible and (filled.kind, filled.base_url) != (start.kind, start.base_url)
        usual = start.api_key_env if built_in and not elsewhere else _key_of(filled)
        return replace(filled, api_key_env=filled.api_key_env or usual)

    def _fill(self, key_path: tuple[str, ...], kind: type, defaults: dict[str, Any]) -> Any:
        """A `kind` from the table at `key_path`, with `defaults` for missing keys; the table may not set "name"."""
        raw = self._table(key_path)
        members = {member.name: member for member in fields(kind) if member.name != "name"}
        self._check_names(key_path, raw, list(members))
        values = {}
        for name in filter(members.__contains__, raw):
            with self.errors.noting():
                values[name] = self._value((*key_path, name), members[name], raw[name])
        return kind(**(defaults | values))

    def _table(self, key_path: tuple[str, ...]) -> dict[str, Any]:
        table: Any = self.raw
        for name in key_path:
            table = table.get(name, {})
            if not isinstance(table, dict):
                self.errors.add(self.errors.error("config.not_a_table", key_path))
                return {}
        return table  # type: ignore[no-any-return]  # a TOML table, checked above

    def _value(self, key_path: tuple[str, ...], member: Any, value: Any) -> Any:
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and secret(key_path[-1], text):
                raise self._secret(key_path)
            if isinstance(text, str) and password(text):
                raise self.errors.error("config.password", key_path)
        match member.type:
            case "int" | "float" | "int | None" | "float | None":
                number = (int, float) if member.type.startswith("float") else (int,)
                if isinstance(value, bool) or not isinstance(value, number):
                    raise self.errors.error("config.type_number", key_path, value=repr_of(value))
                self._in_range(key_path, member, value)
                return value
            case "tuple[int, ...]":
                if not isinstance(value, list) or not all(type(entry) is int for entry in value):
                    raise self.errors.error("config.type_numbers", key_path, value=repr_of(value))
                for entry in value:
                    self._in_range(key_path, member, entry)
                return tuple(dict.fromkeys(value))
            case "Mapping[str, str]":
                return self._named_texts(key_path, value)
            case "Mapping[str, Any]":
                return self._body(key_path, value)
            case "bool":
                if not isinstance(value, bool):
                    raise self.errors.error("config.type_truth", key_path, value=repr_of(value))
                return value
            case "Chain" | "Offered":
                chain = [value] if isinstance(value, str) else value  # a model, or a list of them
                return tuple(dict.fromkeys(self._texts(key_path, chain, "config.type_chain")))
            case "Members":
                return self._texts(key_path, value, "config.type_list")
            case "tuple[str, ...]":
                return self._like(key_path, member, self._texts(key_path, value, "config.type_list"))
            case "tuple[Path, ...]":
                if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
                    raise self.errors.error("config.type_list", key_path, value=repr_of(value))
                return tuple((self.file.parent / Path(entry).expanduser()).resolve() for entry in value)
        if not isinstance(value, str) or not (value.strip() or value == member.default):
            raise self.errors.error("config.type_text", key_path, value=repr_of(value))
        if member.type == "Path | None":
            return (self.file.parent / Path(value).expanduser()).resolve()
        if member.metadata.get("folder") and value.startswith(("/", ".", "~")):
            return str((self.file.parent / Path(value).expanduser()).resolve())
        if "like" in member.metadata and value:
            self._like(key_path, member, (value,))
        self._check_text(key_path, member, value)
        return value

    def _in_range(self, key_path: tuple[str, ...], member: Any, value: float) -> None:
        low, high = member.metadata["range"]
        if not low <= value <= high:
            raise self.errors.error("config.range", key_path, value=value, low=low, high=high)

    def _like(self, key_path: tuple[str, ...], member: Any, texts: tuple[str, ...]) -> tuple[str, ...]:
        pattern, otherwise = member.metadata["like"]
        for text in texts:
            if not re.fullmatch(pattern, text):
                raise self.errors.error(otherwise, key_path, value=text)
        return tuple(dict.fromkeys(texts))

    def _check_text(self, key_path: tuple[str, ...], member: Any, value: str) -> None:
        works: tuple[str, ...] = member.metadata.get("works", ())
        if works and value not in works:
            self._wrong_choice(key_path, value, works)
        if key_path == ("embedding", "model"):
            stem, _, name = value.partition(":")
            if (f"{stem}:NAME" if name else value) not in EMBEDDERS:
                self._wrong_choice(key_path, value, EMBEDDERS)
        if key_path[-1].endswith(VARIABLES) and not variable(value):
            raise self.errors.error("config.variable", key_path)
        if (starts := URLS.get(key_path[-1])) and not value.startswith(starts):
            raise self.errors.error("config.url", key_path, value=value, starts=", ".join(starts))
        if starts and key_path[-1] != "url" and not address(value):
            raise self.errors.error("config.address", key_path, value=value)

    def _texts(self, key_path: tuple[str, ...], value: Any, wrong: str) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(
            isinstance(entry, str) and entry.strip() for entry in value
        ):
            raise self.errors.error(wrong, key_path, value=repr_of(value))
        return tuple(value)

    def _check_members(self, key_path: tuple[str, ...], seats: tuple[str, ...]) -> None:
        try:
            model_spec.parse_each(seats)
        except UserError as error:
            raise self.errors.error("config.member", key_path, reason=error) from None

    def _check_models(
        self, key_path: tuple[str, ...], models: tuple[str, ...], providers: Mapping[str, ProviderConfig]
    ) -> None:
        for model in models:
            provider, _, name = model.partition(":")
            if not name.strip() or any(character.isspace() for character in name.strip()):
                raise self.errors.error("config.model", key_path, value=model)
            if provider not in providers:
                if nearest(provider, list(providers)) is None:
                    raise self.errors.error("config.no_provider", key_path, value=provider)
                self._wrong_choice(key_path, provider, tuple(providers))

    def _check_kinds(
        self, key_path: tuple[str, ...], models: tuple[str, ...], providers: Mapping[str, ProviderConfig]
    ) -> None:
        """Check that each model's service supports its settings. Raises UserError ("config.member")."""
        for spec in map(model_spec.parse, models):
            try:
                providers[spec.model.partition(":")[0]].check(spec)
            except UserError as error:
                raise self.errors.error("config.member", key_path, reason=error) from None

    def _named_texts(self, key_path: tuple[str, ...], value: Any) -> dict[str, str]:
        """The `headers`, `headers_env` or `query` of a provider."""
        if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
            raise self.errors.error("config.type_texts", key_path, value=repr_of(value))
        for name, text in value.items():
            entry_path = (*key_path, name)
            if key_path[-1].endswith(VARIABLES):
                if secret(key_path[-1], text):
                    raise self.errors.error("config.secret", entry_path, named="headers_env")
                if not variable(text):
                    raise self.errors.error("config.variable", entry_path)
            elif (
                secret(name, text)
                or secret_setting(name.replace("-", "_"))
                or name.lower() in ("authorization", "cookie")
            ):
                raise self.errors.error("config.secret", entry_path, named="headers_env")
            sendable = text.isascii() and text.isprintable()
            if key_path[-1] != "query" and not (_HEADER.fullmatch(name) and sendable):
                raise self.errors.error("config.header", entry_path)
        return dict(value)

    def _body(self, key_path: tuple[str, ...], value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.errors.error("config.not_a_table", key_path)
        for name in value:
            if name in _OURS:
                raise self.errors.error("config.body", (*key_path, name))
        pending: list[Any] = [value]
        while pending:
            part = pending.pop()
            if isinstance(part, dict | list):
                if isinstance(part, dict) and any(map(_SECRET_FIELD.match, part)):
                    raise self.errors.error("config.secret", key_path, named="headers_env")
                pending += part.values() if isinstance(part, dict) else part
            elif isinstance(part, str) and secret(key_path[-1], part):
                raise self.errors.error("config.secret", key_path, named="headers_env")
            elif not isinstance(part, str | int | float) or (
                isinstance(part, float) and not math.isfinite(part)
            ):  # TOML's dates and times, nan and inf, which JSON does not have
                raise self.errors.error("config.body_value", key_path, value=repr_of(part))
        return dict(value)

    def _check_order(self, retrieval: RetrievalConfig) -> None:
        """Check that `fetch_k` is at least `k`, and `parent_chars` at least `child_chars`."""
        for large, small in (("fetch_k", "k"), ("parent_chars", "child_chars")):
            if getattr(retrieval, large) < getattr(retrieval, small):
                name = large if large in self.raw["retrieval"] else small
                raise self.errors.error("config.order", ("retrieval", name), large=large, small=small)

    def _check_shards(self, discord: DiscordConfig) -> None:
        if discord.shard_ids and discord.shard_count is None:
            raise self.errors.error("config.shards_of_how_many", ("discord", "shard_ids"))
        for shard in discord.shard_ids:
            if shard >= (discord.shard_count or 0):
                key_path = ("discord", "shard_ids")
                raise self.errors.error("config.shard", key_path, shard=shard, count=discord.shard_count)

    def _check_names(self, key_path: tuple[str, ...], raw: Mapping[str, Any], right: list[str]) -> None:
        for name in raw:
            if name in right:
                continue
            if secret_setting(name):
                self.errors.add(self._secret((*key_path, name), right))
                continue
            suggestion = nearest(name, right)
            key = ("config.unknown_table" if not key_path else "config.unknown_key") + (
                "_near" if suggestion else ""
            )
            table = ".".join(key_path)
            self.errors.add(
                self.errors.error(
                    key, (*key_path, name), table=table, near=suggestion, choices=", ".join(right)
                )
            )

    def _wrong_choice(self, key_path: tuple[str, ...], value: str, right: tuple[str, ...]) -> None:
        suggestion = nearest(value, list(right))
        key = "config.value_near" if suggestion else "config.value"
        raise self.errors.error(key, key_path, value=value, near=suggestion, choices=", ".join(right))

    def _secret(self, key_path: tuple[str, ...], right: Sequence[str] = ()) -> SettingError:
        name = key_path[-1]
        if name.endswith(VARIABLES) or name + VARIABLES in right:
            named = name.removesuffix(VARIABLES) + VARIABLES
        else:
            named = {"discord": "token_env", "slack": "bot_token_env"}.get(key_path[0], "api_key_env")
        return self.errors.error("config.secret", key_path, named=named)


def _key_of(provider: ProviderConfig) -> str | None:
    """The variable that usually holds the key of a service of this kind at its own address."""
    if provider.base_url is not None:
        return None
    return next(
        (built_in.api_key_env for built_in in BUILT_IN.values() if built_in.kind == provider.kind), None
    )
