"""The texts in a PNG's metadata, where other programs store a character: read and written without decoding the picture.

Chunks are those of the PNG specification, third edition (5.3; tEXt, zTXt and iTXt: 11.3.3). Pixels are never looked at,
so that a picture that would unpack to gigabytes costs nothing.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Final

from bot.drawing import COLOURS

SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
CHUNKS: Final = 20_000
"""The maximum number of chunks in a picture; a camera's picture has a few hundred."""
CARDS: Final = ("ccv3", "chara")
"""The keywords of a card's texts."""
KEYWORD: Final = 80
"""The maximum bytes of a keyword and the NUL after it."""
TEXT_BYTES: Final = 16_000_000
"""The maximum size of one text, unpacked."""
WIDTH, HEIGHT = 400, 600
"""The size of a card's picture, as card editors make them."""


class BombError(ValueError):
    """A text that unpacks to more than anybody has written, or too many chunks."""


def texts(png: bytes, keywords: Sequence[str]) -> dict[str, bytes]:
    """The picture's texts by keyword, for the wanted keywords; the last one if there are several.

    Raises ValueError for a broken picture, and BombError.
    """
    texts_found = {}
    for kind, body in _chunks(png):
        keyword, _, rest = body.partition(b"\0")
        name = keyword.decode("latin-1").lower()
        if kind in (b"tEXt", b"zTXt", b"iTXt") and name in keywords:
            texts_found[name] = _text(kind, rest)
    return texts_found


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The type and contents of each chunk; an incomplete one at the end of the file is left out."""
    at = len(SIGNATURE)
    for _ in range(CHUNKS):
        if at + 12 > len(png):
            return
        length, kind = struct.unpack_from(">I4s", png, at)
        if at + 12 + length > len(png):
            return
        # Copy only small contents: the pixels are not looked at.
        yield kind, png[at + 8 : at + 8 + length] if kind in (b"tEXt", b"zTXt", b"iTXt") else b""
        at += 12 + length
    raise BombError("too many chunks")


def _text(kind: bytes, data: bytes) -> bytes:
    """The text after the keyword's NUL."""
    packed = kind == b"zTXt"
    if kind == b"zTXt":
        data = data[1:]
    elif kind == b"iTXt":
        packed, data = data[:1] == b"\1", data[2:]
        _, _, data = data.partition(b"\0")  # the language
        _, _, data = data.partition(b"\0")  # the translated keyword
    if not packed:
        return data
    unpacking = zlib.decompressobj()
    try:
        unpacked = unpacking.decompress(data, TEXT_BYTES)
    except zlib.error as fault:
        raise ValueError("a broken text") from fault
    if unpacking.unconsumed_tail:
        raise BombError("a text too long")
    return unpacked


def with_texts(png: bytes, texts: Mapping[str, bytes]) -> bytes:
    """The picture with these texts by keyword in place of its card's."""
    at, chunks = len(SIGNATURE), list[bytes]()
    while at + 12 <= len(png) and len(chunks) < CHUNKS:
        length, kind = struct.unpack_from(">I4s", png, at)
        chunk = png[at : at + 12 + length]
        at += 12 + length
        if kind == b"IEND" or len(chunk) < 12 + length:
            break
        keyword = chunk[8 : 8 + KEYWORD].partition(b"\0")[0].decode("latin-1").lower()
        if kind not in (b"tEXt", b"zTXt", b"iTXt") or keyword not in CARDS:
            chunks.append(chunk)
    chunks[1:1] = _text_chunks(texts)  # after the header
    return SIGNATURE + b"".join(chunks) + _chunk(b"IEND", b"")


def _text_chunks(texts: Mapping[str, bytes]) -> list[bytes]:
    return [_chunk(b"tEXt", f"{keyword}\0".encode() + text) for keyword, text in texts.items()]


def from_base64(text: bytes) -> bytes:
    """Decode base64, with or without its padding, in either alphabet. Raises binascii.Error."""
    clean = b"".join(text.split()).translate(bytes.maketrans(b"-_", b"+/")).rstrip(b"=")
    return base64.b64decode(clean + b"=" * (-len(clean) % 4))


def portrait(name: str, texts: Mapping[str, bytes]) -> bytes:
    """A plain PNG in a colour derived from the name, with these texts by keyword."""
    colour = COLOURS[sha256(name.encode()).digest()[0] % len(COLOURS)]
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    rows = bytearray()
    for y in range(HEIGHT):
        light = 1 - y / (2 * HEIGHT)
        rows += b"\0" + bytes(int(part * light) for part in (red, green, blue)) * WIDTH
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)
    pixels = _chunk(b"IDAT", zlib.compress(bytes(rows), 6))
    return SIGNATURE + b"".join([_chunk(b"IHDR", header), *_text_chunks(texts), pixels, _chunk(b"IEND", b"")])


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
