"""The format and size of a picture, from its first bytes: PNG, JPEG, GIF or WebP.

Decodes nothing, so it is safe for any file, and cannot tell whether the rest is complete.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias

PictureKind: TypeAlias = Literal["png", "jpeg", "gif", "webp"]

_PNG: Final = b"\x89PNG\r\n\x1a\n"
_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""JPEG's frame markers, whose data has the size (ITU-T T.81, table B.1)."""
_BARE: Final = frozenset({0x01, *range(0xD0, 0xD8)})
"""JPEG's markers without data."""


class Picture(NamedTuple):
    """A picture; `width` and `height` are pixels, each at least 1."""

    kind: PictureKind
    width: int
    height: int


def picture_of(data: bytes) -> Picture | None:
    """The format and size of the picture `data`; None for anything else, and for a file that ends before its size."""
    kind_and_size: tuple[PictureKind, tuple[int, int] | None] | None = None
    if data.startswith(_PNG):
        kind_and_size = "png", _png(data)
    elif data.startswith(b"\xff\xd8\xff"):
        kind_and_size = "jpeg", _jpeg(data)
    elif data.startswith((b"GIF87a", b"GIF89a")):
        kind_and_size = "gif", _two(data, 6, 2, "little")
    elif data.startswith(b"RIFF") and data.startswith(b"WEBP", 8):
        kind_and_size = "webp", _webp(data)
    if kind_and_size is None or kind_and_size[1] is None or 0 in kind_and_size[1]:
        return None
    return Picture(kind_and_size[0], *kind_and_size[1])


def _two(data: bytes, at: int, bytes_each: int, order: Literal["big", "little"]) -> tuple[int, int] | None:
    """Two consecutive numbers."""
    part = data[at : at + 2 * bytes_each]
    if len(part) < 2 * bytes_each:
        return None
    return int.from_bytes(part[:bytes_each], order), int.from_bytes(part[bytes_each:], order)


def _png(data: bytes) -> tuple[int, int] | None:
    """The size in the header, which always comes first (PNG, third edition, 11.2.1)."""
    return _two(data, 16, 4, "big") if data[12:16] == b"IHDR" else None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    """The size in the first frame, which follows segments of any length (ITU-T T.81, B.1 and B.2.2)."""
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # padding
            at += 1
        elif marker in _BARE:
            at += 2
        elif marker in _FRAMES:
            size = _two(data, at + 5, 2, "big")
            return (size[1], size[0]) if size else None
        elif marker in (0xD9, 0xDA):  # the end, or the picture itself, without a frame before it
            return None
        else:
            at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    """The size in the first chunk: lossy, lossless or extended (RFC 9649, 2.5 to 2.7; for lossy ones RFC 6386, 9.1)."""
    chunk, size = data[12:16], None
    if chunk == b"VP8 " and data[23:26] == b"\x9d\x01\x2a" and (size := _two(data, 26, 2, "little")):
        return size[0] & 0x3FFF, size[1] & 0x3FFF
    if chunk == b"VP8L" and data[20:21] == b"\x2f" and len(data) >= 25:
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if chunk == b"VP8X" and (size := _two(data, 24, 3, "little")):
        return size[0] + 1, size[1] + 1
    return None
