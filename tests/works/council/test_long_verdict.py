"""A follow-up to a long verdict reads both its beginning and its dissent."""

from __future__ import annotations

from bot.works.council.prompts import VERDICT_CHARS
from tests.fakes.reply import Reply
from tests.wire.council_model import DISSENT, Call
from tests.works.council.table import Table


async def test_a_follow_up_reads_the_beginning_and_the_dissent_of_a_long_verdict(four: Table) -> None:
    days = [f"On day {n} they rest where the road is dry. " for n in range(200)]
    four.fake.once[Call("chair", "synthesis")].append(
        Reply(pieces=["".join(days), "\n\nDISSENT:\n", DISSENT])
    )
    await four.ask()
    await four.ask("And on foot?", run="run-000002", follow_up=True)
    for call in (Call("m1", "answer"), Call("m2", "ballot"), Call("chair", "synthesis")):
        _, told = four.fake.prompts[call]
        earlier = told.partition("<earlier>")[2].partition("</earlier>")[0]
        assert days[0] in earlier
        assert DISSENT in earlier
        assert days[150] not in earlier, "what is left out is in between"
        assert len(earlier) < VERDICT_CHARS + 500
