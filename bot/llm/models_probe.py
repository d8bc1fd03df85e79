"""Tries a model in every way that the works use it, and reports each result.

Knows no SDK, ledger or screen: it takes a provider and returns results as message keys. It makes about ten short calls
and a long one, which are billed.
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
from bot.events import TransientError, UserError
from bot.llm.base import Message, Meter, ModelError, Prompt, Provider, Tool, ToolResult
from bot.llm.completion import Completion, Usage
from bot.llm.json_answers import UnreadableError, read, schema_of
from bot.llm.prices import CacheWatch

if TYPE_CHECKING:
    from bot.config import ProviderConfig

Way = Literal["whole", "stream", "json", "tools", "count", "cache"]
WAYS: tuple[Way, ...] = get_args(Way)

HOPELESS = ("auth", "permission", "quota", "not_found", "connection", "timeout", "rate_limit")
"""Faults after which the other trials would fail too, some of them only after minutes."""

MAX_TOKENS = 1_000
"""Enough tokens for a model that thinks before it answers."""

DEMO_TOKENS = 120

PREFIX_LINES = 420
"""Lines of the long prefix, about 12 tokens each: more than the 4,096 tokens that the most demanding models need."""

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
    """The JSON object that the trial asks for."""

    names: list[str]
    total: int


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of one trial. `well` is None if it was not tried or has nothing to report. `key` and `values` make its
    message.
    """

    way: Way
    well: bool | None
    key: str
    values: Mapping[str, object] = field(default_factory=dict)


class Probe:
    """Tries one model. `usage` and `calls` are totals so far; the speeds are those of the streamed answer."""

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

    async def run(self) -> AsyncGenerator[Trial, None]:
        """Run all trials in turn; a fault in HOPELESS ends them."""
        ways = {
            "whole": self._whole,
            "stream": self._stream,
            "json": self._json,
            "tools": self._tools,
            "count": self._count,
            "cache": self._cache,
        }
        for trial_way in WAYS:
            try:
                yield await ways[trial_way]()
            except ModelError as error:
                yield Trial(trial_way, False, error.key, error.values)
                if error.fault in HOPELESS:
                    return
            except UserError as error:
                yield Trial(trial_way, False, error.key, error.values)
                if error.key.startswith("model."):  # the demo's files or runtime are missing
                    return

    async def _whole(self) -> Trial:
        # Not timed: the first call of a process also loads the SDK and opens the connection.
        await self._ask(_TALK, whole=True)
        return Trial("whole", True, "probe.whole")

    async def _stream(self) -> Trial:
        times: list[float] = []
        started = self._clock()
        answer = await self._ask(_TALK, at=times)
        if not times:
            return Trial("stream", False, "probe.not_streamed")
        first, took = times[0] - started, times[-1] - times[0]
        self.first_token_s = first
        if len(times) < 2 or took <= 0:
            return Trial("stream", True, "probe.one_piece", {"seconds": f"{first:.2f}"})
        # Thinking before the first word took none of this time.
        visible_tokens = text_tokens(answer.text)
        self.tokens_per_s = (
            answer.usage.output_tokens if answer.usage.output_tokens <= 2 * visible_tokens else visible_tokens
        ) / took
        speed = f"{self.tokens_per_s:.0f}"
        return Trial("stream", True, "probe.streamed", {"seconds": f"{first:.2f}", "speed": speed})

    async def _json(self) -> Trial:
        prompt = replace(_TALK, messages=(_COUNT,), schema=schema_of(Apples))
        answer = await self._ask(prompt)
        try:
            apples = read(answer.text, Apples)
        except UnreadableError as error:
            return Trial("json", False, "probe.json_wrong", {"reason": error.reason})
        right = apples.total == 5 and {name.strip().lower() for name in apples.names} == {"ana", "rui"}
        return Trial("json", True, "probe.json" if right else "probe.json_nonsense")

    async def _tools(self) -> Trial:
        if not self._can.tools:
            return Trial("tools", None, "probe.tools_none")
        prompt = replace(_TALK, messages=(_ASK_WEATHER,), tools=(_WEATHER,))
        answer = await self._ask(prompt)
        if not answer.calls:
            return Trial("tools", False, "probe.tools_not_called")
        for call in answer.calls:
            if call.name != _WEATHER.name or not _is_city(call.arguments):
                return Trial("tools", False, "probe.tools_wrong")
        results = tuple(ToolResult(call.id, "Lisbon: 17 degrees, rain") for call in answer.calls)
        turns = (
            _ASK_WEATHER,
            Message("assistant", answer.text, calls=answer.calls, raw=answer.raw),
            Message("user", results=results),
        )
        final = await self._ask(replace(prompt, messages=turns))
        return Trial("tools", True, "probe.tools" if "17" in final.text else "probe.tools_nonsense")

    async def _count(self) -> Trial:
        tokens = await self._provider.count(self._model, _TALK)
        if tokens is None:
            return Trial("count", None, "probe.count_none")
        return Trial("count", True, "probe.count", {"n": tokens})

    async def _cache(self) -> Trial:
        local = self._settings.kind == "openai-compatible" and _on_this_machine(self._settings.base_url)
        if self._can.demo or local:
            return Trial("cache", None, "probe.cache_local")
        book = "\n".join(f"Line {n} of a long book: nothing happens on it." for n in range(PREFIX_LINES))
        prompt = replace(_TALK, system=f"{_TALK.system}\n{book}", cache=True)
        watch = CacheWatch()
        never_cached = False
        read_tokens = 0
        for _ in range(2):
            answer = await self._ask(prompt)
            read_tokens = answer.usage.cache_read_tokens
            label = f"{self._provider.name}:{self._model}"
            never_cached = watch.note(label, self._settings.kind, prompt, answer.usage) or never_cached
        if never_cached or not read_tokens:
            # Anthropic keeps marked prefixes; other services may or may not, and some do without reporting it.
            well = False if self._settings.kind == "anthropic" else None
            return Trial("cache", well, "probe.cache_never")
        input_tokens = answer.usage.input_tokens + read_tokens + answer.usage.cache_write_tokens
        return Trial("cache", True, "probe.cache", {"read": read_tokens, "whole": input_tokens})

    async def _ask(self, prompt: Prompt, *, whole: bool = False, at: list[float] | None = None) -> Completion:
        """Ask for an answer; the times of its pieces are added to `at`. Its usage counts even if it fails."""
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
            self.usage += meter.usage
        assert answer is not None, "a stream ends with its Completion, or raises"
        if answer.finish == "refusal":
            raise TransientError("probe.declined")
        return answer


def _is_city(arguments: str) -> bool:
    try:
        parsed = json.loads(arguments)
    except ValueError:
        return False
    return isinstance(parsed, dict) and isinstance(parsed.get("city"), str)


def _on_this_machine(base_url: str | None) -> bool:
    """Whether the server is on this machine, where reading thousands of tokens takes minutes, and prefixes are cached
    unmarked.
    """
    host = urlsplit(base_url or "").hostname or ""
    return host == "localhost" or host == "::1" or host.startswith("127.") or host.endswith(".local")
