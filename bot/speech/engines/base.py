"""The protocol of speech engines: a sentence in, its sound out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Why = Literal["absent", "silent", "noise", "crashed", "hangs", "refused", "language", "no_voice"]
"""Why nothing is heard: not installed or without a key; no samples; samples that are no sound; the engine's process
died, or said nothing for too long; its service refused; no voice reads the language; there is no such voice."""


class Unspoken(Exception):
    """A sentence could not be said. `detail` is for the log and the doctor, and holds none of its words."""

    def __init__(self, why: Why, engine: str = "", detail: str = "") -> None:
        super().__init__(f"{engine or 'speech'}: {why} {detail}".strip())
        self.why: Why = why
        self.engine = engine
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Sound:
    """One channel of float32 samples from -1 to 1, `rate` of them a second.

    To have it played a little slower than it was made, and so deeper, an engine gives a lower rate.
    """

    samples: NDArray[np.float32]
    rate: float


class Engine(Protocol):
    """Says sentences, one after another. `voices` are the names it has, () where only its service knows them."""

    @property
    def name(self) -> str: ...

    @property
    def voices(self) -> tuple[str, ...]: ...

    def reads(self, language: str, voice: str) -> bool:
        """Whether this voice, "" for the first, reads the language (ISO 639-1, and no more)."""
        ...

    def absent(self) -> str:
        """Why it cannot be used here, in a few words for the doctor; "" where it can."""
        ...

    async def say(self, text: str, voice: str, speed: float, language: str) -> Sound:
        """The sound of a sentence as `read_aloud` gives it, unchecked. Raises Unspoken."""
        ...

    async def close(self) -> None: ...
