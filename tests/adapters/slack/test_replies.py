"""The newest replies of a thread of any length are read in a few calls."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.adapters.slack.received.replies import CALLS, newest_replies

ROOT = 1_700_000_000.0


class Thread(AsyncWebClient):
    """The part of Slack's client that reads a thread: the root, then the replies in a time span, oldest first."""

    def __init__(self, times: list[float], most: int = 1_000) -> None:
        super().__init__()
        self.all: list[dict[str, Any]] = [
            {"ts": f"{ROOT + at:.6f}", "text": f"{n}"} for n, at in enumerate([0.0, *times])
        ]
        self.all[0] |= {"reply_count": len(times), "latest_reply": self.all[-1]["ts"]}
        self.most = most
        self.calls = 0

    async def conversations_replies(self, **asked: Any) -> Any:
        oldest, latest, limit = asked["oldest"], asked["latest"], asked["limit"]
        self.calls += 1
        within = [
            each for each in self.all[1:] if float(oldest or 0) < float(each["ts"]) < float(latest or "inf")
        ]
        page = [self.all[0], *within][: min(limit, self.most)]
        more = len(page) <= len(within)
        return {"messages": page, "response_metadata": {"next_cursor": "more" if more else ""}}


def evenly() -> Iterator[float]:
    yield from itertools.count(60, 60)


def bursts() -> Iterator[float]:
    """Times with days of silence between hours of a thousand messages."""
    for day in itertools.count(1):
        for n in range(1_000):
            yield day * 86_400 + 3.6 * n


def hurried() -> Iterator[float]:
    """Times with a slow beginning, and all others within minutes."""
    yield from (86_400.0 * day for day in range(1, 365))
    yield from (86_400.0 * 365 + n / 50 for n in itertools.count())


@pytest.mark.parametrize("pace", [evenly, bursts, hurried])
@pytest.mark.parametrize("count", [1, 998, 999, 1_000, 1_050, 12_345, 60_000])
async def test_the_newest_replies_of_a_thread_of_any_length_are_read(pace: Any, count: int) -> None:
    thread = Thread(list(itertools.islice(pace(), count)))
    read, total = await newest_replies(
        thread,
        "C1",
        f"{ROOT:.6f}",
        100,
        lambda each: True,
    )
    assert [each["text"] for each in read] == [each["text"] for each in thread.all[-100:]]
    assert total == count
    assert thread.calls <= CALLS


async def test_only_relevant_replies_count_and_later_ones_are_left_out() -> None:
    thread = Thread(list(itertools.islice(evenly(), 5_000)))
    before = thread.all[4_000]["ts"]
    read, _ = await newest_replies(
        thread,
        "C1",
        f"{ROOT:.6f}",
        50,
        lambda each: int(each["text"]) % 10 == 0,
        before,
    )
    assert [each["text"] for each in read] == [f"{n}" for n in range(3_500, 4_000, 10)]


async def test_an_app_with_few_messages_per_call_reads_the_newest_too() -> None:
    thread = Thread(list(itertools.islice(evenly(), 5_000)), most=15)
    read, _ = await newest_replies(
        thread,
        "C1",
        f"{ROOT:.6f}",
        50,
        lambda each: True,
    )
    assert thread.calls <= CALLS
    texts = [int(each["text"]) for each in read]
    assert texts == list(range(5_001 - len(texts), 5_001))
    assert len(texts) >= 10
