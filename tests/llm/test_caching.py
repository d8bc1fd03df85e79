"""The bot warns once about a marked prefix that the service does not cache."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from bot.llm.base import Message, Prompt
from bot.llm.completion import Usage
from bot.llm.prices import KEPT_S, REMEMBERED, CacheWatch

MARKED = Prompt("A long book.", (Message("user", "one?"),), cache=True)
PLAIN = Usage(1_000, 10)
READ = Usage(10, 10, cache_read_tokens=990)
WRITTEN = Usage(10, 10, cache_write_tokens=990)


class At:
    def __init__(self) -> None:
        self.now = 0.0
        self.watch = CacheWatch(lambda: self.now)

    def note(self, kind: str, usage: Usage, prompt: Prompt = MARKED, model: str = "a:b") -> bool:
        return self.watch.note(model, kind, prompt, usage)


def test_with_anthropic_the_first_call_tells_and_the_bot_warns_once(caplog: pytest.LogCaptureFixture) -> None:
    at = At()
    with caplog.at_level(logging.WARNING):
        assert [at.note("anthropic", PLAIN) for _ in range(3)] == [True, False, False]
    assert len(caplog.records) == 1
    assert "A long book" not in caplog.text


def test_other_services_get_a_second_call_before_a_warning() -> None:
    at = At()
    assert [at.note("openai", PLAIN) for _ in range(3)] == [False, True, False]
    assert [at.note("openai-compatible", one, model="c:d") for one in (PLAIN, READ, PLAIN)] == [False] * 3


def test_an_expired_prefix_causes_no_warning() -> None:
    at = At()
    assert not at.note("openai", PLAIN)
    at.now += KEPT_S
    assert not at.note("openai", PLAIN)
    at.now += KEPT_S - 1
    assert at.note("openai", PLAIN)


@pytest.mark.parametrize("usage", [READ, WRITTEN, replace(PLAIN, estimated=True)])
def test_cached_and_uncounted_prefixes_cause_no_warning(usage: Usage) -> None:
    at = At()
    assert not any(at.note("anthropic", usage) for _ in range(3))


def test_only_marked_prefixes_are_watched() -> None:
    at = At()
    unmarked = replace(MARKED, cache=False)
    assert not any(at.note("anthropic", PLAIN, unmarked) for _ in range(2))
    assert at.note("anthropic", PLAIN)
    other = replace(MARKED, messages=(Message("user", "another?"),))
    assert not at.note("anthropic", PLAIN, other), "the same prefix"
    to_message = replace(unmarked, messages=(Message("user", "book", cache=True), Message("user", "one?")))
    assert at.note("anthropic", PLAIN, to_message)
    assert at.note("anthropic", PLAIN, replace(to_message, messages=(Message("user", "tome", cache=True),)))
    assert at.note("anthropic", PLAIN, model="a:c"), "another model"


def test_the_watch_for_prefixes_uses_bounded_memory() -> None:
    at = At()
    for n in range(REMEMBERED + 50):
        at.note("openai", PLAIN, replace(MARKED, system=str(n)))
    assert at.note("openai", PLAIN, replace(MARKED, system=str(REMEMBERED + 49)))
    assert not at.note("openai", PLAIN, replace(MARKED, system="0")), "forgotten, so like new"


def test_a_model_that_caches_nothing_is_reported_once_an_hour(caplog: pytest.LogCaptureFixture) -> None:
    """A story marks another prefix on each turn."""
    now = 0.0
    watch = CacheWatch(lambda: now)
    for turn in range(20):
        prompt = Prompt("s", (Message("user", "turn " * (turn + 1), cache=True),), max_tokens=9)
        assert watch.note("a:small", "anthropic", prompt, Usage(input_tokens=9)), "each call pays in full"
        now += 60
    assert caplog.text.count("a:small did not cache") == 1
    now += 3_600
    watch.note("a:small", "anthropic", prompt, Usage(input_tokens=9))
    prompt = Prompt("s", (Message("user", "another", cache=True),), max_tokens=9)
    watch.note("a:small", "anthropic", prompt, Usage(input_tokens=9))
    assert caplog.text.count("a:small did not cache") == 2
