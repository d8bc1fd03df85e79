"""What a chat completions service means by its errors: the fault, whether to retry, what to leave out.

Knows no SDK: only status numbers, the fields of an error body, and headers.
"""

from __future__ import annotations

import email.utils
import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass

from bot.llm.base import ModelFault

RETRIED: frozenset[ModelFault] = frozenset({"rate_limit", "timeout", "connection", "server"})

_CONTEXT = re.compile(
    r"context[ _-]?(length|window|size)|maximum context|prompt is too long|too many tokens|exceed_context",
    re.I,
)
_QUOTA = re.compile(r"insufficient[_ ](quota|balance|credit|funds)|billing|exceeded your current quota", re.I)
_KEYS = re.compile(r"\b(?:sk|pk|rk|key|gsk|xai)[-_][\w*.\-]{4,}|Bearer\s+\S+", re.I)


@dataclass(frozen=True, slots=True)
class Complaint:
    """An error as the service put it. `status` is 0 where there was none."""

    status: int
    message: str = ""
    code: str = ""
    kind: str = ""
    param: str = ""
    retry_after_s: float | None = None

    @property
    def fault(self) -> ModelFault:
        """Which fault this is; what is unknown below 500 is a bad request."""
        words = f"{self.code} {self.kind} {self.message}"
        status = self.status
        if status == 402 or (status in (403, 429) and _QUOTA.search(words)):
            return "quota"
        if status in (401, 403):
            return "auth"
        if status in (400, 413, 422, 500) and _CONTEXT.search(words):
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

    def refuses(self, parameter: str) -> bool:
        """Whether the service complains about this parameter of the request."""
        if self.status not in (400, 422) or self.fault == "context":
            return False
        if self.param:
            return self.param.split(".")[-1] == parameter or self.param.split(".")[0] == parameter
        return re.search(rf"\b{parameter}\b", self.message) is not None


def complaint(status: int, body: object, headers: Mapping[str, str] | None = None) -> Complaint:
    """Read an error body in any of the shapes that compatible services use."""
    inner = body.get("error", body) if isinstance(body, Mapping) else body
    if not isinstance(inner, Mapping):
        text = inner if isinstance(inner, str) and not inner.lstrip().startswith("<") else ""
        return Complaint(status, text, retry_after_s=retry_after(headers or {}))
    code = inner.get("code")
    if not status and isinstance(code, int) and 400 <= code < 600:
        status = code  # an error inside the stream, as OpenRouter and vLLM send it
    if not status and _QUOTA.search(f"{code} {inner.get('type')}"):
        status = 429

    def word(name: str) -> str:
        value = inner.get(name)
        return str(value) if value is not None else ""

    # FastAPI servers say "detail", as text or as a list of what is wrong.
    message = word("message") or word("detail")
    return Complaint(status, message, word("code"), word("type"), word("param"), retry_after(headers or {}))


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
            seconds = email.utils.mktime_tz(date) - time.time()
    return max(0.0, seconds) if seconds is not None and math.isfinite(seconds) else None


def safe(text: str, key: str | None) -> str:
    """`text` on one short line without the key, or anything that looks like one."""
    if key:
        text = text.replace(key, "***")
    return " ".join(_KEYS.sub("***", text).split())[:200]
