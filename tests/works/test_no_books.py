"""What the bot says if there is no book, and where a plain question goes then."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

from bot.events import Author, Event, Text
from bot.work import Run
from bot.works.library.no_books import why_no_books
from tests.fakes.scripted_app import Recorder, asked, open_scripted
from tests.storage.books import book


async def test_the_library_is_called_empty_only_if_nothing_is_in_it_or_on_its_way(tmp_path: Path) -> None:
    reading, go_on = asyncio.Event(), asyncio.Event()

    async def read(run: Run) -> AsyncGenerator[Event, None]:
        reading.set()
        await go_on.wait()
        yield Text("added")

    app = await open_scripted(tmp_path, {"read": read}, Recorder())
    question = asked("q", "wolves?")
    try:
        await app.start()
        assert await why_no_books(app.resources, question) == "rules.no_books"
        ticket = await app.perform(asked("job", "read", work="library", verb="add"))
        await reading.wait()
        assert await why_no_books(app.resources, question) == "rules.books_coming"
        go_on.set()
        await ticket.wait()
        await app.idle()
        assert await app.plain(question.place, "a", "wolves?") == ("rules", "ask")
        await app.records.documents.add(book(kind="course"))
        assert await why_no_books(app.resources, question) == "rules.only_courses"
        assert await app.plain(question.place, "a", "wolves?") == ("course", "ask")
        await app.records.documents.add(book("other"))
        assert await app.plain(question.place, "a", "wolves?") == ("course", "ask"), "another space's book"
        await app.records.documents.add(book())
        assert await app.plain(question.place, "a", "wolves?") == ("rules", "ask")
    finally:
        await app.close()


async def test_plain_text_follows_its_authors_last_question_unless_the_books_are_gone(
    tmp_path: Path,
) -> None:
    app = await open_scripted(tmp_path, {}, Recorder())

    async def ask(id: str, work: str, text: str, author: str = "a") -> None:
        request = replace(asked(id, text, work=work), author=Author(author, author))
        await (await app.perform(request)).wait()

    place = asked("q", "").place
    try:
        await app.start()
        await ask("1", "rules", "wolves?")  # of an empty library
        await app.records.documents.add(book(kind="course", space="local"))
        assert await app.plain(place, "a", "wolves?") == ("course", "ask")
        await app.records.documents.add(book(space="local"))
        assert await app.plain(place, "a", "wolves?") == ("rules", "ask")
        await ask("2", "course", "bees?")
        assert await app.plain(place, "a", "wolves?") == ("course", "ask")
        await ask("3", "rules", "wolves?", author="b")
        assert await app.plain(place, "a", "wolves?") == ("course", "ask"), "another person's conversation"
        await ask("4", "rules", "wolves?")
        assert await app.plain(place, "b", "wolves?") == ("rules", "ask")
        at = (place.space, place.platform, place.channel, place.thread)
        await app.records.sessions.open(*at, "story", author_id="a")
        await ask("5", "rules", "wolves?")
        assert (await app.plain(place, "a", "I look around."))[0] == "story"
    finally:
        await app.close()


async def test_a_conversation_with_a_work_of_an_earlier_release_ends_with_the_next_question(
    tmp_path: Path,
) -> None:
    app = await open_scripted(tmp_path, {}, Recorder())
    question = asked("1", "wolves?", work="rules")
    place = question.place
    at = (place.space, place.platform, place.channel, place.thread)
    try:
        await app.start()
        await app.records.sessions.open(*at, "oracle", author_id=question.author.id)
        assert await app.plain(place, question.author.id, "wolves?") == ("rules", "ask")
        async with asyncio.timeout(30):
            await (await app.perform(question)).wait()
        session = await app.records.sessions.active(*at)
        assert session is not None
        assert session.work == "rules"
    finally:
        await app.close()
