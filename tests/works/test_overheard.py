"""Where the bot reads every message, a small model decides in doubt whether one is for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bot.asking import asks
from bot.events import Place, Request
from bot.retrieval.intake import Item
from tests.fakes.chat_completions import ChatService, Reply
from tests.test_asking_head import UNKNOWN, Leaning
from tests.works.course.desk import Desk, course
from tests.works.course.desk import opened as desk_opened
from tests.works.course.files import TITLES
from tests.works.script.test_answer import FERRY
from tests.works.script.test_scripts import ADA, Room
from tests.works.test_settings import ANA, BIA, CONFIG, HERE, opened

DOUBTFUL = ("lantern?", "candle?")
TO_OTHERS = ("How long did the last session take?", "How long did the last fight take?")


async def test_a_small_model_decides_only_in_doubt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "bot.plain_text.ASKS_S", 60.0
    )  # the first call imports the client, on a machine that may be busy

    def answered(body: dict[str, Any]) -> Reply:
        to_the_bot = any(talk in str(body["messages"]) for talk in (DOUBTFUL[1], TO_OTHERS[1]))
        return Reply(pieces=[f'{{"asks_bot": "{"yes" if to_the_bot else "no"}"}}'])

    config = CONFIG.replace(
        'researcher = "house:scout"', 'researcher = "house:scout"\nextractor = "house:two"'
    )
    async with (
        ChatService(answered, models=("one", "two", "three")) as service,
        opened(tmp_path, config.format(url=service.base_url)) as ask,
    ):

        async def overheard(text: str) -> bool:
            request = ask.request("rules", "ask", text, HERE, ANA)
            return await ask.app.plain_text.asks(request, mentions_people=False, replies=False)

        assert await overheard("Does anyone know how long a candle burns?")
        assert not await overheard("Thanks, that helped!")
        assert service.requests == []
        for talks, verdict in ((DOUBTFUL, "unsure"), (TO_OTHERS, "likely")):
            assert {asks(talk) for talk in talks} == {verdict}
            assert [await overheard(talk) for talk in talks] == [False, True]
        assert "<talk>" in str(service.requests[0]["messages"])


async def test_the_bot_stays_silent_if_it_finds_nothing_and_that_is_set(tmp_path: Path) -> None:
    async with opened(tmp_path, 'roles = {}\n[embedding]\nmodel = "none"\n') as ask:
        (tmp_path / "book.md").write_text("# Light\n\nA candle burns four hours while walking.\n")
        item = Item("book.md", str(tmp_path / "book.md"))
        assert (await ask.app.resources.intake.take("local", "rules", item, "k", replace=False)).key == ""
        answered, unanswered = "How long does a candle burn?", "How do submarines dive?"

        async def overheard(text: str) -> bool:
            request = ask.request("rules", "ask", text, HERE, ANA)
            return await ask.app.plain_text.asks(request, mentions_people=False, replies=False)

        assert [await overheard(text) for text in (answered, unanswered)] == [True, True]
        await ask("set", "unanswered silent", to="channel", author=BIA)
        assert [await overheard(text) for text in (answered, unanswered)] == [True, False]
        await ask.perform(ask.request("rules", "house", "Submarines dive at dusk.", HERE, BIA))
        assert await overheard(unanswered), "a house rule answers it"
        await ask("set", "shelf nowhere", to="channel", author=BIA)
        assert not await overheard(answered)


async def _overheard(desk: Desk, work: str, *texts: str) -> list[bool]:
    place = Place("terminal", "local", "c", "t")
    requests = (Request(f"{n:032x}", place, ADA, work, "ask", text=text) for n, text in enumerate(texts))
    return [await desk.app.plain_text.asks(each, mentions_people=False, replies=False) for each in requests]


async def test_courses_stay_silent_on_subjects_that_they_do_not_teach(tmp_path: Path) -> None:
    taught = ("When does a colony swarm?", "What are the lessons of Keeping Bees?", "What is lesson 3 about?")
    strange = (
        "How do submarines dive?",
        "How do submarines dive, as in lesson 3?",
        "Who won the war of the roses?",
    )
    async with desk_opened(tmp_path) as desk:
        assert all(await _overheard(desk, "course", *taught, *strange))
        await desk.said("settings", "set", "unanswered silent", **{"for": "everyone"})
        assert not any(await _overheard(desk, "course", *taught)), "there are no courses"
        await desk.add(*(course(name) for name in TITLES))
        assert await _overheard(desk, "course", *taught) == [True] * len(taught)
        assert await _overheard(desk, "course", *strange) == [False] * len(strange)
        await desk.said("settings", "set", "course Sourdough from Scratch", **{"for": "everyone"})
        assert not any(await _overheard(desk, "course", "When does a colony swarm?")), (
            "another course teaches it"
        )


async def test_a_screenplay_stays_silent_on_other_subjects(tmp_path: Path) -> None:
    about = (
        "Who lights the lamp?",
        "How does Ada feel?",
        "What happens in scene 2?",
        "What is The Ferry about?",
    )
    strange = ("How do submarines dive?", "Which pump empties the bilge of a warship?")
    async with desk_opened(tmp_path) as desk:
        assert all(await _overheard(desk, "script", *about, *strange))
        await desk.said("settings", "set", "unanswered silent", **{"for": "everyone"})
        assert not any(await _overheard(desk, "script", *about)), "there is no screenplay"
        await Room(desk).has(ADA, FERRY)
        assert await _overheard(desk, "script", *about) == [True] * len(about)
        assert await _overheard(desk, "script", *strange) == [False] * len(strange)
        whole = "What is the structure of the whole thing?"
        assert await _overheard(desk, "script", whole) == [False], "without a model nothing says so"


async def test_without_a_model_a_question_mark_decides(tmp_path: Path) -> None:
    async with opened(tmp_path) as ask:
        for text in (DOUBTFUL[0], TO_OTHERS[0]):
            request = ask.request("rules", "ask", text, HERE, ANA)
            assert await ask.app.plain_text.asks(request, mentions_people=False, replies=False)


async def test_the_embedding_model_is_loaded_once_and_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path, 'roles = {}\n[embedding]\nmodel = "e5-enpt"\n') as ask:
        loaded: list[str] = []
        leaning: Any = Leaning(9.0, monkeypatch)

        def load(name: str) -> Any:
            loaded.append(name)
            return leaning

        ask.app.resources.embedding.load = load

        async def overheard(text: str) -> bool:
            request = ask.request("rules", "ask", text, HERE, ANA)
            return await ask.app.plain_text.asks(request, mentions_people=False, replies=False)

        assert [await overheard(text) for text in (UNKNOWN, "https://example.org")] == [True, False]
        assert loaded == ["e5-enpt"]


async def test_without_an_embedding_model_only_words_count(tmp_path: Path) -> None:
    async with opened(tmp_path, 'roles = {}\n[embedding]\nmodel = "none"\n') as ask:
        request = ask.request("rules", "ask", UNKNOWN, HERE, ANA)
        assert not await ask.app.plain_text.asks(request, mentions_people=False, replies=False)
