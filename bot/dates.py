"""Reads dates and times as people write them, in English and Portuguese. Imports none of our modules."""

from __future__ import annotations

from datetime import datetime
from typing import Any


def read_date(text: str, locale: str, now: datetime, **settings: Any) -> datetime | None:
    """The date in the text, relative to `now`, which has no time zone; None if there is none. It has a time zone only
    if the text names one. "1/12" is day and month in Portuguese, month and day in English. `settings` are dateparser's.

    The first call takes tens of milliseconds.
    """
    from dateparser.date import DateDataParser

    portuguese = locale.startswith("pt")
    settings |= {"RELATIVE_BASE": now, "DATE_ORDER": "DMY" if portuguese else "MDY"}
    for language in ("pt", "en") if portuguese else ("en", "pt"):
        date: datetime | None = (
            DateDataParser(languages=[language], settings=settings).get_date_data(text).date_obj
        )
        if date is not None:
            return date
    return None
