"""The scripted replies of a model service, and an answer being sent, independent of any API."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

FAULTS = ("half_open", "truncate", "drop", "hang", "malformed", "error", "no_done")

Body = dict[str, Any]


class Gate(asyncio.Event):
    """Holds a reply until it is set; `reached` is set once a reply waits there."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = asyncio.Event()

    async def wait(self) -> Literal[True]:
        self.reached.set()
        return await super().wait()


@dataclass
class Reply:
    """`pieces` are the deltas of the text (by default `text` word by word).

    `calls` are tool calls, (name, arguments): the arguments' JSON text, or its pieces. `finish` is "end",
    "length", "refusal", "tool" (by itself when there are calls), "pause", "context", None (never said), or a
    word of the wire. `fault` strikes before piece `at`, arguments counted on after the text (after the last by
    default): "truncate" ends the body early, "drop" breaks the connection, "hang" says no more, "malformed"
    sends half a JSON, "error" an error event (with `error`). "no_done" leaves the last line out; "half_open"
    takes the request and never answers at all. `gates[i]` holds piece i until it is set. `reasoning` comes
    before the text. The reply comes `times` times before the next one.
    """

    text: str = ""
    pieces: list[str] | None = None
    finish: str | None = "end"
    calls: list[tuple[str, str | list[str]]] = field(default_factory=list)
    usage: str = "given"  # "given", "none", "zero", or "absurd", which is more than any call uses
    cached: int = 0
    cache_writes: int = 0
    reasoning: list[str] = field(default_factory=list)
    refusal: str = ""
    status: int = 200
    error: dict[str, Any] | None = None  # "message", "type", "code"
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = None  # sent instead of an answer
    fault: str | None = None
    at: int | None = None
    times: int = 1
    endless: bool = False
    delay_s: float = 0.0
    comments: int = 0  # comment lines before each piece, as OpenRouter sends them during a wait
    idle: str = ""  # empty events before each piece, with which gateways keep a connection alive
    cost: float | None = None  # the cost in dollars, as OpenRouter reports it
    gates: dict[int, asyncio.Event] = field(default_factory=dict)

    def content(self) -> list[str]:
        return self.pieces if self.pieces is not None else [word + " " for word in self.text.split()]

    def said(self) -> dict[str, Any]:
        """The error of a status or of an "error" event."""
        return self.error or {"message": f"fault {self.status}", "type": "fault", "code": None}


Script = list[Reply] | Callable[[Body], Reply]


class Refused(NamedTuple):
    """A refusal of the real service: status, message, parameter, code, and further fields of the error."""

    status: int
    message: str
    param: str = ""
    code: str = ""
    more: Mapping[str, Any] = {}


class Frame(NamedTuple):
    """One server-sent event. `kind` is "", "piece", "token" or "end": see tests/fakes/model_service.py."""

    data: Body | str
    event: str = ""
    kind: str = ""

    def text(self) -> str:
        data = self.data if isinstance(self.data, str) else json.dumps(self.data)
        return (f"event: {self.event}\n" if self.event else "") + f"data: {data}\n\n"


class Call(NamedTuple):
    """A tool call of an answer, with its arguments in pieces."""

    id: str
    name: str
    pieces: list[str]


@dataclass
class Turn:
    """One answer being sent: the request, the reply, and how much of it was sent."""

    body: Body
    reply: Reply
    id: str
    calls: list[Call]
    finish: str | None
    input_tokens: int  # all of them
    cache_read: int
    cache_write: int
    output_tokens: int = 0
    sent: int = 0  # pieces

    @property
    def model(self) -> str:
        return str(self.body["model"])

    def texts(self) -> Iterator[str]:
        """The pieces of the text, without end if the reply is endless."""
        content = self.reply.content()
        yield from content
        while self.reply.endless:
            yield content[-1]

    def text(self) -> str:
        """The text in one piece; an endless text is cut far above any limit."""
        return "".join(self.reply.content() * (2_000 if self.reply.endless else 1))

    @property
    def pieces(self) -> int:
        """The number of pieces."""
        return len(self.reply.content()) + sum(len(call.pieces) for call in self.calls)

    @property
    def counted(self) -> tuple[int, int, int, int]:
        """All input, output, cache reads and cache writes, according to `Reply.usage`."""
        if self.reply.usage == "zero":
            return 0, 0, 0, 0
        if self.reply.usage == "absurd":
            return (10**30,) * 4
        return self.input_tokens, self.output_tokens, self.cache_read, self.cache_write
