"""/sessions delete leaves no word of the conversation: not in a row, nor in the bytes of a database file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

from bot.conversation import session_for
from bot.events import Event, Text
from bot.work import Run
from tests.fakes.scripted_app import Recorder, asked, open_scripted

SECRETS = ("quokka", "zanzibar", "wombat", "dingo", "marsupial")
"""Of an answered question, its answer, one that failed, one under way, and what it had said."""

KEPT = ("lantern", "four hours")


def words_in(folder: Path, words: tuple[str, ...]) -> set[str]:
    """The words that occur in any file, in any encoding."""
    files = [file.read_bytes() for file in folder.rglob("*") if file.is_file()]
    return {word for word in words if any(word.encode() in data for data in files)}


async def test_no_file_holds_a_word_of_a_deleted_conversation(tmp_path: Path) -> None:
    recorder, begun = Recorder(), asyncio.Event()

    def answering(answer: str, *, ends: bool = True) -> object:
        async def script(run: Run) -> AsyncGenerator[Event, None]:
            session = await session_for(app.resources.records.sessions, run.request, run.request.text)
            assert session is not None

            async def said() -> str:
                return answer * 300  # more than a page holds

            text = await run.step("said", said, str)
            yield Text(text)
            if not ends:
                begun.set()
                await asyncio.Event().wait()
            space, question = run.request.place.space, run.request.text
            await app.resources.records.sessions.add_exchange(space, session.id, run.id, question, text)

        return script

    async def failing(run: Run) -> AsyncGenerator[Event, None]:
        yield Text("")
        raise ValueError

    scripts = {
        "the quokka": answering("zanzibar "),
        "the wombat": failing,
        "the dingo": answering("marsupial ", ends=False),
        "the lantern": answering("four hours "),
    }
    app = await open_scripted(tmp_path, scripts, recorder)  # type: ignore[arg-type]
    await app.start()
    try:
        for run, text, thread in (
            ("one", "the quokka", "t"),
            ("two", "the wombat", "t"),
            ("three", "the lantern", "other"),
        ):
            await (await app.perform(asked(run, text, thread=thread))).wait()
        await (await app.perform(asked("four", "", work="sessions", verb="list", thread="u"))).wait()
        under_way = await app.perform(asked("five", "the dingo"))
        await begun.wait()
        assert words_in(tmp_path, SECRETS) == set(SECRETS)

        delete = asked("six", "the quokka", work="sessions", verb="delete", thread="u")
        assert await (await app.perform(delete)).wait() == "done"
        assert words_in(tmp_path, SECRETS) == set()
        assert await under_way.wait() == "stopped"
        assert words_in(tmp_path, KEPT) == set(KEPT)

        again = await app.perform(asked("one", "the quokka"))
        assert (again.fresh, words_in(tmp_path, SECRETS)) == (False, set())
    finally:
        await app.close()
    assert words_in(tmp_path, SECRETS) == set()
