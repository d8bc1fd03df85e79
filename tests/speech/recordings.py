"""Recordings without words, in the formats of telephones, Discord and Slack."""

from __future__ import annotations

import io
import struct
import zipfile

import numpy as np
import soundfile


def noise(seconds: float) -> bytes:
    """Noise: one channel of 16 bits at 48 kHz."""
    made = np.random.default_rng(7).normal(0, 3_000, int(seconds * 48_000))
    return made.astype("<i2").tobytes()


def ogg(seconds: float, *, subtype: str = "OPUS") -> bytes:
    """A file like Discord's voice messages."""
    out = io.BytesIO()
    soundfile.write(out, np.frombuffer(noise(seconds), "<i2"), 48_000, format="OGG", subtype=subtype)
    return out.getvalue()


def long_ogg(seconds: float) -> bytes:
    """A long silence: packets of 60 ms that have only their first byte, and pages that claim to be at the
    beginning.
    """
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
    """An MP4 with a track of each of these kinds, b"soun" or b"vide"; without its samples."""
    made = [
        _box(
            b"trak",
            _box(b"tkhd", bytes(12), struct.pack(">I", number), bytes(68)),
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
        for number, kind in enumerate(tracks, 1)
    ]
    return _box(b"ftyp", b"M4A ", bytes(4), b"isom") + _box(b"moov", _box(b"mvhd", bytes(100)), *made)


def fragmented(seconds: float, *, each: bool = False) -> bytes:
    """An MP4 as browsers record it: samples in fragments of a second, with the length of `each` or of all."""
    count = int(48_000 / 1_024)
    sizes = [struct.pack(">II", 1_024, 7) if each else struct.pack(">I", 7)] * count
    run = struct.pack(">IIi", 0x301 if each else 0x201, count, 8) + b"".join(sizes)
    fragment = _box(b"moof", _box(b"traf", _box(b"tfhd", struct.pack(">II", 0x20000, 1)), _box(b"trun", run)))
    made = mp4(0, b"soun")
    usual = _box(b"mvex", _box(b"trex", struct.pack(">IIIIII", 0, 1, 1, 0 if each else 1_024, 0, 0)))
    at = made.index(b"moov")
    moov = _box(b"moov", made[at + 4 :], usual)
    return made[: at - 4] + moov + (fragment + _box(b"mdat", bytes(7 * count))) * int(seconds)


def webm(seconds: float, *, codec: bytes = b"A_OPUS", kind: int = 2, flags: int = 0x80) -> bytes:
    """A WebM as browsers record it: segment and clusters have no end. Packets of 20 ms."""

    def element(id: bytes, inside: bytes) -> bytes:
        return id + struct.pack(">I", 0x10000000 | len(inside)) + inside

    endless = b"\x01" + b"\xff" * 7
    track = element(b"\xd7", b"\x01") + element(b"\x83", bytes([kind])) + element(b"\x86", codec)
    tracks = element(b"\x16\x54\xae\x6b", element(b"\xae", track))
    packet = element(b"\xa3", struct.pack(">BhB", 0x81, 0, flags) + b"\x78\x00\x00")
    cluster = b"\x1f\x43\xb6\x75" + endless + element(b"\xe7", b"\x00") + packet * 50
    head = element(b"\x1a\x45\xdf\xa3", element(b"\x42\x82", b"webm"))
    return head + b"\x18\x53\x80\x67" + endless + tracks + cluster * int(seconds)


def archive() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("turn.txt", "I open the door.")
    return out.getvalue()
