"""Paths as people type and paste them in a terminal: unquoted, as an address, or with differently composed accents."""

from __future__ import annotations

import os
from collections.abc import Sequence
from unicodedata import normalize

from bot.config.text import of_address


def absolute(path: str) -> str:
    """An absolute path, which is valid after a restart in another folder. Links are kept, because readers refuse them.

    A `file:` address becomes its path; a name that exists only with differently composed accents becomes that name.
    """
    if path.lower().startswith("file:/"):
        path = of_address(path)
    # Not Path.resolve, which follows links, nor Path.absolute, which keeps "..".
    typed = os.path.abspath(os.path.expanduser(path))  # noqa: PTH100, PTH111
    forms = (typed, normalize("NFC", typed), normalize("NFD", typed))
    return next(filter(os.path.lexists, forms), typed)


def absolutes(words: Sequence[str]) -> list[str]:
    """The paths of typed words; blocking. Words that exist only together become one path with unquoted blanks."""
    paths: list[str] = []
    at = 0
    while at < len(words):
        past = at + 1
        if not os.path.lexists(absolute(words[at])):
            longer = range(len(words), at + 1, -1)
            past = next((n for n in longer if os.path.lexists(absolute(" ".join(words[at:n])))), past)
        paths.append(absolute(" ".join(words[at:past])))
        at = past
    return paths
