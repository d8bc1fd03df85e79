"""Reads an entry of a lorebook: obeys its fields and decorators, and fills in its macros.

Decorators are those of character card V3: lines before the text that begin with `@@`. The choice of a macro such as
`{{random:…}}` follows from a seed, so that a replay gives the same text.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any, Final

from bot.text_cache import cached
from bot.works.story.world.lorebook import LoreEntry

AT_DEPTH: Final = 4
"""SillyTavern's number for the position "at depth"; also the default depth, in messages above the end."""
FOR_EVER: Final = 1_000_000_000
DICE: Final = 100
"""The maximum number of dice in a macro."""
NESTED: Final = 4
"""How deep macros may be nested."""
DECORATORS: Final = frozenset(
    {
        "activate", "dont_activate", "keep_activate_after_match", "dont_activate_after_match", "scan_depth", "depth",
        "position", "additional_keys", "exclude_keys",
    }
)  # fmt: skip
"""The decorators that are obeyed."""
_MACRO: Final = re.compile(r"\{\{([^{}]{0,2000}+)\}\}")
_ROLL: Final = re.compile(r"(\d{0,3})d(\d{1,4})([+-]\d{1,4})?", re.IGNORECASE)
_OLD: Final = {"<USER>": "{{user}}", "<BOT>": "{{char}}", "<CHAR>": "{{char}}"}


def entry_of(id: str, body: Mapping[str, Any]) -> LoreEntry:
    """The entry of a "lore" node, with the settings of its decorators and the flags of its `source`."""
    entry = LoreEntry(id, **body)
    decorators, content = split_decorators(entry.content)
    if (flags := imported_flags(entry.source)) or decorators:
        entry = replace(entry, content=content, **flags)
    for name, value in decorators:
        keys = tuple(key for part in value.split(",") if (key := part.strip()))
        number = int(value) if value.isdecimal() and len(value) < 6 else None
        if name == "dont_activate":
            entry = replace(entry, enabled=False)
        elif name == "activate":
            entry = replace(entry, constant=True)
        elif name == "keep_activate_after_match":
            entry = replace(entry, sticky=FOR_EVER)
        elif name == "dont_activate_after_match":
            entry = replace(entry, cooldown=FOR_EVER)
        elif name == "scan_depth" and number is not None:
            entry = replace(entry, depth=number)
        elif name == "depth" and number is not None:
            entry = replace(entry, at_depth=number)
        elif name == "position" and value in ("before_desc", "after_desc"):
            entry = replace(entry, position="before" if value == "before_desc" else "after", at_depth=None)
        elif name == "additional_keys" and keys and not entry.secondary_keys:
            entry = replace(entry, secondary_keys=keys, logic="and any")
        elif name == "exclude_keys" and keys and not entry.secondary_keys:
            entry = replace(entry, secondary_keys=keys, logic="not any")
    return entry


@cached(4_000_000)
def imported_flags(source: str) -> dict[str, Any]:
    """The fields of `LoreEntry` that an imported entry's `source` sets."""
    try:
        row = json.loads(source, parse_int=_int)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(row, dict):
        return {}
    extensions = row.get("extensions")
    row = {**(extensions if isinstance(extensions, dict) else {}), **row}

    def named(*names: str) -> Any:
        return next((row[name] for name in names if row.get(name) is not None), None)

    late = named("delayUntilRecursion", "delay_until_recursion")
    flags: dict[str, Any] = {
        "not_by_others": named("excludeRecursion", "exclude_recursion") is True,
        "calls_no_others": named("preventRecursion", "prevent_recursion") is True,
        "by_others_alone": late is True or _count(late) > 0,
        "foremost": named("groupOverride", "group_override") is True,
        **{name: _count(row.get(name)) for name in ("sticky", "cooldown", "delay")},
        **_characters(named("characterFilter", "character_filter")),
    }
    flags = {name: value for name, value in flags.items() if value}
    weight = named("groupWeight", "group_weight")
    if _is_number(weight) and 0 <= weight < 1_000_000:
        flags["weight"] = int(weight)
    # A card's book has the number in its extensions, and a name next to it.
    if AT_DEPTH in (
        row.get("position"),
        extensions.get("position") if isinstance(extensions, dict) else None,
    ):
        depth = row.get("depth")
        flags["at_depth"] = _count(depth) if _is_number(depth) else AT_DEPTH
    return flags


def _characters(filter: Any) -> dict[str, Any]:
    names = filter.get("names") if isinstance(filter, dict) else None
    if not isinstance(names, list):
        return {}
    kept = tuple(name for name in names if isinstance(name, str) and name.strip())
    return {"characters": kept, "not_for": bool(kept) and filter.get("isExclude") is True}


def _int(digits: str) -> int | float:
    return int(digits) if len(digits) < 20 else float(digits)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _count(value: Any) -> int:
    """The value as a number of messages; 0 for anything but a positive number."""
    return int(min(value, FOR_EVER)) if _is_number(value) and value > 0 else 0


def split_decorators(content: str) -> tuple[list[tuple[str, str]], str]:
    """The decorators before a text, each with its value, and the text.

    A fallback with `@@@` counts only if the decorator before it is unknown.
    """
    if not content.lstrip().startswith("@@"):
        return [], content
    decorators, lines = [], content.lstrip().splitlines(keepends=True)
    at, obeyed = 0, False
    while at < len(lines) and (line := lines[at].strip()).startswith("@@"):
        name, _, value = line.lstrip("@").partition(" ")
        name, is_fallback = name.casefold(), line.startswith("@@@")
        if not (is_fallback and obeyed):
            decorators.append((name, value.strip()))
        obeyed = name in DECORATORS or (is_fallback and obeyed)
        at += 1
    return decorators, "".join(lines[at:]).strip()


def fill_macros(text: str, *, user: str, char: str, seed: str) -> str:
    """The text with its macros replaced by their values; unknown ones are removed."""
    for old, new in _OLD.items():
        text = text.replace(old, new)
    chance = random.Random(int.from_bytes(sha256(f"{seed}\n{text}".encode("utf-8", "replace")).digest()[:8]))
    for _ in range(NESTED):
        text, changed = _MACRO.subn(lambda macro: _macro_value(macro[1].strip(), user, char, chance), text)
        if not changed:
            break
    return text.strip()


def _macro_value(macro: str, user: str, char: str, chance: random.Random) -> str:
    name, _, value = macro.partition(":")
    match name.strip().casefold():
        case "user":
            return user
        case "char" | "bot":
            return char
        case "random" | "pick":
            parts = value.removeprefix(":").split("::" if "::" in value else ",")
            return chance.choice(parts).strip()
        case "roll":
            return _roll(value.removeprefix(":").strip(), chance)
        case "newline":
            return "\n"
    if macro.casefold().startswith("roll "):
        return _roll(macro[5:].strip(), chance)
    return ""


def _roll(dice: str, chance: random.Random) -> str:
    """The result of the dice in `{{roll:2d6+1}}` or `{{roll:20}}`."""
    found = _ROLL.fullmatch(f"d{dice}" if dice.isdecimal() else dice)
    if found is None or not (sides := int(found[2])):
        return ""
    count = min(int(found[1] or 1), DICE)
    return str(sum(chance.randint(1, sides) for _ in range(count)) + int(found[3] or 0))
