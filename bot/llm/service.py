"""What every model service over HTTP has in common: opening, deadlines, retries, faults, one answer.

Both SDKs are generated from one template, so their clients, streams and errors look alike; a wire names
its SDK and supplies the rest. Retries are ours, because what may be retried depends on what has been
shown already: nothing is asked again once text has been yielded.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
import logging
import random
import traceback
from abc import abstractmethod
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Set
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from types import FrameType
from typing import TYPE_CHECKING, Any

from bot.budget import prompt_tokens
from bot.config.text import address
from bot.llm.answer import Answer
from bot.llm.base import Capabilities, Completion, Meter, ModelError, Prompt, without_images
from bot.llm.faults import (
    RAW,
    RETRIED,
    ErrorReport,
    FaultError,
    ImageFault,
    ParameterRules,
    error_report,
    safe,
)

if TYPE_CHECKING:
    import ssl

log = logging.getLogger(__name__)

LONGEST_WAIT_S = 20.0
"""A service that asks for a longer pause than this is reported instead of waited for."""

LONGEST_SILENCE_S = 3_600.0
"""What the connection itself bears; the finer deadlines are ours, and a prompt may lengthen them."""

_NO_STREAM = ("text/html", "application/json")
"""A log-in page, or an error told with status 200."""

REMEMBERED = 500
"""Turns: more are in no talk that is still going on."""


AFTER_FINISH_S = 3.0
"""How long the usage may lag behind the finish reason before it is estimated."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds: to connect; until the first event (a local model reads its prompt); between events; in all."""

    connect: float = 10.0
    first: float = 120.0
    idle: float = 45.0
    total: float = 600.0


class Deadlines:
    """The deadlines of one question over all its attempts, counted from now.

    `limits` are the timeouts, each except `connect` at least `min_timeout` seconds: see Prompt.
    """

    def __init__(self, timeouts: Timeouts, min_timeout: float | None) -> None:
        least = min_timeout or 0.0
        self.limits = replace(
            timeouts,
            first=max(timeouts.first, least),
            idle=max(timeouts.idle, least),
            total=max(timeouts.total, least),
        )
        now = asyncio.get_running_loop().time()
        self._end = now + self.limits.total
        # No new attempt after `min_timeout` has passed.
        self._last_attempt = self._end if min_timeout is None else now + min_timeout
        self._timer: asyncio.Timeout | None = None
        self._silence = 0.0

    def within(self, seconds: float) -> asyncio.Timeout:
        """The deadline for what may take so many seconds, and not longer than what is left in all."""
        return asyncio.timeout_at(min(asyncio.get_running_loop().time() + seconds, self._end))

    @asynccontextmanager
    async def next_event(self, answer: Answer) -> AsyncIterator[asyncio.Timeout]:
        """The deadline for the next event of `answer`; restarted by any `activity`."""
        idle = self.limits.idle if answer.events else self.limits.first
        async with self.within(min(idle, AFTER_FINISH_S) if answer.finish else idle) as timer:
            # Once the answer is whole, only its usage is waited for.
            self._timer, self._silence = None if answer.finish else timer, idle
            try:
                yield timer
            finally:
                self._timer = None

    def activity(self) -> None:
        """Bytes came from the service: restart the idle timeout. The total deadline stays."""
        if self._timer is not None and not self._timer.expired():
            self._timer.reschedule(min(asyncio.get_running_loop().time() + self._silence, self._end))

    def allow(self, wait: float) -> bool:
        """Whether there may be another attempt in `wait` seconds."""
        return asyncio.get_running_loop().time() + wait < self._last_attempt


class Service:
    """One configured service. Retries: `retries` more attempts, where the fault may pass."""

    sdk: str
    """The SDK's module; imported on first use, in a thread, because that takes half a second."""

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        name: str = "service",
        timeouts: Timeouts | None = None,
        retries: int = 2,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        capabilities: Capabilities | None = None,
    ) -> None:
        """`base_url` None is the service's own address. `capabilities` as the config has them."""
        self.name = name
        self._base_url = base_url
        self._key = api_key.strip() if api_key else None
        self._timeouts = timeouts or Timeouts()
        self._retries = retries
        self._sleep = sleep
        self._capabilities = capabilities or Capabilities()
        self._rules: defaultdict[str, ParameterRules] = defaultdict(self._new_rules)
        self._unread: dict[str, None] = {}
        """Turns whose thoughts a model does not read again, the oldest first."""
        self._client: Any = None
        self._opening = asyncio.Lock()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @abstractmethod
    def _build(self, sdk: Any, http: Any) -> Any:
        """The SDK's asynchronous client on `http`, without retries of its own, and with nothing of the
        environment."""

    @abstractmethod
    def _request(self, model: str, prompt: Prompt, left_out: Set[str]) -> dict[str, Any]:
        """The parameters of the call; what is `left_out` is taken away afterwards, and may be made up for."""

    @abstractmethod
    async def _send(self, client: Any, request: dict[str, Any], *, whole: bool) -> Any:
        """Make the call: the SDK's stream, or the whole answer."""

    @abstractmethod
    def _answer(self, label: str, prompt: Prompt, meter: Meter) -> Answer: ...

    def _new_rules(self) -> ParameterRules:
        """Which parameters this service's models may refuse."""
        return ParameterRules()

    async def _count(self, client: Any, request: dict[str, Any]) -> object:
        """Input tokens of what would be `sent`, as the service counts them; None where it cannot."""
        return None

    async def count(self, model: str, prompt: Prompt) -> int | None:
        """See Provider.count. One try: a count is not worth waiting for."""
        rules = self._rules[model]
        request = rules.fit(self._request(model, prompt, rules.left_out), {})
        try:
            client = self._client or await self._open()
        except FaultError:
            return None
        try:
            async with asyncio.timeout(self._timeouts.first):
                tokens = await self._count(client, request)
        except Exception as error:
            # AttributeError: what came back is no count.
            if not isinstance(error, AttributeError) and not self._theirs(error):
                raise
            log.info("%s: %s was not counted: %s", self.name, model, type(error).__name__)
            return None
        return tokens if isinstance(tokens, int) else None

    def capabilities(self, model: str) -> Capabilities:
        """See Provider.capabilities: as the config has them, but for what the model has refused since."""
        rules = self._rules.get(model)
        blind = rules is not None and not rules.sees
        return replace(self._capabilities, sees=False) if blind else self._capabilities

    async def close(self) -> None:
        if self._client is not None:
            client, self._client = self._client, None
            await client.close()

    async def stream(
        self, model: str, prompt: Prompt, meter: Meter | None = None, *, whole: bool = False
    ) -> AsyncGenerator[str | Completion, None]:
        """See Provider.stream. Input counts as used once the service has begun to answer."""
        label = f"{self.name}:{model}"
        meter = meter or Meter()
        deadlines = Deadlines(self._timeouts, prompt.min_timeout)
        attempt = 0
        unseen = False
        while True:
            answer = self._answer(label, prompt, meter)
            answer.unseen = unseen
            current = prompt
            try:
                while True:
                    opened = await self._ask(model, current, deadlines, whole=whole)
                    answer.begin(prompt_tokens(current))
                    if whole:
                        for text in answer.add(opened):
                            yield text
                    else:
                        try:
                            while (event := await self._next(opened, answer, deadlines)) is not None:
                                for text in answer.add(event):
                                    yield text
                                if answer.over:
                                    break
                        finally:
                            await opened.close()
                    if not answer.paused:
                        break
                    current = answer.continuation(current)
                failed = None if answer.finish else FaultError("server", "the answer broke off")
            except FaultError as fault:
                if isinstance(fault, ImageFault) and not answer.text:
                    prompt, unseen = without_images(prompt), True
                    continue
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
            retry = attempt < self._retries and failed.fault in RETRIED and wait <= LONGEST_WAIT_S
            if not retry or not deadlines.allow(wait):
                partial = answer.completion("cut") if answer.begun else None
                raise ModelError(
                    failed.fault, label, failed.detail, partial=partial, retry_after_s=failed.wait
                )
            attempt += 1
            await self._sleep(wait)
        completion = answer.completion()
        if not (answer.text or answer.calls) and completion.finish in ("end", "length"):
            raise ModelError("empty", label, completion.finish, partial=completion)
        yield completion

    async def prepare(self) -> None:
        """Make the client, so that the first call need not wait for it. What fails the first call says."""
        with suppress(FaultError):
            await self._open()

    async def _open(self) -> Any:
        """Make the client. Raises FaultError for a key that cannot be sent, or when the SDK cannot be made ready."""
        if self._key and not (self._key.isascii() and self._key.isprintable() and " " not in self._key):
            raise FaultError("auth", "the key holds characters that no key has")
        async with self._opening:
            if self._client is None:
                if self._base_url is not None and not address(self._base_url):
                    raise FaultError("connection", "base_url is no address")
                # Importing the SDK takes half a second, loading certificates some more.
                try:
                    self._client = await asyncio.to_thread(self._make)
                except Exception as error:
                    if not self._theirs(error):
                        raise
                    fault = self._fault(error, None)
                else:
                    return self._client
                raise fault
            return self._client

    def _make(self) -> Any:
        sdk = importlib.import_module(self.sdk)
        # Their debug lines name whole URLs, which may hold a key.
        for library in (self.sdk, "httpx2", "httpcore2"):
            logging.getLogger(library).setLevel(logging.WARNING)
        limits = self._timeouts
        timeout = sdk.Timeout(max(limits.total, LONGEST_SILENCE_S), connect=limits.connect)
        # What is asked goes to the address in the config, and to no other that this one may name.
        http = sdk.DefaultAsyncHttpxClient(timeout=timeout, follow_redirects=False, verify=_certificates())
        return self._build(sdk, http)

    async def _ask(self, model: str, prompt: Prompt, deadlines: Deadlines, *, whole: bool) -> Any:
        """The stream, or the whole answer, minding refused parameters. Raises FaultError."""
        client = self._client or await self._open()
        rules = self._rules[model]
        # Thoughts that were refused once are not sent again, in whatever talk they come; others are.
        talk = [f"{model} {hash(message.raw)}" for message in prompt.messages if message.raw]
        overrides: dict[str, Any] = {}
        if not self._unread.keys().isdisjoint(talk):
            overrides[RAW] = None
        while True:
            left_out = rules.left_out | {RAW} if RAW in overrides else rules.left_out
            request = rules.fit(self._request(model, prompt, left_out), overrides)
            try:
                limits = deadlines.limits
                async with deadlines.within(limits.total if whole else limits.first):
                    opened = await self._send(client, request, whole=whole)
            except Exception as error:
                if not self._theirs(error):
                    raise
                refusal = self._error_report(error)
                if refusal is not None and prompt.images and (why := refusal.images):
                    rules.sees = rules.sees and why != "none"
                    log.info("%s: %s refuses the images; asking without them", self.name, model)
                    fault = self._fault(error, refusal)
                    fault = ImageFault(fault.fault, fault.detail, fault.wait)
                elif refusal is None or not rules.learn(refusal, request, overrides):
                    fault = self._fault(error, refusal)
                else:
                    log.info("%s: %s refuses a parameter; asking otherwise", self.name, model)
                    if RAW in overrides:
                        self._unread |= dict.fromkeys(talk)
                    while len(self._unread) > REMEMBERED:
                        del self._unread[next(iter(self._unread))]
                    continue
            else:
                if isinstance(opened, str):  # what the SDKs make of a whole answer that is no JSON
                    fault = FaultError("server", "a page instead of an answer")
                elif whole:
                    return opened
                elif opened.response.headers.get("content-type", "").startswith(_NO_STREAM):
                    await opened.close()
                    fault = FaultError("server", "a page instead of an answer")
                else:
                    from bot.llm.activity import ActivityStream

                    opened.response.stream = ActivityStream(opened.response.stream, deadlines.activity)
                    return opened
            raise fault

    async def _next(self, stream: Any, answer: Answer, deadlines: Deadlines) -> object | None:
        """The next event, or None at the end of the stream. Raises FaultError."""
        try:
            async with deadlines.next_event(answer):
                event: object | None = await anext(stream, None)
                return event
        except Exception as error:
            if not self._theirs(error):
                raise
            if answer.finish:
                return None  # whole already; only the usage is missing, and gets estimated
            fault = self._fault(error, self._error_report(error))
        raise fault

    def _theirs(self, error: Exception) -> bool:
        """Whether the call failed: as a call may, or by a mistake of the SDK's. One of ours is raised on."""
        named = (importlib.import_module(self.sdk).APIError, TimeoutError, ValueError, RecursionError)
        if isinstance(error, named):
            return True
        return any(_package(frame) == self.sdk for frame, _ in traceback.walk_tb(error.__traceback__))

    def _error_report(self, error: BaseException) -> ErrorReport | None:
        sdk = importlib.import_module(self.sdk)
        if isinstance(error, sdk.APIStatusError) and error.status_code >= 300:
            return error_report(error.status_code, error.body, error.response.headers)
        if isinstance(error, sdk.APIError) and not isinstance(error, sdk.APIConnectionError):
            return error_report(0, error.body)
        return None

    def _fault(self, error: BaseException, report: ErrorReport | None) -> FaultError:
        if report is not None:
            detail = (
                f"{report.status or ''} {report.message}" if report.fault != "auth" else f"{report.status}"
            )
            return FaultError(report.fault, safe(detail, self._key), report.retry_after_s)
        if isinstance(error, TimeoutError | importlib.import_module(self.sdk).APITimeoutError):
            return FaultError("timeout", "no answer in time")
        if isinstance(error, ValueError | RecursionError):
            return FaultError("server", "the answer was not JSON")
        if not isinstance(error, importlib.import_module(self.sdk).APIError):
            # Where it was raised and not what it says, which may hold the key.
            frame, line = list(traceback.walk_tb(error.__traceback__))[-1]
            where = f"{frame.f_globals.get('__name__')}:{line}"
            return FaultError("server", f"{self.sdk} failed with {type(error).__name__} in {where}")
        return FaultError("connection", type(error.__cause__ or error).__name__)


@functools.cache
def _certificates() -> ssl.SSLContext:
    """What servers are trusted by; all services share it, since it takes a tenth of a second to read."""
    from httpx2 import create_ssl_context

    return create_ssl_context()


def _package(frame: FrameType) -> str:
    """The name of the package whose code runs in the frame."""
    return str(frame.f_globals.get("__name__")).partition(".")[0]
