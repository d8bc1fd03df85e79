"""The protocol of speech engines, which turn a sentence into sound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bot.events import UserError

Why = Literal["absent", "silent", "noise", "crashed", "hangs", "refused", "language", "no_voice"]
"""Why nothing can be heard: not installed or without a key; no samples; invalid samples; the engine's process died, or
did not answer in time; its service refused; no voice reads the language; the voice does not exist.
"""


class Unspoken(Exception):
    """A sentence could not be spoken. `detail` is for the log and the doctor, and contains none of its words."""

    def __init__(self, why: Why, engine: str = "", detail: str = "") -> None:
        super().__init__(f"{engine or 'speech'}: {why} {detail}".strip())
        self.why: Why = why
        self.engine = engine
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Sound:
    """One channel of float32 samples from -1 to 1, `rate` per second.

    An engine that gives a lower rate has its sound played more slowly, and so deeper.
    """

    samples: NDArray[np.float32]
    rate: float


class Engine(Protocol):
    """Speaks sentences one after another. `voices` are its voices' names, () if only its service knows them."""

    @property
    def name(self) -> str: ...

    @property
    def voices(self) -> tuple[str, ...]: ...

    def reads(self, language: str, voice: str) -> bool:
        """Whether this voice ("" for the first) reads the language, which is an ISO 639-1 code only."""

    def absent(self) -> UserError | None:
        """Why it cannot be used here, in a few words; None if it can."""

    async def say(self, text: str, voice: str, speed: float, language: str) -> Sound:
        """The unchecked sound of a sentence as `read_aloud` gives it. Raises Unspoken."""

    async def close(self) -> None: ...
