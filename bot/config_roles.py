"""Who plays the parts where [roles] says nothing: the services whose keys are there, else the demo model.

Reads no file of the user's own: their [suggested] tables are handed in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Final

from bot import members, models
from bot.config import BUNDLED, DEMO, KEYED, ProviderConfig, RolesConfig, RolesFrom, Secrets

DEMO_COUNCIL: Final = tuple(
    f'{DEMO} persona="{persona}" temperature={temperature}'
    for persona, temperature in (("a careful reader", 0.3), ("a storyteller", 0.9), ("a sceptic", 0.6))
)
"""Three seats of that one, so that a council can be watched without a key."""


def found(
    providers: Mapping[str, ProviderConfig],
    secrets: Secrets,
    own: Mapping[str, RolesConfig],
    models_dir: Path,
) -> tuple[RolesConfig, RolesFrom]:
    """The parts where [roles] gives none: to the services whose keys are there, one standing in for the
    other, else to the demo model if its files are there. `own` are the user's [suggested] tables.
    """
    keyed = [name for name in KEYED if (key := providers[name].api_key_env) and secrets.get(key)]
    if keyed:
        suggested = {**_bundled_suggestions(), **own}
        parts = {
            part.name: tuple(
                model for name in keyed if name in suggested for model in getattr(suggested[name], part.name)
            )
            for part in fields(RolesConfig)
        }
        parts["council"] = parts["council"][: members.MOST]
        if any(parts.values()):
            return RolesConfig(**parts), "keys"
    if all(models.present(models_dir, name) for name in models.needed(DEMO)):
        return RolesConfig(answerer=(DEMO,), writer=(DEMO,), extractor=(DEMO,), council=DEMO_COUNCIL), "demo"
    return RolesConfig(), "none"


def _bundled_suggestions() -> dict[str, RolesConfig]:
    """Names of models age, so they stand in the example and nowhere in the code."""
    from bot.config_file import ConfigFile

    return ConfigFile(BUNDLED).suggested() if BUNDLED.is_file() else {}
