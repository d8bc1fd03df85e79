"""Paths as people type and paste them in a terminal: unquoted, as an address, or with differently composed accents."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from unicodedata import normalize
from urllib.parse import unquote, urlsplit


def absolute(path: str) -> str:
    """An absolute path, which is valid after a restart in another folder. Links are kept, because readers refuse them.

    A `file:` address becomes its path; a name that exists only with differently composed accents becomes that name.
    """
    if path.lower().startswith("file:/"):
        path = of_address(path, windows=os.name == "nt")
    # Not Path.resolve, which follows links, nor Path.absolute, which keeps "..".
    typed = os.path.abspath(os.path.expanduser(path))  # noqa: PTH100, PTH111
    forms = (typed, normalize("NFC", typed), normalize("NFD", typed))
    return next(filter(os.path.lexists, forms), typed)


def of_address(address: str, *, windows: bool) -> str:
    """The path of a `file:` address; on Windows without the slash before the drive, and with the server of a share."""
    parts = urlsplit(address)
    path = unquote(parts.path)
    if windows and parts.netloc not in ("", "localhost"):
        return f"//{parts.netloc}{path}"
    return path.lstrip("/") if windows and re.match(r"/+[A-Za-z]:", path) else path


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
