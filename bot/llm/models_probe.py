"""Tries a model in every way that the works would use it, and tells what each came to.

Knows no SDK, no ledger and no screen: a provider goes in, findings come out, whose sentences stand in the
catalogue. It pays for about ten short calls and a long one.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, get_args
from urllib.parse import urlsplit

from bot.budget import text_tokens
from bot.events import Sorry, Usage
from bot.llm.base import Completion, Message, Meter, ModelError, Prompt, Provider, Tool, ToolResult
from bot.llm.json_answers import UnreadableError, read, schema_of
from bot.llm.prices import CacheWatch

if TYPE_CHECKING:
    from bot.config import ProviderConfig

Way = Literal["whole", "stream", "json", "tools", "count", "cache"]
WAYS: tuple[Way, ...] = get_args(Way)

HOPELESS = ("auth", "quota", "not_found", "connection", "timeout", "rate_limit")
"""After one of these the other ways would only fail likewise, some of them after minutes."""

MAX_TOKENS = 1_000
"""Enough for a model that thinks before it speaks."""

DEMO_TOKENS = 120

PREFIX_LINES = 420
"""Lines of the long prefix, about 12 tokens each: above the 4,096 that the most demanding models want."""

_TALK = Prompt("Answer briefly.", (Message("user", "Write the numbers from one to thirty as words."),))
_COUNT = Message(
    "user", "Ana has two apples and Rui has three. Who has apples, and how many are there in all?"
)
_WEATHER = Tool(
    "weather",
    "Tells today's weather in a city.",
    {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
)
_ASK_WEATHER = Message("user", "Look up the weather in Lisbon with the tool, then tell it in one sentence.")


@dataclass(frozen=True, slots=True)
class Apples:
    """What the JSON way asks for."""

    names: list[str]
    total: int


@dataclass(frozen=True, slots=True)
class Tried:
    """What one way came to. `well` None: not tried, or nothing to tell. `key` and `values` are its sentence."""

    way: Way
    well: bool | None
    key: str
    values: Mapping[str, object] = field(default_factory=dict)


class Probe:
    """One model being tried. `usage` and `calls` grow; the speeds come from the streamed answer."""

    def __init__(
        self,
        provider: Provider,
        settings: ProviderConfig,
        model: str,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.calls = 0
        self.usage = Usage()
        self.first_token_s: float | None = None
        self.tokens_per_s: float | None = None
        self._provider = provider
        self._settings = settings
        self._model = model
        self._clock = clock
        self._can = provider.capabilities(model)
        self._most = DEMO_TOKENS if self._can.demo else MAX_TOKENS

    async def run(self) -> AsyncGenerator[Tried, None]:
        """Every way in turn. What makes the others hopeless ends the trial."""
        ways = {
            "whole": self._whole,
            "stream": self._stream,
            "json": self._json,
            "tools": self._tools,
            "count": self._count,
            "cache": self._cache,
        }
        for way in WAYS:
            try:
                yield await ways[way]()
            except ModelError as error:
                yield Tried(way, False, error.key, error.values)
                if error.fault in HOPELESS:
                    return
            except Sorry as error:
                yield Tried(way, False, error.key, error.values)
                if error.key.startswith("model."):  # the demo's files or runtime are missing
                    return

    async def _whole(self) -> Tried:
        # Not timed: the first call of a process also loads the SDK and shakes hands.
        await self._ask(_TALK, whole=True)
        return Tried("whole", True, "probe.whole")

    async def _stream(self) -> Tried:
        times: list[float] = []
        started = self._clock()
        said = await self._ask(_TALK, at=times)
        if not times:
            return Tried("stream", False, "probe.not_streamed")
        first, took = times[0] - started, times[-1] - times[0]
        self.first_token_s = first
        if len(times) < 2 or took <= 0:
            return Tried("stream", True, "probe.one_piece", {"seconds": f"{first:.2f}"})
        # What was thought before the first word took none of this time.
        seen = text_tokens(said.text)
        self.tokens_per_s = (
            said.usage.output_tokens if said.usage.output_tokens <= 2 * seen else seen
        ) / took
        speed = f"{self.tokens_per_s:.0f}"
        return Tried("stream", True, "probe.streamed", {"seconds": f"{first:.2f}", "speed": speed})

    async def _json(self) -> Tried:
        prompt = replace(_TALK, messages=(_COUNT,), schema=schema_of(Apples))
        said = await self._ask(prompt)
        try:
            found = read(said.text, Apples)
        except UnreadableError as error:
            return Tried("json", False, "probe.json_wrong", {"reason": error.reason})
        right = found.total == 5 and {name.strip().lower() for name in found.names} == {"ana", "rui"}
        return Tried("json", True, "probe.json" if right else "probe.json_nonsense")

    async def _tools(self) -> Tried:
        if not self._can.tools:
            return Tried("tools", None, "probe.tools_none")
        prompt = replace(_TALK, messages=(_ASK_WEATHER,), tools=(_WEATHER,))
        said = await self._ask(prompt)
        if not said.calls:
            return Tried("tools", False, "probe.tools_not_called")
        for call in said.calls:
            if call.name != _WEATHER.name or not _is_city(call.arguments):
                return Tried("tools", False, "probe.tools_wrong")
        results = tuple(ToolResult(call.id, "Lisbon: 17 degrees, rain") for call in said.calls)
        turns = (
            _ASK_WEATHER,
            Message("assistant", said.text, calls=said.calls, raw=said.raw),
            Message("user", results=results),
        )
        told = await self._ask(replace(prompt, messages=turns))
        return Tried("tools", True, "probe.tools" if "17" in told.text else "probe.tools_nonsense")

    async def _count(self) -> Tried:
        tokens = await self._provider.count(self._model, _TALK)
        if tokens is None:
            return Tried("count", None, "probe.count_none")
        return Tried("count", True, "probe.count", {"n": tokens})

    async def _cache(self) -> Tried:
        local = self._settings.kind == "openai-compatible" and _on_this_machine(self._settings.base_url)
        if self._can.demo or local:
            return Tried("cache", None, "probe.cache_local")
        book = "\n".join(f"Line {n} of a long book: nothing happens on it." for n in range(PREFIX_LINES))
        prompt = replace(_TALK, system=f"{_TALK.system}\n{book}", cache=True)
        watch = CacheWatch()
        never = False
        read_tokens = 0
        for _ in range(2):
            said = await self._ask(prompt)
            read_tokens = said.usage.cache_read_tokens
            label = f"{self._provider.name}:{self._model}"
            never = watch.note(label, self._settings.kind, prompt, said.usage) or never
        if never or not read_tokens:
            # Anthropic keeps what is marked; others may or may not, and some do without saying so.
            well = False if self._settings.kind == "anthropic" else None
            return Tried("cache", well, "probe.cache_never")
        whole = said.usage.input_tokens + read_tokens + said.usage.cache_write_tokens
        return Tried("cache", True, "probe.cache", {"read": read_tokens, "whole": whole})

    async def _ask(self, prompt: Prompt, *, whole: bool = False, at: list[float] | None = None) -> Completion:
        """The answer; `at` takes the times of its pieces. What was used counts, whatever comes of it."""
        meter = Meter()
        self.calls += 1
        answer: Completion | None = None
        prompt = replace(prompt, max_tokens=self._most)
        try:
            async with aclosing(self._provider.stream(self._model, prompt, meter, whole=whole)) as pieces:
                async for piece in pieces:
                    if isinstance(piece, Completion):
                        answer = piece
                    elif at is not None:
                        at.append(self._clock())
        finally:
            self.usage = _sum(self.usage, meter.usage)
        assert answer is not None, "a stream ends with its Completion, or raises"
        if answer.finish == "refusal":
            raise Sorry("probe.declined")
        return answer


def _is_city(arguments: str) -> bool:
    try:
        found = json.loads(arguments)
    except ValueError:
        return False
    return isinstance(found, dict) and isinstance(found.get("city"), str)


def _on_this_machine(base_url: str | None) -> bool:
    """Where a prefix of thousands of tokens would take minutes to read, and is kept without a mark."""
    host = urlsplit(base_url or "").hostname or ""
    return host == "localhost" or host == "::1" or host.startswith("127.") or host.endswith(".local")


def _sum(one: Usage, two: Usage) -> Usage:
    return Usage(
        one.input_tokens + two.input_tokens,
        one.output_tokens + two.output_tokens,
        one.cache_read_tokens + two.cache_read_tokens,
        one.cache_write_tokens + two.cache_write_tokens,
        one.estimated or two.estimated,
    )
