"""Points in time as people say them, in English and Portuguese: "yesterday", "3 days", "Monday", "4 March", a date.

Pure.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import date, datetime, time, timedelta
from typing import Final

_TOKEN: Final = re.compile(r"[0-9][0-9:./-]*|[a-z]+")
_FILLERS: Final = frozenset(
    (
        *("since", "the", "last", "past", "ago", "for", "on", "of", "at", "in", "a", "an", "one"),
        *(
            "st",
            "nd",
            "rd",
            "th",
            "t",
            "desde",
            "ha",
            "faz",
            "o",
            "os",
            "as",
            "um",
            "uma",
            "ultimo",
            "ultima",
        ),
        *("ultimos", "ultimas", "passado", "passada", "atras", "de", "do", "da", "em", "feira"),
    )
)
_DAYS_AGO: Final = {"today": 0, "hoje": 0, "yesterday": 1, "ontem": 1, "anteontem": 2}
_UNITS: Final = {
    **dict.fromkeys(("minute", "minutes", "minuto", "minutos"), timedelta(minutes=1)),
    **dict.fromkeys(("hour", "hours", "hora", "horas"), timedelta(hours=1)),
    **dict.fromkeys(("day", "days", "dia", "dias"), timedelta(days=1)),
    **dict.fromkeys(("week", "weeks", "semana", "semanas"), timedelta(weeks=1)),
    **dict.fromkeys(("month", "months", "mes", "meses"), timedelta(days=30)),
}
_WEEKDAYS: Final = (
    ("monday", "segunda"), ("tuesday", "terca"), ("wednesday", "quarta"), ("thursday", "quinta"),
    ("friday", "sexta"), ("saturday", "sabado"), ("sunday", "domingo"),
)  # fmt: skip
_MONTHS: Final = (
    ("january", "janeiro"), ("february", "fevereiro"), ("march", "marco"), ("april", "abril"), ("may", "maio"),
    ("june", "junho"), ("july", "julho"), ("august", "agosto"), ("september", "setembro"),
    ("october", "outubro"), ("november", "novembro"), ("december", "dezembro"),
)  # fmt: skip
_WEEKDAY: Final = {name: n for n, names in enumerate(_WEEKDAYS) for name in names}
_MONTH: Final = {part: n for n, names in enumerate(_MONTHS, 1) for name in names for part in (name, name[:3])}
_ISO: Final = re.compile(r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})")
_DAY_FIRST: Final = re.compile(r"([0-9]{1,2})([./])([0-9]{1,2})(?:\2([0-9]{4})|\.)?")
_CLOCK: Final = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")


def point_in_time(given: str, now: datetime, locale: str) -> datetime | None:
    """When that is, in the time zone of `now`: of a day its beginning, of one without a year the last one.

    None for what is no point in time. "4/3" is read in Portuguese alone: in English it may be either of two days.
    """
    folded = unicodedata.normalize("NFD", given.casefold())
    plain = "".join(letter for letter in folded if not unicodedata.combining(letter))
    tokens = [token for token in _TOKEN.findall(plain) if token not in _FILLERS]
    if any(map(str.isalnum, _TOKEN.sub("", plain))):
        return None  # a word in other letters
    clocks = [clock for token in tokens if (clock := _CLOCK.fullmatch(token))]
    tokens = [token for token in tokens if not _CLOCK.fullmatch(token)]
    if len(clocks) > 1 or not (tokens or clocks):
        return None
    if not clocks and (unit := _UNITS.get(tokens[-1])) is not None:
        return _before(tokens[:-1], unit, now)
    day = _day(tokens, now.date(), locale) if tokens else now.date()
    if day is None:
        return None
    at = time(int(clocks[0][1]), int(clocks[0][2])) if clocks else time()
    found = datetime.combine(day, at, now.tzinfo)
    return found - timedelta(days=1) if not tokens and found > now else found


def _before(tokens: list[str], unit: timedelta, now: datetime) -> datetime | None:
    """So many units before; of days and more that whole day."""
    if len(tokens) > 1 or (tokens and not re.fullmatch("[0-9]{1,4}", tokens[0])):
        return None
    found = now - (int(tokens[0]) if tokens else 1) * unit
    return found if unit < timedelta(days=1) else datetime.combine(found.date(), time(), now.tzinfo)


def _day(tokens: list[str], today: date, locale: str) -> date | None:
    match tokens:
        case [word] if word in _DAYS_AGO:
            return today - timedelta(days=_DAYS_AGO[word])
        case [word] if word in _WEEKDAY:
            return today - timedelta(days=(today.weekday() - _WEEKDAY[word] - 1) % 7 + 1)
        case [day, month, *rest] if month in _MONTH and _number(day):
            return _dated(rest, _MONTH[month], int(day), today)
        case [month, day, *rest] if month in _MONTH and _number(day):
            return _dated(rest, _MONTH[month], int(day), today)
        case [word] if found := _ISO.fullmatch(word):
            return _dated([found[1]], int(found[2]), int(found[3]), today)
        case [word] if found := _DAY_FIRST.fullmatch(word):
            if found[2] == "/" and not locale.startswith("pt"):
                return None
            return _dated([found[4]] if found[4] else [], int(found[3]), int(found[1]), today)
    return None


def _number(token: str) -> bool:
    return re.fullmatch("[0-9]{1,2}", token) is not None


def _dated(year: list[str], month: int, day: int, today: date) -> date | None:
    """`year` is none or one of four digits; without one it is the last time that the day came."""
    if len(year) > 1 or (year and not re.fullmatch("[0-9]{4}", year[0])):
        return None
    try:
        if year:
            return date(int(year[0]), month, day)
        # A 29th of February is some years back.
        return next(
            found for back in range(9) if (found := _on(today.year - back, month, day)) and found <= today
        )
    except (ValueError, StopIteration):
        return None


def _on(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
