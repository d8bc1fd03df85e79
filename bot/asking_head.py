"""How much a message reads as a question to the bot, by the vector of its meaning: one weight for each dimension.

`bot.asking_weights` is written by scripts/asking_head.py, for the vectors of the model `MODEL`.
"""

from __future__ import annotations

import base64
from functools import cache
from typing import TYPE_CHECKING, Final

from bot.asking_weights import BIAS, WEIGHTS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

MODEL: Final = "e5-enpt"


def score(vector: Vector) -> float:
    """The logarithm of the odds that it is a question to the bot. `vector`: (dimensions,), of length 1."""
    return float(vector @ _weights()) + BIAS


@cache
def _weights() -> Vector:
    import numpy as np

    return np.frombuffer(base64.b85decode("".join(WEIGHTS)), np.float16).astype(np.float32)
