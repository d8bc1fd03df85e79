"""Finds what a service's error means, from a table of refusals and one of errors, by status, names and words.

Services differ: the same error has another status, code, type or sentence at each. So the first row that fits decides,
for any service. Pure functions; `error_report` reads the error.
"""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass
from typing import Final

from bot.llm.base import ModelFault

LONGEST_SENTENCE: Final = 600

_ADDRESS: Final = re.compile(r"https?://\S+", re.I)


def names_of(*values: object) -> frozenset[str]:
    """Codes, types and reasons in lower case, each also without the part before a colon."""
    names = set()
    for value in values:
        for part in value[:200].split(":") if isinstance(value, str) else ():
            names.add(re.sub(r"[^a-z0-9]+", "_", part.lower()).strip("_"))
    return frozenset(names - {""})


REFUSALS: Final = names_of(
    # OpenAI and Azure
    *("content_filter", "content_policy_violation", "image_content_policy_violation"),
    *("moderation_blocked", "cyber_policy_violation", "ResponsibleAIPolicyViolation", "refusal"),
    # Gemini and Vertex, in errors and as reasons to end
    *("SAFETY", "IMAGE_SAFETY", "PROHIBITED_CONTENT", "IMAGE_PROHIBITED_CONTENT", "RECITATION"),
    *("IMAGE_RECITATION", "BLOCKLIST", "SPII", "MODEL_ARMOR"),
    # Bedrock, OpenRouter, Alibaba, Zhipu, gateways
    *("guardrail_intervened", "content_filtered", "moderation", "flagged", "data_inspection_failed"),
    *("DataInspectionFailed", "sensitive", "content_policy", "ContentPolicyViolationError"),
)
"""The names that services use for a refusal, in errors and as reasons to end an answer."""

_REFUSAL = re.compile(
    r"content (?:management |filter\w* |usage |safety )*polic|usage (?:polic|guideline)"
    r"|safety (?:system|polic|filter|reasons)|responsible ai\b"
    r"|(?<!account was )(?<!account has been )\bflagged\b|content exists risk|requires moderation"
    r"|(?:prompt|request|output|response|input) (?:was |is |has been )*(?:blocked|filtered)"
    r"|(?:inappropriate|prohibited|sensitive|harmful) content|considered high risk|prompt injection"
    r"|(?<!data)_policy(?:_violation)?\b",
    re.I,
)
"""Sentences of services that refuse without a name for it: Anthropic ("Output blocked by content filtering policy"),
DeepSeek ("Content Exists Risk"), Vertex ("violate Google's Responsible AI practices"), xAI ("Content violates usage
guidelines"), OpenRouter's guardrails ("Request blocked: …"), OpenAI ("flagged as potentially violating our usage
policy", "as a result of our safety system", "for safety reasons")."""

_CONTEXT = re.compile(
    r"context[ _-]?(?:length|window|size|limit)|maximum (?:context|prompt length)|too many tokens"
    r"|(?:prompt|input) is too long|exceeds? the (?:maximum number of tokens|context)|n_ctx|context the overflows"
    r"|maximum model length|(?:body|request) too large for|\binputs\W{1,3}tokens \+",
    re.I,
)
_A_MINUTE = re.compile(r"(?:tokens|requests) per (?:min|day)|\b[TR]P[MD]\b", re.I)
_NO_MODEL = re.compile(
    r"no models? (?:are |is )?loaded|failed to load model|unexpected endpoint|model not exist"
    r"|invalid model\b|not a valid model\b|model identifier is invalid"
    r"|model\b.{0,80}?(?:not found|does not exist|not loaded|decommissioned|is not available)",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table. It fits an error with one of `statuses` (empty: any) that has one of `names`, or its words in
    the message or in a name (if it has neither names nor words, the status alone decides).

    `waits`: fits only with, or only without, a time to wait from the service. An error inside an answer has status 0
    unless its content implies another.
    """

    fault: ModelFault
    statuses: Set[int] = frozenset()
    names: Set[str] = frozenset()
    words: re.Pattern[str] | None = None
    waits: bool | None = None

    def fits(self, status: int, names: Set[str], message: str, wait: float | None) -> bool:
        if self.statuses and status not in self.statuses:
            return False
        if self.waits is not None and self.waits is (wait is None):
            return False
        if not self.names and self.words is None:
            return True
        matches = self.words is not None and self.words.search(message) is not None
        return matches or not self.names.isdisjoint(names)


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.I)


_TABLE: Final = (
    Row(
        "permission",
        {0, 400, 401, 403},
        words=_words(
            r"(?:account|organi[sz]ation|project|workspace)\b.{0,60}(?:disabled|suspended|banned|deactivated)"
        ),
    ),
    Row("refusal", {0, 400, 403, 406, 422, 451}, REFUSALS, _REFUSAL),
    Row("rate_limit", {402}, names_of("openrouter_in_flight_budget", "in_flight_budget_exhausted")),
    Row("quota", {402}),
    Row(
        "quota",
        {0, 400, 403, 429},
        names_of(
            *("insufficient_quota", "insufficient_balance", "insufficient_credits", "billing_error"),
            *("billing_hard_limit_reached", "billing_not_active", "payment_required", "spend_limit"),
        ),
        _words(
            r"insufficient[_ ](?:quota|balance|credit|funds)|credit balance|balance is too low|spend(?:ing)?[_ ]limit"
            r"|(?:api )?usage limits?\b.*\bregain|specified (?:api )?usage limit|billing (?:hard )?limit"
        ),
    ),
    Row("rate_limit", {413, 429}, names_of("rate_limit_exceeded"), _A_MINUTE),
    Row("rate_limit", {429}, waits=True),
    Row("quota", {429}, words=_words(r"exceeded your current quota|plan and billing")),
    Row("rate_limit", {429}),
    Row(
        "auth",
        {0, 400, 403},
        names_of("API_KEY_INVALID", "invalid_api_key", "authentication_error", "UNAUTHENTICATED"),
        _words(
            r"api[ _-]?key (?:not valid|is invalid|is not valid|expired|not found)"
            r"|(?:invalid|incorrect) api[ _-]?key"
        ),
    ),
    Row(
        "permission",
        {401, 403},
        words=_words(r"missing scopes|insufficient permission|not have (?:access|permission)"),
    ),
    Row("auth", {401}),
    Row("permission", {403}),
    # The service rejects what the model wrote. The model may do better when asked again.
    Row("server", names=names_of("tool_use_failed", "json_validate_failed", "capacity_exceeded")),
    Row(
        "server",
        {0, 400},
        words=_words(r"model has crashed|(?:runner|engine) (?:process )?has (?:terminated|crashed)"),
    ),
    Row("context", {413}),
    Row(
        "context",
        {0, 400, 422, 500},
        names_of("exceed_context_size_error", "context_length_exceeded"),
        _CONTEXT,
    ),
    # The model exists, but the account, its routing or this request's parameters rule it out.
    Row("not_found", {404}, words=_words(r"\bnot found\b|does not exist")),
    Row(
        "bad_request",
        {404},
        words=_words(
            r"no endpoints (?:found|available) (?:that|matching)|no allowed providers"
            r"|providers have been ignored|data policy|not support"
        ),
    ),
    Row("not_found", {404}),
    Row(
        "not_found", {0, 400}, names_of("model_not_found", "invalid_model", "model_decommissioned"), _NO_MODEL
    ),
    Row("timeout", {408, 504}),
    Row("server", {0, 409, 424, 425, 498, 499, *range(500, 600)}),
    Row("bad_request"),
)
"""The rows in order: the first that fits decides, and the last fits everything."""


def diagnosed(status: int, names: Set[str], message: str, wait: float | None) -> ModelFault:
    """The meaning of an error. URLs in its message are ignored, because Groq's rate limits link to its billing page."""
    sentence = message[:LONGEST_SENTENCE]
    words = f"{_ADDRESS.sub('', sentence)} {' '.join(sorted(names))}"
    return next(row.fault for row in _TABLE if row.fits(status, names, words, wait))


def is_rate_limit(message: str) -> bool:
    """Whether the message names a limit of tokens or requests per minute or day."""
    return _A_MINUTE.search(message) is not None


def declines(reason: str) -> bool:
    """Whether this reason to end an answer means a refusal, such as "content_filter: RECITATION"."""
    return not REFUSALS.isdisjoint(names_of(reason))
