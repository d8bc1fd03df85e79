"""A course of three lessons with two tools, and a loop that may call them, for the tests of tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from bot.events import Status
from bot.llm.base import Message, Prompt, Tool, ToolOutput
from bot.llm.registry import Models
from bot.llm.tools import ToolLoop
from bot.retrieval.results import Passage
from bot.work import Run
from tests.fakes.reply import Body, Reply

QUESTION = Prompt(
    "Answer from the course.",
    (Message("user", "What courses are like lesson 3 of the RAG course?"),),
    max_tokens=400,
)
OUTLINE = ("get_course_outline", '{"course_name": "RAG"}')
SEARCH = ("search_course_content", '{"query": "Rerankers", "lesson_number": null}')


def passage(n: int, text: str) -> Passage:
    return Passage(f"chunk-{n}", "doc", "rag.md", "RAG", f"Lesson {n}", None, text, 1.0)


RERANKER = passage(3, "A reranker reads question and passage together.")


class Course:
    """`asked` has the tools' arguments. `meanwhile` is awaited in each call, with the tool's name."""

    def __init__(self, meanwhile: Callable[[str], Awaitable[None]] | None = None) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.found: tuple[Passage, ...] = (RERANKER,)
        self._meanwhile = meanwhile

    async def outline(self, course_name: str) -> ToolOutput:
        await self._begin("outline", course_name=course_name)
        return ToolOutput("RAG, by Ana\n1. Chunks\n2. Vectors\n3. Rerankers")

    async def search(
        self, query: str, course_name: str | None = None, lesson_number: int | None = None
    ) -> ToolOutput:
        await self._begin("search", query=query, course_name=course_name, lesson_number=lesson_number)
        return ToolOutput(passages=self.found)

    async def _begin(self, name: str, **arguments: Any) -> None:
        self.asked.append((name, {key: value for key, value in arguments.items() if value is not None}))
        if self._meanwhile is not None:
            await self._meanwhile(name)

    @property
    def tools(self) -> tuple[Tool, ...]:
        text, number = {"type": "string"}, {"type": "integer", "minimum": 0}
        outline = _schema({"course_name": text}, "course_name")
        search = _schema({"query": text, "course_name": text, "lesson_number": number}, "query")
        return (
            Tool(OUTLINE[0], "The lessons of a course.", outline, self.outline, "Reading the outline"),
            Tool(SEARCH[0], "Searches the lessons.", search, self.search, "Searching the lessons"),
        )

    def loop(self, models: Models, run: Run, prompt: Prompt = QUESTION, **more: Any) -> ToolLoop:
        return ToolLoop(models, run, replace(prompt, tools=self.tools), **more)


def _schema(properties: dict[str, Any], needed: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": [needed],
        "additionalProperties": False,
    }


async def events_of(loop: ToolLoop) -> list[str | Status]:
    async with aclosing(loop.events()) as events:
        return [event async for event in events]


def results(body: Body) -> list[str]:
    """The texts of the tools' results in a request, whatever its wire."""
    found = []
    for item in body["messages" if "messages" in body else "input"]:
        if item.get("role") == "tool" or item.get("type") == "function_call_output":
            found.append(item.get("content", item.get("output")))
        for block in item["content"] if isinstance(item.get("content"), list) else ():
            found += [block["content"]] if block["type"] == "tool_result" else []
    return found


def closed(body: Body) -> bool:
    return body.get("tool_choice") in ("none", {"type": "none"})


def calling(body: Body) -> Reply:
    """A model that calls tools as long as it may."""
    return Reply("All of it.") if closed(body) else Reply(calls=[SEARCH])
