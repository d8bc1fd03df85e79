"""Stopping an answer or leaving during it: the shown text is kept and billed, and the next line works."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from bot.app import App
from bot.platforms import Platform
from tests.fakes.chat_completions import ChatService, Reply
from tests.fakes.scripted_app import Recorder, asked
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
        await talk.until(lambda events: sum(event["event"] == "done" for event in events) == 2)
        first = [event for event in talk.events if event["run"] == talk.events[0]["run"]]
        assert status(first) == "stopped"
        async with asyncio.timeout(90):
            await service.closed.wait()
        assert talk.app is not None
        async with talk.app.resources.records.database.read() as connection:
            (row,) = await connection.execute(ledger.select())
            (kept,) = await connection.execute(exchanges.select())
        assert row.state == "stopped"
        assert row.input_tokens > 0
        assert row.output_tokens > 0
        assert "The speed of a grappled creature" in kept.answer
        assert not [event for event in first if event["event"] == "citation"], "later steps never start"
        assert status(await talk.say(ASK)) == "done"
        assert service.calls == 2
    async with talking(settings(stocked)) as talk:
        assert {event["run"] for event in await talk.say("/rules books")} == {talk.events[0]["run"]}


MORE = f"{ANSWER} It cannot benefit from any bonus."


async def test_a_marker_shown_before_the_stop_can_be_looked_up(stocked: Path) -> None:
    held = Reply(text=MORE, gates={12: asyncio.Event()})
    async with ChatService([held]) as service, talking(settings(stocked, service)) as talk:
        await talk.type(ASK)
        await talk.until(lambda events: "[1]" in texts(events))
        await talk.type("/stop")
        await talk.until(lambda events: sum(event["event"] == "done" for event in events) == 2)
        seen = await talk.say("/rules see 1")
    assert status(seen) == "done"
    assert "speed becomes zero" in texts(seen)


async def test_an_answer_is_complete_after_leaving_in_the_middle_and_a_restart(stocked: Path) -> None:
    held = Reply(text=MORE, gates={12: asyncio.Event()})
    request = asked("r1", ASK.removeprefix("/rules ask "))
    place = (request.place.space, request.place.platform, request.place.channel, request.place.thread)
    async with ChatService([held, Reply(text=MORE)]) as service:
        recorder = Recorder()
        for left in (True, False):
            app = await App.open(settings(stocked, service))
            app.attach(Platform("terminal", recorder.view))
            goes_on = await app.start()
            try:
                if left:
                    await app.perform(request)
                    async with asyncio.timeout(60), recorder.shown:
                        await recorder.shown.wait_for(lambda: "[1]" in repr(recorder.events.get("r1")))
                else:
                    assert [event.id for event in goes_on] == ["r1"]
                    assert await app.ended("r1") == "done"
                    session = await app.resources.records.sessions.active(*place)
                    assert session is not None
                    (kept,) = await app.resources.records.sessions.last_exchanges("local", session.id, 9)
            finally:
                await app.close()
    assert kept.answer.strip() == MORE
    assert [citation["n"] for citation in json.loads(kept.citations)] == [1]
