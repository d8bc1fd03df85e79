"""Checks typed values: returns the value to store, or raises an error that says what is possible."""

from __future__ import annotations

import re
import unicodedata
from functools import partial
from typing import TYPE_CHECKING

from bot.config import model_spec
from bot.events import UserError
from bot.kind import choice, values_in
from bot.settings import FREE_CHAT, LANGUAGE, OFF, ON, choosable, permitted, permitted_to_person, zones
from bot.words import LOCALES, named

if TYPE_CHECKING:
    from bot.config import Config
    from bot.resources import Resources

CHAIN = 5
"""The maximum number of models in a role's chain."""

LANGUAGES = {
    "english": "en",
    "ingles": "en",
    "portuguese": "pt-BR",
    "portugues": "pt-BR",
    "brazilian_portuguese": "pt-BR",
    "portugues_brasileiro": "pt-BR",
    "portugues_do_brasil": "pt-BR",
    "pt_br": "pt-BR",
}
"""Locales by the names of their languages."""
INSTRUCTION_CHARS = 600
"""The maximum length of a channel's instruction, which is part of each prompt there."""
ZONES = 3
"""How many names are suggested for a misspelt time zone."""


def language(resources: Resources, typed_value: str) -> str:
    """The locale of a catalogue of words, also by the language's name in either language."""
    return LANGUAGES.get(_zone_notation(typed_value)) or choice(LANGUAGE, typed_value, LOCALES)


def zone(resources: Resources, typed_value: str) -> str:
    """A time zone's IANA name; the city alone is enough if it is unambiguous."""
    typed = _zone_notation(typed_value)
    zones_by_name = zones()
    if typed in zones_by_name:
        return zones_by_name[typed]
    cities = [name for key, name in zones_by_name.items() if key.rpartition("/")[2] == typed]
    if len(cities) == 1:
        return cities[0]
    # Imported late: it takes a dozen milliseconds, which every command would spend.
    from difflib import get_close_matches

    nearest = get_close_matches(typed, zones_by_name, ZONES, 0.6)
    names_by_city = {key.rpartition("/")[2]: key for key in zones_by_name}
    nearest += [names_by_city[zone_name] for zone_name in get_close_matches(typed, names_by_city, ZONES, 0.7)]
    parts = {part.strip("_") for part in re.split("[/,]", typed)}
    cities = cities or [name for key, name in zones_by_name.items() if key.rpartition("/")[2] in parts]
    suggestions = cities[:ZONES] or [zones_by_name[zone_name] for zone_name in dict.fromkeys(nearest)][:ZONES]
    if suggestions:
        raise UserError("settings.zone_near", value=typed_value[:80], names=", ".join(suggestions))
    raise UserError("settings.zone", value=typed_value[:80])


def free_chat(resources: Resources, typed_value: str) -> str:
    """Whether the bot answers plain text in its threads."""
    value = choice(FREE_CHAT, typed_value, (ON, OFF))
    if value == ON and not resources.config.discord.free_chat:
        raise UserError("settings.free_chat_intent")
    return value


def provider(config: Config, name: str) -> None:
    """Raises UserError if there is no provider of this name."""
    if name not in config.providers:
        known = ", ".join(sorted(config.providers))
        raise UserError("settings.provider", provider=name[:40], known=known)


def models(resources: Resources, typed_value: str) -> str:
    """A role's models, in the notation of bot.config.model_spec."""
    config, chosen = resources.config, model_spec.parse_list(typed_value)
    if not chosen:
        raise UserError("settings.no_model")
    if len(chosen) > CHAIN:
        raise UserError("settings.many_models", n=len(chosen), limit=CHAIN)
    for spec in chosen:
        name = spec.model.partition(":")[0]
        provider(config, name)
        if not permitted(config, spec.model):
            raise UserError("settings.model", model=spec.model[:80], models=", ".join(choosable(config)))
        config.providers[name].check(spec)
    return ", ".join(dict.fromkeys(map(str, chosen)))


def own_models(resources: Resources, typed_value: str) -> str:
    """A role's models for one person: only models from the config, at no higher cost than there."""
    config, value = resources.config, models(resources, typed_value)
    for spec in model_spec.parse_list(value):
        if spec.model not in choosable(config):
            raise UserError("settings.model", model=spec.model[:80], models=", ".join(choosable(config)))
        if not permitted_to_person(config, spec):
            raise UserError("settings.model_cost", model=spec.model)
    return value


def _zone_notation(text: str) -> str:
    """The text in the notation of a zone's name: "São Paulo" is sao_paulo."""
    letters = unicodedata.normalize("NFKD", text.strip())
    return "_".join(
        "".join(letter for letter in letters if not unicodedata.combining(letter)).split()
    ).casefold()


def works(resources: Resources, typed_value: str) -> str:
    """The works that may run in a channel: "all", those that are named, or all except those with a minus."""
    from bot.channel_rules import ALL, EXCEPT, GOVERNED

    typed = typed_value.replace(",", " ").split()
    if len(typed) == 1 and named([ALL], "value", typed[0]):
        return ALL
    forbidden = {name.startswith(EXCEPT) for name in typed}
    if len(forbidden) != 1:
        raise UserError("settings.works", value=typed_value[:80], works=partial(values_in, GOVERNED))
    names = {choice("works", name.removeprefix(EXCEPT), GOVERNED) for name in typed}
    sign = EXCEPT if forbidden.pop() else ""
    if sign and len(names) == len(GOVERNED):
        raise UserError("settings.works_none")
    return " ".join(sign + name for name in GOVERNED if name in names)


def default_work(resources: Resources, typed_value: str) -> str:
    """The work that answers plain text."""
    from bot.channel_rules import PLAIN

    return choice("default_work", typed_value, PLAIN)


def instruction(resources: Resources, typed_value: str) -> str:
    """A short instruction for the answers in a channel."""
    typed = typed_value.strip()
    if len(typed) > INSTRUCTION_CHARS:
        raise UserError("settings.long", length=len(typed), limit=INSTRUCTION_CHARS)
    return typed
