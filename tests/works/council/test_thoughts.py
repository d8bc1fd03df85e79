"""What a model thinks aloud before it answers is nobody's answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.works.council.thoughts import Thoughts, parted
from tests.fakes.reply import Reply
from tests.wire.council_model import ANSWERS, DISSENT, SYNTHESIS, Call
from tests.works.council.table import Table


@pytest.mark.parametrize(
    ("text", "said", "thought"),
    [
        ("The pass.", "The pass.", ""),
        ("<think>\nHm.\n</think>\nThe pass.", "\nThe pass.", "Hm."),
        ("\n<Thinking>Hm.</thinking>The pass.", "The pass.", "Hm."),
        ("<think>Hm. And then", "", "Hm. And then"),
        ("Write <think>x</think> in front.", "Write <think>x</think> in front.", ""),
        ("<thing>x</thing>", "<thing>x</thing>", ""),
        ("<thi", "<thi", ""),
        ("<think>a</think>b<think>c</think>", "b<think>c</think>", "a"),
    ],
)
@given(cuts=st.lists(st.integers(0, 40), max_size=20))
def test_they_are_parted_however_they_come(text: str, said: str, thought: str, cuts: list[int]) -> None:
    assert parted(text) == (said, thought)
    thoughts, shown, at = Thoughts(), "", 0
    for cut in [*sorted(cuts), len(text)]:
        shown += thoughts.feed(text[at:cut])
        at = max(at, cut)
    assert (shown + thoughts.finish(), thoughts.thought) == (said, thought)


async def test_thoughts_are_neither_shown_nor_judged_but_kept(four: Table) -> None:
    thought = "I am the best, and everybody shall know it."
    four.fake.once[Call("m1", "answer")].append(
        Reply(pieces=["<think>", thought, "</think>\n", ANSWERS["m1"]])
    )
    told = await four.ask()
    assert thought not in told.text("answers")
    assert thought not in four.fake.prompts[Call("m2", "ballot")][0]
    assert (await four.kept()).seats[0].reasoning == thought


async def test_a_chairs_thoughts_hold_no_dissent(four: Table) -> None:
    four.fake.once[Call("chair", "synthesis")].append(
        Reply(pieces=["<thi", "nk>\nSo\nDISSENT: hm\n</think>\n", f"{SYNTHESIS}\n", "DISSENT:\n", DISSENT])
    )
    await four.ask()
    kept = (await four.kept()).row
    assert (kept.kind, kept.verdict, kept.dissent) == ("synthesis", SYNTHESIS, DISSENT)
