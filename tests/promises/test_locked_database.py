"""Another program locks a database for longer than the bot waits: one sentence, and later it works."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bot.app import App
from bot.events import UserError
from tests.promises.talk import ASK, sentence, settings, status, talking, texts

LOCKED = (
    "Another program is using the database, so I could not save that. "
    "Try again in a moment. If it keeps happening, close that program."
)


@contextmanager
def held(file: Path) -> Iterator[None]:
    """Lock the database as another program that writes."""
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")
        connection.close()


@pytest.mark.parametrize("file", ["sutradhar.db", "engine.db"])
async def test_a_question_while_another_program_holds_the_database(file: str, stocked: Path) -> None:
    async with talking(settings(stocked), busy_timeout_s=0.2) as talk:
        assert status(await talk.say(ASK)) == "done"
        with held(stocked / file):
            assert sentence(await talk.say(ASK)) == LOCKED
            assert sentence(await talk.say("/library add nothing.md --shelf rules")) == LOCKED
        again = await talk.say(ASK)
        assert status(again) == "done"
        assert "speed becomes zero" in texts(again)


@pytest.mark.parametrize("file", ["sutradhar.db", "engine.db"])
async def test_a_lock_during_an_answer_gets_one_sentence(file: str, stocked: Path) -> None:
    import asyncio

    from tests.fakes.chat_completions import ChatService, Reply
    from tests.promises.talk import ANSWER

    gate = asyncio.Event()
    async with ChatService([Reply(text=ANSWER, gates={3: gate}), Reply(text=ANSWER)]) as service:  # noqa: SIM117
        async with talking(settings(stocked, service), busy_timeout_s=0.2) as talk:
            await talk.type(ASK)
            await talk.until(lambda events: "speed" in texts(events))
            start = len(talk.events)
            with held(stocked / file):
                gate.set()
                await talk.until(lambda events: any(e["event"] == "done" for e in events))
            assert texts(talk.events[start:], "failed") == LOCKED
            assert status(await talk.say(ASK)) == "done"


@pytest.mark.parametrize("file", ["sutradhar.db", "engine.db"])
async def test_opening_while_another_program_holds_a_new_database(file: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    with held(data / file):
        async with talking(settings(data), busy_timeout_s=0.2) as talk:
            assert sentence(await talk.say("/rules books")) == LOCKED
        assert talk.code == 1
    async with talking(settings(data)) as talk:
        assert status(await talk.say("/rules books")) == "done"


async def test_a_lock_while_opening_is_reported_in_a_sentence(stocked: Path) -> None:
    app = await App.open(settings(stocked), busy_timeout_s=0.2)
    with pytest.raises(UserError, match=r"storage\.busy"):
        await App.open(settings(stocked), busy_timeout_s=0.2)
    await app.close()
