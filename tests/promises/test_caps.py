"""Above a spending cap, the answer quotes the passages and says why, and nothing is paid."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bot.config import BudgetConfig, RolesConfig
from tests.fakes.anthropic_messages import MessagesService
from tests.fakes.reply import Reply
from tests.promises.talk import (
    ANSWER,
    EXTRACTIVE,
    asked,
    of,
    settings,
    status,
    texts,
)

PRICED = "fake:claude-haiku-5-5"


async def test_above_the_cap_of_a_run_the_passages_are_quoted(stocked: Path) -> None:
    async with MessagesService([Reply(ANSWER)], models=("claude-haiku-5-5",)) as service:
        config = replace(settings(stocked, service), roles=RolesConfig(answerer=(PRICED,)))
        events, rows = await asked(replace(config, budget=BudgetConfig(run_usd=0.0)))
        assert service.calls == 0
    assert (status(events), rows) == ("done", [])
    notices = [notice["text"] for notice in of(events, "notice")]
    assert [notice for notice in notices if "above $0.00" in notice and "run_usd" in notice], notices
    assert EXTRACTIVE in notices
    assert "speed becomes zero" in texts(events)
    assert of(events, "citation")
