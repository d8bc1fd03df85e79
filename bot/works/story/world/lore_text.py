"""What an entry of a lorebook says once it is called up: its decorators obeyed or left out, its macros filled in.

Decorators are those of character card V3: lines that begin with `@@`, before the text. The choice of a macro such as
`{{random:…}}` follows from a seed, so that a replay tells the same. Pure.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any, Final

from bot.works.story.world.lorebook import LoreEntry, kept_flags

DICE: Final = 100
_MACRO: Final = re.compile(r"\{\{([^{}]{0,2000}+)\}\}")
_ROLL: Final = re.compile(r"(\d{0,3})d(\d{1,4})([+-]\d{1,4})?", re.IGNORECASE)
_OLD: Final = {"<USER>": "{{user}}", "<BOT>": "{{char}}", "<CHAR>": "{{char}}"}


def entry_of(id: str, body: Mapping[str, Any]) -> LoreEntry:
    """An entry as it is called up: with what its decorators say, and the flags that it came with."""
    entry = LoreEntry(id, **body)
    decorators, content = parted(entry.content)
    if (flags := kept_flags(entry.source)) or decorators:
        entry = replace(entry, content=content, **flags)
    for name, value in decorators:
        keys = tuple(key for part in value.split(",") if (key := part.strip()))
        if name == "dont_activate":
            entry = replace(entry, enabled=False)
        elif name == "activate":
            entry = replace(entry, constant=True)
        elif name == "scan_depth" and value.isdecimal() and len(value) < 6:
            entry = replace(entry, depth=int(value))
        elif name == "additional_keys" and keys and not entry.secondary_keys:
            entry = replace(entry, secondary_keys=keys, logic="and any")
        elif name == "exclude_keys" and keys and not entry.secondary_keys:
            entry = replace(entry, secondary_keys=keys, logic="not any")
    return entry


def parted(content: str) -> tuple[list[tuple[str, str]], str]:
    """The decorators before a text, each with its value, and the text."""
    if not content.lstrip().startswith("@@"):
        return [], content
    decorators, lines = [], content.lstrip().splitlines(keepends=True)
    at = 0
    while at < len(lines) and (line := lines[at].strip()).startswith("@@"):
        name, _, value = line.lstrip("@").partition(" ")
        decorators.append((name.casefold(), value.strip()))
        at += 1
    return decorators, "".join(lines[at:]).strip()


def filled(text: str, *, user: str, char: str, seed: str) -> str:
    """A text with what its macros stand for; those that nothing is known of are left out."""
    for old, new in _OLD.items():
        text = text.replace(old, new)
    chance = random.Random(int.from_bytes(sha256(f"{seed}\n{text}".encode("utf-8", "replace")).digest()[:8]))
    return _MACRO.sub(lambda macro: _value(macro[1].strip(), user, char, chance), text).strip()


def _value(macro: str, user: str, char: str, chance: random.Random) -> str:
    name, _, value = macro.partition(":")
    match name.strip().casefold():
        case "user":
            return user
        case "char" | "bot":
            return char
        case "random" | "pick":
            parts = (
                value.removeprefix(":").split("::") if "::" in value else value.removeprefix(":").split(",")
            )
            return chance.choice(parts).strip()
        case "roll":
            return _rolled(value.removeprefix(":").strip(), chance)
        case "newline":
            return "\n"
    if macro.casefold().startswith("roll "):
        return _rolled(macro[5:].strip(), chance)
    return ""


def _rolled(dice: str, chance: random.Random) -> str:
    """What the dice of `{{roll:2d6+1}}`, or of `{{roll:20}}`, come to."""
    found = _ROLL.fullmatch(f"d{dice}" if dice.isdecimal() else dice)
    if found is None or not (sides := int(found[2])):
        return ""
    count = min(int(found[1] or 1), DICE)
    return str(sum(chance.randint(1, sides) for _ in range(count)) + int(found[3] or 0))
