"""Text that is spoken differently from how it is written, in one language: short forms, numbers and their units."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Final

from bot.speech.languages import Language

if TYPE_CHECKING:
    from unicode_rbnf import RbnfEngine

Reading = tuple[re.Pattern[str], Callable[[re.Match[str]], str]]

_EMAIL: Final = re.compile(r"(?<![\w.+-])([\w.+-]{1,64})@([\w-]{1,63}(?:\.[\w-]{1,63})+)")
_FILE: Final = re.compile(
    r"(?<![\w.])([\w-]{1,64})\.(txt|pdf|md|docx?|png|jpe?g|json|ya?ml|toml|py|html?|csv|mp3|wav|fdx|epub)\b"
)
_DOMAIN: Final = re.compile(
    r"(?<![\w.])((?:[a-z0-9-]{1,63}\.)+(?:com|org|net|io|dev|br|pt|edu|gov))(?:/\S*)?(?![\w.])"
)
_COMMAND: Final = re.compile(r"(?<![\w/.])/([a-z][a-z_-]{1,30})(?![\w/])")
_HASHTAG: Final = re.compile(r"(?<![\w&])#(?=[A-Za-z]\w)")
_UNDERSCORED: Final = re.compile(r"(?<=\w)_+(?=\w)")
_NUMBER: Final = r"\d[\d.,]*\d|\d"

MOST_DIGITS: Final = 9
"""A longer number is a code, a telephone or an account number: it is read digit by digit, unless its thousands are
separated.
"""
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


def spoken_year(number: int, language: Language) -> str:
    """A year in words. English says years by hundreds, and "two thousand five" for the first of a millennium."""
    if language.feminine_unless is None and 1100 <= number < 2100 and not 2000 <= number < 2010:
        hundreds, tens = divmod(number, 100)
        if tens == 0:
            return f"{cardinal(hundreds, language)} hundred"
        return f"{cardinal(hundreds, language)} {'oh ' if tens < 10 else ''}{cardinal(tens, language)}"
    return cardinal(number, language)


def digits(text: str, language: Language) -> str:
    """The number digit by digit."""
    return " ".join(cardinal(int(singular), language) for singular in text if singular.isdecimal())


def decimal(integer: str, fraction: str, language: Language) -> str:
    """ "3" and "14" as "three point one four"; Portuguese says a short fraction as a number."""
    before = cardinal(int(integer), language)
    together = language.feminine_unless is not None and len(fraction) <= 2 and fraction[0] != "0"
    after = cardinal(int(fraction), language) if together else digits(fraction[:20], language)
    return f"{before} {language.point} {after}"


def fraction(numerator: int, denominator: int, language: Language) -> str:
    """ "three eighths"; for parts that have names, up to tenths."""
    if denominator in language.halves:
        singular, several = language.halves[denominator]
    else:
        singular = ordinal(denominator, language)
        several = f"{singular}s"
    if numerator == 1 and denominator == 2:
        return f"one {singular}" if language.feminine_unless is None else singular
    return f"{cardinal(numerator, language)} {singular if numerator == 1 else several}"


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


class Figures:
    def __init__(self, language: Language) -> None:
        self._language = language

    def all(self) -> list[Reading]:
        lang = self._language
        months = _any(lang.months)
        rows: list[tuple[str, Callable[[re.Match[str]], str]]] = [
            (_EMAIL.pattern, lambda m: f"{_dotted(m[1], lang)} {lang.at} {_dotted(m[2], lang)}"),
            (_FILE.pattern, lambda m: f"{m[1].replace('_', ' ').replace('-', ' ')} {lang.dot} {m[2]}"),
            (_DOMAIN.pattern, lambda m: _dotted(m[1], lang)),
            (_COMMAND.pattern, lambda m: f"{lang.slash} {m[1].replace('_', ' ').replace('-', ' ')}"),
            (_HASHTAG.pattern, lambda m: ""),
            (_UNDERSCORED.pattern, lambda m: " "),
            (rf"(?<![\w.])(?:{_any(lang.before_number)})\s?(?=[\dIVXLC])", self._before_number),
            (rf"(?<![\w./])(?:{_any(lang.abbreviations)})(?![\w/])", self._abbreviation),
            (rf"\b((?i:{lang.numbered}))\s+([IVXLC]{{1,7}})\b(?!\.\w)", self._chapter),
            (r"\b([A-ZÀ-Ý][a-zà-ÿ]{2,20})\s+([IVX]{1,6})\b(?!\.\w)", self._sovereign),
            (r"(?<![\w.])(\d{0,3})[dD](\d{1,4})((?:k[hl]\d{0,2})?)(?:\s?([+−-])\s?(\d{1,4}))?(?![\w])", self._dice),
            (r"(?<![\d/.,-])(\d{4})-(\d{2})-(\d{2})(?![\d/-])", lambda m: self._date(m[0], m[1], m[2], m[3])),
            (r"(?<![\d/.,])(\d{1,2})/(\d{1,2})/(\d{4})(?![\d/])", self._slashed_date),
            (rf"\b({months})\s+(\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(\d{{4}}))?\b(?![\d/])", self._month_day),
            (r"(?<![\d:.,])([01]?\d|2[0-4])(?::|h)([0-5]\d)(?::[0-5]\d)?(?:\s?([ap])\.?m\b\.?)?(?![\d:])", self._time),
            (r"(?<![\d:.,])(1[0-2]|[1-9])\s?([ap])\.?m\b\.?", lambda m: f"{self._n(m[1])} {m[2].upper()} M"),
            (r"(?<![\d.,])(?:\d{3}|\d{5})-\d{4}(?!\d)|\+\d{1,3}[ -]\d[\d -]{6,14}\d", self._by_digits),
            (rf"(?<!\w)({_any(lang.money)})\s?({_NUMBER})(\s?(?:million|billion|milhões|bilhões|mil))?\b", self._money),
            (rf"(?<!\w)({lang.pools})(:?\s)({_NUMBER})\s?/\s?({_NUMBER})(?!\w)", self._pool),
            (rf"(?<![\d.,])({_NUMBER})\s?%", lambda m: f"{self._n(m[1])} {lang.percent}"),
            (rf"(?<![\w.,])(\d{{1,12}})(?:{lang.ordinal})(?!\w)", self._ordinal),
            (r"(?<![\w.,])(1\d|20)(\d0)s\b", self._decade),
            (rf"(?<![\w.,])({_NUMBER})\s?({_any(lang.units)})(?![\w/°]|\.\w)", self._unit),
            (r"(?<![\w/.,])(\d{1,3})\s?/\s?(\d{1,3})(?![\w/]|[.,]\d)", self._fraction),
            (r"(?<![\w.,])(\d{1,6})\s?[xX×]\s?(?=\d)", lambda m: f"{self._n(m[1])} {lang.times} "),
            (r"(?<!\w)[xX×](\d{1,4})(?!\w)", lambda m: f"{lang.times} {self._n(m[1])}"),
            (r"(?<![\w.,])(\d{1,4})[xX×](?!\w)", lambda m: f"{self._n(m[1])} {lang.times}"),
            (r"(?<!\w)#\s?(?=\d)", lambda m: f"{lang.number_sign} "),
            (rf"(?<![\w.,])({_NUMBER})\s?[-–]\s?(?=\d)", lambda m: f"{self._n(m[1])} {lang.to} "),
            (r"(?<![\w)])[-−](?=\d)", lambda m: f"{lang.minus} "),
            (r"(?<![\w)])~(?=\d)", lambda m: f"{lang.about} "),
            (r"\s?\+\s?(?=\d)", lambda m: f" {lang.plus} "),
            (r"(?<=\d)\s[−-]\s(?=\d)", lambda m: f" {lang.minus} "),
            (r"(?<![\w.,])\d{1,3}(?:\.\d{1,3}){2,3}(?![\w]|\.\d)", self._version),
            (rf"\b((?i:{lang.year_after}))\s+(1[1-9]\d\d|20\d\d)(?![\w]|[.,]\d)", self._year),
            (rf"({_NUMBER})(?=(?:\s+([^\W\d_]+))?)", self._number),
            (rf"\s?({_any(lang.signs)})\s?(?=[\w\s])", lambda m: f" {lang.signs[m[1]]} "),
            (r"(?<=[^\W\d_])/(?=[^\W\d_])", lambda m: " "),
        ]  # fmt: skip
        insensitive = {rf"\b({lang.numbered})\s+([IVXLC]{{1,7}})\b(?!\.\w)", rows[-4][0]}
        return [
            (re.compile(pattern, re.IGNORECASE if pattern in insensitive else 0), say)
            for pattern, say in rows
        ]

    def _n(self, text: str, following: str = "") -> str:
        """A number with separated thousands and its fraction; `following` is the word that it counts."""
        lang = self._language
        feminine = self._feminine(following)
        if re.fullmatch(rf"\d{{1,3}}(?:{re.escape(lang.thousands)}\d{{3}})+", text):
            integer = text.replace(lang.thousands, "")
            return (
                cardinal(int(integer), lang, feminine=feminine)
                if len(integer) <= MOST_PARTED
                else digits(integer, lang)
            )
        if parts := re.fullmatch(r"([\d]{1,9})[.,](\d{1,20})", text):
            return decimal(parts[1], parts[2], lang)
        if parts := re.fullmatch(
            rf"(\d{{1,3}}(?:{re.escape(lang.thousands)}\d{{3}})+){re.escape(lang.decimal)}(\d{{1,20}})", text
        ):
            return decimal(parts[1].replace(lang.thousands, ""), parts[2], lang)
        if not text.isdecimal():
            return ", ".join(self._n(part) for part in re.split(r"[.,]+", text) if part)
        if len(text) > MOST_DIGITS or (text[0] == "0" and len(text) > 1):
            return digits(text[:60], lang)
        return cardinal(int(text), lang, feminine=feminine)

    def _feminine(self, word: str) -> bool:
        """Whether a noun after a number is feminine, as far as its ending tells."""
        exceptions = self._language.feminine_unless
        word = word.lower()
        if exceptions is None or not word or word in exceptions:
            return False
        return word in self._language.feminine or word.endswith(
            ("a", "as", "ções", "ção", "dades", "dade", "vezes", "vez")
        )

    def _number(self, m: re.Match[str]) -> str:
        before = m.string[m.start() - 1 : m.start()]
        after = m.string[m.end(1) : m.end(1) + 1]
        gap = " " if before.isalpha() else ""
        return f"{gap}{self._n(m[1], m[2] or '')}{' ' if after.isalpha() else ''}"

    def _by_digits(self, m: re.Match[str]) -> str:
        return digits(m[0], self._language)

    def _before_number(self, m: re.Match[str]) -> str:
        return f"{self._language.before_number[m[0].strip()]} "

    def _abbreviation(self, m: re.Match[str]) -> str:
        words = self._language.abbreviations[m[0]]
        ends = m.end() == len(m.string) or (m[0] in ("etc.", "a.m.", "p.m.") and _opens(m.string[m.end() :]))
        return f"{words}." if ends and m[0].endswith(".") and not words.endswith(":") else words

    def _chapter(self, m: re.Match[str]) -> str:
        value = roman(m[2]) if m[2].isupper() else None
        return m[0] if value is None else f"{m[1]} {cardinal(value, self._language)}"

    def _sovereign(self, m: re.Match[str]) -> str:
        """Handle "Henry VIII", but not "World War II"."""
        value = roman(m[2])
        if value is None or not re.fullmatch(self._language.reigning, m[1], re.IGNORECASE):
            return m[0]
        lang = self._language
        if lang.feminine_unless is None:
            return f"{m[1]} the {ordinal(value, lang)}"
        queen = m[1].lower() in ("rainha", "maria", "isabel")
        words = ordinal(value, lang, feminine=queen) if value <= 10 else cardinal(value, lang)
        return f"{m[1]} {words}"

    def _dice(self, m: re.Match[str]) -> str:
        lang = self._language
        sides = lang.percent if m[2] == "%" else cardinal(int(m[2]), lang)
        words = f"{self._n(m[1])} {lang.die} {sides}" if m[1] else f"{lang.die} {sides}"
        if m[3]:
            template = lang.keep_highest if m[3][1] == "h" else lang.keep_lowest
            words += f", {template.format(n=self._n(m[3][2:] or '1'))}"
        if m[4]:
            words += f" {lang.plus if m[4] == '+' else lang.minus} {self._n(m[5])}"
        return words

    def _date(self, text: str, year: str, month: str, day: str) -> str:
        lang, m, d = self._language, int(month), int(day)
        if not (1 <= m <= 12 and 1 <= d <= 31):
            return text
        words = spoken_year(int(year), lang)
        if lang.feminine_unless is None:
            return f"{lang.months[m - 1]} {ordinal(d, lang)}, {words}"
        return f"{'primeiro' if d == 1 else cardinal(d, lang)} de {lang.months[m - 1]} de {words}"

    def _slashed_date(self, m: re.Match[str]) -> str:
        first, second = int(m[1]), int(m[2])
        month_first = self._language.feminine_unless is None and first <= 12
        month, day = (first, second) if month_first else (second, first)
        return self._date(m[0], m[3], str(month), str(day))

    def _month_day(self, m: re.Match[str]) -> str:
        lang, day = self._language, int(m[2])
        if lang.feminine_unless is not None or not 1 <= day <= 31:
            return m[0]
        return f"{m[1]} {ordinal(day, lang)}" + (f", {spoken_year(int(m[3]), lang)}" if m[3] else "")

    def _time(self, m: re.Match[str]) -> str:
        lang, hour, minute = self._language, int(m[1]), int(m[2])
        meridiem = f" {m[3].upper()} M" if m[3] else ""
        if lang.feminine_unless is None:
            words = cardinal(hour, lang)
            if minute == 0:
                return (
                    f"{words}{meridiem}"
                    if meridiem
                    else f"{words} {lang.hours[1]}"
                    if 0 < hour <= 12
                    else f"{words} hundred"
                )
            return f"{words} {'oh ' if minute < 10 else ''}{cardinal(minute, lang)}{meridiem}"
        words = cardinal(hour, lang, feminine=True)
        if minute == 0:
            return f"{words} {lang.hours[0] if hour == 1 else lang.hours[1]}"
        return f"{words} e {cardinal(minute, lang)}"

    def _money(self, m: re.Match[str]) -> str:
        lang = self._language
        (singular, several), (cent, cents) = lang.money[m[1]]
        if m[3]:
            preposition = " de" if lang.feminine_unless is not None and "lh" in m[3] else ""
            return f"{self._n(m[2])} {m[3].strip()}{preposition} {several}"
        integer, _, part = (
            m[2].partition(lang.decimal)
            if re.search(rf"{re.escape(lang.decimal)}\d\d$", m[2])
            else (m[2], "", "")
        )
        words = f"{self._n(integer, several)} {singular if integer == '1' else several}"
        if part and int(part):
            also = "and" if lang.feminine_unless is None else "e"
            amount = self._n(part.lstrip("0"))
            return (
                f"{amount} {cent if int(part) == 1 else cents}"
                if integer == "0"
                else (f"{words} {also} {amount} {cent if int(part) == 1 else cents}")
            )
        return words

    def _pool(self, m: re.Match[str]) -> str:
        lang = self._language
        name = lang.abbreviations.get(m[1], m[1])
        return f"{name}{m[2]}{self._n(m[3])} {lang.out_of} {self._n(m[4])}"

    def _ordinal(self, m: re.Match[str]) -> str:
        end = m[0][len(m[1]) :].strip(".")
        if len(m[1]) > 6:
            return m[0]
        return ordinal(int(m[1]), self._language, feminine=end in ("ª", "a"))

    def _decade(self, m: re.Match[str]) -> str:
        tens = "hundred" if m[2] == "00" else cardinal(int(m[2]), self._language)
        if m[1] == "20" and m[2] == "00":
            return "two thousands"
        several = f"{tens}s" if tens.endswith("d") or tens == "ten" else f"{tens[:-1]}ies"
        return f"{cardinal(int(m[1]), self._language)} {several}"

    def _unit(self, m: re.Match[str]) -> str:
        singular, several = self._language.units[m[2]]
        name = singular if m[1] == "1" else several
        words = f"{self._n(m[1], name.split()[0])} {name}"
        ends = m[2].endswith(".") and _opens(m.string[m.end() :])
        return f"{words}." if ends else words

    def _fraction(self, m: re.Match[str]) -> str:
        """A fraction: named parts up to tenths, otherwise "… out of …"."""
        lang, numerator, denominator = self._language, int(m[1]), int(m[2])
        if (numerator, denominator) == (24, 7):
            return f"{self._n(m[1])} {self._n(m[2])}"
        if 0 < numerator < denominator <= 10 and denominator > 1:
            return fraction(numerator, denominator, lang)
        return f"{self._n(m[1])} {lang.out_of} {self._n(m[2])}"

    def _version(self, m: re.Match[str]) -> str:
        lang = self._language
        parts = m[0].split(".")
        if lang.thousands == "." and all(len(part) == 3 for part in parts[1:]):
            return self._n(m[0])
        joint = lang.point if lang.feminine_unless is None else lang.dot
        return f" {joint} ".join(self._n(part) for part in parts)

    def _year(self, m: re.Match[str]) -> str:
        return f"{m[1]} {spoken_year(int(m[2]), self._language)}"


def _any(words: Iterable[str]) -> str:
    """A pattern for any of these words, the longest first."""
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


def _opens(following: str) -> bool:
    """Whether the sentence ends here: nothing follows, or a capital letter does."""
    follows = following.lstrip()
    return not follows or follows[0].isupper()


def _dotted(name: str, language: Language) -> str:
    return name.replace(".", f" {language.dot} ").replace("_", " ")
