"""Loads the settings from config.toml, the environment and `.env`; `settings` has their shape.

Without [roles], this module also assigns the roles: to the services whose keys are set, otherwise to the demo model.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

from bot import bundle, models
from bot.config import model_spec
from bot.config.settings import (
    BUILT_IN,
    DEMO,
    KEYED,
    LISTEN,
    MOST_DAYS,
    BudgetConfig,
    Config,
    DiscordConfig,
    LimitsConfig,
    OperateConfig,
    ProviderConfig,
    RetrievalConfig,
    RolesConfig,
    RolesFrom,
    Secrets,
    SlackConfig,
    SpeechConfig,
    TracingConfig,
)
from bot.events import UserError

__all__ = [
    "DEMO",
    "MOST_DAYS",
    "BudgetConfig",
    "Config",
    "DiscordConfig",
    "LimitsConfig",
    "OperateConfig",
    "ProviderConfig",
    "RetrievalConfig",
    "RolesConfig",
    "Secrets",
    "SlackConfig",
    "SpeechConfig",
    "TracingConfig",
    "load",
]

_APPLICATION: Final = "sutradhar"
_BUNDLED: Final = bundle.ROOT / "config.toml.example"

_DEMO_SEATS: Final = tuple(
    f'{DEMO} persona="{persona}" temperature={temperature}'
    for persona, temperature in (("a careful reader", 0.3), ("a storyteller", 0.9), ("a sceptic", 0.6))
)
"""Three council members of the demo model, so that a council can be tried without a key."""


def load(
    path: Path | None = None, data: Path | None = None, environ: Mapping[str, str] | None = None
) -> Config:
    """Read the settings: arguments, then `environ`, then `.env`, then config.toml, then defaults.

    `path` and `data` come from the command line. Raises UserError ("config.…"), a ConfigError with the line of each
    setting that cannot be used.
    """
    environ = os.environ if environ is None else environ
    secrets = Secrets(environ, _dotenv(Path.cwd()))
    named = path or _path(secrets.get("SUTRADHAR_CONFIG"))
    file = named or (Path("config.toml") if Path("config.toml").exists() else None)
    if file is not None and (next_to_file := _dotenv(file.parent)):
        secrets = Secrets(environ, next_to_file)
    models_dir = (_path(secrets.get("SUTRADHAR_MODELS")) or _user_dir() / "models").expanduser()
    tables: dict[str, Any] = {}
    suggested: dict[str, RolesConfig] = {}
    if file is not None:
        from bot.config.file import ConfigFile

        opened = ConfigFile(file)
        tables = opened.tables()
        suggested = opened.suggested()
        opened.errors.check()
    if "roles" in tables:
        tables["roles_from"] = "config"
    else:
        providers = tables.get("providers", BUILT_IN)
        tables["roles"], tables["roles_from"] = _roles(providers, secrets, suggested, models_dir)
    if (listen := secrets.get("SUTRADHAR_LISTEN")) is not None:
        if not re.fullmatch(LISTEN, listen):
            raise UserError("operate.variable", value=listen)
        tables["operate"] = replace(tables.get("operate", OperateConfig()), listen=listen)
    return Config(
        data_dir=(data or _path(secrets.get("SUTRADHAR_DATA")) or _user_dir() / "data").expanduser(),
        models_dir=models_dir,
        file=file,
        secrets=secrets,
        **tables,
    )


def _roles(
    providers: Mapping[str, ProviderConfig],
    secrets: Secrets,
    suggested: Mapping[str, RolesConfig],
    models_dir: Path,
) -> tuple[RolesConfig, RolesFrom]:
    """Assign the roles that [roles] leaves empty: to the services whose keys are set, each as a fallback for the one
    before, otherwise to the demo model if its files are installed. `suggested` are the user's own [suggested] tables.
    """
    keyed = [name for name in KEYED if (key := providers[name].api_key_env) and secrets.get(key)]
    if keyed:
        suggested = {**_bundled_suggestions(), **suggested}
        parts = {
            part.name: tuple(
                model for name in keyed if name in suggested for model in getattr(suggested[name], part.name)
            )[: model_spec.MOST]
            for part in fields(RolesConfig)
        }
        if any(parts.values()):
            return RolesConfig(**parts), "keys"
    if all(models.present(models_dir, name) for name in models.needed(DEMO)):
        return RolesConfig(answerer=(DEMO,), writer=(DEMO,), extractor=(DEMO,), council=_DEMO_SEATS), "demo"
    return RolesConfig(), "none"


def _bundled_suggestions() -> dict[str, RolesConfig]:
    """The [suggested] tables of the example file. Model names age, so they are kept there and not in the code."""
    from bot.config.file import ConfigFile

    return ConfigFile(_BUNDLED).suggested() if _BUNDLED.is_file() else {}


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None


def _user_dir() -> Path:
    from platformdirs import user_data_path

    return user_data_path(_APPLICATION, appauthor=False)


def _dotenv(folder: Path) -> dict[str, str]:
    """The variables of `folder`/.env, unexpanded: a key may contain a dollar sign."""
    file = folder / ".env"
    if not file.is_file():
        return {}
    from dotenv import dotenv_values

    return {name: value for name, value in dotenv_values(file, interpolate=False).items() if value}
