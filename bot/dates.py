"""Dates and times as people write them, in English and Portuguese. A leaf; what they are for, the caller knows."""

from __future__ import annotations

from datetime import datetime
from typing import Any


def read_date(text: str, locale: str, here: datetime, **settings: Any) -> datetime | None:
    """What the text means where a clock shows `here`, which has no zone; None for nothing. It has a zone only where the
    text names one. "1/12" is a day and a month in Portuguese, in English the other way. `settings` are dateparser's.

    Takes tens of milliseconds at first.
    """
    from dateparser.date import DateDataParser

    portuguese = locale.startswith("pt")
    settings |= {"RELATIVE_BASE": here, "DATE_ORDER": "DMY" if portuguese else "MDY"}
    for language in ("pt", "en") if portuguese else ("en", "pt"):
        meant: datetime | None = (
            DateDataParser(languages=[language], settings=settings).get_date_data(text).date_obj
        )
        if meant is not None:
            return meant
    return None
