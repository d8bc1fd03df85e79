"""Points in time as people say them, in English and Portuguese: "yesterday", "3 days", "Monday", "4 March", a date."""

from __future__ import annotations

import re
from datetime import datetime, time
from typing import Final

from bot.dates import read_date

_SINCE: Final = re.compile(
    r"(?:since|from|for|desde|há|ha|faz|(?:in |over )?the (?:last|past)|(?:[oa]s )?últim[oa]s)\s+"
    r"|[oa]\s+(?=\w+ passad)",
    re.IGNORECASE,
)
_OF_A_DAY: Final = re.compile(r"\d:\d\d|\b(?:hours?|horas?|minutes?|minutos?)\b", re.IGNORECASE)
_MONTHS_AGO: Final = re.compile(r"\b(?:months?|m[êe]s|meses)\b", re.IGNORECASE)
_NUMBERS: Final = re.compile(r"-?\d+(?:\s*[-–]\s*\d+)?")
"""Scenes, perhaps: "3", "2-3"."""
CHARS: Final = 100
"""Of a point in time; more is none."""


def point_in_time(point: str, now: datetime, locale: str) -> datetime | None:
    """When that is, in the time zone of `now`: of a day or a month its beginning, of one without a year the last one.

    None for what is no point in time, or still to come. Takes tens of milliseconds at first.
    """
    text = _SINCE.sub("", " ".join(point[: 2 * CHARS].split()), count=1).strip(" .")
    now_local = now.replace(tzinfo=None)
    if len(text) > CHARS or _NUMBERS.fullmatch(text):
        return None
    day = "current" if _MONTHS_AGO.search(text) else "first"
    date = read_date(text, locale, now_local, PREFER_DATES_FROM="past", PREFER_DAY_OF_MONTH=day)
    if date is None:
        return None
    date = date.replace(tzinfo=None) if _OF_A_DAY.search(text) else datetime.combine(date, time())
    return date.replace(tzinfo=now.tzinfo) if date <= now_local else None
