"""Thoughts that a service shows are requested, stored beside the answer, and never part of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.llm.answer import REASONING_CHARS
from tests.fakes.reply import Reply
from tests.llm.desk import PROMPT, Open, both

ASKED = replace(PROMPT, effort="high", reasoning=True)


@both
async def test_thoughts_are_kept_beside_the_answer(desk: Open, whole: bool) -> None:
    at = await desk(Reply("one two", reasoning=["First the bow", ", then\0 the arrow."]))
    texts, completion = await at.ask(ASKED, whole=whole)
    assert completion.reasoning == "First the bow, then the arrow."
    assert completion.text == "".join(texts) == "one two "
    assert completion.raw == ""


async def test_thoughts_come_back_in_a_replay(desk: Open) -> None:
    at = await desk(Reply("one", reasoning=["hm"]))
    _, first = await at.ask(ASKED)
    at.run = at.run.replay()
    assert (await at.ask(ASKED))[1].reasoning == first.reasoning == "hm"


async def test_endless_thoughts_are_kept_in_part(desk: Open) -> None:
    at = await desk(Reply("one", reasoning=["0123456789" * 400] * 8))
    _, completion = await at.ask(replace(ASKED, max_tokens=4_000))
    assert len(completion.reasoning) == REASONING_CHARS
    assert completion.text == "one "


async def test_an_answer_without_thoughts_stores_none(desk: Open) -> None:
    at = await desk(Reply("one"))
    assert (await at.ask(ASKED))[1].reasoning == ""


on = pytest.mark.parametrize


@both
@on("wire", ["chat"], indirect=True)
async def test_a_field_by_its_other_name_is_read(desk: Open, whole: bool) -> None:
    at = await desk(Reply("one", reasoning=["hm"]), thoughts="reasoning")
    assert (await at.ask(whole=whole))[1].reasoning == "hm"


@on(
    ("wire", "service", "shown"),
    [("responses", {}, {"effort": "high", "summary": "auto"}), ("messages", {"hides": True}, None)],
    indirect=["wire"],
)
async def test_thoughts_that_a_service_hides_by_default_are_requested(
    desk: Open, service: dict[str, Any], shown: dict[str, str] | None
) -> None:
    at = await desk(Reply("one", reasoning=["hm"], times=2), **service)
    assert (await at.ask(replace(PROMPT, effort="high"), step="unasked"))[1].reasoning == ""
    assert (await at.ask(ASKED))[1].reasoning == "hm"
    sent = at.service.requests[-1]
    if shown is not None:
        assert sent["reasoning"] == shown
    else:
        assert sent["thinking"] == {"type": "adaptive", "display": "summarized"}
        assert sent["output_config"] == {"effort": "high"}


@on("wire", ["messages"], indirect=True)
async def test_showing_thoughts_does_not_switch_thinking_on(desk: Open) -> None:
    at = await desk(Reply("one"))
    await at.ask(replace(PROMPT, reasoning=True))
    assert "thinking" not in at.service.requests[0]


@on(
    ("wire", "service", "left"),
    [
        ("responses", {"verified": False}, {"reasoning": {"effort": "high"}}),
        ("responses", {"reasons": False}, {}),
        ("responses", {"refuses": ("reasoning",)}, {}),
        ("messages", {"refuses": ("thinking",)}, {"output_config": {"effort": "high"}}),
        ("messages", {"refuses": ("adaptive",)}, {"output_config": {"effort": "high"}}),
    ],
    indirect=["wire"],
)
async def test_a_service_that_refuses_to_show_thoughts_is_called_without_them(
    desk: Open, service: dict[str, Any], left: dict[str, Any]
) -> None:
    at = await desk(Reply("one", times=2), **service)
    for step in ("one", "two"):
        assert (await at.ask(ASKED, step=step))[1].text == "one "
    sent = at.service.requests[-1]
    assert {name: sent[name] for name in ("reasoning", "thinking", "output_config") if name in sent} == left
    assert at.service.requests[-2] == sent, "the lesson was learnt before the second question"
