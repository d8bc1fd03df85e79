"""Templates of sheets: a character's attributes, skills and counters, and how their modifiers are computed.

A story's log has the template that its table chose as JSON, so that it stays the same wherever the story goes.
"""

from __future__ import annotations

import asyncio
import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from bot.events import UserError
from bot.words import LOCALES

BUNDLED: Final = Path(__file__).parents[1] / "sheets.yml"
LARGEST_KB: Final = 200
LARGEST: Final = 1_000_000
"""The largest number on a sheet."""
FIELDS: Final = 100
"""The maximum number of each kind of field in a template."""
FREE: Final = "free"
RULES: Final = "sheet_rules"
"""The setting that holds a story's template as JSON."""
GROUPS: Final = ("attributes", "skills", "counters")
CHECKS: Final = ("over", "under")
_NAME = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_PARTS: Final = frozenset(("title", "dice", "check", "results", "start", "modifiers", *GROUPS))
_FIELD_PARTS: Final = frozenset((*LOCALES, "of", "start", "most"))


class _Wrong(Exception):
    """A template is invalid; the message names the part."""


@dataclass(frozen=True, slots=True)
class Field:
    """An attribute, a skill or a counter with its initial value `start` and its maximum `most`; `names` are by locale.

    A skill without a value has the modifier of the attribute `of`.
    """

    key: str
    group: str
    names: Mapping[str, str]
    of: str = ""
    start: int | None = None
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Template:
    """A template; `fields` are by key.

    `modifiers` are (the largest score with this modifier, modifier), ascending; without any, a score is its own
    modifier. `results` are (minimum total, names of the outcome by locale), descending.
    """

    name: str = FREE
    title: Mapping[str, str] = field(default_factory=dict)
    dice: str = "1d20"
    check: str = "over"
    fields: Mapping[str, Field] = field(default_factory=dict)
    modifiers: tuple[tuple[int, int], ...] = ()
    results: tuple[tuple[int, Mapping[str, str]], ...] = ()
    keys: Mapping[str, str] = field(default_factory=dict)
    """The keys of fields by the folded names that people may use."""

    def group(self, name: str) -> list[Field]:
        return [field for field in self.fields.values() if field.group == name]

    def modifier(self, score: int) -> int:
        """The modifier of a score; a score above the table has the last modifier."""
        if not self.modifiers:
            return score
        return next((modifier for most, modifier in self.modifiers if score <= most), self.modifiers[-1][1])

    def field(self, typed: str) -> Field | None:
        """The field with this key or name in any language; for an attribute three letters of the name are enough."""
        return self.fields.get(self.keys.get(plain_name(typed), ""))


def plain_name(text: str) -> str:
    """The name for comparisons, without case, accents, hyphens and surrounding blanks: "forca" for "Força"."""
    plain = unicodedata.normalize("NFKD", " ".join(text.replace("-", " ").split()).casefold())
    return "".join(letter for letter in plain if not unicodedata.combining(letter))


async def templates(files: tuple[Path, ...]) -> dict[str, dict[str, Any]]:
    """The trees of the templates by name, of the bundled file and of these; later ones win. Raises UserError."""
    return await asyncio.to_thread(read, files)


def read(files: tuple[Path, ...]) -> dict[str, dict[str, Any]]:
    """Like `templates`, but blocking."""
    return {name: tree for file in (BUNDLED, *files) for name, tree in _read(file).items()}


def _read(file: Path) -> dict[str, dict[str, Any]]:
    import yaml

    try:
        if file.stat().st_size > LARGEST_KB * 1000:
            raise UserError("story.preset_large", file=file.name, limit=LARGEST_KB)
        tree = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError("story.preset_gone", file=file.name) from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 1
        raise UserError("story.preset_unreadable", file=file.name, line=line) from error
    try:
        for name, part in _mapping(tree, None, "").items():
            parse(str(name), part)
        return {str(name): json.loads(json.dumps(part, default=str)) for name, part in tree.items()}
    except _Wrong as error:
        raise UserError("story.sheet_template_wrong", file=file.name, where=str(error)[:100]) from error


@lru_cache(maxsize=64)
def from_log(text: str) -> Template:
    """The template in a story's settings; the free one if that is invalid or missing."""
    try:
        tree = json.loads(text) if text else {}
        return parse(str(tree.pop("name")), tree)
    except (_Wrong, ValueError, RecursionError, AttributeError, KeyError, TypeError):
        return Template()


def parse(name: str, tree: Any) -> Template:
    """The template of a parsed tree. Raises _Wrong with the place of an error."""
    if not _NAME.fullmatch(name) or name != name.lower() or len(name) > 40:
        raise _Wrong(name)
    _mapping(tree, _PARTS, name)
    fields: dict[str, Field] = {}
    default = _number(tree.get("start", 0), f"{name}.start")
    for group in GROUPS:
        rows = tree.get(group, {})
        if not isinstance(rows, dict) or len(rows) > FIELDS:
            raise _Wrong(f"{name}.{group}")
        for key, part in rows.items():
            where = f"{name}.{group}.{key}"
            _mapping(part, _FIELD_PARTS, where)
            numbers = {n: _number(part[n], f"{where}.{n}") for n in ("start", "most") if n in part}
            start = numbers.get("start", default if group == "attributes" else None)
            source = str(part.get("of", ""))
            if (
                not isinstance(key, str)
                or not _NAME.fullmatch(key)
                or key in fields
                or (source and source not in fields)
            ):
                raise _Wrong(where)
            fields[key] = Field(key, group, _names(part, where), source, start, numbers.get("most"))
    check = str(tree.get("check", "over"))
    if check not in CHECKS:
        raise _Wrong(f"{name}.check")
    dice = str(tree.get("dice", "1d20"))
    if not re.fullmatch(r"[0-9]{0,2}d[0-9]{1,3}(?:[+-][0-9]{1,3})?", dice):
        raise _Wrong(f"{name}.dice")
    modifiers = [
        (_key(most, f"{name}.modifiers"), _number(by, f"{name}.modifiers"))
        for most, by in _pairs(tree, "modifiers", name)
    ]
    results = [
        (_key(least, f"{name}.results"), _names(names, f"{name}.results"))
        for least, names in _pairs(tree, "results", name)
    ]
    return Template(
        name,
        _names(tree.get("title"), f"{name}.title"),
        dice,
        check,
        fields,
        tuple(sorted(modifiers)),
        tuple(sorted(results, key=lambda result: -result[0])),
        _keys(fields),
    )


def _keys(fields: Mapping[str, Field]) -> dict[str, str]:
    """The fields' keys by folded name (`Template.keys`); the first of two fields with the same name counts."""
    short = [
        (name, field.key)
        for field in fields.values()
        if field.group == "attributes"
        for name in {plain_name(name)[:3] for name in field.names.values()}
    ]
    ambiguous = {name for name, _ in short if sum(other == name for other, _ in short) > 1}
    keys = {name: key for name, key in short if name not in ambiguous}
    for entry in [*fields.values()][::-1]:
        keys |= dict.fromkeys((plain_name(entry.key), *map(plain_name, entry.names.values())), entry.key)
    return keys


def _pairs(tree: Mapping[str, Any], part: str, name: str) -> list[tuple[Any, Any]]:
    pairs = tree.get(part, {})
    if not isinstance(pairs, dict) or len(pairs) > FIELDS:
        raise _Wrong(f"{name}.{part}")
    return [*pairs.items()]


def _mapping(tree: Any, known: frozenset[str] | None, where: str) -> dict[Any, Any]:
    """The tree, if it is a mapping with no keys but these, or with any keys for None. Raises _Wrong."""
    if not isinstance(tree, dict):
        raise _Wrong(where)
    if known is not None and (unknown := [str(part) for part in tree if part not in known]):
        raise _Wrong(f"{where}.{unknown[0]}")
    return tree


def _names(tree: Any, where: str) -> dict[str, str]:
    names = (
        {locale: " ".join(str(tree.get(locale) or "").split()) for locale in LOCALES}
        if isinstance(tree, dict)
        else {}
    )
    if not names or not all(0 < len(name) <= 60 for name in names.values()):
        raise _Wrong(where)
    return names


def _key(value: Any, where: str) -> int:
    """The number of a key, which in JSON is a text."""
    text = str(value)
    return _number(int(text) if re.fullmatch(r"-?[0-9]{1,7}", text) else value, where)


def _number(value: Any, where: str) -> int:
    if type(value) is not int or abs(value) > LARGEST:
        raise _Wrong(where)
    return value
