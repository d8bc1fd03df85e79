"""Chat completions over the openai SDK, for OpenAI and any compatible `base_url`.

The only file that knows the SDK. It does its own retries, because what may be retried depends on
what has been shown already: nothing is asked again once text has been yielded.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bot.budget import prompt_tokens
from bot.llm.base import Completion, Meter, ModelError, ModelFault, Prompt
from bot.llm.chat_answer import Answer
from bot.llm.chat_faults import RETRIED, Complaint, complaint, safe

if TYPE_CHECKING:
    from openai import AsyncOpenAI, AsyncStream
    from openai.types.chat import ChatCompletionChunk

log = logging.getLogger(__name__)

LONGEST_WAIT_S = 20.0
"""A service that asks for a longer pause than this is reported instead of waited for."""

AFTER_FINISH_S = 3.0
"""How long the usage may lag behind the finish reason before it is estimated."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds: to connect; until the first event (a local model reads its prompt); between events; in all."""

    connect: float = 10.0
    first: float = 120.0
    idle: float = 45.0
    total: float = 600.0


@dataclass(slots=True)
class _Manners:
    """What one model of one service was found to accept; learnt from its refusals, kept while we run."""

    limit: str
    untried: set[str]
    leave_out: set[str] = field(default_factory=set)

    def parameters(self, prompt: Prompt) -> dict[str, Any]:
        sent: dict[str, Any] = {self.limit: prompt.max_tokens, "stream_options": {"include_usage": True}}
        if prompt.temperature is not None:
            sent["temperature"] = prompt.temperature
        return {name: value for name, value in sent.items() if name not in self.leave_out}

    def learn(self, refusal: Complaint, sent: dict[str, Any]) -> bool:
        """Mind a refused parameter. True when asking again may help; each lesson is learnt once."""
        for name in ("stream_options", "temperature"):
            if name in sent and refusal.refuses(name):
                self.leave_out.add(name)
                return True
        if self.limit in sent and self.untried and refusal.refuses(self.limit):
            self.limit = self.untried.pop()
            return True
        return False


class _FaultError(Exception):
    """A failed attempt, already without the SDK's exception, which may hold the key."""

    def __init__(self, fault: ModelFault, detail: str, wait: float | None = None) -> None:
        super().__init__(fault)
        self.fault: ModelFault = fault
        self.detail = detail
        self.wait = wait


class ChatCompletions:
    """One configured service that speaks chat completions. Retries: `retries` more attempts."""

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        name: str = "openai-compatible",
        newest: bool = False,
        timeouts: Timeouts | None = None,
        retries: int = 2,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`newest`: send max_completion_tokens first, as OpenAI itself wants it, instead of max_tokens."""
        self.name = name
        self._base_url = base_url
        self._key = api_key.strip() if api_key else None
        self._timeouts = timeouts or Timeouts()
        self._retries = retries
        self._sleep = sleep
        names = ["max_completion_tokens", "max_tokens"]
        self._limits = names if newest else names[::-1]
        self._manners: dict[str, _Manners] = {}
        self._client: AsyncOpenAI | None = None
        self._opening = asyncio.Lock()

    def __repr__(self) -> str:
        return f"ChatCompletions({self.name!r})"

    async def close(self) -> None:
        if self._client is not None:
            client, self._client = self._client, None
            await client.close()

    async def stream(
        self, model: str, prompt: Prompt, meter: Meter | None = None
    ) -> AsyncGenerator[str | Completion, None]:
        """See Provider.stream. Input counts as used once the service has begun to answer."""
        label = f"{self.name}:{model}"
        meter = meter or Meter()
        deadline = asyncio.get_running_loop().time() + self._timeouts.total
        attempt = 0
        while True:
            answer = Answer(label, prompt, meter)
            try:
                stream = await self._ask(model, prompt, deadline)
                answer.begin(prompt_tokens(prompt))
                try:
                    while (chunk := await self._next(stream, answer, deadline)) is not None:
                        for text in answer.add(chunk):
                            yield text
                        if answer.over:
                            break
                finally:
                    await stream.close()
                failed = None if answer.finish else _FaultError("server", "the answer broke off")
            except _FaultError as fault:
                failed = fault
            if failed is None:
                break
            # Raised out here, so that no SDK exception hangs on as the context.
            if answer.text:
                raise ModelError("cut", label, failed.detail, partial=answer.completion("cut"))
            wait = (
                failed.wait
                if failed.wait is not None
                else min(8.0, 0.5 * 2**attempt) * random.uniform(0.75, 1)
            )
            late = asyncio.get_running_loop().time() + wait >= deadline
            if attempt >= self._retries or failed.fault not in RETRIED or wait > LONGEST_WAIT_S or late:
                partial = answer.completion("cut") if answer.begun else None
                raise ModelError(
                    failed.fault, label, failed.detail, partial=partial, retry_after_s=failed.wait
                )
            attempt += 1
            await self._sleep(wait)
        completion = answer.completion()
        if not completion.text and completion.finish in ("end", "length"):
            raise ModelError("empty", label, completion.finish, partial=completion)
        yield completion

    async def _open(self) -> AsyncOpenAI:
        async with self._opening:
            if self._client is None:
                # Importing the SDK takes half a second, loading certificates some more.
                self._client = await asyncio.to_thread(self._build)
            return self._client

    def _build(self) -> AsyncOpenAI:
        from openai import AsyncOpenAI, Timeout

        # Their debug lines name whole URLs, which may hold a key.
        for library in ("openai", "httpx2", "httpcore2"):
            logging.getLogger(library).setLevel(logging.WARNING)
        limits = self._timeouts
        client = AsyncOpenAI(
            base_url=self._base_url,
            # Never None: the SDK would take OPENAI_API_KEY along to whatever server this is.
            api_key=self._key or "-",
            admin_api_key="",
            organization="",
            project="",
            webhook_secret="",
            max_retries=0,
            timeout=Timeout(max(limits.first, limits.idle), connect=limits.connect),
        )
        client.organization = client.project = None
        _ = client.chat.completions  # imported on first use, so: here in the thread
        return client

    async def _ask(self, model: str, prompt: Prompt, deadline: float) -> AsyncStream[ChatCompletionChunk]:
        """Open the stream, minding refused parameters. Raises _FaultError."""
        if self._key and not (self._key.isascii() and self._key.isprintable() and " " not in self._key):
            raise _FaultError("auth", "the key holds characters that no key has")
        client = await self._open()
        from openai import Omit

        manners = self._manners.setdefault(model, _Manners(self._limits[0], {self._limits[1]}))
        messages: Any = [{"role": "system", "content": prompt.system}] if prompt.system else []
        messages += [{"role": message.role, "content": message.text} for message in prompt.messages]
        while True:
            sent = manners.parameters(prompt)
            try:
                async with self._within(self._timeouts.first, deadline):
                    stream: AsyncStream[ChatCompletionChunk] = await client.chat.completions.create(
                        model=model,
                        messages=messages,
                        stream=True,
                        extra_headers=None if self._key else {"Authorization": Omit()},
                        **sent,
                    )
            except _sdk_errors() as error:
                refusal = self._complaint(error)
                if refusal is None or not manners.learn(refusal, sent):
                    fault = self._fault(error, refusal)
                else:
                    log.info("%s: %s refuses a parameter; asking without it", self.name, model)
                    continue
            else:
                kind = stream.response.headers.get("content-type", "")
                if not kind.startswith(("text/html", "application/json")):
                    return stream
                await stream.close()
                fault = _FaultError("server", f"a page of {kind.split(';')[0]} instead of an answer")
            raise fault

    async def _next(
        self, stream: AsyncStream[ChatCompletionChunk], answer: Answer, deadline: float
    ) -> object | None:
        """The next event, or None at the end of the stream. Raises _FaultError."""
        idle = self._timeouts.idle if answer.events else self._timeouts.first
        if answer.finish:
            idle = min(idle, AFTER_FINISH_S)
        try:
            async with self._within(idle, deadline):
                return await anext(stream, None)
        except _sdk_errors(ValueError) as error:
            if answer.finish:
                return None  # whole already; only the usage is missing, and gets estimated
            fault = (
                _FaultError("server", "the answer was not JSON")
                if isinstance(error, ValueError)
                else self._fault(error, self._complaint(error))
            )
        raise fault

    @staticmethod
    def _within(seconds: float, deadline: float) -> asyncio.Timeout:
        return asyncio.timeout_at(min(asyncio.get_running_loop().time() + seconds, deadline))

    def _complaint(self, error: BaseException) -> Complaint | None:
        from openai import APIConnectionError, APIError, APIStatusError

        if isinstance(error, APIStatusError):
            return complaint(error.status_code, error.body, error.response.headers)
        if isinstance(error, APIError) and not isinstance(error, APIConnectionError):
            return complaint(0, error.body)
        return None

    def _fault(self, error: BaseException, said: Complaint | None) -> _FaultError:
        from openai import APITimeoutError

        if said is not None:
            detail = f"{said.status or ''} {said.message}" if said.fault != "auth" else f"{said.status}"
            return _FaultError(said.fault, safe(detail, self._key), said.retry_after_s)
        if isinstance(error, TimeoutError | APITimeoutError):
            return _FaultError("timeout", "no answer in time")
        return _FaultError("connection", type(error.__cause__ or error).__name__)


def _sdk_errors(*more: type[Exception]) -> tuple[type[Exception], ...]:
    from openai import OpenAIError

    return (OpenAIError, TimeoutError, *more)
