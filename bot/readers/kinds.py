"""Which kinds of files are read, known by the suffixes of their names (what a file really is: see `sniff`).

Knows no reader, so that whoever looks at names only imports none.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Final

PLAIN: Final = (".md", ".markdown", ".txt")
"""Read as they are, in this process."""

PARSED: Final = {
    ".html": "bot.readers.web.html",
    ".htm": "bot.readers.web.html",
    ".pdf": "bot.readers.pdf.reader",
    ".docx": "bot.readers.docx.reader",
    ".epub": "bot.readers.web.epub",
    ".fdx": "bot.readers.screenplay.final_draft",
    ".fountain": "bot.readers.screenplay.fountain",
}
"""Parsed in a process of its own (see `sandbox`), by the `read` of this module."""

SUFFIXES: Final = (*PLAIN, *PARSED)
"""All, in the order in which people are told of them."""

PICTURES: Final = (".png", ".jpg", ".jpeg", ".gif", ".webp")
"""Not read, but looked at by a model that sees (see `pictures`)."""


def suffix_of(name: str) -> str:
    return PurePath(name).suffix.lower()


def readable(name: str) -> bool:
    """Whether a file of this name is of a kind that is read."""
    return suffix_of(name) in SUFFIXES
