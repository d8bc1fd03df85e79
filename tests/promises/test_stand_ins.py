"""If a model fails, the next one in the config answers: which are asked, what is shown, what is paid."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.reply import Reply
from tests.fakes.wires import WIRES, Wire
from tests.promises.talk import ANSWER, ASK, EXTRACTIVE, answer, asked, ledger_of, of, quick, settings, texts


@pytest.mark.parametrize(
    "names",
    [
        "chat messages",
        pytest.param("messages responses", marks=pytest.mark.slow),
        pytest.param("responses chat", marks=pytest.mark.slow),
    ],
)
async def test_a_fallback_model_answers_for_a_failing_one(names: str, stocked: Path) -> None:
    first, second = (WIRES[name] for name in names.split())
    async with (
        first.service([Reply(fault="half_open", times=3)]) as silent,
        second.service([Reply(text=ANSWER, times=2)]) as speaks,
        quick(settings(stocked, silent, speaks)) as talk,
    ):
        events = await talk.say(ASK)
        # On a busy machine a try may end before its request arrives.
        asked_in_vain = silent.calls
        assert asked_in_vain <= 3  # the ledger shows that the model was asked
        assert answer(events) == answer(await talk.say(ASK)) == ANSWER
        assert EXTRACTIVE not in texts(events, "notice")
        left_alone = silent.calls == asked_in_vain
        assert (left_alone, speaks.calls) == (True, 2), (
            "a model without an answer is not asked again for a while"
        )
        rows = await ledger_of(talk)
    assert [(row.model, row.state) for row in rows] == [
        ("fake:small", "failed"),
        ("second:small", "settled"),
        ("second:small", "settled"),
    ]
    assert sum(row.input_tokens for row in rows) == speaks.input_tokens
    assert sum(row.output_tokens for row in rows) == speaks.output_tokens


async def test_no_fallback_answers_once_words_are_shown(wire: Wire, stocked: Path) -> None:
    async with (
        wire.service([Reply(text=ANSWER, fault="drop", at=6)]) as first,
        wire.service([Reply(text=ANSWER)]) as second,
    ):
        events, rows = await asked(settings(stocked, first, second))
        assert (first.calls, second.calls) == (1, 0)
    assert [notice for notice in of(events, "notice") if "cut off in the middle" in notice["text"]]
    assert [row.state for row in rows] == ["failed"]


async def test_if_all_models_fail_the_first_fault_is_reported(wire: Wire, stocked: Path) -> None:
    async with (
        wire.service([Reply(status=402)]) as first,
        wire.service([Reply(status=401)]) as second,
    ):
        events, rows = await asked(settings(stocked, first, second))
        assert (first.calls, second.calls) == (1, 1)
    assert [notice for notice in of(events, "notice") if "has no credit left" in notice["text"]]
    assert EXTRACTIVE in texts(events, "notice")
    assert [(row.state, row.input_tokens) for row in rows] == [("failed", 0), ("failed", 0)]
