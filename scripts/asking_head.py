"""Writes bot/asking_weights.py: fits the weights of `bot.asking_head` to the messages of tests/data/asking.

Needs the model's files (`python -m bot models pull e5-enpt`). The messages of fresh/third.toml and
fresh/seventh.toml are left out, because they measure the result.
"""

from __future__ import annotations

import base64
import os
import tomllib
from pathlib import Path
from typing import Any, Final

import numpy as np

from bot.asking_head import MODEL
from bot.config import load
from bot.retrieval.embedding import embedder

ROOT: Final = Path(__file__).resolve().parents[1]
DATA: Final = ROOT / "tests" / "data" / "asking"
FITTED: Final = (
    "en.toml",
    "pt.toml",
    *(f"fresh/{name}.toml" for name in ("first", "second", "fourth", "fifth", "sixth")),
)
STEPS, RATE, DECAY = 400, 0.02, 0.05
LINE: Final = 96  # characters of a line of the module


def messages() -> list[dict[str, Any]]:
    """The messages to fit, without those that a mention or a reply decides."""
    files = [tomllib.loads((DATA / name).read_text(encoding="utf-8")) for name in FITTED]
    every = [message for file in files for message in file["messages"]]
    return [message for message in every if not message.get("mentions_people") and not message.get("replies")]


def fitted(vectors: Any, asks: Any) -> tuple[Any, float]:
    """Fit the weights and the bias of a logistic regression with Adam."""
    mean, spread = vectors.mean(0), vectors.std(0) + 1e-6
    inputs = np.hstack([(vectors - mean) / spread, np.ones((len(vectors), 1))])
    weights, first, second = np.zeros((3, inputs.shape[1]))
    for step in range(1, STEPS + 1):
        odds = 1 / (1 + np.exp(-inputs @ weights))
        slope = inputs.T @ (odds - asks) / len(asks) + DECAY * weights
        first = 0.9 * first + 0.1 * slope
        second = 0.999 * second + 0.001 * slope * slope
        weights = weights - RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    scaled = weights[:-1] / spread
    return scaled.astype(np.float16), float(weights[-1] - scaled @ mean)


def main() -> None:
    chosen = messages()
    model = embedder(MODEL, load(environ=os.environ).models_dir)
    assert model is not None
    vectors = np.concatenate([model.passages([message["text"]]) for message in chosen])
    weights, bias = fitted(
        vectors.astype(np.float64), np.array([message["asks"] for message in chosen], float)
    )
    text = base64.b85encode(weights.tobytes()).decode()
    lines = "".join(f'    "{text[at : at + LINE]}",\n' for at in range(0, len(text), LINE))
    (ROOT / "bot" / "asking_weights.py").write_text(
        '"""The weights of `bot.asking_head`, in half precision. Written by scripts/asking_head.py."""\n\n'
        "from typing import Final\n\n"
        f"BIAS: Final = {bias:.4f}\nWEIGHTS: Final = (\n{lines})\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
