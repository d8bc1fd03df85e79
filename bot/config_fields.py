"""What may stand in a setting, written beside its default. `config_file` refuses the rest."""

from __future__ import annotations

from dataclasses import field
from typing import Any


def choice(default: str, *others: str) -> Any:
    """A word out of a few."""
    return field(default=default, metadata={"works": (default, *others)})


def within(default: Any, low: float, high: float) -> Any:
    """A number, or a list of them, each in this range."""
    return field(default=default, metadata={"range": (low, high)})


def like(default: tuple[str, ...], pattern: str, otherwise: str) -> Any:
    """A list of texts, each all of `pattern`; `otherwise` is the key of the sentence for one that is not."""
    return field(default=default, metadata={"like": (pattern, otherwise)})
