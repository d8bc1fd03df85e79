"""A graph for onnxruntime, written as the ONNX format's protocol buffers without their library.

Only what a transformer's encoder needs; the numbers of fields and types are those of onnx.proto.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_TYPES: Final = {"float32": 1, "uint8": 2, "int32": 6}
_CONTRIBUTED = "com.microsoft"  # onnxruntime's own operators
_VERSIONS: Final = {"": 17, _CONTRIBUTED: 1}
_FORMAT = 8


class Graph:
    """Nodes and the tensors that they use, in the order in which they are added."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._tensors: list[bytes] = []
        self._inputs: list[bytes] = []
        self._outputs: list[bytes] = []

    def input(self, name: str, type: str, shape: Sequence[int | str]) -> None:
        self._inputs.append(_value(name, type, shape))

    def output(self, name: str, type: str, shape: Sequence[int | str]) -> None:
        self._outputs.append(_value(name, type, shape))

    def tensor(self, name: str, values: NDArray[np.generic]) -> str:
        """Keep `values` in the graph. Returns `name`."""
        dimensions = b"".join(_number(1, length) for length in values.shape)
        kind = _number(2, _TYPES[values.dtype.name])
        raw = values.astype(values.dtype.newbyteorder("<")).tobytes()
        self._tensors.append(dimensions + kind + _bytes(8, name.encode()) + _bytes(9, raw))
        return name

    def node(
        self, operator: str, inputs: Sequence[str], *, domain: str = _CONTRIBUTED, **attributes: int | float
    ) -> str:
        """Add an operator node. Returns the name of its output."""
        result = f"n{len(self._nodes)}"
        fields = [_bytes(1, name.encode()) for name in inputs]
        fields += [_bytes(2, result.encode()), _bytes(4, operator.encode())]
        fields += [_bytes(5, _attribute(name, value)) for name, value in attributes.items()]
        self._nodes.append(b"".join(fields) + _bytes(7, domain.encode()))
        return result

    def model(self) -> bytes:
        """The graph as a model file's bytes."""
        parts = ((1, self._nodes), (5, self._tensors), (11, self._inputs), (12, self._outputs))
        graph = b"".join(_bytes(field, part) for field, values in parts for part in values)
        versions = b"".join(
            _bytes(8, _bytes(1, domain.encode()) + _number(2, version))
            for domain, version in _VERSIONS.items()
        )
        return _number(1, _FORMAT) + _bytes(7, graph + _bytes(2, b"encoder")) + versions


def _attribute(name: str, value: float) -> bytes:
    if isinstance(value, int):
        return _bytes(1, name.encode()) + _number(3, value) + _number(20, 2)
    return _bytes(1, name.encode()) + _varint(2 << 3 | 5) + struct.pack("<f", value) + _number(20, 1)


def _value(name: str, type: str, shape: Sequence[int | str]) -> bytes:
    """A name with its type: a tensor, some of whose dimensions may be named."""
    sides = b"".join(
        _bytes(1, _number(1, side) if isinstance(side, int) else _bytes(2, side.encode())) for side in shape
    )
    return _bytes(1, name.encode()) + _bytes(2, _bytes(1, _number(1, _TYPES[type]) + _bytes(2, sides)))


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value
