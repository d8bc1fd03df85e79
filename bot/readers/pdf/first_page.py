"""The first page of a PDF as a picture: a PNG, in base64, as the text of a Document. Blocking."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Final

from pypdfium2 import PdfDocument, PdfiumError

from bot.events import UserError
from bot.readers.document import NO_LANGUAGE, Document, Progress, sectioned

SIDE: Final = 900
"""Pixels of the longer side."""


def read(name: str, data: bytes, progress: Progress) -> Document:
    """The first page as a picture. Raises UserError, "library.file_damaged" also for a page that cannot be drawn."""
    try:
        pdf = PdfDocument(data)
        page = pdf[0]
        width, height = page.get_size()
        if not (width > 0 and height > 0):
            raise UserError("library.file_damaged", name=name)
        bitmap = page.render(scale=SIDE / max(width, height), rev_byteorder=True)
        rows = bitmap.to_numpy()[:, :, :3]
        picture = png(rows.shape[1], rows.shape[0], [row.tobytes() for row in rows])
    except (PdfiumError, IndexError, ValueError) as fault:
        raise UserError("library.file_damaged", name=name) from fault
    progress(1, 1)
    text = base64.b64encode(picture).decode()
    return Document(name, text, NO_LANGUAGE, sectioned(text, []))


def png(width: int, height: int, rows: list[bytes]) -> bytes:
    """A PNG from rows of pixels with three bytes each (RFC 2083)."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\x00" + row for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
