"""Reminders that people ask for in plain text."""

from __future__ import annotations

import pytest

from bot.works.schedule.typed_reminder import reminder_in


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("me lembra toda segunda às 9h de regar as rosas", ("regar as rosas", "toda segunda às 9h")),
        ("remind me every Monday at 9 to water the roses", ("water the roses", "every Monday at 9")),
        ("Can you remind us to stop in 2 hours?", ("stop", "in 2 hours")),
        ("Pode me lembrar, amanhã às 8h, que é feriado?", ("é feriado", "amanhã às 8h")),
        ("lembra a gente de trazer as fichas toda sexta 19h", ("trazer as fichas", "toda sexta 19h")),
        ("remind me how a watch that begins at 19:00 works", None),
        ("me lembra quando a guarda começa: às 9h?", None),
        ("me lembra a regra de luz", None),
        ("remind me at midnight to feed the starter", ("feed the starter", "at midnight")),
        ("me lembra amanhã ao meio-dia de pagar a conta", ("pagar a conta", "amanhã ao meio-dia")),
        ("remind me tomorrow", None),
        ("the old queen at 9:00", None),
        ("remind me to " + "water the roses and " * 20 + "at 9:00", None),
    ],
)
def test_a_reminder_has_a_text_and_a_time(text: str, meant: tuple[str, str] | None) -> None:
    assert reminder_in(text) == meant
