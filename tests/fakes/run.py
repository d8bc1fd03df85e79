"""A run in memory: stores the results of steps and streams, and can be replayed.

Knows no engine.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any, TypeVar

from bot.events import Author, OptionValue, Place, Request
from bot.llm.completion import Completion

T = TypeVar("T")


class MemoryRun:
    """`kept` has the results of finished steps by name; `replay()` returns a run that reuses them."""

    alone = True
    hides = False

    def __init__(self, space: str = "local", steps: dict[str, Any] | None = None) -> None:
        place = Place("terminal", space, "chat", "main")
        self.request = Request("run-1", place, Author("ana", "Ana"), "rules", "ask")
        self.kept: dict[str, Any] = {} if steps is None else steps
        self.begun: dict[str, Request] = {}

    @property
    def id(self) -> str:
        return self.request.id

    def replay(self) -> MemoryRun:
        return MemoryRun(self.request.place.space, self.kept)

    async def step(self, name: str, call: Callable[[], Awaitable[T]], of: type[T]) -> T:
        if name not in self.kept:
            self.kept[name] = await call()
        value: T = self.kept[name]
        return value

    async def begin(
        self,
        key: str,
        verb: str,
        *,
        text: str = "",
        options: Mapping[str, OptionValue] | None = None,
        line: str = "",
        thread_title: str = "",
        for_all: bool = False,
        there: Place | None = None,
    ) -> str:
        parent = self.request
        child = replace(parent, id=f"{parent.id}/{key}", verb=verb, text=text, options=options or {})
        self.begun[key] = replace(child, files=(), line=line, parent=parent.id)
        return child.id

    def new_thread(self, key: str, title: str) -> Place:
        return replace(self.request.place, thread=f"{title}/{key}")

    async def stream(
        self, name: str, call: Callable[[], AsyncGenerator[str | Completion, None]]
    ) -> AsyncGenerator[str | Completion, None]:
        if name in self.kept:
            completion: Completion = self.kept[name]
            if completion.text:
                yield completion.text
            yield completion
            return
        async with aclosing(call()) as source:
            async for piece in source:
                if isinstance(piece, Completion):
                    self.kept[name] = piece
                yield piece
