"""Scores how much a message resembles a question to the bot: small networks over the states of its tokens.

Each network projects the states, pools them by attention and by their maximum, and adds up. scripts/asking_head.py
writes the weights, for the states of the model `MODEL`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

MODEL: Final = "e5-enpt"
WEIGHTS: Final = Path(__file__).with_name("asking_weights.npz")


class Encoder(Protocol):
    """A model whose layers' states are read."""

    def states(self, text: str) -> Floats:
        """(tokens, layers * dimensions): the states of the text's tokens."""
        ...


def score(encoder: Encoder, text: str) -> float:
    """The log-odds that the message is a question to the bot. Takes milliseconds; blocking."""
    return odds(_weights(), encoder.states(text))


def odds(weights: Mapping[str, Floats], states: Floats) -> float:
    """The mean of the networks' log-odds.

    `weights` has `project` (networks, inputs, width), `shift` (networks, 1, width), `attend` (networks, width, heads),
    `out` (networks, heads + 1, width) and `bias` (networks); `states` is (tokens, inputs).
    """
    import numpy as np

    hidden = np.maximum(states @ weights["project"] + weights["shift"], 0)  # (networks, tokens, width)
    attention = hidden @ weights["attend"]
    attention = np.exp(attention - attention.max(1, keepdims=True))
    attention /= attention.sum(1, keepdims=True)
    pooled = np.concatenate([attention.swapaxes(1, 2) @ hidden, hidden.max(1, keepdims=True)], axis=1)
    return float((pooled * weights["out"]).sum((1, 2)).mean() + weights["bias"].mean())


@cache
def _weights() -> Mapping[str, Floats]:
    import numpy as np

    with np.load(WEIGHTS) as file:
        weights = {name: file[name].astype(np.float32) for name in file.files}
    weights["project"] *= weights.pop("scale")
    return weights
