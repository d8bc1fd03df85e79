"""Reads files into Documents, by the suffix of the file's name.

`read` is for text; `sandbox` reads files that need parsing, in a process of its own. Independent of storage and
library; it gets bytes.
"""

from __future__ import annotations

from bot.readers.document import Document, Link, Section
from bot.readers.kinds import PLAIN, SUFFIXES, check, suffix_of, unread

__all__ = ["SUFFIXES", "Document", "Link", "Section", "read"]


def read(name: str, data: bytes) -> Document:
    """The document in `data`, a plain text or Markdown; blocking.

    Raises UserError: "library.file_binary", "library.file_encoding", and those of `kinds.unread` and `kinds.check`.
    """
    suffix = suffix_of(name)
    if suffix not in PLAIN:
        raise unread(name)
    from bot.readers.decode import decode
    from bot.readers.text import read_markdown, read_text

    check(name, data)
    text = decode(name, data)
    return read_text(name, text) if suffix == ".txt" else read_markdown(name, text)
