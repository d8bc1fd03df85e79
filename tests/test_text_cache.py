"""The cache of texts is bounded by their characters."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from weakref import ref

from bot.text_cache import cached


def test_texts_are_cached_until_their_total_length_is_too_large() -> None:
    computed: list[str] = []

    @cached(1_000)
    def upper(text: str) -> str:
        computed.append(text[:1])
        return text.upper()

    assert [upper("a" * 300), upper("b" * 300), upper("a" * 300)] == ["A" * 300, "B" * 300, "A" * 300]
    assert computed == ["a", "b"]
    upper("c" * 300)
    upper("d" * 300)  # the oldest goes
    assert upper("b" * 300) == "B" * 300
    assert computed == ["a", "b", "c", "d"]
    assert upper("a" * 300) == "A" * 300
    assert computed == ["a", "b", "c", "d", "a"]
    for _ in range(2):  # a text longer than the limit does not displace the others
        assert upper("e" * 2_000) == "E" * 2_000
    upper("c" * 300)
    assert computed == ["a", "b", "c", "d", "a", "e", "e"]


def test_the_limit_may_count_results_instead_of_texts() -> None:
    computed: list[int] = []

    @cached(100, len)
    def numbers(count: int) -> range:
        computed.append(count)
        return range(count)

    for count in (60, 30, 60, 30, 20, 60, 200, 200):
        assert len(numbers(count)) == count
    assert computed == [60, 30, 20, 60, 200, 200], "the oldest goes where they are more than 100 together"


def test_results_leave_memory_once_they_are_too_old() -> None:
    computed: list[str] = []
    now = 0.0

    @cached(1_000_000, seconds=60, clock=lambda: now)
    def object_of(text: str) -> set[str]:
        computed.append(text)
        return {text}

    results = []
    for second in range(300):
        now = float(second)
        results.append(ref(object_of(str(second))))
    alive = [result() for result in results if result() is not None]
    assert alive == [{str(second)} for second in range(239, 300)]
    object_of("299")
    assert len(computed) == 300
    object_of("0")
    assert len(computed) == 301


def test_an_empty_result_is_cached_too() -> None:
    computed: list[str] = []

    @cached(100)
    def nothing(text: str) -> None:
        computed.append(text)

    nothing("a")
    nothing("a")
    assert computed == ["a"]


def test_threads_get_their_own_results() -> None:
    @cached(400)
    def doubled(text: str) -> str:
        return text * 2

    chance = random.Random(1)
    texts = [chance.choice("abcdefgh") * chance.randint(1, 90) for _ in range(2_000)]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(doubled, texts)) == [text * 2 for text in texts]
