"""A turn with tools: the model asks for them, they are done and told, and it answers; the same on all three wires."""

from __future__ import annotations

import json
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from bot.events import Status
from bot.llm.base import Message, Prompt, Tool, ToolOutput
from bot.llm.tools import ToolLoop
from bot.retrieval.found import Passage
from tests.fakes.reply import Reply
from tests.fakes.wires import Wire
from tests.llm.table import Set, Table


def passage(n: int, text: str) -> Passage:
    return Passage(f"chunk-{n}", "doc", "rag.md", "RAG", f"Lesson {n}", None, text, 1.0)


class Course:
    """Two tools over a course of three lessons; `asked` is what they were called with."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []

    async def outline(self, course_name: str) -> ToolOutput:
        self.asked.append(("outline", {"course_name": course_name}))
        return ToolOutput("RAG, by Ana\n1. Chunks\n2. Vectors\n3. Rerankers")

    async def search(
        self, query: str, course_name: str | None = None, lesson_number: int | None = None
    ) -> ToolOutput:
        wanted = {"query": query, "course_name": course_name, "lesson_number": lesson_number}
        self.asked.append(("search", {name: value for name, value in wanted.items() if value is not None}))
        return ToolOutput(passages=(passage(3, "A reranker reads question and passage together."),))

    @property
    def tools(self) -> tuple[Tool, ...]:
        text, number = {"type": "string"}, {"type": "integer", "minimum": 0}
        return (
            Tool(
                "get_course_outline",
                "The lessons of a course.",
                {
                    "type": "object",
                    "properties": {"course_name": text},
                    "required": ["course_name"],
                    "additionalProperties": False,
                },
                self.outline,
                "Reading the outline",
            ),
            Tool(
                "search_course_content",
                "Searches the lessons.",
                {
                    "type": "object",
                    "properties": {"query": text, "course_name": text, "lesson_number": number},
                    "required": ["query"],
                    "additionalProperties": False,
                },
                self.search,
                "Searching the lessons",
            ),
        )


QUESTION = Prompt(
    "Answer from the course.",
    (Message("user", "What courses are like lesson 3 of the RAG course?"),),
    max_tokens=400,
)
OUTLINE = ("get_course_outline", '{"course_name": "RAG"}')
SEARCH = ("search_course_content", '{"query": "Rerankers", "lesson_number": null}')


def loop_of(at: Table, course: Course, prompt: Prompt = QUESTION, **more: Any) -> ToolLoop:
    return ToolLoop(at.models, at.run, replace(prompt, tools=course.tools), **more)


async def told(loop: ToolLoop) -> list[str | Status]:
    async with aclosing(loop.events()) as events:
        return [event async for event in events]


async def test_an_outline_and_then_a_search_of_what_it_says(table: Set, wire: Wire) -> None:
    course = Course()
    at = await table(
        [Reply(calls=[OUTLINE]), Reply("Let me look.", calls=[SEARCH]), Reply("Rerankers [1].")],
        wires=(wire.name,),
    )
    loop = loop_of(at, course)
    events = await told(loop)
    assert course.asked == [("outline", {"course_name": "RAG"}), ("search", {"query": "Rerankers"})]
    assert [event.text for event in events if isinstance(event, Status)] == [
        "Reading the outline: RAG",
        "Searching the lessons: Rerankers",
    ]
    assert loop.text == "".join(event for event in events if isinstance(event, str))
    assert loop.text == "Let me look. \n\nRerankers [1]. "
    assert (loop.ended, loop.capped, loop.rounds, loop.calls) == ("answer", "rounds", 2, 2)
    assert [one.heading for one in loop.passages] == ["Lesson 3"]
    service = at.services[0]
    last = json.dumps(service.requests[-1])
    assert '<passage n=\\"1\\"' in last
    assert [request["tools"] == service.requests[0]["tools"] for request in service.requests] == [True] * 3
    assert [row.step for row in await at.rows()] == ["answer", "answer-call-2", "answer-call-3"]
    assert loop.usage.input_tokens == service.input_tokens
