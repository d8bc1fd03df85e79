"""Files into Documents: one entry, `read`, by the kind that the file's name says.

Knows no storage and no library; it is given bytes.
"""

from __future__ import annotations

from pathlib import PurePath

from bot.events import Sorry
from bot.readers.document import Document, Link, Section

__all__ = ["SUFFIXES", "Document", "Link", "Section", "read"]

SUFFIXES = frozenset({".md", ".markdown", ".txt"})


def read(name: str, data: bytes) -> Document:
    """The document in `data`, read as what the suffix of `name` says.

    Raises Sorry: "library.file_kind", "library.file_empty", "library.file_binary", "library.file_encoding",
    each with `name`.
    """
    suffix = PurePath(name).suffix.lower()
    if suffix not in SUFFIXES:
        raise Sorry("library.file_kind", name=name, kinds=", ".join(sorted(SUFFIXES)))
    from bot.readers.decode import decode

    text = decode(name, data)
    if suffix == ".txt":
        from bot.readers.text import read_text

        return read_text(name, text)
    from bot.readers.markdown import read_markdown

    return read_markdown(name, text)
