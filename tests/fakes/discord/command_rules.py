"""Checks an application's commands as Discord does.

https://docs.discord.com/developers/interactions/application-commands
"""

from __future__ import annotations

import unicodedata
from typing import Any

from tests.fakes.discord.refusal import bad, items, number, table, text

CHAT, USER, MESSAGE = 1, 2, 3
SUBCOMMAND, GROUP, STRING, INTEGER, BOOLEAN, CHANNEL, NUMBER, ATTACHMENT = 1, 2, 3, 4, 5, 7, 10, 11
MOST = {CHAT: 100, USER: 15, MESSAGE: 15}
CHARACTERS = 8000
LOCALES = (
    *("id", "da", "de", "en-GB", "en-US", "es-ES", "es-419", "fr", "hr", "it", "lt", "hu", "nl", "no", "pl"),
    *("pt-BR", "ro", "fi", "sv-SE", "vi", "tr", "cs", "el", "bg", "ru", "uk", "hi", "th", "zh-CN", "ja"),
    *("zh-TW", "ko"),
)


def check(rows: Any) -> list[dict[str, Any]]:
    """Check a whole list of commands, as in a bulk overwrite."""
    commands = items(rows, "commands", 0, sum(MOST.values()))
    names: set[tuple[int, str]] = set()
    counts = dict.fromkeys(MOST, 0)
    for index, command in enumerate(commands):
        path = str(index)
        kind = number(table(command, path).get("type", CHAT), f"{path}.type", 1, 3)
        counts[kind] += 1
        _command(command, kind, path)
        if (kind, command["name"]) in names:
            raise bad(path, "APPLICATION_COMMANDS_DUPLICATE_NAME", "Application command names must be unique")
        names.add((kind, command["name"]))
    for kind, count in counts.items():
        if count > MOST[kind]:
            raise bad(
                "commands",
                "APPLICATION_COMMANDS_EXCEEDED",
                f"Maximum number of application commands reached ({MOST[kind]})",
            )
    return commands


def _command(command: dict[str, Any], kind: int, path: str) -> None:
    if kind == CHAT:
        _name(command.get("name"), f"{path}.name")
        text(command.get("description"), f"{path}.description", 1, 100)
        _options(command.get("options") or [], f"{path}.options", depth=0)
    else:
        text(command.get("name"), f"{path}.name", 1, 32)
        if command.get("description") or command.get("options"):
            raise bad(
                f"{path}.description",
                "APPLICATION_COMMAND_MENU",
                "Context menu commands have neither description nor options.",
            )
    _localised(command, path, chat=kind == CHAT)
    permissions = command.get("default_member_permissions")
    if permissions is not None and not str(permissions).isdecimal():
        raise bad(
            f"{path}.default_member_permissions", "NUMBER_TYPE_COERCE", f'Value "{permissions}" is not int.'
        )
    for key, among in (("integration_types", (0, 1)), ("contexts", (0, 1, 2))):
        value = command.get(key)
        if value is not None and (
            not isinstance(value, list) or set(value) - set(among) or len(set(value)) != len(value)
        ):
            raise bad(f"{path}.{key}", "BASE_TYPE_CHOICES", f"Value must be one of {among}.")
    if command.get("integration_types") == []:
        raise bad(f"{path}.integration_types", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 2 in length.")
    if characters(command) > CHARACTERS:
        raise bad(path, "APPLICATION_COMMAND_TOO_LARGE", f"Command exceeds maximum size ({CHARACTERS})")


def characters(command: dict[str, Any]) -> int:
    """The length of all names, descriptions and choices; of each text, the longest language counts."""
    total = 0
    for key in ("name", "description"):
        local = command.get(f"{key}_localizations") or {}
        total += max(len(value) for value in (command.get(key) or "", *local.values()))
    for choice in command.get("choices") or []:
        local = choice.get("name_localizations") or {}
        total += max(len(value) for value in (choice["name"], *local.values())) + len(str(choice["value"]))
    return total + sum(characters(inner) for inner in command.get("options") or [])


def _options(value: Any, path: str, depth: int) -> None:
    options = items(value, path, 0, 25)
    names: set[str] = set()
    optional = False
    kinds: set[bool] = set()
    for index, option in enumerate(options):
        place = f"{path}.{index}"
        kind = number(table(option, place).get("type"), f"{place}.type", 1, 11)
        _name(option.get("name"), f"{place}.name")
        text(option.get("description"), f"{place}.description", 1, 100)
        _localised(option, place, chat=True)
        if option["name"] in names:
            raise bad(place, "APPLICATION_COMMAND_OPTIONS_NAME_INVALID", "Option name must be unique")
        names.add(option["name"])
        kinds.add(kind in (SUBCOMMAND, GROUP))
        if kind in (SUBCOMMAND, GROUP):
            if depth > 1 or (kind == GROUP and depth > 0):
                raise bad(
                    place,
                    "APPLICATION_COMMAND_OPTIONS_TYPE_INVALID",
                    "Sub-command option has an invalid type",
                )
            _options(option.get("options") or [], f"{place}.options", depth + (1 if kind == GROUP else 2))
            continue
        if option.get("required") and optional:
            raise bad(
                place,
                "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID",
                "Required options must be placed before non-required options",
            )
        optional = optional or not option.get("required")
        _typed(option, kind, place)
    if len(kinds) > 1:
        raise bad(
            path,
            "APPLICATION_COMMAND_OPTIONS_TYPE_INVALID",
            "Sub-command and other option types are mutually exclusive",
        )


def _typed(option: dict[str, Any], kind: int, path: str) -> None:
    choices = items(option.get("choices") or [], f"{path}.choices", 0, 25)
    if choices and kind not in (STRING, INTEGER, NUMBER):
        raise bad(
            f"{path}.choices", "APPLICATION_COMMAND_OPTIONS_CHOICES", "Choices are for strings and numbers."
        )
    if choices and option.get("autocomplete"):
        raise bad(
            path,
            "APPLICATION_COMMAND_AUTOCOMPLETE_CHOICES",
            "autocomplete may not be true if choices are present",
        )
    seen: set[str] = set()
    for index, choice in enumerate(choices):
        place = f"{path}.choices.{index}"
        name = text(table(choice, place).get("name"), f"{place}.name", 1, 100)
        for locale, local in (choice.get("name_localizations") or {}).items():
            _locale(locale, place)
            text(local, f"{place}.name_localizations.{locale}", 1, 100)
        if kind == STRING:
            text(choice.get("value"), f"{place}.value", 1, 100)
        elif isinstance(choice.get("value"), bool) or not isinstance(choice.get("value"), int | float):
            raise bad(f"{place}.value", "NUMBER_TYPE_COERCE", "Value is not a number.")
        if name in seen:
            raise bad(
                place,
                "APPLICATION_COMMAND_OPTIONS_CHOICE_NAME_EXISTS",
                f"Option choice name {name} already exists",
            )
        seen.add(name)
    for key, kinds in (("min_length", (STRING,)), ("max_length", (STRING,)), ("channel_types", (CHANNEL,))):
        if option.get(key) is not None and kind not in kinds:
            raise bad(
                f"{path}.{key}", "APPLICATION_COMMAND_OPTIONS_TYPE_INVALID", f"{key} is for type {kinds}"
            )
    if kind == STRING:
        low = number(option.get("min_length") or 0, f"{path}.min_length", 0, 6000)
        high = number(option.get("max_length") or 6000, f"{path}.max_length", 1, 6000)
        if low > high:
            raise bad(
                f"{path}.min_length",
                "APPLICATION_COMMAND_OPTIONS_LENGTH",
                "min_length may not exceed max_length",
            )


def _name(value: Any, path: str) -> None:
    """^[-_'\\p{L}\\p{N}\\p{sc=Deva}\\p{sc=Thai}]{1,32}$, in lower case where there is one."""
    name = text(value, path, 1, 32)
    if not all(_in_name(letter) for letter in name):
        raise bad(path, "STRING_TYPE_REGEX", "String value did not match validation regex.")
    if name.lower() != name:
        raise bad(path, "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid")


def _in_name(letter: str) -> bool:
    script = unicodedata.name(letter, "").split(" ")[0]
    return letter in "-_'" or unicodedata.category(letter)[0] in "LN" or script in ("DEVANAGARI", "THAI")


def _localised(item: dict[str, Any], path: str, chat: bool) -> None:
    for locale, name in table(item.get("name_localizations") or {}, f"{path}.name_localizations").items():
        place = f"{path}.name_localizations.{locale}"
        _locale(locale, place)
        if chat:
            _name(name, place)
        else:
            text(name, place, 1, 32)
    for locale, words in table(
        item.get("description_localizations") or {}, f"{path}.description_localizations"
    ).items():
        place = f"{path}.description_localizations.{locale}"
        _locale(locale, place)
        text(words, place, 1, 100)


def _locale(locale: str, path: str) -> None:
    if locale not in LOCALES:
        raise bad(path, "BASE_TYPE_CHOICES", f"Value must be one of {LOCALES}.")
