"""Recordings as telephones, Discord and Slack make them, without a word in them."""

from __future__ import annotations

import io
import struct
import zipfile

import numpy as np
import soundfile


def noise(seconds: float) -> bytes:
    """One channel of 16 bits at 48 kHz."""
    made = np.random.default_rng(7).normal(0, 3_000, int(seconds * 48_000))
    return made.astype("<i2").tobytes()


def ogg(seconds: float, *, subtype: str = "OPUS") -> bytes:
    """As Discord's voice messages are."""
    out = io.BytesIO()
    soundfile.write(out, np.frombuffer(noise(seconds), "<i2"), 48_000, format="OGG", subtype=subtype)
    return out.getvalue()


def long_ogg(seconds: float) -> bytes:
    """Of silence: packets of 60 ms that have only their first byte, and pages that say they are at the beginning."""
    head = b"OpusHead\x01\x01" + struct.pack("<HIhB", 312, 48_000, 0, 0)
    pages = [(2, [head]), (0, [b"OpusTags" + struct.pack("<II", 0, 0)])]
    left = int(seconds / 0.06)
    while left > 0:
        pages.append((0, [b"\x18"] * min(left, 255)))
        left -= 255
    return b"".join(
        struct.pack("<4sBBqIIIB", b"OggS", 0, flags, 0, 7, number, 0, len(packets))
        + bytes(len(packet) for packet in packets)
        + b"".join(packets)
        for number, (flags, packets) in enumerate(pages)
    )


def _box(kind: bytes, *parts: bytes) -> bytes:
    inside = b"".join(parts)
    return struct.pack(">I", 8 + len(inside)) + kind + inside


def mp4(seconds: float, *tracks: bytes) -> bytes:
    """With a track of each of these kinds, b"soun" or b"vide"; without its samples."""
    made = [
        _box(
            b"trak",
            _box(
                b"mdia",
                _box(b"mdhd", bytes(12), struct.pack(">II", 48_000, 1), bytes(4)),
                _box(b"hdlr", bytes(8), kind, bytes(13)),
                _box(
                    b"minf",
                    _box(
                        b"stbl",
                        _box(b"stts", struct.pack(">IIII", 0, 1, int(seconds * 48_000 / 1_024), 1_024)),
                    ),
                ),
            ),
        )
        for kind in tracks
    ]
    return _box(b"ftyp", b"M4A ", bytes(4), b"isom") + _box(b"moov", _box(b"mvhd", bytes(100)), *made)


def archive() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("turn.txt", "I open the door.")
    return out.getvalue()
