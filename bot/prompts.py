"""prompts.yml: what models are told, checked at start, read again when it changes.

A space's override stands over the file. Knows no model and no work.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.events import Sorry

BUNDLED = Path(__file__).parent.parent / "prompts.yml"
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PromptText:
    """One prompt: `{name}` in `system` and `user` is filled in. `version` is a hash of both."""

    name: str
    system: str
    user: str
    version: str

    def fill(self, **values: str) -> tuple[str, str]:
        """Both texts with their placeholders filled. One pass: what is put in is never read again."""

        def value(match: re.Match[str]) -> str:
            return values.get(match[1], match[0])

        return _PLACEHOLDER.sub(value, self.system), _PLACEHOLDER.sub(value, self.user)


def parse(text: str) -> dict[str, PromptText]:
    """Every prompt of a prompts.yml. Raises Sorry("prompts.…") naming the first thing that is wrong."""
    import yaml

    try:
        tree: Any = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise Sorry("prompts.unreadable", line=mark.line + 1 if mark else 1) from error
    if not isinstance(tree, Mapping) or not tree:
        raise Sorry("prompts.unreadable", line=1)
    return {name: _prompt(str(name), entry) for name, entry in tree.items()}


def _prompt(name: str, entry: object) -> PromptText:
    if not isinstance(entry, Mapping):
        raise Sorry("prompts.missing", prompt=name, part="system")
    for part in ("system", "user"):
        if not isinstance(entry.get(part), str):
            raise Sorry("prompts.missing", prompt=name, part=part)
    system, user = str(entry["system"]), str(entry["user"])
    used = set(_PLACEHOLDER.findall(system + user))
    wanted = {str(one) for one in entry.get("placeholders", ())}
    if used != wanted:
        raise Sorry("prompts.placeholders", prompt=name, placeholder=", ".join(sorted(used ^ wanted)))
    version = hashlib.sha256(f"{system}\0{user}".encode()).hexdigest()[:12]
    return PromptText(name, system, user, version)


class Prompts:
    """The prompts of one file, kept fresh."""

    def __init__(self, file: Path = BUNDLED) -> None:
        """Raises Sorry when the file cannot be used: a bot should not start with broken prompts."""
        self._file = file
        self._changed_ns = file.stat().st_mtime_ns
        self._prompts = parse(file.read_text(encoding="utf-8"))

    def get(self, name: str) -> PromptText:
        """The prompt as it stands now; blocking, a few microseconds unless the file changed."""
        self._refresh()
        return self._prompts[name]

    def _refresh(self) -> None:
        try:
            changed_ns = self._file.stat().st_mtime_ns
            if changed_ns == self._changed_ns:
                return
            self._changed_ns = changed_ns
            fresh = parse(self._file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, Sorry) as error:
            _log.warning("prompts.yml cannot be used, keeping the last good version: %s", error)
            return
        if missing := self._prompts.keys() - fresh.keys():
            _log.warning("prompts.yml has lost %s, keeping the last good version", ", ".join(sorted(missing)))
            return
        self._prompts = fresh
