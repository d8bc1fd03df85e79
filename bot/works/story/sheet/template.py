"""Templates of sheets: a character's attributes, skills and counters, and how their modifiers are computed.

A story keeps the template that its table chose as JSON in its log, so that it stays the same wherever the story goes.
Files are read off the event loop, and YAML is imported only then. Knows no story.
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
    """The place of an error in a template."""


@dataclass(frozen=True, slots=True)
class Field:
    """An attribute, a skill or a counter. `names` are by locale. A skill without a value of its own has the modifier of
    the attribute `of`. `most` is the maximum of a counter.
    """

    key: str
    group: str
    names: Mapping[str, str]
    of: str = ""
    start: int | None = None
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Template:
    """A template. `fields` are by key. `modifiers` are pairs of the largest score with a modifier, and that modifier;
    without any, a score is its own modifier. `results` are pairs, the largest first, of a minimum total, and its names
    by locale.
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
        return [own for own in self.fields.values() if own.group == name]

    def modifier(self, score: int) -> int:
        """The modifier of a score; a score above the table has the last modifier."""
        if not self.modifiers:
            return score
        return next((modifier for most, modifier in self.modifiers if score <= most), self.modifiers[-1][1])

    def field(self, typed: str) -> Field | None:
        """The field with this key, or with this name in any language; an attribute also by the first three letters of
        its name.
        """
        return self.fields.get(self.keys.get(folded(typed), ""))


def folded(text: str) -> str:
    """The name without case, accents, hyphens and surrounding blanks: "Força" and "forca" are the same."""
    plain = unicodedata.normalize("NFKD", " ".join(text.replace("-", " ").split()).casefold())
    return "".join(letter for letter in plain if not unicodedata.combining(letter))


async def templates(files: tuple[Path, ...]) -> dict[str, dict[str, Any]]:
    """The parsed templates by name: the built-in ones, some replaced by those of the files. Raises UserError."""
    return await asyncio.to_thread(read, files)


def read(files: tuple[Path, ...]) -> dict[str, dict[str, Any]]:
    """The same; blocking. Raises UserError for the first error."""
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
        for name, part in _among(tree, None, "").items():
            of(str(name), part)
        return {str(name): json.loads(json.dumps(part, default=str)) for name, part in tree.items()}
    except _Wrong as error:
        raise UserError("story.sheet_template_wrong", file=file.name, where=str(error)[:100]) from error


@lru_cache(maxsize=64)
def from_log(text: str) -> Template:
    """The template that a story stores; the free one if it has no valid one."""
    try:
        tree = json.loads(text) if text else {}
        return of(str(tree.pop("name")), tree)
    except (_Wrong, ValueError, RecursionError, AttributeError, KeyError, TypeError):
        return Template()


def of(name: str, tree: Any) -> Template:
    """The template of a parsed tree. Raises _Wrong with the place of an error."""
    if not _NAME.fullmatch(name) or name != name.lower() or len(name) > 40:
        raise _Wrong(name)
    _among(tree, _PARTS, name)
    fields: dict[str, Field] = {}
    default = _number(tree.get("start", 0), f"{name}.start")
    for group in GROUPS:
        own = tree.get(group, {})
        if not isinstance(own, dict) or len(own) > FIELDS:
            raise _Wrong(f"{name}.{group}")
        for key, part in own.items():
            where = f"{name}.{group}.{key}"
            _among(part, _FIELD_PARTS, where)
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
        (name, own.key)
        for own in fields.values()
        if own.group == "attributes"
        for name in {folded(name)[:3] for name in own.names.values()}
    ]
    ambiguous = {name for name, _ in short if sum(other == name for other, _ in short) > 1}
    keys = {name: key for name, key in short if name not in ambiguous}
    for own in [*fields.values()][::-1]:
        keys |= dict.fromkeys((folded(own.key), *map(folded, own.names.values())), own.key)
    return keys


def _pairs(tree: Mapping[str, Any], part: str, name: str) -> list[tuple[Any, Any]]:
    pairs = tree.get(part, {})
    if not isinstance(pairs, dict) or len(pairs) > FIELDS:
        raise _Wrong(f"{name}.{part}")
    return [*pairs.items()]


def _among(tree: Any, known: frozenset[str] | None, where: str) -> dict[Any, Any]:
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
    """A number that is a text, since JSON has only texts as keys."""
    text = str(value)
    return _number(int(text) if re.fullmatch(r"-?[0-9]{1,7}", text) else value, where)


def _number(value: Any, where: str) -> int:
    if type(value) is not int or abs(value) > LARGEST:
        raise _Wrong(where)
    return value
