"""Checks images as model services do, and makes PNG pictures of any size.

Knows nothing of the bot.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
import zlib

FIRST = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}
"""The first bytes of files of these types; services accept no others."""

_URL = re.compile(r"data:([\w/+.-]+);base64,(.*)", re.DOTALL)


def png(width: int = 2, height: int = 2) -> bytes:
    """A black picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    rows = zlib.compress(b"\0" * ((width + 7) // 8 + 1) * height)
    return FIRST["image/png"] + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def parts_of(url: object) -> tuple[str, str]:
    """The media type and the base64 text of a data URL; two empty texts for anything else."""
    match = _URL.fullmatch(url) if isinstance(url, str) else None
    return (match[1], match[2]) if match else ("", "")


def fault(media: object, data: object) -> str:
    """The fault of an image: "media", "base64", "mismatch"; "" for none."""
    if media not in FIRST:
        return "media"
    try:
        raw = base64.b64decode(str(data), validate=True)
    except binascii.Error:
        return "base64"
    return "" if raw.startswith(FIRST[str(media)]) else "mismatch"


def sides(data: str) -> tuple[int, int]:
    """The width and height of a PNG; zeros for anything else."""
    raw = base64.b64decode(data)
    if not raw.startswith(FIRST["image/png"]):
        return 0, 0
    width, height = struct.unpack(">II", raw[16:24])
    return width, height
