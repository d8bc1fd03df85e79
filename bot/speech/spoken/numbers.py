"""Numbers as words, by Unicode's own rules for each language (CLDR's rule-based number formats)."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from bot.speech.spoken.language import Language

if TYPE_CHECKING:
    from unicode_rbnf import RbnfEngine

MOST_DIGITS: Final = 9
"""A longer number is a code, a telephone or an account: it is read digit by digit, unless its thousands are parted."""
MOST_PARTED: Final = 15

_ROMAN: Final = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}


@cache
def _engine(code: str) -> RbnfEngine:
    from unicode_rbnf import RbnfEngine

    return RbnfEngine.for_language(code)


def cardinal(number: int, language: Language, *, feminine: bool = False) -> str:
    spoken = _engine(language.code).format_number(number).text_by_ruleset
    by_gender = spoken.get("spellout-cardinal-feminine") if feminine else None
    return str(by_gender or next(iter(spoken.values())))


def ordinal(number: int, language: Language, *, feminine: bool = False) -> str:
    from unicode_rbnf import FormatPurpose

    spoken = _engine(language.code).format_number(number, FormatPurpose.ORDINAL).text_by_ruleset
    by_gender = spoken.get("spellout-ordinal-feminine") if feminine else None
    return str(by_gender or next(iter(spoken.values())))


def year(number: int, language: Language) -> str:
    """English says years by hundreds; "two thousand five" for the first of a millennium."""
    if language.feminine_unless is None and 1100 <= number < 2100 and not 2000 <= number < 2010:
        hundreds, rest = divmod(number, 100)
        if rest == 0:
            return f"{cardinal(hundreds, language)} hundred"
        return f"{cardinal(hundreds, language)} {'oh ' if rest < 10 else ''}{cardinal(rest, language)}"
    return cardinal(number, language)


def digits(text: str, language: Language) -> str:
    """Digit by digit."""
    return " ".join(cardinal(int(one), language) for one in text if one.isdecimal())


def decimal(whole: str, fraction: str, language: Language) -> str:
    """ "3" and "14" as "three point one four"; Portuguese says a short fraction as a number."""
    before = cardinal(int(whole), language)
    together = language.feminine_unless is not None and len(fraction) <= 2 and fraction[0] != "0"
    after = cardinal(int(fraction), language) if together else digits(fraction[:20], language)
    return f"{before} {language.point} {after}"


def fraction(above: int, below: int, language: Language) -> str:
    """ "three eighths"; for parts that have names, up to tenths."""
    if below in language.halves:
        one, several = language.halves[below]
    else:
        one = ordinal(below, language)
        several = f"{one}s"
    if above == 1 and below == 2:
        return f"one {one}" if language.feminine_unless is None else one
    return f"{cardinal(above, language)} {one if above == 1 else several}"


def roman(text: str) -> int | None:
    """Its value up to 399; None for letters that are no Roman numeral as people write them."""
    total, before = 0, 0
    for letter in reversed(text.upper()):
        value = _ROMAN.get(letter)
        if value is None:
            return None
        total += value if value >= before else -value
        before = max(before, value)
    return total if 0 < total < 400 and _as_roman(total) == text.upper() else None


def _as_roman(number: int) -> str:
    text = ""
    for value, sign in (
        (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
    ):  # fmt: skip
        count, number = divmod(number, value)
        text += sign * count
    return text
