"""Presets of how two characters deal with each other (presets.yml) and of prose (prose.yml), and own files over them.

Knows no story. A file is read when a preset is first asked for, off the event loop, and YAML is imported only then.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from bot.events import UserError
from bot.words import LOCALES

if TYPE_CHECKING:
    import yaml

BUNDLED = Path(__file__).parents[1] / "presets.yml"
PROSE = BUNDLED.with_name("prose.yml")
LARGEST_KB = 200
"""Of a file of one's own; the one that comes along has a tenth of it."""
FIRST, SECOND = "{first}", "{second}"

_Entries: TypeAlias = "dict[str, tuple[yaml.Node, yaml.Node]]"
"""A mapping by its keys, each with the node of the key and that of its value."""

_log = logging.getLogger(__name__)

_PARTS = ("title", "description", "guidance")
_NAME = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_PLACEHOLDER = re.compile(r"\{[^{}]*\}")


@dataclass(frozen=True, slots=True)
class Preset:
    """One way of dealing with each other, or one style of prose.

    `title` and `description` are for people, by locale (`bot.words.LOCALES`). `guidance` is for the writer, line by
    line; of a pair, with {first} and {second} for the two.
    """

    name: str
    title: Mapping[str, str]
    description: Mapping[str, str]
    guidance: tuple[str, ...]

    def lines(self, first: str, second: str) -> list[str]:
        """The guidance for these two. One pass: what stands in a name is never filled in."""
        names = {FIRST: first, SECOND: second}
        return [_PLACEHOLDER.sub(lambda match: names[match[0]], line) for line in self.guidance]


class Presets:
    """The presets that can be chosen: those that come along, and over them those of files of one's own, last on top."""

    def __init__(self, *own: Path, bundled: Path = BUNDLED) -> None:
        self._files = (bundled, *own)
        self._presets: dict[str, Preset] | None = None
        self._as_of: tuple[int, ...] = ()

    async def all(self) -> Mapping[str, Preset]:
        """By name, in the files' order; one of one's own takes the place of another of its name. Raises UserError.

        Files that have changed are read again; while they cannot be used, the last good ones stay.
        """
        now = await asyncio.to_thread(self._changed_ns)
        if self._presets is None or now != self._as_of:
            try:
                self._presets = await asyncio.to_thread(self.read)
            except UserError as error:
                if self._presets is None:
                    raise
                _log.warning(
                    "presets cannot be used, keeping the last good ones: %s %s", error.key, error.values
                )
            self._as_of = now
        return self._presets

    def read(self) -> dict[str, Preset]:
        """The files as they are now; blocking. Raises UserError for what is wrong with one."""
        return {name: preset for file in self._files for name, preset in _read(file).items()}

    def _changed_ns(self) -> tuple[int, ...]:
        return tuple(file.stat().st_mtime_ns if file.exists() else 0 for file in self._files)


@cache
def prose_styles(own: tuple[Path, ...]) -> Presets:
    """The styles of prose, shared by all who ask: their files are read only when they change."""
    return Presets(*own, bundled=PROSE)


def _read(file: Path) -> dict[str, Preset]:
    try:
        if file.stat().st_size > LARGEST_KB * 1000:
            raise _error("large", file=file.name, limit=LARGEST_KB)
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _error("gone", file=file.name) from error
    return parse(text, file.name)


def parse(text: str, file: str) -> dict[str, Preset]:
    """The presets of a text in YAML, by name, in its order.

    Raises UserError for the first thing that is wrong, with `file` and the line: what is no YAML or no mapping, a
    name or a part that a preset can't have or has twice, a text that is missing, a placeholder that stands for nobody.
    """
    import yaml

    try:
        # Not libyaml's: brackets nested deep enough would take the whole process down.
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _error("unreadable", file=file, line=mark.line + 1 if mark else 1) from error
    except (yaml.YAMLError, RecursionError) as error:  # a character that YAML does not take
        line = text.count("\n", 0, getattr(error, "position", 0)) + 1
        raise _error("unreadable", file=file, line=line) from error
    return {} if root is None else _Reader(file).presets(root)


class _Reader:
    """Reads the nodes of one file, which know their lines."""

    def __init__(self, file: str) -> None:
        self._file = file

    def presets(self, root: yaml.Node) -> dict[str, Preset]:
        entries = self._entries(root)
        if entries is None:
            raise self._wrong("unreadable", root)
        return {name: self._preset(name, key, value) for name, (key, value) in entries.items()}

    def _preset(self, name: str, key: yaml.Node, value: yaml.Node) -> Preset:
        if not _NAME.fullmatch(name) or name != name.lower() or len(name) > 40:
            raise self._wrong("name", key, name=name[:60])
        parts = self._among(_PARTS, value) or {}
        return Preset(
            name,
            self._by_locale(name, "title", key, parts),
            self._by_locale(name, "description", key, parts),
            self._guidance(name, key, parts),
        )

    def _by_locale(self, name: str, part: str, key: yaml.Node, parts: _Entries) -> dict[str, str]:
        at, value = parts.get(part, (key, None))
        texts = (self._among(LOCALES, value) if value else None) or {}
        by_locale = {}
        for locale in LOCALES:
            where, text = texts.get(locale, (at, None))
            by_locale[locale] = self._text(name, f"{part}: {locale}", where, text)
        return by_locale

    def _guidance(self, name: str, key: yaml.Node, parts: _Entries) -> tuple[str, ...]:
        at, value = parts.get("guidance", (key, None))
        if value is None or not _is(value, "sequence") or not value.value:
            raise self._wrong("missing", value or at, name=name, part="guidance")
        lines = []
        for line in value.value:
            plain = self._text(name, "guidance", line, line)
            for placeholder in _PLACEHOLDER.findall(plain):
                if placeholder not in (FIRST, SECOND):
                    raise self._wrong(
                        "placeholder", line, placeholder=placeholder[:60], first=FIRST, second=SECOND
                    )
            lines.append(plain)
        return tuple(lines)

    def _text(self, name: str, part: str, at: yaml.Node, value: yaml.Node | None) -> str:
        """A text on one line. What YAML would read as a number or as a truth is the text that stands there."""
        plain = " ".join(value.value.split()) if value is not None and _is(value, "scalar") else ""
        if not plain or (value is not None and value.tag == "tag:yaml.org,2002:null"):
            raise self._wrong("missing", value or at, name=name, part=part)
        return plain

    def _among(self, names: tuple[str, ...], node: yaml.Node) -> _Entries | None:
        entries = self._entries(node)
        for part, (key, _) in (entries or {}).items():
            if part not in names:
                raise self._wrong("unknown", key, part=part[:60], parts=", ".join(names))
        return entries

    def _entries(self, node: yaml.Node) -> _Entries | None:
        """A mapping's nodes by their key, which YAML would let stand there twice; None for what is no mapping."""
        if not _is(node, "mapping"):
            return None
        entries: _Entries = {}
        for key, value in node.value:
            part = key.value if _is(key, "scalar") else ""
            if part in entries:
                raise self._wrong("twice", key, part=part[:60])
            entries[part] = key, value
        return entries

    def _wrong(self, fault: str, node: yaml.Node, **values: object) -> UserError:
        return _error(fault, file=self._file, line=node.start_mark.line + 1, **values)


def _is(node: yaml.Node, kind: str) -> bool:
    return getattr(node, "id", "") == kind


def _error(fault: str, **values: object) -> UserError:
    return UserError(f"story.preset_{fault}", **values)
