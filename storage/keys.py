"""The form in which names are compared."""

from __future__ import annotations


def key_of(name: str) -> str:
    """The name in one case, with single spaces."""
    return " ".join(name.split()).casefold()
