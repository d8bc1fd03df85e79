"""What somebody has typed, as a value that is kept; else a sentence that says what is possible."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from bot.config import model_spec
from bot.events import Sorry
from bot.settings import FREE_CHAT, OFF, ON, choosable, permitted, zones

if TYPE_CHECKING:
    from bot.config import Config

CHAIN = 5
"""A role's model and those that stand in for it."""

ZONES = 3
"""How many are named that a slip may have meant."""


def choice(name: str, given: str, choices: Sequence[str]) -> str:
    """One of the choices, in whatever case; the beginning of only one will do."""
    wanted = given.strip().casefold()
    found = [one for one in choices if one.casefold().startswith(wanted)]
    exact = [one for one in found if one.casefold() == wanted] or found
    if len(exact) != 1:
        raise Sorry("settings.choices", name=name, value=given[:80], choices=", ".join(choices))
    return exact[0]


def zone(given: str) -> str:
    """A time zone's name as the IANA writes it; the city alone will do where only one is called so."""
    wanted = _plain(given)
    known = zones()
    if wanted in known:
        return known[wanted]
    cities = [name for key, name in known.items() if key.rpartition("/")[2] == wanted]
    if len(cities) == 1:
        return cities[0]
    near = get_close_matches(wanted, known, ZONES, 0.6)
    named = {key.rpartition("/")[2]: key for key in known}
    near += [named[one] for one in get_close_matches(wanted, named, ZONES, 0.7)]
    meant = cities[:ZONES] or [known[one] for one in dict.fromkeys(near)][:ZONES]
    if meant:
        raise Sorry("settings.zone_near", value=given[:80], names=", ".join(meant))
    raise Sorry("settings.zone", value=given[:80])


def free_chat(config: Config, given: str) -> str:
    value = choice(FREE_CHAT, given, (ON, OFF))
    if value == ON and not config.discord.free_chat:
        raise Sorry("settings.free_chat_intent")
    return value


def models(config: Config, given: str) -> str:
    """A role's models, as bot.members writes them."""
    chosen = model_spec.parse_list(given)
    if not chosen:
        raise Sorry("settings.no_model")
    if len(chosen) > CHAIN:
        raise Sorry("settings.many_models", n=len(chosen), limit=CHAIN)
    for one in chosen:
        if (provider := one.model.partition(":")[0]) not in config.providers:
            known = ", ".join(sorted(config.providers))
            raise Sorry("settings.provider", provider=provider[:40], known=known)
        if not permitted(config, one.model):
            raise Sorry("settings.model", model=one.model[:80], models=", ".join(choosable(config)))
    return ", ".join(dict.fromkeys(map(str, chosen)))


def _plain(given: str) -> str:
    """As a zone's name is written: "São Paulo" is sao_paulo."""
    letters = unicodedata.normalize("NFKD", given.strip())
    return "_".join("".join(one for one in letters if not unicodedata.combining(one)).split()).casefold()
