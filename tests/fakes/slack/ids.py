"""Ids and timestamps as Slack writes them. A message's `ts` is its id: no two are alike, later ones are greater."""

from __future__ import annotations

import itertools
import time

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Ids:
    def __init__(self) -> None:
        self._count = itertools.count(36**5)
        self._micros = 0

    def next(self, kind: str) -> str:
        """`kind` is the letter that tells what it is: T, U, C, D, F, V …"""
        number, digits = next(self._count), ""
        while number:
            number, digit = divmod(number, 36)
            digits = _DIGITS[digit] + digits
        return f"{kind}0{digits.rjust(8, '9')}"

    def ts(self) -> str:
        self._micros = max(self._micros + 1, time.time_ns() // 1000)
        return f"{self._micros // 1_000_000}.{self._micros % 1_000_000:06d}"
