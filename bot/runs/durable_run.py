"""A run as its work sees it: steps and streams whose results the durable engine (DBOS) stores, and child runs.

Knows no work and no platform.
"""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Hashable, Mapping
from contextlib import aclosing
from contextvars import Context
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from bot import tracing
from bot.events import Author, OptionValue, Place, Request, UserError, user_error
from bot.llm.completion import Completion
from bot.words import Words, words
from storage.faults import StorageFault
from storage.patience import patiently

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")

Begin: TypeAlias = Callable[[Request, str], Coroutine[None, None, str]]
NewThread: TypeAlias = Callable[[Request, str, str], tuple[Place, str]]
"""Gives the place and the origin of a new conversation, from a run's request, a child's key and a title. Raises
UserError.
"""
Origin: TypeAlias = Callable[[Place], str]
"""Gives the origin of a request to which no message belongs; "" if the platform has none."""


class DurableRun:
    """Implements `bot.work.Run` with the engine; created in the engine's body, once per execution."""

    def __init__(
        self,
        request: Request,
        begin: Begin,
        new_thread: NewThread,
        origin: Origin = lambda place: "",
        *,
        alone: bool = True,
        hides: bool = False,
    ) -> None:
        """`begin` starts a child of this run under a key, at most once, and returns the child's id."""
        self.alone = alone
        self.hides = hides
        self.id = request.id
        self.request = request
        self._begin = begin
        self._new_thread = new_thread
        self._origin = origin

    async def step(self, name: str, call: Callable[[], Awaitable[T]], of: type[T]) -> T:
        from dbos import DBOS

        adapter: TypeAdapter[T] = _adapter(cast("Hashable", of))
        called = False

        async def body() -> dict[str, Any]:
            nonlocal called
            called = True
            try:
                return {"value": adapter.dump_python(await patiently(call), mode="json")}
            except UserError as error:
                return {"sorry": _error_to_json(error, words(self.request.locale))}

        result = await DBOS.run_step_async({"name": name}, body)
        if not called:
            tracing.replayed(name)
        if "sorry" in result:
            raise _error_from_json(result["sorry"])
        return adapter.validate_python(result["value"])

    async def stream(
        self, name: str, call: Callable[[], AsyncGenerator[str | Completion, None]]
    ) -> AsyncGenerator[str | Completion, None]:
        from dbos import DBOS

        pieces: asyncio.Queue[str | asyncio.Future[dict[str, Any]]] = asyncio.Queue()
        called = False

        async def body() -> dict[str, Any]:
            nonlocal called
            called = True
            text: list[str] = []
            result: dict[str, Any] = {}

            async def collect() -> StorageFault | None:
                try:
                    async with aclosing(call()) as source:
                        async for piece in source:
                            if isinstance(piece, Completion):
                                result["completion"] = _adapter(Completion).dump_python(piece, mode="json")
                            else:
                                text.append(piece)
                                pieces.put_nowait(piece)
                except StorageFault as fault:
                    if not text:  # otherwise pieces would be repeated
                        raise
                    return fault
                return None

            try:
                if (fault := await patiently(collect)) is not None:
                    raise fault
            except UserError as error:
                result["sorry"] = _error_to_json(error, words(self.request.locale))
            return result | {"text": "".join(text)}

        task = asyncio.ensure_future(DBOS.run_step_async({"name": name}, body))
        task.add_done_callback(pieces.put_nowait)  # after the last piece
        try:
            while isinstance(piece := await pieces.get(), str):
                yield piece
            result = await task
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})
            if not task.cancelled():
                task.exception()  # without this call asyncio logs what an interrupted step failed with
        if not called:
            tracing.replayed(name)
            if result["text"]:
                yield result["text"]
        if "sorry" in result:
            raise _error_from_json(result["sorry"])
        if "completion" in result:
            yield _adapter(Completion).validate_python(result["completion"])

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
        child = replace(
            parent,
            verb=verb,
            text=text,
            options=options or {},
            files=(),
            line=line,
            parent=parent.id,
            quoted=(),
        )
        if thread_title:
            place, origin = self._new_thread(parent, key, thread_title)
            child = replace(child, place=place, origin=origin)
        elif for_all:
            place = there or parent.place
            child = replace(child, place=place, author=Author("", ""), origin=self._origin(place))
            child = replace(child, asked_in=None if there else parent.asked_in)

        async def begin_child() -> str:
            # In a fresh context: in this run's own it would be one of its steps, and be cancelled with it.
            return await asyncio.create_task(self._begin(child, key), context=Context())

        return await self.step(f"begin:{key}", begin_child, str)

    def new_thread(self, key: str, title: str) -> Place:
        return self._new_thread(self.request, key, title)[0]


@functools.cache
def _adapter(of: Hashable) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(cast("Any", of))


def _error_to_json(error: UserError, say: Words) -> dict[str, Any]:
    """The error with its values in these words."""
    return {"key": error.key, "values": say.plain(error.values), "transient": error.transient}


def _error_from_json(stored: Mapping[str, Any]) -> UserError:
    # An earlier release stored no "transient".
    return user_error(stored["key"], stored["values"], transient=stored.get("transient", False))


class StepFailed(Exception):
    """The error of a step from before a crash, as far as its text was stored."""


class Json:
    """DBOS's serializer protocol with JSON, because loading a pickle could run code."""

    def name(self) -> str:
        return "sutradhar_json"

    def serialize(self, data: Any) -> str:
        return json.dumps(data, ensure_ascii=False, default=_error_text)

    def deserialize(self, serialized_data: str) -> Any:
        data = json.loads(serialized_data)
        if isinstance(data, dict) and "__error__" in data:
            return StepFailed(data["__error__"])
        return data


def _error_text(value: object) -> dict[str, str]:
    if isinstance(value, BaseException):
        return {"__error__": f"{type(value).__name__}: {value}"}
    raise TypeError(f"{type(value).__name__} cannot be kept by the engine")
