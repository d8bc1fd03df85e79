"""Reads an error from any of the formats in which services and gateways report it.

Knows no SDK, only status numbers, bodies, headers and names of parameters.
"""

from __future__ import annotations

import email.utils
import json
import math
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from bot.llm.base import ModelFault
from bot.llm.diagnosis import diagnosed, is_rate_limit, names_of

LEAST_OUTPUT = 16
"""A smaller number does not count as a model's limit (OpenAI accepts no lower one)."""

LEAST_LEFT = 256
"""The fewest tokens that a prompt must leave of the window; otherwise it counts as too long."""

DEEPEST = 5
"""The most wrappings of an error that are opened: a gateway's, its router's, the provider's, and text that is JSON."""

LONGEST_ERROR = 100_000
LONGEST_MESSAGE = 4_000
"""The most characters of a message: no real sentence is longer, but some servers append the whole prompt."""

_LIMIT = re.compile(
    r"max_?(?:completion_?|output_?|new_?)?tokens|maximum tokens|context (?:length|limit)|input_tokens",
    re.I,
)
_WINDOWS = tuple(
    re.compile(pattern, re.I | re.S)
    for pattern in (
        r"maximum context length is (?P<window>\d+) tokens"
        r".*?\b(?P<input>\d+) (?:input tokens|in the messages|in your prompt|of text input)",
        # vLLM since 0.15
        r"passed (?P<input>\d+) input tokens .*?context length is only (?P<window>\d+)",
        # Anthropic
        r"exceed context limit: (?P<input>\d+) \+ \d+ > (?P<window>\d+)",
        # text-generation-inference
        r"must be <= (?P<window>\d+)\. Given: (?P<input>\d+)",
    )
)
_TOO_LARGE = re.compile(r"\bLimit:? (?P<limit>\d+), Requested:? (?P<requested>\d+)", re.I)
"""How services say that one request exceeds the account's tokens per minute, including the room for its answer (Groq,
OpenAI).
"""
_MOST = re.compile(
    r"(?:at most|<=|less than or equal to|no more than|up to|> |maximum (?:value )?(?:is|of)|\[\s*\d+\s*,)"
    r"[\s`'\"]*(?P<most>\d+)",
    re.I,
)
_NO_IMAGES = re.compile(
    r"(?:not|n['’]t) (?:currently )?(?:support|accept|take) (?:any )?"
    r"(?:images?|vision|multi-?modal|image_url|input_image)"
    r"|(?:images?|vision|multi-?modal)(?: (?:inputs?|contents?))? (?:is|are) not (?:supported|enabled|available)"
    r"|image_url is only supported by|that support image input|not a multi-?modal model|vision add-on is not loaded"
    r"|data required for image input|unsupported content (?:part )?type|unknown variant \W?image_url"
    r"|allowed values: \[\W?text\W?\]|content must be a string",
    re.I,
)
"""How services say that a model takes no images at all: OpenAI ("Invalid content type. image_url is only supported by
certain models."), OpenRouter ("No endpoints found that support image input"), vLLM ("… is not a multimodal model"),
llama.cpp ("image input is not supported", with status 500), Ollama ("this model is missing data required for image
input"), LM Studio ("Vision add-on is not loaded", with status 200), DeepSeek ("unknown variant `image_url`, expected
`text`"), and servers that accept only text."""
_THESE_IMAGES = re.compile(
    r"(?<![\w-])(?:images?|image_url|input_image)(?![\w-])|image_(?:parse|format|too)", re.I
)
_ONE_OF_THEM = re.compile(r"\bformats?\b|animated|media.?type|mime|corrupt|decod|pixels|bytes", re.I)
"""Words about one image, not about images in general; llama.cpp appends the whole prompt after them."""

_STATUS = {
    "invalid_request_error": 400,
    "invalid_prompt": 400,
    "invalid_argument": 400,
    "badrequesterror": 400,
    "validationexception": 400,
    "context_length_exceeded": 400,
    "exceed_context_size_error": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "unauthenticated": 401,
    "billing_error": 402,
    "insufficient_quota": 402,
    "permission_error": 403,
    "permission_denied": 403,
    "accessdeniedexception": 403,
    "not_found_error": 404,
    "notfounderror": 404,
    "model_not_found": 404,
    "not_found": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "rate_limited": 429,
    "resource_exhausted": 429,
    "throttlingexception": 429,
    "api_error": 500,
    "server_error": 500,
    "internal": 500,
    "unavailable": 503,
    "timeout_error": 504,
    "deadline_exceeded": 504,
    "overloaded_error": 529,
}
"""The status for an error inside an answer, which has none of its own."""

_WRAPPED = re.compile(r"\{\s*\\?\"")
_TIME = r"\d+(?:\.\d+)?\s*(?:ms|milliseconds?|h|hours?|d|days?|m|min|minutes?|s|secs?|seconds?)"
_AGAIN = re.compile(
    rf"(?:try again|retry|wait)\s{{1,3}}(?:in|after|for)?\s{{0,3}}(?P<time>(?:{_TIME}\s{{0,3}})+)(?![a-z])",
    re.I,
)
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|milli|[dhms])", re.I)
_UNITS = {"ms": 0.001, "milli": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_RESET = re.compile(r"(?:x-|anthropic-)?ratelimit\w*(?:-[\w-]*)?reset(?:-[\w-]*)?")

A_MINUTE_S = 60.0
"""The pause in seconds after a request for more tokens than a minute allows, if the service names none."""


@dataclass(frozen=True, slots=True)
class ErrorReport:
    """An error as the service reported it. `status` is 0 if there was none; `names` are all its codes, types and
    reasons, including those of its wrappings."""

    status: int
    message: str = ""
    code: str = ""
    kind: str = ""
    param: str = ""
    retry_after_s: float | None = None
    names: frozenset[str] = field(default=frozenset())

    @property
    def fault(self) -> ModelFault:
        """The meaning of the error: see `diagnosis`."""
        names = self.names | names_of(self.code, self.kind)
        return diagnosed(self.status, names, self.message, self.retry_after_s)

    @property
    def wait_s(self) -> float | None:
        """Seconds until the model may be asked again; None if unknown."""
        too_large = self.status == 413 or _TOO_LARGE.search(self.message) is not None
        if self.retry_after_s is None and too_large and self.fault == "rate_limit":
            return A_MINUTE_S
        return self.retry_after_s

    def most_output(self, requested: int) -> int | None:
        """The most tokens that an answer may have, if the service refuses `requested` and says how many it accepts: by
        the model's limit, or by what the prompt leaves of the context window or of the account's tokens per minute."""
        message = re.sub(r"(?<=\d),(?=\d{3}\b)", "", self.message)
        if self.status in (413, 429) and is_rate_limit(message) and (match := _TOO_LARGE.search(message)):
            most = int(match["limit"]) - (int(match["requested"]) - requested)
            return most if min(requested, LEAST_LEFT) <= most < requested else None
        if self.status not in (400, 422) or not _LIMIT.search(f"{self.param} {message}"):
            return None
        windows = [window for pattern in _WINDOWS if (window := pattern.search(message))]
        if windows:
            most = int(windows[0]["window"]) - int(windows[0]["input"])
            if most == requested - 1:  # vLLM stops counting there: the prompt has at least this many
                most = max(LEAST_LEFT, requested // 4)
        elif match := _MOST.search(message):
            most = int(match["most"])
        else:
            numbers = {int(number) for number in re.findall(r"(?<![\w.-])\d{2,9}(?![\w-])", message)} - {
                requested
            }
            most = numbers.pop() if len(numbers) == 1 else 0
        most -= "(exclusive)" in message
        least = min(requested, LEAST_LEFT) if windows else LEAST_OUTPUT
        return most if least <= most < requested else None

    @property
    def images(self) -> Literal["", "none", "these"]:
        """Why a request with images was refused: "none" if the model accepts no images, "these" if it rejects these
        images.
        """
        words = f"{self.code} {self.param} {self.message}"
        if self.fault == "refusal":
            return ""
        about_one = _ONE_OF_THEM.search(self.message) is not None
        if self.status in (0, 400, 404, 415, 422, 500, 501) and _NO_IMAGES.search(words) and not about_one:
            return "none"
        large = self.status == 413 and self.fault == "context"
        return "these" if large or (self.status in (0, 400, 422) and _THESE_IMAGES.search(words)) else ""

    @property
    def unstreamed(self) -> bool:
        """Whether the model refuses to stream, for example because OpenAI has not verified the organization."""
        return self.status in (400, 403, 404, 422) and (
            self.param == "stream" or _NO_STREAM.search(self.message) is not None
        )

    def refuses(self, parameter: str) -> bool:
        """Whether the service complains about this parameter of the request."""
        if self.status not in (400, 422) or self.fault in ("context", "refusal"):
            return False
        if self.param:
            return self.param.split(".")[-1] == parameter or self.param.split(".")[0] == parameter
        first, *more = parameter.split("_")
        camel = first + "".join(map(str.capitalize, more))  # as xAI spells it in its sentences
        return re.search(rf"\b(?:{parameter}|{camel})\b", self.message) is not None


_NO_STREAM = re.compile(
    r"verified to stream|(?:not|n['’]t) support stream(?:ing|ed)?\b"
    r"|stream(?:ing)? is not (?:supported|allowed|available)",
    re.I,
)


def error_report(status: int, body: object, headers: Mapping[str, str] | None = None) -> ErrorReport:
    """Read an error body in any of the services' formats. `status` is 0 for an error inside an answer."""
    layers = list(_layers(body))
    message = code = kind = param = ""
    named: list[object] = []
    limits = {name.lower(): value for name, value in (headers or {}).items()}
    delay: float | None = None
    for layer in layers:  # inner layers say more
        message = _message(layer) or message
        code, param = _word(layer, "code") or code, _word(layer, "param") or param
        kind = _word(layer, "type") or _word(layer, "status") or kind
        named += _names(layer)
        about = layer.get("metadata")
        repeated = about.get("headers") if isinstance(about, Mapping) else None
        if isinstance(repeated, Mapping):  # OpenRouter repeats the headers of the limit that was reached
            limits = {str(name).lower(): str(value) for name, value in repeated.items()} | limits
        delay = _delay(layer) if delay is None else delay
    message = message.partition("messages = ")[0]  # llama.cpp repeats the prompt after it
    names = names_of(*named)
    if not status:
        numbers = (_number(layer) for layer in layers)
        status = next(filter(None, numbers), 0) or next(
            (_STATUS[n] for n in _ranked(layers) if n in _STATUS), 0
        )
    wait = retry_after(limits)
    for guess in (
        (delay, _spoken(message), _reset(limits)) if status in (0, 402, 413, 429, 498, 503, 529) else ()
    ):
        wait = guess if wait is None else wait
    return ErrorReport(status, message, code, kind, param, wait, names)


def _layers(body: object, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """The error and the errors wrapped in it, from the outside in."""
    if depth > DEEPEST:
        return
    if isinstance(body, str):
        text = body[:LONGEST_ERROR]
        inner = _json_in(text)
        if inner is not None:
            yield from _layers(inner, depth + 1)
        elif text.strip() and not text.lstrip().startswith("<"):
            yield {"message": text}
        return
    if isinstance(body, list):  # as Gemini wraps it
        body = next((entry for entry in body if isinstance(entry, Mapping)), None)
    if not isinstance(body, Mapping):
        return
    error = body.get("error")
    if isinstance(error, str | list | Mapping) and error:
        yield {name: value for name, value in body.items() if name in ("metadata", "status_code")}
        yield from _layers(error, depth + 1)
        return
    yield body
    about = body.get("metadata")
    raw = about.get("raw") if isinstance(about, Mapping) else None
    if isinstance(raw, Mapping):
        raw = raw.get("data", raw)
    for wrapped in (raw, body.get("message")):
        # A message is a layer of its own only if it is JSON; the provider's own text always is one.
        if wrapped is raw or (isinstance(wrapped, str) and _json_in(wrapped) is not None):
            yield from _layers(wrapped, depth + 1)


def _json_in(text: str) -> Mapping[str, Any] | list[Any] | None:
    """The JSON object that a text is or contains after a gateway's own words."""
    value: object = None
    if (start := _WRAPPED.search(text)) is not None or text.lstrip().startswith("["):
        with suppress(ValueError, RecursionError):
            value, _ = json.JSONDecoder().raw_decode(text, start.start() if start else text.index("["))
    if isinstance(value, list):
        return value if value and isinstance(value[0], Mapping) else None
    is_error = isinstance(value, Mapping) and not {"error", "message", "detail"}.isdisjoint(value)
    return value if is_error and isinstance(value, Mapping) else None


def _word(layer: Mapping[str, Any], name: str) -> str:
    value = layer.get(name)
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _message(layer: Mapping[str, Any]) -> str:
    """The text of an error: FastAPI servers put it in "detail" (a text or a list of errors), AWS in "Message", and
    Mistral in a "detail" inside the message."""
    for name in ("message", "detail", "Message", "msg"):
        value = layer.get(name)
        value = value.get("detail", value) if isinstance(value, Mapping) else value
        if isinstance(value, list | Mapping):
            value = "; ".join(filter(None, map(_wrong, value if isinstance(value, list) else [value])))
        if isinstance(value, str) and value.strip():
            return value[:LONGEST_MESSAGE]
    return ""


def _wrong(entry: object) -> str:
    """What is wrong, and where; without the "input", which may be the prompt."""
    if not isinstance(entry, Mapping):
        return str(entry)[:LONGEST_MESSAGE]
    location = entry.get("loc")
    message = _word(entry, "msg") or _word(entry, "message") or _word(entry, "error")
    return f"{'.'.join(map(str, location))}: {message}" if isinstance(location, list) else message


def _names(layer: Mapping[str, Any]) -> Iterator[object]:
    """Every code, type and reason of a layer."""
    yield from (layer.get(name) for name in ("code", "type", "status", "__type", "error_type"))
    for name in ("innererror", "details", "metadata"):
        inner = layer.get(name)
        parts = inner if isinstance(inner, list) else [inner]
        for part in parts:
            if isinstance(part, Mapping):
                yield from (
                    part.get(key) for key in ("code", "reason", "error_code", "limit_source", "error_type")
                )
                # OpenRouter's moderation gives the reason and the words in question.
                yield "moderation" if "flagged_input" in part or part.get("reasons") else None


def _ranked(layers: list[Mapping[str, Any]]) -> Iterator[str]:
    for name in ("code", "type", "status", "__type"):
        for layer in reversed(layers):
            yield from names_of(layer.get(name))


def _number(layer: Mapping[str, Any]) -> int | None:
    for name in ("code", "status_code", "raw_status_code", "status"):
        word = _word(layer, name)
        if re.fullmatch(r"[45]\d\d", word):
            return int(word)
    return None


def _delay(layer: Mapping[str, Any]) -> float | None:
    """The wait in Google's RetryInfo."""
    details = layer.get("details")
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, Mapping) else None
        if isinstance(delay, str) and re.fullmatch(r"\d{1,6}(?:\.\d+)?s", delay):
            return float(delay[:-1])
    return None


def _seconds(text: str) -> float | None:
    """The seconds in a time such as "9m38.016s", "40ms" or "6 seconds"."""
    parts = _PART.findall(text)
    return sum(float(number) * _UNITS[unit.lower()] for number, unit in parts) if parts else None


def _spoken(message: str) -> float | None:
    """The seconds in a text such as "Please try again in 12.5s"."""
    match = _AGAIN.search(message)
    return _seconds(match["time"]) if match else None


def _reset(headers: Mapping[str, str]) -> float | None:
    """Seconds until a limit is lifted: the longest of the exhausted limits, otherwise that of the token limit, of which
    this request needed more than was left."""
    resets = {
        name: seconds
        for name, value in headers.items()
        if _RESET.fullmatch(name) and (seconds := _until(value)) is not None
    }
    used_up = [
        seconds for name, seconds in resets.items() if headers.get(name.replace("reset", "remaining")) == "0"
    ]
    tokens = [seconds for name, seconds in resets.items() if "token" in name]
    return max(used_up or tokens or resets.values(), default=None)


def _until(value: str) -> float | None:
    """Seconds until a time in a header: a duration, a number of seconds, or a moment in RFC 3339 or since 1970."""
    value = value.strip()
    with suppress(ValueError, OverflowError):
        number = float(value)
        if not math.isfinite(number):
            return None
        if number > 1e11:
            number /= 1_000
        return max(0.0, number - time.time() if number > 1e9 else number)
    with suppress(ValueError, OverflowError):
        return max(0.0, datetime.fromisoformat(value).timestamp() - time.time())
    return _seconds(value)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a service asks to wait: Retry-After in seconds or as a date (RFC 9110, 10.2.3), or
    retry-after-ms.
    """
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
