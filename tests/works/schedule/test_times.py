"""Typed times are read, and repeat by the clock of their zone."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bot.events import UserError
from bot.works.schedule.times import Rule, read, without_repetition

TUESDAY = datetime(2026, 11, 24, 18, 0, tzinfo=UTC)
NEW_YORK = "America/New_York"
"""Its clocks jump from 2:00 to 3:00 on 2026-03-08, and back from 2:00 to 1:00 on 2026-11-01."""


@pytest.mark.parametrize("locale", ["en", "pt-BR"])
@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("fri 19:00", "2026-11-27 19:00"),
        ("friday 7pm", "2026-11-27 19:00"),
        ("tue 19:00", "2026-11-24 19:00"),
        ("tuesday at 7.30pm", "2026-11-24 19:30"),
        ("tue 14:00", "2026-12-01 14:00"),
        ("next tuesday 19:00", "2026-12-01 19:00"),
        ("2026-12-01 19:00", "2026-12-01 19:00"),
        ("na terça às 19h", "2026-11-24 19:00"),
        ("19:30", "2026-11-24 19:30"),
        ("14:00", "2026-11-25 14:00"),
        ("tomorrow 20:00", "2026-11-25 20:00"),
        ("tomorrow 24:00", "2026-11-26 00:00"),
        ("amanhã às 24h", "2026-11-26 00:00"),
        ("2026-12-01 20:30", "2026-12-01 20:30"),
        ("December 1 at 7pm", "2026-12-01 19:00"),
        ("in 2 hours", "2026-11-24 17:00"),
        ("19:00 UTC", "2026-11-24 16:00"),
        ("sexta 19h", "2026-11-27 19:00"),
        ("sexta às 19h30", "2026-11-27 19:30"),
        ("amanhã 20h", "2026-11-25 20:00"),
        ("1 de dezembro às 19h", "2026-12-01 19:00"),
        ("daqui a 2 horas", "2026-11-24 17:00"),
        ("em 90 minutos", "2026-11-24 16:30"),
        ("terça-feira às 19h", "2026-11-24 19:00"),
        ("7pm on Tuesday", "2026-11-24 19:00"),
        ("terça que vem 19h", "2026-12-01 19:00"),
        ("próxima sexta 19:00", "2026-11-27 19:00"),
        ("tue 2026-12-01 19:00", "2026-12-01 19:00"),
        ("tuesday, december 1 19:00", "2026-12-01 19:00"),
        ("amanhã ao meio-dia", "2026-11-25 12:00"),
        ("tomorrow at noon", "2026-11-25 12:00"),
        ("sexta às 9 da manhã", "2026-11-27 09:00"),
        ("amanhã às 8 da noite", "2026-11-25 20:00"),
        ("sábado, 3h30 da tarde", "2026-11-28 15:30"),
        ("8h da manhã", "2026-11-25 08:00"),
        ("segunda às 9", "2026-11-30 09:00"),
        ("Monday at 9", "2026-11-30 09:00"),
        ("Monday at 9 pm", "2026-11-30 21:00"),
        ("amanhã de manhã às 9h", "2026-11-25 09:00"),
        ("depois de amanhã 10h", "2026-11-26 10:00"),
        ("the day after tomorrow at 10:00", "2026-11-26 10:00"),
        ("dia 10 às 15h", "2026-12-10 15:00"),
        ("no dia 31 às 15h", "2026-12-31 15:00"),
        ("dia 10 de dezembro às 9h", "2026-12-10 09:00"),
        ("daqui a meia hora", "2026-11-24 15:30"),
        ("in half an hour", "2026-11-24 15:30"),
        ("daqui uma hora", "2026-11-24 16:00"),
        ("midday", "2026-11-25 12:00"),
        ("12 noon", "2026-11-25 12:00"),
        ("sexta ao meio-dia e meia", "2026-11-27 12:30"),
        ("midnight", "2026-11-25 00:00"),
        ("at midnight", "2026-11-25 00:00"),
        ("à meia-noite", "2026-11-25 00:00"),
        ("hoje à meia-noite", "2026-11-25 00:00"),
        ("tuesday at midnight", "2026-11-25 00:00"),
        ("friday at 12 midnight", "2026-11-28 00:00"),
        ("amanhã à meia noite", "2026-11-26 00:00"),
        ("meia-noite e meia", "2026-11-25 00:30"),
        ("tonight at 8", "2026-11-24 20:00"),
        ("hoje à noite às 8h30", "2026-11-24 20:30"),
        ("esta noite às 20h", "2026-11-24 20:00"),
        ("Monday at 9 o'clock", "2026-11-30 09:00"),
    ],
)
def test_a_time_is_read_in_both_languages(typed: str, meant: str, locale: str) -> None:
    assert f"{read(typed, locale, 'America/Sao_Paulo', TUESDAY):%Y-%m-%d %H:%M}" == meant


@pytest.mark.parametrize(
    ("typed", "rest", "every"),
    [
        ("toda segunda às 9h", "segunda às 9h", "week"),
        ("todas as sextas-feiras 19h", "sexta-feira 19h", "week"),
        ("todo sábado 10h", "sábado 10h", "week"),
        ("every friday at 19:00", "friday at 19:00", "week"),
        ("todo dia às 8h", "às 8h", "day"),
        ("todo dia à meia-noite", "à meia-noite", "day"),
        ("Todos os dias às 8h", "às 8h", "day"),
        ("every day at 8:00", "at 8:00", "day"),
        ("todo dia útil às 8h", "às 8h", "weekday"),
        ("todo dia 10 às 8h", "dia 10 às 8h", "month"),
        ("todo mês no dia 10, 8h", "no dia 10, 8h", "month"),
        ("sexta 19h", "sexta 19h", ""),
        ("mondays 9:00", "mondays 9:00", ""),
    ],
)
def test_a_time_may_say_how_often_it_repeats(typed: str, rest: str, every: str) -> None:
    assert without_repetition(typed) == (rest, every)
    if every:
        read(rest, "pt-BR", "UTC", TUESDAY)


def test_a_duration_is_rounded_up_to_a_full_minute() -> None:
    assert read("in 1 minute", "en", "UTC", TUESDAY.replace(second=40)).minute == 2


def test_a_duration_in_hours_ignores_clock_changes() -> None:
    before = datetime(2026, 3, 8, 6, 30, tzinfo=UTC)  # 1:30 there
    assert f"{read('in 2 hours', 'en', NEW_YORK, before):%H:%M}" == "04:30"
    assert f"{read('daqui a 45 minutos', 'pt-BR', NEW_YORK, before):%H:%M}" == "03:15"
    assert f"{read('in 1 day', 'en', NEW_YORK, before):%d %H:%M}" == "09 01:30"


def test_day_and_month_are_in_the_order_of_the_language() -> None:
    assert read("1/12 19:00", "pt-BR", "UTC", TUESDAY).month == 12
    assert read("12/1 19:00", "en", "UTC", TUESDAY).month == 12


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("", "no_time"),
        ("someday", "no_time"),
        ("friday", "no_time"),
        ("25:99", "no_time"),
        ("tomorrow 25:00", "no_time"),
        ("tomorrow 19:75", "no_time"),
        ("31 february 10:00", "no_time"),
        ("in 99999999999 years", "no_time"),
        ("10:00 " * 20_000, "no_time"),
        ("2020-01-01 10:00", "past"),
        ("2026-11-24 17:00", "over"),
        ("2 hours ago 10:00", "over"),
        ("9999-12-31 23:59", "too_far"),
    ],
)
def test_other_texts_and_past_times_are_refused_with_a_sentence(typed: str, why: str) -> None:
    with pytest.raises(UserError) as refused:
        read(typed, "en", "UTC", TUESDAY)
    assert refused.value.key == f"schedule.{why}"


def times(rule: Rule, count: int) -> list[str]:
    at: datetime | None = datetime(2026, 1, 1, tzinfo=UTC)
    shown = []
    for _ in range(count):
        assert at is not None
        if (at := rule.following(at)) is None:
            break
        shown.append(f"{at:%m-%d %H:%M}")
    return shown


@pytest.mark.parametrize(
    ("every", "first", "expected"),
    [
        ("", "2026-03-07T02:30", ["03-07 07:30"]),
        # An hour that is left out comes when the clock has jumped over it …
        ("day", "2026-03-07T02:30", ["03-07 07:30", "03-08 07:30", "03-09 06:30"]),
        ("", "2026-03-08T02:30", ["03-08 07:30"]),
        # … and one that comes twice counts once.
        ("", "2026-11-01T01:30", ["11-01 05:30"]),
        ("day", "2026-10-31T01:30", ["10-31 05:30", "11-01 05:30", "11-02 06:30"]),
        ("week", "2026-10-29T19:00", ["10-29 23:00", "11-06 00:00", "11-13 00:00"]),
        ("fortnight", "2026-10-18T01:30", ["10-18 05:30", "11-01 05:30", "11-15 06:30"]),
        ("weekday", "2026-10-30T12:00", ["10-30 16:00", "11-02 17:00", "11-03 17:00"]),
        ("month", "2026-10-31T12:00", ["10-31 16:00", "11-30 17:00", "12-31 17:00"]),
        ("month", "2026-10-15T12:00", ["10-15 16:00", "11-15 17:00", "12-15 17:00"]),
    ],
)
def test_a_schedule_repeats_by_the_clock_of_its_zone(every: str, first: str, expected: list[str]) -> None:
    assert times(Rule(NEW_YORK, first, every), 3) == expected


def test_a_first_time_that_the_clocks_skip_is_shown_as_it_will_run() -> None:
    assert f"{Rule(NEW_YORK, '2026-03-08T02:30').begins():%H:%M}" == "03:30"
    assert f"{Rule(NEW_YORK, '2026-03-08T03:30').begins():%H:%M}" == "03:30"
    assert f"{Rule(NEW_YORK, '2026-11-01T01:30', 'day').begins():%H:%M}" == "01:30"


def test_a_zone_that_this_machine_does_not_know_counts_as_utc() -> None:
    assert times(Rule("Mars/Olympus", "2026-10-15T12:00", "day"), 2) == ["10-15 12:00", "10-16 12:00"]
