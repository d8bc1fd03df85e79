"""Scores how much a message's vector resembles a question to the bot: a linear model with one weight for each
dimension.

scripts/asking_head.py writes the weights in `bot.asking_weights`, for vectors of the model `MODEL`.
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
    """The log-odds that the message is a question to the bot. `vector` has shape (dimensions,) and length 1."""
    return float(vector @ _weights()) + BIAS


@cache
def _weights() -> Vector:
    import numpy as np

    return np.frombuffer(base64.b85decode("".join(WEIGHTS)), np.float16).astype(np.float32)
