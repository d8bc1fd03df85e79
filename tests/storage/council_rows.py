"""Made-up councils for the storage tests."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from storage.councils import BallotRow, CouncilRow, SeatRow

BEGAN = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def council(run: str, space: str = "local", *, minute: int = 0, **changes: Any) -> CouncilRow:
    """A council that begins `minute` minutes after BEGAN."""
    row = CouncilRow(
        space=space,
        run_id=run,
        platform="terminal",
        channel="c",
        thread="t",
        author_id="ana",
        question="Is dharma duty?",
        level="full",
        criteria="truth",
        research="{}",
        chair="p:chair",
        kind="",
        verdict="",
        dissent="",
        tally="",
        created_at=BEGAN + timedelta(minutes=minute),
    )
    return replace(row, **changes)


def seat(number: int, **changes: Any) -> SeatRow:
    row = SeatRow(
        space="local",
        run_id="run",
        seat=number,
        name=f"m{number}",
        model=f"p:m{number}",
        settings="effort=high",
        state="answered",
        fault="",
        answer=f"answer {number}",
        first_answer="",
        reasoning="because",
        seconds=1.25,
        tokens=300,
        cost_usd=Decimal("0.000000123"),
    )
    return replace(row, **changes)


def ballot(number: int, **changes: Any) -> BallotRow:
    row = BallotRow(
        space="local",
        run_id="run",
        seat=number,
        shown="[1, 0]",
        ranking="[0, 1]",
        source="schema",
        partial=False,
        raw="FINAL RANKING: …",
        again="",
        reasoning="",
        critiques='{"A": "thin"}',
        seconds=0.5,
        fault="",
    )
    return replace(row, **changes)
