"""The form in which names are compared."""

from __future__ import annotations


def name_key(name: str) -> str:
    """The name in lower case (`casefold`), with single spaces."""
    return " ".join(name.split()).casefold()
