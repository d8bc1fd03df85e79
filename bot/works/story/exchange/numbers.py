"""JSON whose numbers keep their original spelling: 1.0, 1e3 and an integer of any length stay as they are.

Python may write a number in another way than it was read, and refuses integers of more than 4,300 digits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from math import isfinite
from typing import Any, Final
from uuid import uuid4

_DIGITS: Final = 300
"""The maximum number of digits of an integer that is read as a Python int."""


class Number:
    """A number that Python would write in another way; `text` is its original spelling."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Number) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


def read(text: str, *, constant: Callable[[str], Any] | None = None) -> Any:
    """The value of a JSON text. Raises ValueError, also for a number that is not finite, and RecursionError."""
    return json.loads(text, parse_float=_float, parse_int=_int, parse_constant=constant)


def dump(tree: Any, indent: int | None = None) -> str:
    mark = uuid4().hex

    def marked(value: Any) -> str:
        if not isinstance(value, Number):
            raise TypeError(type(value).__name__)
        return f"{mark}{value.text}{mark}"

    text = json.dumps(tree, ensure_ascii=False, indent=indent, default=marked)
    return re.sub(f'"{mark}(.*?){mark}"', r"\1", text) if mark in text else text


def value_of(number: Any) -> int | float | None:
    """The value of a number in a file; None for anything else."""
    if isinstance(number, Number):
        number = float(number.text)
    if type(number) is float and number.is_integer():
        return int(number)
    return number if type(number) in (int, float) else None


def _float(text: str) -> float | Number:
    number = float(text)
    if not isfinite(number):
        raise ValueError(text)
    return number if repr(number) == text else Number(text)


def _int(text: str) -> int | Number:
    return int(text) if len(text) <= _DIGITS and text != "-0" else Number(text)
