"""Decides what follows from a model service's error: a retry, a parameter left out, a pause, and the text for people.

What it learns about a model is kept until the process ends. Knows no SDK, only error reports and names of parameters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.events import UserError
from bot.llm.base import ModelError, ModelFault
from bot.llm.error_report import ErrorReport

LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
"""The names of the parameter that limits the answer."""

LONGEST_DETAIL = 240
"""The most characters of the service's text that people read."""

MOST_READ = 20_000

RETRIED: frozenset[ModelFault] = frozenset({"rate_limit", "timeout", "connection", "server"})

_SECRET = "\0"
_DATA = re.compile(r"data:[\w/+.-]+;base64,|[A-Za-z0-9+/=]{80,}")
"""Matches image data that a service repeats in an error."""
_ACCOUNT = re.compile(r"\b(?:org|user|proj|acct|req|team)[-_](?=\w*\d)[\w-]{8,}")
_LINK = re.compile(r"\[([^\[\]]{0,200})\]\((https?://[^\s()]{1,300})\)")
_TAG = re.compile(r"</?[a-zA-Z!@#&:][^<>]{0,200}>")
_MARKUP = re.compile(r"[`*~|]|<(?=[^\s=\d])|(?<=[^\s\d])>|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)|^\s*#+\s", re.M)
_PING = re.compile(r"(?<!\w)@+(?=\w)")
_KEYS = re.compile(
    r"\b(?:sk|pk|rk|key|gsk|xai)[-_][\w*.\-]{4,}|\b(?:AIza|AKIA|eyJ)[\w.-]{12,}|Bearer\s+\S+", re.I
)

_VALUE = re.compile(
    r"max_?(?:completion_|output_)?tokens\W.{0,60}(?:too (?:large|high|big)|exceed|above|out of range)", re.I
)
"""Words about a limit's refused value, not about the parameter itself."""

RESTS_S = {"quota": 300.0, "auth": 300.0, "permission": 300.0, "timeout": 60.0, "connection": 30.0}
"""For how many seconds a model with this fault is tried after the others of its chain."""

LONGEST_REST_S = 900.0
"""The longest pause in seconds, even if the service asks for a longer one."""

_PASSED = {
    "model.key_missing": "auth",
    "model.demo_absent": "not_found",
    "model.demo_broken": "not_found",
    "model.demo_runtime": "not_found",
    "config.role_provider": "not_found",
}
"""The fault recorded for a model that could not be asked at all."""


RAW = "raw"
"""A name among the parameters left out: earlier turns are sent without what their model wrote for itself
(`Completion.raw`), such as its thoughts, because the service refuses this conversation with it."""


MOST = "most"
"""The key in `overrides` for the limit of the model's answers; it is learnt at most once per request."""


class FaultError(Exception):
    """An attempt that failed. It does not hold the SDK's exception, which may hold the key. `report` is the service's
    error, if it sent one."""

    def __init__(
        self, fault: ModelFault, detail: str, wait: float | None = None, report: ErrorReport | None = None
    ) -> None:
        super().__init__(fault)
        self.fault: ModelFault = fault
        self.detail = detail
        self.wait = wait
        self.report = report


class ReportedError(Exception):
    """An error that the service sent inside its answer."""

    def __init__(self, report: ErrorReport) -> None:
        super().__init__(report.fault)
        self.report = report


def safe(text: str, *secrets: str | None) -> str:
    """`text` on one line, without secrets or anything that looks like one, account names, image data, markup, pings and
    unprintable characters."""
    for secret in filter(None, secrets):
        text = text.replace(secret, _SECRET)
    text = _KEYS.sub(_SECRET, _DATA.sub("…", text[:MOST_READ]))
    text = _LINK.sub(r"\1 (\2)", _ACCOUNT.sub("…", text))
    text = _PING.sub("", _MARKUP.sub("", _TAG.sub(" ", text))).replace(_SECRET, "***")
    printable = "".join(character if character.isprintable() else " " for character in text)
    line = " ".join(printable.split())
    if len(line) <= LONGEST_DETAIL:
        return line
    cut = line[: LONGEST_DETAIL - 1]
    return f"{cut[: cut.rfind(' ', LONGEST_DETAIL // 2)].rstrip() if ' ' in cut[LONGEST_DETAIL // 2 :] else cut}…"


@dataclass(slots=True)
class ParameterRules:
    """What a model has refused so far and is therefore not sent again.

    Parameters in `optional` may be left out, and those in `other_names` have a second name to try. `learnt`: one was
    refused, so that requests must `fit`. `sees` and `streams` are true until the model refuses images or refuses to
    stream (perhaps for this account only).
    """

    optional: tuple[str, ...] = ()
    other_names: dict[str, str] = field(default_factory=dict)
    left_out: set[str] = field(default_factory=set)
    learnt: bool = False
    sees: bool = True
    streams: bool = True
    _renamed: dict[str, str] = field(default_factory=dict)
    _most: int | None = None

    def fit(self, request: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters as this model accepts them, with the values of `overrides`: see `learn`."""
        fitted: dict[str, Any] = {}
        for name, value in request.items():
            if name in self.left_out:
                continue
            if name in LIMITS and self._most is not None:
                value = min(value, self._most)
            name = self._renamed.get(name, name)
            value = min(value, overrides.get(name, value)) if name in LIMITS else overrides.get(name, value)
            fitted[name] = value
        return fitted

    def learn(self, error: ErrorReport, request: Mapping[str, Any], overrides: dict[str, Any]) -> bool:
        """Learn from the error which parameter of the `request` (as fitted) is refused. True when a retry may help.

        Changes for this prompt only go into `overrides`: other values, and RAW if that must be left out.
        """
        for name in LIMITS:
            if name in request and (most := error.most_output(request[name])):
                # What a long prompt leaves of the window or of a minute's tokens says nothing about the next prompt.
                lesson = MOST if error.fault == "bad_request" else name
                if lesson in overrides:
                    return False
                overrides[lesson] = most
                self._most = most if lesson == MOST else self._most
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


class Cooldowns(dict[str, tuple[float, str]]):
    """For each model that failed since its last answer: the end of its pause, in which it is tried last, and the fault.
    Kept in memory only.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self._clock = clock

    def active(self, chain: Iterable[str]) -> dict[str, str]:
        """The models of `chain` that are paused now, with their faults."""
        now = self._clock()
        return {model: self[model][1] for model in chain if self.get(model, (now,))[0] > now}

    def start(self, model: str, error: UserError) -> str:
        """Pause a model for as long as its fault suggests; returns the fault's name."""
        fault = error.fault if isinstance(error, ModelError) else _PASSED.get(error.key, "server")
        pause_s = RESTS_S.get(fault, 0.0)
        if fault == "rate_limit" and isinstance(error, ModelError) and error.retry_after_s:
            pause_s = min(error.retry_after_s, LONGEST_REST_S)
        if pause_s:
            self[model] = (self._clock() + pause_s, fault)
        return fault
