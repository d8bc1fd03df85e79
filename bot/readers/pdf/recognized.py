"""A PDF as `reader` reads it, plus the words of pages that are pictures. That takes several seconds per page, so the
limits are longer.
"""

from __future__ import annotations

from typing import Final

from bot.readers.document import Document, Progress
from bot.readers.pdf import reader
from bot.readers.pdf.recognizer import loaded

CPU_S: Final = 14_400
MEMORY_BYTES: Final = 1_000_000_000
WALL_BYTES: Final = 1_200_000_000
"""The memory limit of the process, in place of `child`'s."""

_RECOGNIZE: Final = loaded()


def read(name: str, data: bytes, progress: Progress) -> Document:
    """The document in `data`. Raises UserError as `reader.read` does."""
    return reader.read(name, data, progress, _RECOGNIZE)
