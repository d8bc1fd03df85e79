"""Interprets the errors of a model service: the fault, whether to retry, which parameter to drop, how long to pause.

What is learnt of a model is kept while we run. Knows no SDK: only status numbers, the fields of an error body, headers,
and parameters by name.
"""

from __future__ import annotations

import email.utils
import math
import re
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from bot.events import UserError
from bot.llm.base import ModelError, ModelFault

LEAST_OUTPUT = 16
"""A number below this is not taken for a model's limit (OpenAI accepts no lower one)."""

LEAST_LEFT = 256
"""The least tokens that a prompt must leave of the window; otherwise it counts as too long."""

LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
"""The names of the parameter that bounds the answer."""

RETRIED: frozenset[ModelFault] = frozenset({"rate_limit", "timeout", "connection", "server"})

_CONTEXT = re.compile(
    r"context[ _-]?(length|window|size)|maximum context|prompt is too long|too many tokens|exceed_context",
    re.I,
)
_QUOTA = re.compile(
    r"insufficient[_ ](quota|balance|credit|funds)|billing|exceeded your current quota"
    r"|balance is too low|spend[_ ]limit",
    re.I,
)
_WRONG_KEY = re.compile(r"api key not valid|api_key_invalid", re.I)
_LIMIT = re.compile(r"max_?(?:completion_?|output_?|new_?)?tokens|maximum context length", re.I)
_WINDOW = re.compile(
    r"maximum context length is (?P<window>\d+) tokens"
    r".*?\b(?P<input>\d+) (?:input tokens|in the messages|in your prompt)",
    re.I | re.S,
)
_MOST = re.compile(
    r"(?:at most|<=|less than or equal to|no more than|up to|> |maximum (?:value )?(?:is|of)|\[\s*\d+\s*,)"
    r"[\s`'\"]*(?P<most>\d+)",
    re.I,
)
_NO_IMAGES = re.compile(
    r"(?:not|n['’]t) (?:currently )?(?:support|accept|take) (?:any )?"
    r"(?:images?|vision|multi-?modal|image_url|input_image)"
    r"|(?:images?|vision|multi-?modal)(?: (?:inputs?|contents?))? (?:is|are) not (?:supported|enabled|available)"
    r"|image_url is only supported by|that support image input|not a multi-?modal model"
    r"|data required for image input|unsupported content (?:part )?type|unknown variant \W?image_url"
    r"|allowed values: \[\W?text\W?\]|content must be a string",
    re.I,
)
"""How services say that a model takes no images at all: OpenAI ("Invalid content type. image_url is only supported by
certain models."), OpenRouter ("No endpoints found that support image input"), vLLM ("… is not a multimodal model"),
llama.cpp ("image input is not supported", with status 500), Ollama ("this model is missing data required for image
input"), DeepSeek ("unknown variant `image_url`, expected `text`"), and servers that take texts alone."""
_THESE_IMAGES = re.compile(
    r"(?<![\w-])(?:images?|image_url|input_image)(?![\w-])|image_(?:parse|format|too)", re.I
)
_ONE_OF_THEM = re.compile(r"\bformats?\b|animated|media.?type|mime|corrupt|decod|pixels|bytes", re.I)
"""Words about one image, not about images as such; llama.cpp repeats the whole prompt after them."""
_DATA = re.compile(r"data:[\w/+.-]+;base64,|[A-Za-z0-9+/=]{80,}")
"""Image data that a service repeats in an error."""
_KEYS = re.compile(r"\b(?:sk|pk|rk|key|gsk|xai)[-_][\w*.\-]{4,}|Bearer\s+\S+", re.I)

_STATUS = {
    "invalid_request_error": 400,
    "invalid_prompt": 400,
    "context_length_exceeded": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "billing_error": 402,
    "insufficient_quota": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "model_not_found": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The status for an error inside a stream, which has none of its own."""

_VALUE = re.compile(
    r"max_?(?:completion_|output_)?tokens\W.{0,60}(?:too (?:large|high|big)|exceed|above|out of range)", re.I
)
"""Words about a limit's value that is refused, not about the parameter itself."""

RESTS_S = {"quota": 300.0, "auth": 300.0, "timeout": 60.0, "connection": 30.0}
"""Seconds for which a model with this fault is asked after the others of its chain."""

LONGEST_REST_S = 900.0
"""The longest pause, when the service says how long to wait."""

_PASSED = {
    "model.key_missing": "auth",
    "model.demo_absent": "not_found",
    "model.demo_broken": "not_found",
    "model.demo_runtime": "not_found",
    "config.role_provider": "not_found",
}
"""The fault shown for a model that could not be asked at all."""


RAW = "raw"
"""Stands among what is left out of a request for what a model wrote for itself in its earlier turns (`Completion.raw`),
its thoughts at least: of this talk only, which is refused with it."""


class FaultError(Exception):
    """A failed attempt, already without the SDK's exception, which may hold the key."""

    def __init__(self, fault: ModelFault, detail: str, wait: float | None = None) -> None:
        super().__init__(fault)
        self.fault: ModelFault = fault
        self.detail = detail
        self.wait = wait


class ImageFault(FaultError):
    """The prompt's images are at fault: it may be asked again without them."""


@dataclass(frozen=True, slots=True)
class ErrorReport:
    """An error as the service reported it. `status` is 0 where there was none."""

    status: int
    message: str = ""
    code: str = ""
    kind: str = ""
    param: str = ""
    retry_after_s: float | None = None

    @property
    def fault(self) -> ModelFault:
        """The fault; an unknown status below 500 is a bad request."""
        words = f"{self.code} {self.kind} {self.message}"
        status = self.status
        if status == 402 or (status in (400, 403, 429) and _QUOTA.search(words)):
            return "quota"
        if status in (401, 403) or (status == 400 and _WRONG_KEY.search(words)):
            return "auth"
        if status == 413 or (status in (400, 422, 500) and _CONTEXT.search(words)):
            return "context"
        if status == 404:
            return "not_found"
        if status == 429:
            return "rate_limit"
        if status in (408, 504):
            return "timeout"
        if status in (0, 409, 425) or status >= 500:
            return "server"
        return "bad_request"

    def most_output(self, requested: int) -> int | None:
        """The most tokens that an answer may have, where the service refuses `requested` and says how many it takes:
        by its model's limit, or by what the prompt leaves of the context window."""
        if self.status not in (400, 422) or not _LIMIT.search(f"{self.param} {self.message}"):
            return None
        message = re.sub(r"(?<=\d),(?=\d{3}\b)", "", self.message)
        if window := _WINDOW.search(message):
            most = int(window["window"]) - int(window["input"])
        elif match := _MOST.search(message):
            most = int(match["most"])
        else:
            numbers = {int(number) for number in re.findall(r"(?<![\w.-])\d{2,9}(?![\w-])", message)} - {
                requested
            }
            most = numbers.pop() if len(numbers) == 1 else 0
        most -= "(exclusive)" in message
        least = min(requested, LEAST_LEFT) if window else LEAST_OUTPUT
        return most if least <= most < requested else None

    @property
    def images(self) -> Literal["", "none", "these"]:
        """Of a request with images: whether it is refused because the model takes none, or because of these."""
        words = f"{self.code} {self.param} {self.message}"
        about_one = _ONE_OF_THEM.search(self.message.partition("messages = ")[0]) is not None
        if self.status in (400, 404, 415, 422, 500, 501) and _NO_IMAGES.search(words) and not about_one:
            return "none"
        large = self.status == 413
        return "these" if large or (self.status in (400, 422) and _THESE_IMAGES.search(words)) else ""

    def refuses(self, parameter: str) -> bool:
        """Whether the service complains about this parameter of the request."""
        if self.status not in (400, 422) or self.fault == "context":
            return False
        if self.param:
            return self.param.split(".")[-1] == parameter or self.param.split(".")[0] == parameter
        return re.search(rf"\b{parameter}\b", self.message) is not None


def error_report(status: int, body: object, headers: Mapping[str, str] | None = None) -> ErrorReport:
    """Read an error body in any of the shapes that compatible services use."""
    if isinstance(body, list):  # as Gemini wraps it
        body = next((entry for entry in body if isinstance(entry, Mapping)), None)
    inner = body.get("error", body) if isinstance(body, Mapping) else body
    if not isinstance(inner, Mapping):
        text = inner if isinstance(inner, str) and not inner.lstrip().startswith("<") else ""
        return ErrorReport(status, text, retry_after_s=retry_after(headers or {}))
    code = inner.get("code")
    if not status and isinstance(code, int) and 400 <= code < 600:
        status = code  # an error inside the stream, as OpenRouter and vLLM send it
    status = status or _STATUS.get(str(code)) or _STATUS.get(str(inner.get("type"))) or 0

    def word(name: str) -> str:
        value = inner.get(name)
        return str(value) if value is not None else ""

    # FastAPI servers say "detail", as text or as a list of what is wrong.
    message = word("message") or word("detail")
    # Anthropic says which of its limits was met one level below.
    details = inner.get("details")
    anthropic_code = str(details.get("error_code") or "") if isinstance(details, Mapping) else ""
    wait = retry_after(headers or {})
    for detail in details if wait is None and isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, Mapping) else None
        if isinstance(delay, str) and re.fullmatch(r"\d{1,6}(?:\.\d+)?s", delay):  # Google's RetryInfo
            wait = float(delay[:-1])
    kind = word("type") or word("status")
    return ErrorReport(status, message, word("code") or anthropic_code, kind, word("param"), wait)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds a service asks to wait: Retry-After as seconds or date (RFC 9110, 10.2.3), or -ms."""
    seconds: float | None = None
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * scale
            break
        except (KeyError, ValueError):
            continue
    else:
        date = email.utils.parsedate_tz(headers.get("retry-after", ""))
        if date is not None:
            with suppress(ValueError, OverflowError):  # a year out of range
                seconds = email.utils.mktime_tz(date) - time.time()
    return max(0.0, seconds) if seconds is not None and math.isfinite(seconds) else None


def safe(text: str, key: str | None) -> str:
    """`text` on one short line without the key, anything that looks like one, an image, or what does not print."""
    if key:
        text = text.replace(key, "***")
    text = _KEYS.sub("***", _DATA.sub("…", text))
    printable = "".join(character if character.isprintable() else " " for character in text)
    return " ".join(printable.split())[:200]


@dataclass(slots=True)
class ParameterRules:
    """`optional` parameters may be left out; those of `other_names` may be called otherwise. `sees`: nothing has
    said as yet that the model takes no images.

    Each lesson is learnt once.
    """

    optional: tuple[str, ...] = ()
    other_names: dict[str, str] = field(default_factory=dict)
    left_out: set[str] = field(default_factory=set)
    sees: bool = True
    _renamed: dict[str, str] = field(default_factory=dict)
    _most: int | None = None

    def fit(self, request: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters as this model takes them, with the values of `overrides`: see `learn`."""
        fitted: dict[str, Any] = {}
        for name, value in request.items():
            if name in self.left_out:
                continue
            if name in LIMITS and self._most is not None:
                value = min(value, self._most)
            name = self._renamed.get(name, name)
            fitted[name] = overrides.get(name, value)
        return fitted

    def learn(self, error: ErrorReport, request: Mapping[str, Any], overrides: dict[str, Any]) -> bool:
        """Learn from the error which parameter of the `request` (as fitted) is refused. True when a retry may help.

        What holds for this prompt only goes into `overrides`: other values, and RAW where that is to be left out.
        """
        for name in LIMITS:
            if name in request and name not in overrides and (most := error.most_output(request[name])):
                overrides[name] = most
                # What a long prompt leaves of the window says nothing about the next prompt.
                if error.fault != "context":
                    self._most = most
                return True
            if name in request and error.fault == "bad_request" and _VALUE.search(error.message):
                return False
        for name in self.optional:
            if name in request and error.refuses(name):
                self.left_out.add(name)
                return True
        for name, other_name in self.other_names.items():
            if name in request and error.refuses(name):
                del self.other_names[name]
                self._renamed[name] = other_name
                return True
        return False


class Cooldowns:
    """Models that failed lately and are asked last for a while. Kept in memory only."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._until: dict[str, tuple[float, str]] = {}
        """By model: the end of its pause, and the fault."""

    def active(self, chain: Iterable[str]) -> dict[str, str]:
        """The models of `chain` that are paused now, with the fault."""
        now = self._clock()
        return {model: self._until[model][1] for model in chain if self._until.get(model, (now,))[0] > now}

    def start(self, model: str, error: UserError) -> str:
        """Pause a model for as long as its fault suggests; returns the fault's name."""
        fault = error.fault if isinstance(error, ModelError) else _PASSED.get(error.key, "server")
        rest = RESTS_S.get(fault, 0.0)
        if fault == "rate_limit" and isinstance(error, ModelError) and error.retry_after_s:
            rest = min(error.retry_after_s, LONGEST_REST_S)
        if rest:
            self._until[model] = (self._clock() + rest, fault)
        return fault

    def clear(self, model: str) -> None:
        self._until.pop(model, None)
