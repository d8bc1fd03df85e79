"""What all model services over HTTP have in common: opening, deadlines, retries, faults, one answer.

Both SDKs are generated from one template, so their clients, streams and errors look alike; a subclass for each API
names its SDK and supplies the rest. Retries are made here, because they depend on what has been shown: once text has
been yielded, nothing is asked again.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
import json
import logging
import random
import traceback
from abc import abstractmethod
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Set
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bot.budget import prompt_tokens
from bot.config.text import address
from bot.llm.answer import Answer
from bot.llm.base import Capabilities, Meter, ModelError, ModelFault, Prompt, without_images
from bot.llm.completion import Completion
from bot.llm.deadlines import Deadlines, Timeouts
from bot.llm.error_report import ErrorReport, error_report
from bot.llm.faults import RAW, RETRIED, FaultError, ParameterRules, ReportedError, safe
from bot.llm.fields import field
from bot.llm.openai_client import address_of
from bot.llm.sdk_errors import failed_call, report_of

if TYPE_CHECKING:
    import ssl

log = logging.getLogger(__name__)

LONGEST_WAIT_S = 20.0
"""If a service asks for a longer pause in seconds than this, the fault is reported without waiting."""

LONGEST_SILENCE_S = 3_600.0
"""The connection's own read timeout in seconds; the finer deadlines are ours, and a prompt may lengthen them."""

_NO_STREAM = ("text/html", "application/json")
"""Content types of an answer that is not a stream: a log-in page, or an error with status 200."""

LONGEST_ERROR_BYTES = 100_000

REMEMBERED = 500
"""How many turns are remembered: more than ongoing conversations have."""


class Service:
    """One configured service. Makes `retries` more attempts if the fault may be temporary."""

    sdk: str
    """The name of the SDK's module; imported on first use, in a thread, because that takes half a second."""

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
        headers: Mapping[str, str] | None = None,
        secret_headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> None:
        """`base_url` None is the service's own address; it may have a query, as Azure's does. `capabilities` are those
        in the config. `headers`, `query`, `body` and `secret_headers` go with every request; the values of the last are
        never shown.
        """
        self.name = name
        self._base_url, own_query = address_of(base_url)
        self._key = api_key.strip() if api_key else None
        self._headers = dict(headers or {}) | dict(secret_headers or {})
        self._secrets = (self._key, *(secret_headers or {}).values())
        self._query = own_query | dict(query or {})
        self._body = dict(body or {})
        self._timeouts = timeouts or Timeouts()
        self._retries = retries
        self._sleep = sleep
        self._capabilities = capabilities or Capabilities()
        self._rules: defaultdict[str, ParameterRules] = defaultdict(self._new_rules)
        self._unread: dict[str, None] = {}
        """Turns whose raw blocks a model does not accept back, the oldest first."""
        self._client: Any = None
        self._opening = asyncio.Lock()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @abstractmethod
    def _build(self, sdk: Any, http: Any) -> Any:
        """The SDK's asynchronous client on `http`, without its own retries and without any setting from the
        environment."""

    @abstractmethod
    def _request(self, model: str, prompt: Prompt, left_out: Set[str]) -> dict[str, Any]:
        """The parameters of the call; those in `left_out` are removed afterwards, and may be replaced here by other
        means.
        """

    @abstractmethod
    async def _send(self, client: Any, request: dict[str, Any], *, whole: bool) -> Any:
        """Make the call: the SDK's stream, or the whole answer."""

    @abstractmethod
    def _answer(self, label: str, prompt: Prompt, meter: Meter) -> Answer: ...

    def _new_rules(self) -> ParameterRules:
        """Which parameters this service's models may refuse."""
        return ParameterRules()

    async def _count(self, client: Any, request: dict[str, Any]) -> object:
        """Input tokens of the `request`, as the service counts them; None if it cannot."""
        return None

    async def count(self, model: str, prompt: Prompt) -> int | None:
        """See Provider.count. Tries only once: a count is not worth waiting for."""
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
            # AttributeError: the answer is not a count.
            if not isinstance(error, AttributeError) and not failed_call(self.sdk, error):
                raise
            log.info("%s: %s was not counted: %s", self.name, model, type(error).__name__)
            return None
        return tokens if isinstance(tokens, int) else None

    def capabilities(self, model: str) -> Capabilities:
        """See Provider.capabilities: those in the config, except what the model has refused since."""
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
        rules = self._rules[model]
        whole = whole or not rules.streams
        overrides: dict[str, Any] = {}
        attempt = 0
        unseen = False
        answer: Answer | None = None
        while True:
            if answer is None or not answer.paused:  # a paused one is continued
                answer, current = self._answer(label, prompt, meter), prompt
                answer.unseen = unseen
            before = meter.usage
            request: dict[str, Any] = {}
            try:
                while True:
                    tokens = await asyncio.to_thread(prompt_tokens, current)
                    before = meter.usage
                    request = self._fitted(model, current, overrides)
                    opened = await self._ask(request, deadlines, whole=whole)
                    answer.begin(tokens)
                    if whole:
                        for text in answer.add(opened):
                            yield text
                    else:
                        try:
                            while (event := await self._next_event(opened, answer, deadlines)) is not None:
                                for text in answer.add(event):
                                    yield text
                                if answer.finished:
                                    break
                        finally:
                            await opened.close()
                    if not answer.paused:
                        break
                    await _again(meter)
                    current = answer.continuation(current)
                failed = None
                if not answer.finish:
                    reason = self._safe(answer.ending) or "the answer ended for no known reason"
                    failed = FaultError("server", reason)
            except FaultError as fault:
                failed = fault
            except ReportedError as told:
                failed = self._reported_fault(told.report)
            # Raised out here, so that no SDK exception is attached to it as its context.
            if failed is not None and failed.fault == "refusal":
                log.info("%s declined: %s", label, failed.detail)
                answer.finish, failed = "refusal", None
            if failed is None:
                break
            if answer.text and not answer.paused:
                raise ModelError("cut", label, failed.detail, partial=answer.completion("cut"))
            if failed.report is not None:
                if prompt.images and not answer.paused and (images_fault := failed.report.images):
                    rules.sees = rules.sees and images_fault != "none"
                    log.info("%s refuses the images; asking without them", label)
                    prompt, unseen, meter.usage = without_images(prompt), True, before
                    continue
                if not whole and failed.report.unstreamed:
                    log.info("%s does not stream; asking in one piece", label)
                    rules.streams, whole, meter.usage = False, True, before
                    continue
                if rules.learn(failed.report, request, overrides):
                    log.info("%s refuses a parameter; asking otherwise", label)
                    rules.learnt = True
                    if RAW in overrides:
                        self._remember(model, current)
                    meter.usage = before
                    continue
            wait = (
                failed.wait
                if failed.wait is not None
                else min(8.0, 0.5 * 2**attempt) * random.uniform(0.75, 1)
            )
            retry = attempt < self._retries and failed.fault in RETRIED and wait <= LONGEST_WAIT_S
            if not retry or not deadlines.allow(wait):
                partial = answer.completion("cut") if answer.started else None
                kind: ModelFault = "cut" if answer.text else failed.fault
                raise ModelError(kind, label, failed.detail, partial=partial, retry_after_s=failed.wait)
            attempt += 1
            if answer.started and not answer.paused:  # the rest of a paused answer is reserved already
                await _again(meter)
            await self._sleep(wait)
        completion = answer.completion()
        if not (answer.text or answer.calls) and completion.finish in ("end", "length"):
            raise ModelError("empty", label, completion.finish, partial=completion)
        yield completion

    def _safe(self, text: str) -> str:
        return safe(text, *self._secrets)

    async def prepare(self) -> None:
        """Make the client, so that the first call need not wait for it. A failure is reported by the first call."""
        with suppress(FaultError):
            await self._open()

    async def _open(self) -> Any:
        """Make the client. Raises FaultError for a key that cannot be sent, or if the SDK cannot be set up."""
        headers = (self._key or "", *self._headers.values())
        if " " in headers[0] or not all(text.isascii() and text.isprintable() for text in headers):
            raise FaultError("auth", "the key or a header has characters that cannot be sent")
        async with self._opening:
            if self._client is None:
                if self._base_url is not None and not address(self._base_url):
                    raise FaultError("connection", "base_url is no address")
                # Importing the SDK takes half a second, loading certificates some more.
                try:
                    self._client = await asyncio.to_thread(self._make)
                except Exception as error:
                    if not failed_call(self.sdk, error):
                        raise
                    fault = self._fault(error, None)
                else:
                    return self._client
                raise fault
            return self._client

    def _make(self) -> Any:
        sdk = importlib.import_module(self.sdk)
        # Their debug lines contain whole URLs, which may contain a key.
        for library in (self.sdk, "httpx2", "httpcore2"):
            logging.getLogger(library).setLevel(logging.WARNING)
        limits = self._timeouts
        timeout = sdk.Timeout(max(limits.total, LONGEST_SILENCE_S), connect=limits.connect)
        # Requests go only to the configured address: redirects are not followed.
        http = sdk.DefaultAsyncHttpxClient(
            timeout=timeout,
            follow_redirects=False,
            verify=_certificates(),
            # Events are filtered before they are parsed (`activity`), which compressed ones cannot be.
            headers={"Accept-Encoding": "identity"} | self._headers,
            params=self._query,
        )
        return self._build(sdk, http)

    def _fitted(self, model: str, prompt: Prompt, overrides: dict[str, Any]) -> dict[str, Any]:
        """The parameters of the call that this model is known to accept."""
        rules = self._rules[model]
        # Thoughts that were refused once are not sent again, in any conversation; others are.
        if self._unread and not self._unread.keys().isdisjoint(_turns(model, prompt)):
            overrides[RAW] = None
        left_out = rules.left_out | {RAW} if RAW in overrides else rules.left_out
        request = self._request(model, prompt, left_out)
        return rules.fit(request, overrides) if rules.learnt else request

    def _remember(self, model: str, prompt: Prompt) -> None:
        """Remember the turns whose thoughts this model does not accept."""
        self._unread |= dict.fromkeys(_turns(model, prompt))
        while len(self._unread) > REMEMBERED:
            del self._unread[next(iter(self._unread))]

    async def _ask(self, request: dict[str, Any], deadlines: Deadlines, *, whole: bool) -> Any:
        """Send the request: returns the stream, or the whole answer. Raises FaultError."""
        client = self._client or await self._open()
        try:
            limits = deadlines.limits
            async with deadlines.within(limits.total if whole else limits.first):
                opened = await self._send(client, request, whole=whole)
                if whole:
                    body = opened
                elif opened.response.headers.get("content-type", "").startswith(_NO_STREAM):
                    body = await _read(opened)
                else:
                    from bot.llm.activity import ActivityStream

                    response = opened.response
                    plain = response.headers.get("content-encoding", "identity") == "identity"
                    response.stream = ActivityStream(response.stream, deadlines.activity, filtered=plain)
                    return opened
        except Exception as error:
            if not failed_call(self.sdk, error):
                raise
            fault = self._fault(error, report_of(self.sdk, error))
        else:
            # An error with status 200. A failed response of OpenAI's counts as an answer, and is billed.
            reported = None if field(body, "object") == "response" else field(body, "error")
            if reported and not isinstance(body, str):
                fault = self._reported_fault(
                    error_report(0, body if isinstance(body, Mapping) else {"error": reported})
                )
            elif whole and not isinstance(body, str):  # the SDKs return a str if it is not JSON
                return body
            else:
                fault = FaultError("server", "a page instead of an answer")
        raise fault

    async def _next_event(self, stream: Any, answer: Answer, deadlines: Deadlines) -> object | None:
        """The next event, or None at the end of the stream. Raises FaultError."""
        try:
            async with deadlines.next_event(answer):
                event: object | None = await anext(stream, None)
                return event
        except Exception as error:
            if not failed_call(self.sdk, error):
                raise
            if answer.finish:
                return None  # already complete; only the usage is missing, which is estimated
            fault = self._fault(error, report_of(self.sdk, error))
        raise fault

    def _reported_fault(self, report: ErrorReport) -> FaultError:
        """The fault that a service has reported, in its own words."""
        words = (report.message or report.code or report.kind) if report.fault != "auth" else ""
        detail = self._safe(f"{report.status or ''} {words}") or "no reason given"
        return FaultError(report.fault, detail, report.wait_s, report)

    def _fault(self, error: BaseException, report: ErrorReport | None) -> FaultError:
        if report is not None:
            return self._reported_fault(report)
        if isinstance(error, TimeoutError | importlib.import_module(self.sdk).APITimeoutError):
            return FaultError("timeout", "no answer in time")
        if isinstance(error, ValueError | RecursionError):
            return FaultError("server", "the answer was not JSON")
        if not isinstance(error, importlib.import_module(self.sdk).APIError):
            # Log where it was raised, but not its text, which may contain the key.
            frame, line = list(traceback.walk_tb(error.__traceback__))[-1]
            location = f"{frame.f_globals.get('__name__')}:{line}"
            return FaultError("server", f"{self.sdk} failed with {type(error).__name__} in {location}")
        return FaultError("connection", type(error.__cause__ or error).__name__)


async def _again(meter: Meter) -> None:
    """Reserve the prompt's cost once more, because it is about to be billed again."""
    if meter.again is not None:
        await meter.again()


@functools.cache
def _certificates() -> ssl.SSLContext:
    """The trusted certificates; all services share them, because reading them takes a tenth of a second."""
    from httpx2 import create_ssl_context

    return create_ssl_context()


def _turns(model: str, prompt: Prompt) -> list[str]:
    """A key for each turn of the prompt that a model wrote."""
    return [f"{model} {hash(message.raw)}" for message in prompt.messages if message.raw]


async def _read(opened: Any) -> object:
    """The JSON that came instead of a stream; "" for anything else."""
    body = b""
    try:
        async for chunk in opened.response.aiter_bytes():
            body += chunk
            if len(body) > LONGEST_ERROR_BYTES:
                return ""
        value: object = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    finally:
        await opened.close()
    # Gemini's errors are lists.
    return value[0] if isinstance(value, list) and value else value
