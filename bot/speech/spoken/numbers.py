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
    words = _engine(language.code).format_number(number).text_by_ruleset
    by_gender = words.get("spellout-cardinal-feminine") if feminine else None
    return str(by_gender or next(iter(words.values())))


def ordinal(number: int, language: Language, *, feminine: bool = False) -> str:
    from unicode_rbnf import FormatPurpose

    words = _engine(language.code).format_number(number, FormatPurpose.ORDINAL).text_by_ruleset
    by_gender = words.get("spellout-ordinal-feminine") if feminine else None
    return str(by_gender or next(iter(words.values())))


def year(number: int, language: Language) -> str:
    """English says years by hundreds; "two thousand five" for the first of a millennium."""
    if language.feminine_unless is None and 1100 <= number < 2100 and not 2000 <= number < 2010:
        hundreds, tens = divmod(number, 100)
        if tens == 0:
            return f"{cardinal(hundreds, language)} hundred"
        return f"{cardinal(hundreds, language)} {'oh ' if tens < 10 else ''}{cardinal(tens, language)}"
    return cardinal(number, language)


def digits(text: str, language: Language) -> str:
    """Digit by digit."""
    return " ".join(cardinal(int(singular), language) for singular in text if singular.isdecimal())


def decimal(integer: str, fraction: str, language: Language) -> str:
    """ "3" and "14" as "three point one four"; Portuguese says a short fraction as a number."""
    before = cardinal(int(integer), language)
    together = language.feminine_unless is not None and len(fraction) <= 2 and fraction[0] != "0"
    after = cardinal(int(fraction), language) if together else digits(fraction[:20], language)
    return f"{before} {language.point} {after}"


def fraction(above: int, below: int, language: Language) -> str:
    """ "three eighths"; for parts that have names, up to tenths."""
    if below in language.halves:
        singular, several = language.halves[below]
    else:
        singular = ordinal(below, language)
        several = f"{singular}s"
    if above == 1 and below == 2:
        return f"one {singular}" if language.feminine_unless is None else singular
    return f"{cardinal(above, language)} {singular if above == 1 else several}"


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
