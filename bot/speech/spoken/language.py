"""What reading aloud needs to know of a language: how its signs, short forms and numbers are said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Counted = tuple[str, str]
"""One of them, several."""


@dataclass(frozen=True, slots=True)
class Language:
    """One that text is read in.

    `thousands` and `decimal` part a number's digits. `abbreviations` are matched as they are written, `units` only
    behind a number, `before_number` only in front of one. `numbered` are the words behind which Roman numerals count,
    as "chapter", and `reigning` the names of those who are counted. `pools` have a rest and a whole, as "HP 12/20".
    `feminine_unless` are nouns that only look feminine, None where nouns have no gender; `feminine` are those that do
    not look it. `ordinal` is what stands behind the digits of one; a number behind `year_after` may be a year. Those
    and `pools`, `numbered`, `reigning` are patterns.
    """

    code: str
    thousands: str
    decimal: str
    point: str
    minus: str
    plus: str
    to: str
    out_of: str
    times: str
    percent: str
    number_sign: str
    at: str
    dot: str
    slash: str
    about: str
    keep_highest: str
    keep_lowest: str
    die: str
    a_link: str
    a_picture: str
    code_block: str
    table: Counted
    ordinal: str
    halves: Mapping[int, Counted]
    months: tuple[str, ...]
    hours: Counted
    money: Mapping[str, tuple[Counted, Counted]]
    units: Mapping[str, Counted]
    abbreviations: Mapping[str, str]
    before_number: Mapping[str, str]
    signs: Mapping[str, str]
    pools: str
    numbered: str
    reigning: str
    feminine_unless: frozenset[str] | None
    feminine: frozenset[str]
    year_after: str
