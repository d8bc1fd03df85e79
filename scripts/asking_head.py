"""Writes bot/asking_weights.npz: fits the weights of `bot.asking_head` to the messages of tests/data/asking.

Needs torch (see TORCH in the Makefile) and the model's files (`python -m bot models pull e5-enpt`). The messages of
fresh/third.toml, fresh/seventh.toml and fresh/unseen.toml are left out, because they measure the result.

`--validate` writes nothing. It leaves three authors at a time out of the fitting, and prints for each author how many
questions and how many other messages the bot would answer, by meaning and words.
"""

from __future__ import annotations

import importlib
import os
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from bot.asking import asks, weighed
from bot.asking_head import MODEL, WEIGHTS, odds
from bot.config import load
from bot.retrieval.embedding import EnPtE5

DATA: Final = Path(__file__).resolve().parents[1] / "tests" / "data" / "asking"
OLDER: Final = ("en", "pt", *(f"fresh/{name}" for name in ("first", "second", "fourth", "fifth", "sixth")))
AUTHORS: Final = tuple(
    f"fresh/{name}"
    for name in (
        *("eighth", "ninth", "tenth", "eleventh", "twelfth"),
        *("thirteenth", "fourteenth", "fifteenth", "sixteenth"),
    )
)
NETWORKS, WIDTH, HEADS = 4, 48, 4
EPOCHS, BATCH, RATE, DECAY = 6, 64, 1.5e-3, 0.05
DROPPED_INPUTS, DROPPED, SMOOTHED = 0.1, 0.2, 0.05
TOKENS: Final = 64  # longer messages are cut for fitting

Data = tuple[list[str], list[Any], Any]
"""Messages, the states of each, of shape (tokens, inputs), and whether each asks the bot."""


def data(model: EnPtE5, name: str) -> Data:
    """The messages of a file, without those that a mention or a reply decides."""
    every = tomllib.loads((DATA / f"{name}.toml").read_text(encoding="utf-8"))["messages"]
    chosen = [
        message for message in every if not message.get("mentions_people") and not message.get("replies")
    ]
    states = [model.states(message["text"]).astype(np.float16) for message in chosen]
    return (
        [message["text"] for message in chosen],
        states,
        np.array([message["asks"] for message in chosen], np.float32),
    )


def fitted(parts: Sequence[Data]) -> dict[str, Any]:
    """The weights of `bot.asking_head.odds`, fitted with AdamW; the same on each run on one machine."""
    torch: Any = importlib.import_module("torch")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    states = [each[:TOKENS] for part in parts for each in part[1]]
    labels = torch.from_numpy(np.concatenate([part[2] for part in parts]))
    tokens = np.concatenate(states[::4]).astype(np.float32)
    mean, spread = tokens.mean(0), tokens.std(0) + 1e-3
    inputs = len(mean)
    weights = {
        "project": torch.randn(NETWORKS, inputs, WIDTH) / inputs**0.5,
        "shift": torch.zeros(NETWORKS, 1, WIDTH),
        "attend": torch.randn(NETWORKS, WIDTH, HEADS) / WIDTH**0.5,
        "out": torch.randn(NETWORKS, HEADS + 1, WIDTH) / ((HEADS + 1) * WIDTH) ** 0.5,
        "bias": torch.zeros(NETWORKS),
    }
    for each in weights.values():
        each.requires_grad_()
    batches = _batches([len(each) for each in states])
    optimizer = torch.optim.AdamW(weights.values(), RATE, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, RATE, total_steps=len(batches) + 1, pct_start=0.15
    )
    drop = torch.nn.functional.dropout
    for batch in batches:
        longest = max(len(states[at]) for at in batch)
        padded = np.zeros((len(batch), longest, inputs), np.float32)
        absent = torch.ones(len(batch), longest, dtype=torch.bool)
        for row, at in enumerate(batch):
            padded[row, : len(states[at])] = (states[at] - mean) / spread
            absent[row, : len(states[at])] = False
        kept = drop(torch.ones(len(batch), 1, inputs), DROPPED_INPUTS)
        project = weights["project"].transpose(0, 1).flatten(1)
        hidden = ((torch.from_numpy(padded) * kept) @ project).unflatten(2, (NETWORKS, WIDTH)).transpose(1, 2)
        hidden = torch.relu(hidden + weights["shift"])  # (batch, networks, tokens, width)
        absent = absent[:, None, :, None]
        attention = (hidden @ weights["attend"]).masked_fill(absent, -1e9).softmax(2)
        highest = hidden.masked_fill(absent, 0).amax(2, keepdim=True)
        pooled = torch.cat([attention.transpose(2, 3) @ hidden, highest], 2)
        found = (drop(pooled, DROPPED) * weights["out"]).sum((2, 3)) + weights["bias"]
        wanted = (labels[batch] * (1 - 2 * SMOOTHED) + SMOOTHED)[:, None].expand(-1, NETWORKS)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(found, wanted) * NETWORKS
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    result = {name: each.detach().numpy() for name, each in weights.items()}
    result["project"] = result["project"] / spread[:, None]
    result["shift"] = result["shift"] - mean @ result["project"][:, None]
    return result


def _batches(lengths: Sequence[int]) -> list[Any]:
    """The indexes of the messages of each step; messages of a batch have similar lengths."""
    random = np.random.default_rng(0)
    every: list[Any] = []
    for _ in range(EPOCHS):
        order = random.permutation(len(lengths))
        batches: list[Any] = []
        for first in range(0, len(order), 16 * BATCH):
            part = order[first : first + 16 * BATCH]
            part = part[np.argsort(np.array(lengths)[part], kind="stable")]
            batches += np.array_split(part, max(1, len(part) // BATCH))
        every += [batches[at] for at in random.permutation(len(batches))]
    return every


def packed(weights: Mapping[str, Any]) -> dict[str, Any]:
    """The weights as they are stored: the projection in eight bits with a scale for each column."""
    scale = np.abs(weights["project"]).max(1, keepdims=True) / 127
    halves = {name: weights[name].astype(np.float16) for name in ("shift", "attend", "out", "bias")}
    return {
        "project": np.round(weights["project"] / scale).astype(np.int8),
        "scale": scale.astype(np.float32),
        **halves,
    }


def validate(sets: Mapping[str, Data]) -> None:
    for first in range(3):
        without = AUTHORS[first::3]
        weights = fitted([part for name, part in sets.items() if name not in without])
        for name in without:
            texts, states, labels = sets[name]
            scores = [odds(weights, each.astype(np.float32)) for each in states]
            got = np.array(
                [weighed(asks(text), text, each) != "no" for text, each in zip(texts, scores, strict=True)]
            )
            print(f"{name}: {got[labels == 1].mean():.3f} and {got[labels == 0].mean():.3f}", flush=True)


def main() -> None:
    model = EnPtE5(load(environ=os.environ).models_dir / MODEL)
    sets = {name: data(model, name) for name in (*OLDER, *AUTHORS)}
    if "--validate" in sys.argv:
        validate(sets)
    else:
        np.savez_compressed(WEIGHTS, **packed(fitted(list(sets.values()))))


if __name__ == "__main__":
    main()
