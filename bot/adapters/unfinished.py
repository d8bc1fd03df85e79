"""A request that still lacks its text, while a window stands open for it. Knows no platform and no work."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import timedelta

from bot.events import File, OptionValue

KIND = "modal"
"""Of the storage's offers, where it is kept: a window that was opened before a restart is answered, too."""
KEPT = timedelta(days=1)
"""How long a window may stand open; most of those that are older have been dismissed."""


@dataclass(frozen=True, slots=True)
class Unfinished:
    """What is typed is put between `before` and `after`.

    `files` came with what was sent, as File's fields. `author` is who may finish it: whoever the window is opened
    for. `channel` and `thread` are where they were, on platforms whose windows do not say so themselves.
    `answers` is the run whose choice opened the window, "" for a command's.
    """

    work: str
    verb: str
    author: str = ""
    before: str = ""
    after: str = ""
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    files: Sequence[Mapping[str, str | int]] = ()
    channel: str = ""
    thread: str = ""
    answers: str = ""

    def kept(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False, separators=(",", ":"))

    @property
    def brought(self) -> tuple[File, ...]:
        """The files that the request came with."""
        return tuple(File(**one) for one in self.files)  # type: ignore[arg-type]

    def text(self, typed: str) -> str:
        return f"{self.before}{typed}{self.after}".strip()


def unfinished(kept: str) -> Unfinished:
    """What `Unfinished.kept` wrote. Raises ValueError or TypeError for anything else."""
    return Unfinished(**json.loads(kept))
