"""The texts in a WebP picture's metadata, where other programs store a character: Exif's user comment, or XMP.

Chunks are RIFF's (https://developers.google.com/speed/webp/docs/riff_container). Pixels are never looked at. Pure.
"""

from __future__ import annotations

import binascii
import html
import re
import struct
from collections.abc import Iterator
from typing import Final

from bot.works.story.exchange.png import from_base64

CHUNKS: Final = 1_000
_BASE64 = re.compile(r"ey[A-Za-z0-9+/_=-]{40,}")
"""Base64 of JSON: `{"` and the rest."""


def is_webp(data: bytes) -> bool:
    return data[:4] == b"RIFF" and data[8:12] == b"WEBP"


def card_text(data: bytes) -> str:
    """The JSON of a card, "" for none."""
    for chunk in _chunks(data):
        for encoding in ("utf-8", "utf-16-le", "utf-16-be"):
            # A comment in UTF-16 may begin at an odd byte.
            for text in (chunk.decode(encoding, "replace"), chunk[1:].decode(encoding, "replace")):
                if found := _json(html.unescape(text)):
                    return found
    return ""


def _chunks(data: bytes) -> Iterator[bytes]:
    at = 12
    for _ in range(CHUNKS):
        if at + 8 > len(data):
            return
        kind, size = struct.unpack_from("<4sI", data, at)
        if kind in (b"EXIF", b"XMP "):
            yield data[at + 8 : at + 8 + size]
        at += 8 + size + size % 2


def _json(text: str) -> str:
    begin, end = text.find('{"'), text.rfind("}")
    if 0 <= begin < end:
        return text[begin : end + 1]
    if packed := _BASE64.search(text):
        try:
            return from_base64(packed[0].encode()).decode()
        except (binascii.Error, UnicodeDecodeError):
            return ""
    return ""
