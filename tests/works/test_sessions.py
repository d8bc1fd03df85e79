"""/sessions lets a person find their own conversations, and nobody else's, through the real application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.app import App
from bot.config.settings import StorageConfig
from bot.events import Author, Choices, Elsewhere, Event, Failed, Place, Text
from bot.kind import Typed
from bot.platforms import Platform
from storage.sessions import SessionRow
from tests.fakes.scripted_app import Recorder, asked, config

HERE = Place("terminal", "local", "terminal", "here")
THREAD = Place("discord", "guild", "channel", "4711")
ANA = Author("ana", "Ana")


class Asker:
    """Asks as different people, in different places."""

    def __init__(self, app: App, recorder: Recorder) -> None:
        self.app = app
        self._recorder = recorder
        self._asked = 0

    async def events(
        self, verb: str, text: str = "", place: Place = HERE, author: Author = ANA, **options: str
    ) -> list[Event]:
        self._asked += 1
        request = asked(f"r{self._asked}", text, work="sessions", verb=verb)
        request = replace(request, place=place, author=author, options=options)
        await (await self.app.perform(request)).wait()
        return self._recorder.events[request.id]

    async def __call__(
        self, verb: str, text: str = "", place: Place = HERE, author: Author = ANA, **options: str
    ) -> str:
        events = await self.events(verb, text, place, author, **options)
        return "".join(event.text for event in events if isinstance(event, Text | Failed))

    async def began(self, title: str, place: Place = HERE, author: Author = ANA, *runs: str) -> SessionRow:
        """A person's conversation, with a question and an answer for each run."""
        sessions = self.app.resources.records.sessions
        at = (place.space, place.platform, place.channel, place.thread)
        row = await sessions.open(*at, "rules", author_id=author.id, title=title)
        for run in runs:
            await sessions.add_exchange(place.space, row.id, run, "a question", "an answer")
        return row

    async def active(self, place: Place) -> str | None:
        row = await self.app.resources.records.sessions.active(
            place.space, place.platform, place.channel, place.thread
        )
        return row.id if row else None


@pytest.fixture
async def ask(tmp_path: Path) -> AsyncIterator[Asker]:
    recorder = Recorder()
    app = await App.open(config(tmp_path / "data"))
    for platform in ("terminal", "discord"):
        app.attach(Platform(platform, recorder.view))
    await app.start()
    yield Asker(app, recorder)
    await app.close()


async def test_the_list_has_the_last_used_conversations_first_and_offers_the_others(ask: Asker) -> None:
    there = replace(HERE, thread="there")
    siege = await ask.began("The *siege*", there)
    await ask.began("Lanterns")
    assert await ask.app.resources.records.sessions.add_exchange("local", siege.id, "run", "q", "a")
    events = await ask.events("list")
    (text,) = [event.text for event in events if isinstance(event, Text)]
    assert [line.split("**")[1] for line in text.splitlines()] == ["The siege", "Lanterns"]
    assert "active here" in text.splitlines()[1]
    (choices,) = [event for event in events if isinstance(event, Choices)]
    assert [(choice.label, choice.command) for choice in choices.choices] == [
        ("The siege", f"/sessions resume {siege.alias}")
    ]


async def test_a_person_without_conversations_learns_how_to_begin_one(ask: Asker) -> None:
    assert "to begin one" in await ask("list")
    assert "None of your conversations is active here" in await ask("archive")
    assert "no conversation called “x”" in await ask("resume", "x")


@pytest.mark.parametrize(
    "place", [HERE, Place("discord", "user:7", "dm", "")], ids=["terminal", "direct message"]
)
async def test_without_threads_a_conversation_goes_on_where_the_person_is(ask: Asker, place: Place) -> None:
    old = await ask.began("The siege", replace(place, channel="elsewhere"))
    now = await ask.began("Lanterns", place)
    assert "continues here" in await ask("resume", "the SIEGE", place)
    assert await ask.active(place) == old.id
    assert "Lanterns" in await ask("resume", f"Lanterns ({now.alias})", place)
    assert await ask.active(place) == now.id


async def test_resuming_a_conversation_shows_its_last_answer(ask: Asker) -> None:
    old = await ask.began("The siege", THREAD, ANA, "run")
    assert "> a question\n\nan answer" in await ask("resume", old.alias, THREAD)


async def test_a_note_says_if_words_were_deleted_by_age(tmp_path: Path) -> None:
    recorder = Recorder()
    app = await App.open(replace(config(tmp_path / "data"), storage=StorageConfig(keep_days=30)))
    app.attach(Platform("discord", recorder.view))
    await app.start()
    ask = Asker(app, recorder)
    old = await ask.began("The siege", THREAD)
    await ask("archive", old.alias, THREAD)
    first = await ask("resume", old.alias, THREAD)
    again = await ask("resume", old.alias, THREAD)  # it is active, and nothing was asked yet
    await app.close()
    assert "for only 30 days" in first
    assert "30 days" not in again


async def test_a_threads_conversation_continues_in_its_thread(ask: Asker) -> None:
    row = await ask.began("The siege", THREAD)
    await ask("archive", "", THREAD)
    assert await ask.active(THREAD) is None
    elsewhere = replace(THREAD, channel="other", thread="")
    events = await ask.events("resume", row.alias, elsewhere)
    assert Elsewhere(THREAD, "The siege") in events
    assert await ask.active(THREAD) == row.id
    assert await ask.active(elsewhere) is None


async def test_a_private_conversation_does_not_become_public(ask: Asker) -> None:
    private = replace(THREAD, thread="private:ana")
    row = await ask.began("A secret", private)
    in_public = replace(THREAD, thread="")
    events = await ask.events("resume", row.alias, in_public)
    assert not [event for event in events if isinstance(event, Elsewhere)]
    assert await ask.active(in_public) is None
    assert await ask.active(private) == row.id


async def test_renaming_a_conversation_also_renames_its_thread(ask: Asker) -> None:
    row = await ask.began("What is a gate?", THREAD)
    events = await ask.events("rename", "The   siege\nof the mill", THREAD)
    assert Elsewhere(THREAD, "The siege of the mill") in events
    await ask("rename", "Gates", replace(THREAD, thread="9"), session=row.alias)
    assert await ask.app.complete("session", Typed("guild", "", author="ana")) == [f"Gates ({row.alias})"]
    assert "give me the new name" in await ask("rename", " ", THREAD)


async def test_archiving_and_renaming_also_affect_the_thread(ask: Asker) -> None:
    await ask.began("The siege", THREAD)
    assert Elsewhere(THREAD, "The siege", archived=True) in await ask.events("archive", "", THREAD)
    renamed = await ask.events("rename", "Gates", THREAD, session="The siege")
    assert Elsewhere(THREAD, "Gates", archived=True) in renamed


async def test_deleting_a_conversation_deletes_its_exchanges(ask: Asker) -> None:
    row = await ask.began("The siege", HERE, ANA, "one", "two")
    assert "deleted" in await ask("delete", row.alias)
    assert await ask.app.resources.records.sessions.last_exchanges("local", row.id, 9) == []
    assert await ask.active(HERE) is None


async def test_for_an_ambiguous_name_the_bot_asks_for_the_code(ask: Asker) -> None:
    first = await ask.began("Gates", replace(HERE, thread="1"))
    second = await ask.began("Gates", replace(HERE, thread="2"))
    answer = await ask("delete", "gates")
    assert first.alias in answer
    assert second.alias in answer
    assert len(await ask.app.resources.records.own_sessions.all("local", "ana")) == 2


async def test_other_peoples_conversations_and_other_spaces_are_out_of_reach(ask: Asker) -> None:
    row = await ask.began("The siege", THREAD)
    bia = Author("bia", "Bia", admin=True)
    same_name = replace(THREAD, space="another guild")
    for verb, options in (
        ("resume", {}),
        ("rename", {"session": row.alias}),
        ("archive", {}),
        ("delete", {}),
    ):
        text = "mine now" if verb == "rename" else row.alias
        assert "no conversation called" in await ask(verb, text, THREAD, bia, **options)
        assert "no conversation called" in await ask(verb, text, same_name, ANA, **options)
    assert "to begin one" in await ask("list", "", THREAD, bia)
    assert "to begin one" in await ask("list", "", same_name)
    assert await ask.app.complete("session", Typed("guild", "", author="bia")) == []
    assert await ask.app.complete("session", Typed("another guild", "", author="ana")) == []
    assert await ask.active(THREAD) == row.id


async def test_sessions_are_completed_by_title_by_a_word_of_it_and_by_code(ask: Asker) -> None:
    row = await ask.began("The siege of the mill " + "x" * 100)
    name = (await ask.app.complete("session", Typed("local", "", author="ana")))[0]
    assert len(name) <= 100
    for prefix in ("the sie", "mill", row.alias[:3], name):
        assert await ask.app.complete("session", Typed("local", prefix, author="ana")) == [name], prefix
    assert await ask.app.complete("session", Typed("local", "iege", author="ana")) == []
    assert "continues here" in await ask("resume", name)
