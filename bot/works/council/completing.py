"""What is offered while somebody types a verb of the council: categories of research, and what there is to show.

Pure: knows neither platform nor storage.
"""

from __future__ import annotations

from collections.abc import Sequence

from bot.works.council.showing import OF_A_SEAT, WHAT

ALL = "all"
"""Every category."""


def categories(known: Sequence[str], typed: str) -> list[str]:
    """What was typed with its last category completed, by one that is not yet named."""
    before, comma, last = typed.rpartition(",")
    named = [one.strip() for one in before.split(",")]
    offered = known if comma else [ALL, *known]
    begun = last.strip().lower()
    return [f"{before}{comma}{one}" for one in offered if one.startswith(begun) and one not in named]


def parts(seats: int, typed: str) -> list[str]:
    """What `council show` takes: of everybody, then of one of `seats` members, counted from 1."""
    numbered = [f"{what} {seat}" for what in OF_A_SEAT for seat in range(1, seats + 1)]
    return [one for one in (*WHAT, *numbered) if one.startswith(typed.lstrip().lower())]
