"""Reads MessagePack as the JavaScript library msgpackr writes it, in which NovelAI's editor stores its documents.

In addition to MessagePack's own forms (https://github.com/msgpack/msgpack/blob/master/spec.md) there are: objects as
records (extension "r": the names once, under a byte from 0x40, then only values), strings bundled after the values
(extension "b": their position; then 0xC1 and a length in UTF-16 units, negative in the first bundle), and an extension
that is followed by its value. No Python library reads them. Pure; the work is bounded by the number of bytes.
"""

from __future__ import annotations

import struct
from typing import Any, Final

DEPTH: Final = 60
_NUMBERS: Final = {
    0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h", 0xD2: ">i",
    0xD3: ">q",
}  # fmt: skip
_LENGTHS: Final = {
    0xC4: ">B", 0xC5: ">H", 0xC6: ">I", 0xC7: ">B", 0xC8: ">H", 0xC9: ">I", 0xD9: ">B", 0xDA: ">H", 0xDB: ">I",
    0xDC: ">H", 0xDD: ">I", 0xDE: ">H", 0xDF: ">I",
}  # fmt: skip


def unpacked(data: bytes) -> Any:
    """The first value. Raises ValueError for invalid data, or data that is nested too deeply."""
    try:
        return _Reader(data).value(DEPTH)
    except (IndexError, struct.error, TypeError) as fault:
        raise ValueError("no MessagePack") from fault


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0
        self._records = dict[int, list[Any]]()
        self._bundles = [b"", b""]

    def value(self, depth: int) -> Any:
        if depth < 0:
            raise ValueError("nested too deeply")
        byte = self._bytes(1)[0]
        match byte >> 4:
            case 0x8:
                return self._map(byte & 0xF, depth)
            case 0x9:
                return [self.value(depth - 1) for _ in range(byte & 0xF)]
            case 0xA | 0xB:
                return self._text(byte & 0x1F)
            case 0xE | 0xF:
                return byte - 0x100
        if byte < 0x80:
            names = self._records.get(byte)
            return byte if names is None else {name: self.value(depth - 1) for name in names}
        if byte in _NUMBERS:
            return self._number(_NUMBERS[byte])
        if byte == 0xC1:
            return self._bundled(self.value(depth - 1))
        if byte in (0xC0, 0xC2, 0xC3):
            return {0xC0: None, 0xC2: False, 0xC3: True}[byte]
        size = self._number(_LENGTHS[byte]) if byte in _LENGTHS else 1 << (byte - 0xD4)
        if byte in (0xC4, 0xC5, 0xC6):
            return self._bytes(size)
        if byte in (0xD9, 0xDA, 0xDB):
            return self._text(size)
        if byte in (0xDC, 0xDD):
            return [self.value(depth - 1) for _ in range(size)]
        if byte in (0xDE, 0xDF):
            return self._map(size, depth)
        return self._extension(self._bytes(1)[0], size, depth)

    def _extension(self, kind: int, size: int, depth: int) -> Any:
        begin, body = self._at, self._bytes(size)
        if kind == ord("r"):
            names = self.value(depth - 1)
            self._records[body[0]] = [name for name in names if isinstance(name, str)]
            return {name: self.value(depth - 1) for name in self._records[body[0]]}
        if kind == ord("b"):
            behind = self._at
            self._at = begin + int.from_bytes(body, "big")
            self._bundles = [str(self.value(0)).encode("utf-16-le", "surrogatepass") for _ in range(2)]
            self._at = behind
            return self.value(depth - 1)
        if kind == 0xFF or (kind == 0 and size == 1):  # a timestamp, and JavaScript's undefined
            return None
        return self.value(depth - 1) if size == 1 else _Reader(body).value(depth - 1)

    def _bundled(self, units: Any) -> str:
        which, size = int(units > 0), 2 * abs(int(units))
        text, self._bundles[which] = self._bundles[which][:size], self._bundles[which][size:]
        return text.decode("utf-16-le", "replace")

    def _map(self, size: int, depth: int) -> dict[Any, Any]:
        return {self.value(depth - 1): self.value(depth - 1) for _ in range(size)}

    def _text(self, size: int) -> str:
        return self._bytes(size).decode("utf-8", "replace")

    def _number(self, form: str) -> Any:
        return struct.unpack(form, self._bytes(struct.calcsize(form)))[0]

    def _bytes(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        if len(taken) < size:
            raise ValueError("cut off")
        self._at += size
        return taken
