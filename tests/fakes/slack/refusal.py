"""Slack's refusals: HTTP 200 with `ok: false` and the name of an error.

The names are from each method's page, https://docs.slack.dev/reference/methods.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class Refusal(Exception):
    """The error of a call; `messages` name the places of faults."""

    def __init__(self, error: str, *messages: str, **more: Any) -> None:
        super().__init__(": ".join([error, *messages]))
        self.error = error
        self.messages = messages
        self.more = more

    @property
    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = {"ok": False, "error": self.error} | self.more
        if self.messages:
            body["response_metadata"] = {"messages": [f"[ERROR] {message}" for message in self.messages]}
        return body

    @property
    def why(self) -> str:
        """One line for people who read `slack.refused`."""
        return "; ".join([*self.messages, *(f"{name}={value}" for name, value in self.more.items())])


class TooMany(Exception):
    """HTTP 429: retry after this many seconds."""

    def __init__(self, wait: float) -> None:
        super().__init__(f"{wait:.2f} s")
        self.wait = wait


def bad(*messages: str) -> Refusal:
    return Refusal("invalid_arguments", *messages)


def missing(name: str) -> Refusal:
    return bad(f"missing required field: {name}")


def wrong_blocks(problems: Iterable[str]) -> Refusal:
    """Invalid blocks; as on the service, `errors` repeats the metadata's messages without their prefix."""
    messages = list(problems)
    return Refusal("invalid_blocks", *messages, errors=messages)
