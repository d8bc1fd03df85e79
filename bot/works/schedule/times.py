"""The times of a schedule: reads a typed one ("every Friday at 8pm"), and computes the following ones in the schedule's
time zone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

from bot.dates import read_date
from bot.events import UserError
from bot.settings import zone_of

LAST_OF_EVERY_MONTH: Final = 28
"""A later day means the last day of each month."""
TYPED_CHARS: Final = 100
"""The maximum length of a typed time."""
FARTHEST: Final = timedelta(days=5 * 366)
"""The latest start of a schedule."""
_WEEKDAYS: Final = "mon-fri"
_HOURS = re.compile(r"\b(\d{1,2})\s?h(?:\s?(\d{2}))?\b", re.IGNORECASE)
"""Portuguese hours, which dateparser does not know: "19h", "19h30"."""
_RELATIVE = re.compile(r"\s*(?:in|em|daqui(?: a)?)\s", re.IGNORECASE)
_ELAPSED = re.compile(r"\b(?:h|hours?|horas?|min|mins|minutes?|minutos?)\b|\d(?:h|min)\b", re.IGNORECASE)
"""Units of elapsed time, which clock changes do not affect; "in a day" means the same hour tomorrow."""
_IN_PORTUGUESE = re.compile(r"^n[ao]\s", re.IGNORECASE)
""""na" or "no" before a day ("na sexta"), which dateparser does not expect."""
_CLOCK = re.compile(r"\d{1,2}:\d\d|\d{1,2}(?:\.\d\d)?\s?[ap]\.?m\b", re.IGNORECASE)
_NO_WEEKDAY = re.compile(r"\d|\b(?:next|week|semana)", re.IGNORECASE)
"""Signs that a text with an hour is more than a weekday's name."""
_TIME_OF_DAY = re.compile(r"\d[:.]\d\d|\d\s?[ap]\.?m\b", re.IGNORECASE)
_DAYTIME = re.compile(
    r"\b(\d{1,2})(?:\s?h\s?|:|\s?horas?)?(\d{2})?\s+d[ae]\s+(manh[ãa]|tarde|noite|madrugada)\b", re.IGNORECASE
)
"""An hour with its part of the day: "8 da noite", "9h30 da manhã"."""
_AT_TWELVE = r"(?:(?:^|\bat )12 |\b(?:ao |at |[àa]s? )?)"
_NOON = re.compile(rf"{_AT_TWELVE}(?:meio[- ]dia|noon|midday)( e meia)?\b", re.IGNORECASE)
_MIDNIGHT = re.compile(rf"{_AT_TWELVE}(?:meia[- ]noite|midnight|24:00|24\s?h)( e meia)?\b", re.IGNORECASE)
"""The end of the day that is named with it; the group is the half hour after it."""
_TONIGHT = re.compile(r"\b(?:tonight|(?:hoje [àa]|n?esta) noite)\b", re.IGNORECASE)
_OF_EVENING = re.compile(r"\b(\d|1[01])(?=:\d\d\b(?!\s?[ap]\.?m))", re.IGNORECASE)
_BARE_HOUR = re.compile(
    r"\b(?:[àa]s|at) (\d{1,2})(?: o['’]clock)?(?!\s?h|[\d:.]|\s?[ap]\.?m)\b", re.IGNORECASE
)
_NO_CLOCK = re.compile(r"\b(?:2[4-9]|[3-9]\d):\d\d\b|\b\d{1,2}:[6-9]\d\b")
"""A time that no clock shows; dateparser would ignore it."""
_IN_THE_MORNING = re.compile(r"\s+(?:de|pela) manhã\b", re.IGNORECASE)
_IN_TWO_DAYS = re.compile(r"\b(?:depois de amanhã|(?:the )?day after tomorrow)\b", re.IGNORECASE)
_DAY_OF_MONTH = re.compile(r"\b(?:n?o )?dia (\d{1,2})\b(\s+de\b|/)?", re.IGNORECASE)
_HALF_HOUR = re.compile(r"\b(?:meia hora|half an hour)\b", re.IGNORECASE)
_DAY_NAMES: Final = (
    r"(?:segunda|terça|quarta|quinta|sexta|s[áa]bado|domingo|mon|tue|wed|thu|fri|sat|sun)[\w-]*"
)
_PLURAL = re.compile(rf"^(?!mon|tue|wed|thu|fri|sat|sun)({_DAY_NAMES})", re.IGNORECASE)
_REPEATED: Final = tuple(
    (re.compile(rf"\s*(?:{pattern})\b,?\s*", re.IGNORECASE), every)
    for pattern, every in (
        (r"todo (?=dia \d)", "month"),
        ("todo dia útil|todos os dias úteis|every weekday", "weekday"),
        ("todo dia|todos os dias|every day|daily", "day"),
        (rf"(?:tod[ao]s? (?:[ao]s )?|every )(?={_DAY_NAMES})", "week"),
        ("toda semana|every week", "week"),
        ("todo mês|every month", "month"),
    )
)
"""How a typed time begins that says how often it repeats, and the repetition."""
_NEXT = re.compile(r"\s*\b(?:pr[óo]xim[ao]|que vem)\b\s*", re.IGNORECASE)
"""Portuguese for "next", which dateparser does not know."""


@dataclass(frozen=True, slots=True)
class Rule:
    """`first` is the first time, as a clock in `zone` shows it ("2026-11-27T19:00"); `every` is "" for a single
    time.
    """

    zone: str
    first: str
    every: str = ""

    def begins(self) -> datetime:
        """The first time, as a clock shows it: later than `first` if a clock change skips that."""
        zone = zone_of(self.zone)
        return datetime.fromisoformat(self.first).replace(tzinfo=zone).astimezone(UTC).astimezone(zone)

    def following(self, after: datetime) -> datetime | None:
        """The first time after this one, None if there is none.

        A time that a clock change skips is moved to after the change; one that occurs twice counts once. The 29th to
        the 31st mean the last day of each month.
        """
        zone = zone_of(self.zone)
        first = datetime.fromisoformat(self.first).replace(tzinfo=zone)
        if after < first:
            return first.astimezone(UTC)
        if not self.every:
            return None
        from apscheduler.triggers.cron import CronTrigger

        days: dict[str, int | str] = {}
        if self.every == "weekday":
            days["day_of_week"] = _WEEKDAYS
        elif self.every in ("week", "fortnight"):
            days["day_of_week"] = first.weekday()
        elif self.every == "month":
            days["day"] = first.day if first.day <= LAST_OF_EVERY_MONTH else "last"
        trigger = CronTrigger(**days, hour=first.hour, minute=first.minute, timezone=zone)
        at: datetime = after
        while True:
            # Computed in UTC: in its own zone, one second later may be an hour earlier.
            later = at.astimezone(UTC) + timedelta(seconds=1)
            at = trigger.get_next_fire_time(None, later.astimezone(zone))
            weeks = (at.date() - first.date()).days // 7
            if not at.fold and not (self.every == "fortnight" and weeks % 2):
                return at.astimezone(UTC)


def without_repetition(typed: str) -> tuple[str, str]:
    """A typed time without its repetition, and the repetition, "" for none: "toda sexta 19h" is "sexta 19h", "week"."""
    for pattern, every in _REPEATED:
        if match := pattern.match(typed):
            return _PLURAL.sub(lambda day: re.sub(r"s(?=-|$)", "", day[1]), typed[match.end() :]), every
    return typed, ""


def _in_digits(text: str, today: date) -> str:
    """The text with the times and days that dateparser does not know in digits."""

    def clock(match: re.Match[str]) -> str:
        hour = int(match[1])
        if match[3].lower() in ("tarde", "noite") and hour < 12:
            hour += 12
        return f"{hour}:{match[2] or '00'}"

    def day_of_month(match: re.Match[str]) -> str:
        if match[2]:  # a month follows
            return f"{match[1]}{match[2]}"
        month = today.replace(day=1)
        for _ in range(12):
            try:
                day = month.replace(day=int(match[1]))
            except ValueError:
                day = None
            if day is not None and day >= today:
                return day.isoformat()
            month = (month + timedelta(days=31)).replace(day=1)
        return match[0]

    text = _HOURS.sub(lambda hours: f"{hours[1]}:{hours[2] or '00'}", text)
    text = _NOON.sub(lambda noon: "12:30" if noon[1] else "12:00", _DAYTIME.sub(clock, text))
    text = _IN_THE_MORNING.sub("", _BARE_HOUR.sub(r"\1:00", text))
    text, tonight = _TONIGHT.subn(today.isoformat(), text)
    if tonight:
        text = _OF_EVENING.sub(lambda hour: str(int(hour[1]) + 12), text)
    text = _IN_TWO_DAYS.sub((today + timedelta(days=2)).isoformat(), text)
    return _DAY_OF_MONTH.sub(day_of_month, text)


def read(typed: str, locale: str, zone: str, now: datetime) -> datetime:
    """The time that a text means, as a clock in the zone shows it, without a zone; never one in the past.

    The first call takes tens of milliseconds. Raises UserError.
    """
    text = " ".join(typed[: 2 * TYPED_CHARS].split())
    local_now = now.astimezone(zone_of(zone)).replace(tzinfo=None)
    relative = _RELATIVE.match(text) is not None
    midnight = _MIDNIGHT.search(text)
    text = _MIDNIGHT.sub(" 23:59", text)
    if relative:
        text = re.sub(r"^daqui(?: a)?\b", "em", _HALF_HOUR.sub("30 min", text), flags=re.IGNORECASE)
    else:
        text = _IN_PORTUGUESE.sub("", _in_digits(text, local_now.date()), count=1)
    text, after_today = _NEXT.subn(" ", text)
    moment: datetime | None = None
    possible = len(text) <= TYPED_CHARS and _NO_CLOCK.search(text) is None
    if possible and (relative or _TIME_OF_DAY.search(text)):
        elapsed = relative and _ELAPSED.search(text) is not None
        base = now.astimezone(UTC).replace(tzinfo=None) if elapsed else local_now
        moment = read_date(text, locale, base, PREFER_DATES_FROM="future")
        if moment is not None and moment.tzinfo is None and elapsed:
            moment = moment.replace(tzinfo=UTC)
    if moment is None:
        raise UserError("schedule.no_time", when=typed[:TYPED_CHARS])
    if moment.tzinfo is not None:  # the text names a zone
        moment = moment.astimezone(zone_of(zone)).replace(tzinfo=None)
    if relative:  # never earlier than requested
        moment += timedelta(seconds=59)
    moment = moment.replace(second=0, microsecond=0)
    week_before = moment - timedelta(days=7)
    # A weekday's name means today if its time is still to come.
    if week_before.date() == local_now.date() and local_now < week_before and not (relative or after_today):
        moment = moment if _NO_WEEKDAY.search(_CLOCK.sub("", text)) else week_before
    if midnight is not None:
        moment += timedelta(minutes=31 if midnight[1] else 1)
    if not local_now < moment <= local_now + FARTHEST:
        # A difference of up to a day may come from another time zone.
        past = "schedule.over" if local_now - moment < timedelta(days=1) else "schedule.past"
        key = past if moment <= local_now else "schedule.too_far"
        raise UserError(key, when=f"{moment:{'%d/%m/%Y' if locale.startswith('pt') else '%Y-%m-%d'} %H:%M}")
    return moment
