"""A model's thoughts before its answer are not part of the answer."""

from __future__ import annotations

from tests.fakes.reply import Reply
from tests.wire.council_model import ANSWERS, Call
from tests.works.council.table import Table


async def test_thoughts_are_stored_but_neither_shown_nor_judged(four: Table) -> None:
    thought = "I am the best, and everybody shall know it."
    four.fake.once[Call("m1", "answer")].append(
        Reply(pieces=["<think>", thought, "</think>\n", ANSWERS["m1"]])
    )
    answer = await four.ask()
    assert thought not in answer.text("answers")
    assert thought not in four.fake.prompts[Call("m2", "ballot")][0]
    assert (await four.kept()).seats[0].reasoning == thought
