"""A question to the courses from end to end: with tools, without tools, and without a model."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bot.commands import FOLLOW_UP
from bot.events import Choices, Notice, Status
from tests.fakes.anthropic_messages import MessagesService
from tests.fakes.chat_completions import ChatService
from tests.fakes.model_service import ModelService
from tests.fakes.reply import Reply
from tests.fakes.wires import kind_of
from tests.works.course.desk import Desk, cited, course, opened, words_of
from tests.works.course.files import TITLES

SWARM = "https://example.org/courses/keeping-bees-a-first-year-with-one-colony-in-a-small-garden/"

GUESSED = "Which flour is best for pizza?"
"""A question that the courses may answer: between the two bars."""

FOLLOWS: dict[str, Any] = {FOLLOW_UP: True}
"""Plain text in a course's thread."""


@asynccontextmanager
async def asked(
    folder: Path, script: list[Reply], more: str = "", service: ModelService | None = None
) -> AsyncIterator[tuple[Desk, ModelService]]:
    """A desk with the four courses, and a model that follows the script."""
    async with service or ChatService(script) as service:
        service.script = script
        settings = (
            f'[providers.a]\nkind = "{kind_of(service)}"\nbase_url = "{service.base_url}"\n{more}\n'
            '[roles]\nanswerer = "a:small"\n'
        )
        async with opened(folder, settings) as desk:
            await desk.add(*(course(name) for name in TITLES))
            yield desk, service


def search(query: str, **more: object) -> tuple[str, str]:
    return "search_course_content", json.dumps({"query": query, **more})


async def test_a_model_reads_the_outline_then_searches_and_cites_lessons(
    tmp_path: Path,
) -> None:
    script = [
        Reply(calls=[("get_course_outline", '{"course_name": "bees"}')]),
        Reply(calls=[search("old queen leaves", course_name="bees", lesson_number=5)]),
        Reply(
            "The old queen leaves with half of the workers on the ninth day [2]. Water is wet and blue [2]."
        ),
    ]
    async with asked(tmp_path, script) as (desk, service):
        events = await desk.ask("course", "ask", "When does a colony swarm?")
        texts = [event.text for event in events if isinstance(event, Status)]
        assert "Reading the outline: bees" in texts
        assert "Searching the lessons: old queen leaves, bees, 5" in texts
        (citation,) = cited(events)
        assert (citation.n, citation.source, citation.link) == (2, "keeping_bees.txt", SWARM)
        assert citation.heading == "Keeping Bees: A First Year › 5. Swarming"
        assert citation.quote.startswith("When the first of them is sealed, on the ninth day")
        # The statement that its passage does not support has lost its number.
        assert "workers on the ninth day [2]. Water is wet and blue." in words_of(events)
        assert any(
            "1 statement above has no source" in event.text for event in events if isinstance(event, Notice)
        )
        (offered,) = [event for event in events if isinstance(event, Choices)]
        assert offered.choices[0].command == "/course outline Keeping Bees: A First Year"
        outline = str(service.requests[1]["messages"])
        assert "Lesson 6. Varroa (https://example.org/courses/keeping-bees/lesson/6/varroa)" in outline
        assert "Sourdough from Scratch" in str(service.requests[0]["messages"])
        assert len(service.requests) == 3


async def test_the_common_prefix_of_a_questions_rounds_is_marked_for_the_cache(tmp_path: Path) -> None:
    script = [
        Reply(calls=[search("old queen leaves", course_name="bees", lesson_number=5)]),
        Reply("The old queen leaves on the ninth day [1]."),
    ]
    anthropic = MessagesService(script, cache_least=100)
    async with asked(tmp_path, script, service=anthropic) as (desk, service):
        await desk.ask("course", "ask", "When does a colony swarm?")
        first, second = service.requests
        # The first call of a conversation asks for an hour; rounds that are seconds apart show that minutes do.
        for sent, mark in ((first, {"type": "ephemeral", "ttl": "1h"}), (second, {"type": "ephemeral"})):
            marked = [sent["system"][0], sent["messages"][0]["content"][0]]
            assert [block["cache_control"] for block in marked] == [mark] * 2
            assert "cache_control" not in str(sent["messages"][1:])
        assert service.cache_read_tokens > 100


async def test_for_an_unknown_course_the_model_gets_the_nearest_name(tmp_path: Path) -> None:
    script = [
        Reply(calls=[search("chords", course_name="jazz piano"), search("frames", lesson_number=77)]),
        Reply("There is no course on jazz piano."),
    ]
    async with asked(tmp_path, script) as (desk, service):
        events = await desk.ask("course", "ask", "Which chords does the jazz piano course begin with?")
        prompt = str(service.requests[-1]["messages"])
        assert "There is no course “jazz piano”. The nearest names are: " in prompt
        assert "No course has a lesson 77." in prompt
        assert "There is no course on jazz piano." in words_of(events)
        assert cited(events) == []


async def test_two_exchanges_of_the_thread_are_remembered_by_default(tmp_path: Path) -> None:
    script = [Reply(f"Answer {n}.") for n in range(1, 8)]
    async with asked(tmp_path, script) as (desk, service):
        for n in range(1, 5):
            await desk.ask("course", "ask", f"Question {n}?", **(FOLLOWS if n > 1 else {}))
        prompt = service.requests[-1]["messages"][-1]["content"]
        assert "Question 1?" not in prompt
        assert prompt.index("Question 2?") < prompt.index("Answer 3.") < prompt.index("Question 4?")
        assert "is not a number from 0 to 20" in await desk.said(
            "settings", "set", "course.memory many", **{"for": "everyone"}
        )
        await desk.said("settings", "set", "course.memory 0", **{"for": "everyone"})
        await desk.ask("course", "ask", "Question 5?")
        assert "Question 4?" not in service.requests[-1]["messages"][-1]["content"]
        # Another thread has its own.
        await desk.ask("course", "ask", "Question 6?", thread="other")
        assert "Question 5?" not in service.requests[-1]["messages"][-1]["content"]


async def test_a_model_without_tools_gets_the_results_of_planned_lookups(tmp_path: Path) -> None:
    script = [Reply("The old queen leaves on the ninth day with half of the workers [2].")]
    async with asked(tmp_path, script, "tools = false") as (desk, service):
        question = "Which lessons are in the bees course, and when does the old queen leave with the workers?"
        events = await desk.ask("course", "ask", question)
        (request,) = service.requests
        assert "tools" not in request
        assert "Lesson 6. Varroa" in str(request["messages"])
        assert [citation.link for citation in cited(events)] == [SWARM]


async def test_a_model_without_tools_hears_which_course_does_not_exist(tmp_path: Path) -> None:
    async with asked(tmp_path, [Reply("There is no such course.")], "tools = false") as (desk, service):
        await desk.ask("course", "ask", "Which chords does the jazz piano course begin with?")
        (request,) = service.requests
        assert "There is no course “jazz piano”. The nearest names are: " in str(request["messages"])


async def test_a_model_judges_a_possible_answer_and_may_find_none(
    tmp_path: Path,
) -> None:
    script = [
        Reply(calls=[search(GUESSED)]),
        Reply("Bakers count in per cent of the flour [1]."),
        Reply(calls=[search(GUESSED)]),
        Reply("The courses do not say."),
    ]
    async with asked(tmp_path, script) as (desk, service):
        events = await desk.ask("course", "ask", GUESSED)
        assert "It is not certain that the courses answer this." in str(service.requests[1]["messages"])
        told = [event.text for event in events if isinstance(event, Notice)]
        assert [text for text in told if "Your courses may not answer this question." in text], told
        events = await desk.ask("course", "ask", GUESSED, thread="other")
        assert "The courses do not say." in words_of(events)
        assert not [event for event in events if isinstance(event, Notice)]


async def test_if_the_model_fails_the_passages_are_shown(tmp_path: Path) -> None:
    async with asked(tmp_path, [Reply(status=401, times=9)]) as (desk, _):
        events = await desk.ask("course", "ask", "When does the old queen leave with half of the workers?")
        assert "on the ninth day, the old queen leaves with half of the workers" in words_of(events)
        assert cited(events)[0].link == SWARM
        assert any(isinstance(event, Notice) and "a:small" in event.text for event in events)


async def test_without_a_model_code_finds_course_lesson_and_outline(tmp_path: Path) -> None:
    async with opened(tmp_path, "[roles]\nanswerer = []\n") as desk:
        assert "no course yet" in await desk.said("course", "ask", "When does a colony swarm?")
        await desk.add(*(course(name) for name in TITLES))
        ask = desk.ask
        events = await ask(
            "course", "ask", "What does lesson 3 of the search engines course say about rare words?"
        )
        assert {citation.heading for citation in cited(events)} == {
            "Search Engines from the Inside › 3. Ranking with BM25"
        }
        events = await ask("course", "ask", "Quais aulas tem o curso de aquarela?", thread="b")
        assert "Lesson 6. Luz e sombra (https://exemplo.org/cursos/aquarela/aula-6)" in words_of(events)
        assert "no lesson “9” in “Sour" in await desk.said(
            "course", "ask", "What is in lesson 9 of the sourdough course?"
        )
        events = await ask("course", "ask", "What happens in lesson 6?", thread="f")
        assert {citation.heading.split(" › ")[1][:2] for citation in cited(events)} == {"6."}
        assert "found nothing" in await desk.said("course", "ask", "Who won the world cup in 1994?")
        events = await ask("course", "ask", GUESSED, thread="h")
        assert "**Closest passages.**" in words_of(events)
        assert cited(events)
        events = await ask("course", "ask", "How hot is it inside?", course="sourdo", lesson="5", thread="d")
        assert {citation.heading for citation in cited(events)} == {"Sourdough from Scratch › 5. Baking"}
        events = await ask("course", "ask", "When is oxalic acid used?", lesson="6. Varroa", thread="e")
        assert {citation.heading for citation in cited(events)} == {"Keeping Bees: A First Year › 6. Varroa"}
        assert "no course “jazz”" in await desk.said("course", "ask", "How?", course="jazz")
        answer = await desk.said(
            "course", "ask", "What does the bee jazz course say of the blues?", thread="g"
        )
        assert "There is no course “bee jazz”. The nearest are: Keeping Bees: A First Year; " in answer
        assert "found nothing" not in answer
        missing = await desk.said("course", "ask", "How?", course="sourdough", lesson="9")
        assert "no lesson “9” in “Sourdough from Scratch”" in missing
        assert "No course has a lesson “77”" in await desk.said("course", "ask", "How?", lesson="77")
        events = await ask(
            "course", "ask", "How many hours in the refrigerator does the cold dough need?", thread="c"
        )
        assert cited(events)[0].heading == "Sourdough from Scratch › 4. Shaping and Proofing"
        events = await ask("course", "ask", "And at what temperature is it?", thread="c", **FOLLOWS)
        assert cited(events)[0].heading == "Sourdough from Scratch › 4. Shaping and Proofing"
