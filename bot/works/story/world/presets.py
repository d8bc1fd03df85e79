"""Reads presets for how two characters deal with each other (presets.yml) and styles of prose (prose.yml).

An operator's files extend them. A file is read in a thread when a preset is first asked for; YAML is imported then.
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
from bot.words import LOCALES, folded

if TYPE_CHECKING:
    import yaml

BUNDLED = Path(__file__).parents[1] / "presets.yml"
PROSE = BUNDLED.with_name("prose.yml")
LARGEST_KB = 200
"""The maximum size of an operator's own file; the bundled one has a tenth of it."""
FIRST, SECOND = "{first}", "{second}"

_Entries: TypeAlias = "dict[str, tuple[yaml.Node, yaml.Node]]"
"""A mapping by its keys, each with the node of the key and that of its value."""

_log = logging.getLogger(__name__)

_PARTS = ("title", "description", "guidance")
_NAME = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_PLACEHOLDER = re.compile(r"\{[^{}]*\}")


@dataclass(frozen=True, slots=True)
class Preset:
    """A way in which two characters deal with each other, or a style of prose.

    `title` and `description` are for people, by locale. `guidance` are lines for the writer, in which {first} and
    {second} are the two characters.
    """

    name: str
    title: Mapping[str, str]
    description: Mapping[str, str]
    guidance: tuple[str, ...]

    def typed_name(self, locale: str) -> str:
        """What people type to choose it in this language: its title in lower case."""
        return self.title[locale].casefold()

    def lines(self, first: str, second: str) -> list[str]:
        """The guidance with the names of the two characters; braces in a name are left as they are."""
        names = {FIRST: first, SECOND: second}
        return [_PLACEHOLDER.sub(lambda match: names[match[0]], line) for line in self.guidance]


class Presets:
    """The presets of the bundled file and of the operator's, of which later ones replace earlier ones by name."""

    def __init__(self, *own: Path, bundled: Path = BUNDLED) -> None:
        self._files = (bundled, *own)
        self._presets: dict[str, Preset] | None = None
        self._mtimes_read: tuple[int, ...] = ()

    async def all(self) -> Mapping[str, Preset]:
        """The presets by name, in the files' order. Raises UserError.

        Changed files are read again; if one has become invalid, the last valid presets stay.
        """
        mtimes = await asyncio.to_thread(self._mtimes)
        if self._presets is None or mtimes != self._mtimes_read:
            try:
                self._presets = await asyncio.to_thread(self.read)
            except UserError as error:
                if self._presets is None:
                    raise
                _log.warning(
                    "presets cannot be used, keeping the last good ones: %s %s", error.key, error.values
                )
            self._mtimes_read = mtimes
        return self._presets

    def read(self) -> dict[str, Preset]:
        """Read the files as they are now; blocking. Raises UserError for a fault in one of them."""
        return {name: preset for file in self._files for name, preset in _read(file).items()}

    def _mtimes(self) -> tuple[int, ...]:
        return tuple(file.stat().st_mtime_ns if file.exists() else 0 for file in self._files)


def find(presets: Mapping[str, Preset], typed: str) -> Preset | None:
    """The preset with this name, or with this title in any language; None for none."""
    key = folded(typed)
    return next(
        (preset for preset in presets.values() if key in map(folded, (preset.name, *preset.title.values()))),
        None,
    )


@cache
def prose_styles(own: tuple[Path, ...]) -> Presets:
    """The styles of prose, one object for all callers, so that files are read only when they change."""
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
    """The presets of a YAML text by name, in its order.

    Raises UserError for the first fault, with `file` and the line: invalid YAML or no mapping, an unknown or repeated
    name or part, a missing text, an unknown placeholder.
    """
    import yaml

    try:
        # The pure Python loader, since deeply nested brackets would crash the process in libyaml.
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _error("unreadable", file=file, line=mark.line + 1 if mark else 1) from error
    except (yaml.YAMLError, RecursionError) as error:  # a character that YAML does not allow
        line = text.count("\n", 0, getattr(error, "position", 0)) + 1
        raise _error("unreadable", file=file, line=line) from error
    return {} if root is None else _Reader(file).presets(root)


class _Reader:
    """Reads the YAML nodes of a file, so that errors can name their lines."""

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
        parts = self._entries_among(_PARTS, value) or {}
        return Preset(
            name,
            self._by_locale(name, "title", key, parts),
            self._by_locale(name, "description", key, parts),
            self._guidance(name, key, parts),
        )

    def _by_locale(self, name: str, part: str, key: yaml.Node, parts: _Entries) -> dict[str, str]:
        at, value = parts.get(part, (key, None))
        texts = (self._entries_among(LOCALES, value) if value else None) or {}
        by_locale = {}
        for locale in LOCALES:
            where, text = texts.get(locale, (at, None))
            by_locale[locale] = self._text(name, f"{part}: {locale}", where, text)
        return by_locale

    def _guidance(self, name: str, key: yaml.Node, parts: _Entries) -> tuple[str, ...]:
        at, value = parts.get("guidance", (key, None))
        if value is None or not _is_kind(value, "sequence") or not value.value:
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
        """A text on one line. A value that YAML would read as a number or a truth value is kept as written."""
        plain = " ".join(value.value.split()) if value is not None and _is_kind(value, "scalar") else ""
        if not plain or (value is not None and value.tag == "tag:yaml.org,2002:null"):
            raise self._wrong("missing", value or at, name=name, part=part)
        return plain

    def _entries_among(self, names: tuple[str, ...], node: yaml.Node) -> _Entries | None:
        entries = self._entries(node)
        for part, (key, _) in (entries or {}).items():
            if part not in names:
                raise self._wrong("unknown", key, part=part[:60], parts=", ".join(names))
        return entries

    def _entries(self, node: yaml.Node) -> _Entries | None:
        """A mapping's nodes by key; None for anything but a mapping. Raises UserError for a key that occurs twice."""
        if not _is_kind(node, "mapping"):
            return None
        entries: _Entries = {}
        for key, value in node.value:
            part = key.value if _is_kind(key, "scalar") else ""
            if part in entries:
                raise self._wrong("twice", key, part=part[:60])
            entries[part] = key, value
        return entries

    def _wrong(self, fault: str, node: yaml.Node, **values: object) -> UserError:
        return _error(fault, file=self._file, line=node.start_mark.line + 1, **values)


def _is_kind(node: yaml.Node, kind: str) -> bool:
    return getattr(node, "id", "") == kind


def _error(fault: str, **values: object) -> UserError:
    return UserError(f"story.preset_{fault}", **values)
