"""The prompts: those in prompts.yml, which is read again when it changes, and each space's own wordings.

Knows no model and no work.
"""

from __future__ import annotations

import hashlib
import logging
import re
import textwrap
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot import bundle, untrusted
from bot.events import UserError
from bot.settings import INSTRUCTION

if TYPE_CHECKING:
    from bot.events import Request
    from bot.settings import Settings
    from storage.settings import SettingRow, SettingsStore

BUNDLED = bundle.ROOT / "prompts.yml"
OWN = "prompt."
"""The prefix of the settings that hold a space's own wording; the prompt's name follows."""
PROMPT_CHARS = 20_000
"""The most characters of one prompt: several times the longest in prompts.yml."""

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_FENCE = re.compile(r"^```[\w-]*\n|\n?```$")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PromptText:
    """One prompt: `{name}` in `system` and `user` is filled in. `version` is a hash of both."""

    name: str
    system: str
    user: str
    version: str

    @property
    def placeholders(self) -> frozenset[str]:
        """The names in braces."""
        return frozenset(_PLACEHOLDER.findall(self.system + self.user))

    def fill(self, **values: str) -> tuple[str, str]:
        """Both texts with their placeholders filled in, in one pass: placeholders in the values stay unchanged."""

        def value(match: re.Match[str]) -> str:
            return values.get(match[1], match[0])

        return _PLACEHOLDER.sub(value, self.system), _PLACEHOLDER.sub(value, self.user)


class Texts(dict[str, PromptText]):
    """Prompts by their names. Raises UserError("prompts.unknown") for an unknown name."""

    def __missing__(self, name: str) -> PromptText:
        raise UserError("prompts.unknown", name=name[:60], names=", ".join(self))


@lru_cache(2)
def parse(text: str) -> Texts:
    """Parse every prompt of a prompts.yml, the same text only once. Raises UserError("prompts.…") with the first error.

    Callers must not change the result.
    """
    import yaml

    try:
        # libyaml's loader, if installed, takes a tenth of the time.
        tree: Any = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: an impossible date
        mark = getattr(error, "problem_mark", None)
        raise UserError("prompts.unreadable", line=mark.line + 1 if mark else 1) from error
    if not isinstance(tree, Mapping) or not tree:
        raise UserError("prompts.unreadable", line=1)
    return Texts({str(name): _prompt(str(name), entry) for name, entry in tree.items()})


def _prompt(name: str, entry: object) -> PromptText:
    if not isinstance(entry, Mapping):
        raise UserError("prompts.missing", prompt=name, part="system")
    for part in ("system", "user"):
        if not isinstance(entry.get(part), str):
            raise UserError("prompts.missing", prompt=name, part=part)
    prompt = _prompt_text(name, str(entry["system"]), str(entry["user"]))
    listed = entry.get("placeholders")
    if mismatched := prompt.placeholders ^ set(map(str, listed if isinstance(listed, list) else ())):
        raise UserError("prompts.placeholders", prompt=name, placeholder=", ".join(sorted(mismatched)))
    return prompt


def _prompt_text(name: str, system: str, user: str) -> PromptText:
    return PromptText(name, system, user, hashlib.sha256(f"{system}\0{user}".encode()).hexdigest()[:12])


class PromptFile:
    """The prompts of one file, read again when it changes."""

    def __init__(self, file: Path = BUNDLED) -> None:
        """Raises UserError when the file cannot be used: a bot should not start with broken prompts."""
        self._file = file
        self._changed_ns = file.stat().st_mtime_ns
        self._prompts = parse(file.read_text(encoding="utf-8"))

    def read(self) -> Texts:
        """The current prompts, in the file's order. Blocks for a few microseconds, or longer if the file has
        changed.
        """
        try:
            changed_ns = self._file.stat().st_mtime_ns
            if changed_ns == self._changed_ns:
                return self._prompts
            self._changed_ns = changed_ns
            reread = parse(self._file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, UserError) as error:
            _log.warning("prompts.yml cannot be used, keeping the last good version: %s", error)
            return self._prompts
        if missing := self._prompts.keys() - reread.keys():
            _log.warning("prompts.yml has lost %s, keeping the last good version", ", ".join(sorted(missing)))
            return self._prompts
        self._prompts = reread
        return reread


@dataclass(frozen=True, slots=True)
class Wording:
    """A prompt as a space uses it. `own` is the row of the space's own wording, with its author and date.

    `stale`: that wording is not used, because the file now has other placeholders.
    """

    text: PromptText
    own: SettingRow | None = None
    stale: bool = False


class Prompts:
    """The prompts of each space: its own wording if it has one, otherwise the file's."""

    def __init__(self, file: PromptFile, settings: SettingsStore) -> None:
        self._file = file
        self._settings = settings

    async def texts(self, space: str, names: Collection[str]) -> dict[str, PromptText]:
        """The current prompts of these names in this space, all read at one moment."""
        bundled = self._file.read()
        texts = dict(zip(names, map(bundled.__getitem__, names), strict=True))
        for own in await self._settings.named(space, list(map(OWN.__add__, names))):
            name = own.name.removeprefix(OWN)
            texts[name] = _wording(texts[name], own).text
        return texts

    async def instruction(self, settings: Settings, request: Request) -> str:
        """The channel admins' instructions for answers, as a paragraph of a system prompt; "" for none."""
        rows = await settings.nearest(request.asked_in or request.place, "", INSTRUCTION)
        if not rows:
            return ""
        wording = await self.wording(request.place.space, "channel")
        return wording.text.fill(instruction=untrusted.data(rows[0].value))[0].strip()

    async def wording(self, space: str, name: str) -> Wording:
        """The prompt, and whose wording it is. Raises UserError("prompts.unknown") for a name that the file does not
        have.
        """
        bundled = self._file.read()[name]
        return _wording(bundled, await self._settings.get(space, OWN + name))

    async def all(self, space: str) -> list[Wording]:
        """Every prompt, in the file's order."""
        own = await self._settings.of_space(space, OWN)
        return [_wording(text, own.get(name)) for name, text in self._file.read().items()]

    async def checked(self, space: str, name: str, text: str) -> PromptText:
        """Check a space's own wording: YAML with `system`, `user` or both, or just the text of `system`.

        A part that is not given stays unchanged. Raises UserError("prompts.…") for a wording with other placeholders
        than the file's, so that a broken prompt never reaches a model.
        """
        current = (await self.wording(space, name)).text
        if len(text) > PROMPT_CHARS:
            raise UserError("prompts.long", length=len(text), limit=PROMPT_CHARS)
        typed_parts = parts(text)
        prompt = _prompt_text(
            name, typed_parts.get("system", current.system), typed_parts.get("user", current.user)
        )
        expected = self._file.read()[name].placeholders
        if missing := expected - prompt.placeholders:
            raise UserError("prompts.lacks", prompt=name, placeholders=_braced(missing))
        if unknown := prompt.placeholders - expected:
            raise UserError(
                "prompts.strange", prompt=name, placeholders=_braced(unknown), wanted=_braced(expected)
            )
        return prompt

    async def edit(self, space: str, name: str, text: str, author: str) -> PromptText:
        """Store a space's own wording. Raises UserError: see `checked`."""
        prompt = await self.checked(space, name, text)
        await self._settings.set(space, OWN + name, as_yaml(prompt), author)
        return prompt

    async def reset(self, space: str, name: str, author: str) -> bool:
        """Restore the file's wording; returns whether there was another. Raises UserError for an unknown prompt."""
        _ = self._file.read()[name]  # raises for an unknown name
        return await self._settings.reset(space, OWN + name, author)


def _wording(bundled: PromptText, own: SettingRow | None) -> Wording:
    """The space's own wording if it has the same placeholders as the file's, otherwise the file's."""
    if own is None:
        return Wording(bundled)
    own_parts = parts(own.value)
    prompt = _prompt_text(bundled.name, own_parts.get("system", ""), own_parts.get("user", ""))
    if prompt.placeholders != bundled.placeholders:
        _log.warning("a wording of %s has other placeholders than prompts.yml; using the file's", prompt.name)
        return Wording(bundled, own, stale=True)
    return Wording(prompt, own)


def as_yaml(text: PromptText) -> str:
    """Both parts in the format of prompts.yml, for people to edit; without the blanks at the ends of lines."""
    return "".join(
        f"{part}: |2\n" + "".join(f"  {line}".rstrip() + "\n" for line in value.rstrip("\n").split("\n"))
        for part, value in (("system", text.system), ("user", text.user))
    )


def parts(wording: str) -> dict[str, str]:
    """`system` and `user` from YAML, also inside a code fence; any other text is `system`."""
    import yaml

    text = _FENCE.sub("", textwrap.dedent(wording).strip()) + "\n"
    try:
        tree: Any = yaml.safe_load(text) if _is_flat(text) else None
    except (yaml.YAMLError, ValueError, RecursionError):
        tree = None
    has_parts = isinstance(tree, Mapping) and tree and set(tree) <= {"system", "user"}
    if has_parts and all(isinstance(value, str) for value in tree.values()):
        return {name: value.rstrip() + "\n" for name, value in tree.items()}
    return {"system": text}


def _is_flat(text: str) -> bool:
    """Whether the text is one mapping of plain values. Nested YAML is not read, because the scanner needs quadratic
    time for it.
    """
    import yaml

    mappings = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        mappings += isinstance(event, yaml.MappingStartEvent) and not event.flow_style
        if mappings > 1 or isinstance(event, yaml.SequenceStartEvent | yaml.AliasEvent):
            return False
        if isinstance(event, yaml.MappingStartEvent) and event.flow_style:
            return False
    return mappings == 1


def _braced(names: frozenset[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in sorted(names))
