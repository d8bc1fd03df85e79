"""Stop in the middle of an answer: what was shown is kept and billed, and the next line works."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.fakes.chat_completions import ChatService, Reply
from tests.promises.talk import ANSWER, ASK, settings, status, talking, texts


async def test_stop_during_an_answer_keeps_the_text_and_bills_what_came(stocked: Path) -> None:
    from storage.tables import exchanges, ledger

    held = Reply(text=ANSWER, gates={6: asyncio.Event()})
    async with (
        ChatService([held, Reply(text=ANSWER)]) as service,
        talking(settings(stocked, service)) as talk,
    ):
        await talk.type(ASK)
        await talk.until(lambda events: "grappled creature" in texts(events))
        await talk.type("/stop")
        await talk.until(lambda events: sum(one["event"] == "done" for one in events) == 2)
        first = [one for one in talk.events if one["run"] == talk.events[0]["run"]]
        assert status(first) == "stopped"
        async with asyncio.timeout(10):
            await service.closed.wait()
        assert talk.app is not None
        async with talk.app.house.database.read() as connection:
            (row,) = await connection.execute(ledger.select())
            (kept,) = await connection.execute(exchanges.select())
        assert row.state == "stopped"
        assert row.input_tokens > 0
        assert row.output_tokens > 0
        assert "The speed of a grappled creature" in kept.answer
        assert not [one for one in first if one["event"] == "citation"], "later steps never start"
        assert status(await talk.say(ASK)) == "done"
        assert service.calls == 2
    async with talking(settings(stocked)) as talk:
        assert {one["run"] for one in await talk.say("/rules books")} == {talk.events[0]["run"]}
