"""Stores a council stage by stage: the answers, the ballots, the verdict, the cost.

Knows no model. Every write can be repeated with the same result, as after a crash.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

from bot.words import words
from bot.works.council.deliberation import Deliberation
from bot.works.council.formatting import Bill, failure, standing_of
from bot.works.council.values import Ballot, Reply, Tally, groups

if TYPE_CHECKING:
    from bot.events import Request
    from storage.councils import BallotRow, CouncilRow, Councils, SeatRow
    from storage.ledger import Ledger, LedgerRow

ATTACK = "attack"
"""The key of the devil's advocate's text among the findings."""

_SEAT_STEP = re.compile(r"(?:answer|revise|ballot)-(\d+)(?:-again)?(?:-\d+)?")


class CouncilRecords:
    """Stores councils, and reads what a run has cost from the ledger."""

    def __init__(self, councils: Councils, ledger: Ledger) -> None:
        self._councils = councils
        self._ledger = ledger

    async def bill(self, space: str, run: str) -> Bill:
        """The usage of the run's calls so far."""
        return bill_of(await self._ledger.entries(space, run))

    async def begin(self, request: Request, council: Deliberation) -> bool:
        """Store the council and its seats, after the answers."""
        place = request.place
        await self._councils.begin(_council_row(request, council))
        await self._councils.keep_seats(place.space, request.id, _seat_rows(request, council, Bill()))
        return True

    async def ballots(self, request: Request, council: Deliberation) -> bool:
        """Store the ballots."""
        rows = [_ballot_row(request, ballot) for ballot in council.ballots]
        await self._councils.keep_ballots(request.place.space, request.id, rows)
        return True

    async def end(self, request: Request, council: Deliberation, bill: Bill) -> bool:
        """Store the verdict and the tally, and the seats again with their standings and costs."""
        await self._councils.end(
            request.place.space,
            request.id,
            kind=council.kind,
            verdict=council.verdict,
            dissent=council.dissent,
            chair=council.chair,
            tally=_tally_json(council.tally),
            seats=_seat_rows(request, council, bill),
        )
        return True


def bill_of(entries: Sequence[LedgerRow]) -> Bill:
    """The cost of a run in dollars, and each seat's; amounts that are only reserved count as spent."""
    tokens, usd, unpriced = 0, Decimal(0), dict[str, None]()
    seats: dict[int, tuple[int, Decimal | None]] = {}
    for entry in entries:
        reserved = entry.state == "reserved"
        entry_tokens = (
            entry.estimate_tokens
            if reserved
            else entry.input_tokens + entry.output_tokens + entry.cache_read_tokens + entry.cache_write_tokens
        )
        cost = entry.estimate_usd if reserved else entry.cost_usd
        tokens += entry_tokens
        if cost is None:
            unpriced[entry.model] = None
        else:
            usd += cost
        if match := _SEAT_STEP.fullmatch(entry.step):
            seat = int(match[1]) - 1
            before, paid = seats.get(seat, (0, Decimal(0)))
            seats[seat] = (before + entry_tokens, None if paid is None or cost is None else paid + cost)
    return Bill(tokens, usd, list(unpriced), seats)


def _council_row(request: Request, council: Deliberation) -> CouncilRow:
    from storage.councils import CouncilRow

    snapshot, place = council.snapshot, request.place
    findings = {name: finding.text if finding.usable else "" for name, finding in council.findings.items()}
    if council.attack is not None and council.attack.usable:
        findings[ATTACK] = council.attack.text
    return CouncilRow(
        space=place.space,
        run_id=request.id,
        platform=place.platform,
        channel=place.channel,
        thread=place.thread,
        author_id=request.author.id,
        # The current text: the asker may have changed it while a crash had interrupted the run.
        question=request.text.strip() or snapshot.question,
        level=snapshot.level,
        criteria=snapshot.criteria,
        research=json.dumps(findings, ensure_ascii=False),
        chair="",
        kind="",
        verdict="",
        dissent="",
        tally="",
        created_at=datetime.fromtimestamp(snapshot.began, UTC),
        ended_at=None,
    )


def _seat_rows(request: Request, council: Deliberation, bill: Bill) -> list[SeatRow]:
    from storage.councils import SeatRow

    # Likeness is not a judgement: nobody has won or lost by it.
    standings = council.tally.standings if council.tally is not None and council.ballots else []
    rows = []
    for seat, reply in sorted(council.replies.items()):
        tokens, cost = bill.seats.get(seat, (None, None))
        standing = standing_of(standings, seat)
        rows.append(
            SeatRow(
                space=request.place.space,
                run_id=request.id,
                seat=seat,
                name=council.snapshot.names[seat],
                model=council.snapshot.members[seat].model,
                settings=str(council.snapshot.members[seat]),
                state=_state(reply),
                fault="" if reply.usable else failure(reply, words(request.locale)),
                answer=reply.text,
                first_answer=council.first_answers.get(seat, ""),
                reasoning=reply.reasoning,
                seconds=reply.seconds,
                tokens=tokens,
                cost_usd=cost,
                place=standing.place if standing else None,
                score=standing.score if standing else None,
                mean_rank=standing.mean_rank if standing else None,
            )
        )
    return rows


def _state(reply: Reply) -> Literal["answered", "failed", "refused"]:
    if reply.usable:
        return "answered"
    return "refused" if reply.finish == "refusal" else "failed"


def _ballot_row(request: Request, ballot: Ballot) -> BallotRow:
    from storage.councils import BallotRow

    last = ballot.again or ballot.first
    return BallotRow(
        space=request.place.space,
        run_id=request.id,
        seat=ballot.seat,
        shown=json.dumps(ballot.shown),
        # One seat for each place, or a list of those that share it.
        ranking=json.dumps([group if len(group) > 1 else group[0] for group in groups(ballot)]),
        source=ballot.reading.source,
        partial=ballot.reading.partial,
        raw=ballot.first.text,
        again=ballot.again.text if ballot.again else "",
        reasoning=last.reasoning,
        critiques=json.dumps(ballot.reading.critiques, ensure_ascii=False),
        seconds=ballot.first.seconds + (ballot.again.seconds if ballot.again else 0.0),
        fault="" if last.usable else failure(last, words(request.locale)),
    )


def _tally_json(tally: Tally | None) -> str:
    if tally is None:
        return ""
    from pydantic import TypeAdapter

    return TypeAdapter(Tally).dump_json(tally).decode()


def follow_up_text(council: Deliberation, dissent: str) -> str:
    """The text that a follow-up question gets: the verdict, with the dissent after the word `dissent`."""
    if not council.dissent:
        return council.verdict
    return f"{council.verdict}\n\n{dissent}: {council.dissent}"
