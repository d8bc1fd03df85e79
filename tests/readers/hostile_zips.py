"""Makes hostile zips, and entities for the XML files in them."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

LAUGHS = (
    b'<!DOCTYPE l [<!ENTITY a0 "lol">'
    + b"".join(b'<!ENTITY a%d "%s">' % (n, b"&a%d;" % (n - 1) * 10) for n in range(1, 10))
    + b"]>"
)
"""Entities of entities: &a9; is three gigabytes."""

SECRET = Path(__file__).resolve().parents[2] / "LICENSE"
"""A file of this machine that no document may bring along."""

OUTSIDE = f'<!DOCTYPE x [<!ENTITY e SYSTEM "{SECRET.as_uri()}">]>'.encode()


def packed(members: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in members.items():
            archive.writestr(
                zipfile.ZipInfo(name), data, method
            )  # without the time of day: the same bytes each time
    return made.getvalue()


def unpacked(data: bytes) -> dict[str, bytes]:
    """The members of a zip; nothing for other files."""
    if not data.startswith(b"PK"):
        return {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def lying(size: int, said: int, name: str = "a") -> bytes:
    """A zip with one member of `size` bytes whose directory says `said` bytes."""
    data = bytearray(packed({name: b"\x00" * size}))
    for mark, at in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        struct.pack_into("<I", data, data.find(mark) + at, said)
    return bytes(data)


def many_members(count: int, name: bytes = b"a") -> bytes:
    """A zip whose directory has `count` rows for one member; made by hand, because `zipfile` would take
    minutes.
    """
    local = b"PK\x03\x04" + struct.pack("<HHHHHIIIHH", 20, 0, 0, 0, 0, 0, 0, 0, len(name), 0) + name
    row = (
        b"PK\x01\x02"
        + struct.pack("<HHHHHHIIIHHHHHII", 20, 20, 0, 0, 0, 0, 0, 0, 0, len(name), 0, 0, 0, 0, 0, 0)
        + name
    )
    end = struct.pack("<HHHHIIH", 0, 0, count & 0xFFFF, count & 0xFFFF, len(row) * count, len(local), 0)
    return local + row * count + b"PK\x05\x06" + end


def overlapping(count: int, size: int = 1_000_000) -> bytes:
    """A zip with `count` members that share the same compressed bytes (David Fifield, A better zip bomb,
    2019).
    """
    squeezed = zlib.compress(b"\x00" * size, 9)[2:-4]
    crc = zlib.crc32(b"\x00" * size)
    local = b"PK\x03\x04" + struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 0, crc, len(squeezed), size, 1, 0) + b"a"
    rows = b"".join(
        b"PK\x01\x02"
        + struct.pack("<HHHHHHIIIHHHHHII", 20, 20, 0, 8, 0, 0, crc, len(squeezed), size, 4, 0, 0, 0, 0, 0, 0)
        + f"{n:04}".encode()
        for n in range(count)
    )
    body = local + squeezed
    return body + rows + b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, count, count, len(rows), len(body), 0)
