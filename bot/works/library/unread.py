"""Sentences about the parts of a file that could not be read, such as pages that are pictures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from bot.events import Notice
from bot.words import Words

Unread: TypeAlias = tuple[str, str, Mapping[str, str | int]]
"""A file's name, the end of the sentence's key, and its values."""


def unread_notices(unread: Iterable[Unread], say: Words) -> list[Notice]:
    return [Notice(say(f"library.unread_{key}", **{"name": name, **values})) for name, key, values in unread]
