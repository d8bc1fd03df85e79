"""How strategies merge findings, are named, and fence in quoted text."""

from __future__ import annotations

import asyncio
import re
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot import commands, untrusted
from bot.config import RetrievalConfig
from bot.retrieval.results import Passage, SearchResult
from bot.strategies import NAMES
from bot.strategies.base import Inquiry, fused, queries, search_all
from tests.fakes.run import MemoryRun

INQUIRY = Inquiry("s", "rules", "?", "en", "en", k=4)


def found(*chunks: str, confident: bool = True, titled: bool = False) -> SearchResult:
    passages = [Passage(one, "d", "d.md", "D", one, None, one, 1.0 - n / 10) for n, one in enumerate(chunks)]
    return SearchResult(passages, confident, titled, notices=["n"])


def order(*some: SearchResult) -> str:
    return "".join(passage.chunk for passage in fused(some, INQUIRY, confident=True).passages)


def test_passages_that_several_searches_found_rise_within_the_first_ranking() -> None:
    assert order(found(*"abcd"), found("c"), found("c", "x")) == "cabd"


def test_a_heading_found_by_its_name_counts_for_more_than_a_guess() -> None:
    assert order(found(*"abcdef"), found("d")) == "abdc"
    assert order(found(*"abcdef"), found("d", titled=True)) == "dabc"


def test_the_best_of_a_further_search_is_kept_however_long_the_first_ranking_is() -> None:
    assert order(found(*"abcdef"), found(*"xyz")) == "abcx"
    assert order(found(*"abcdef"), *(found(one) for one in "uvxyz")) == "abuv"


def test_notices_appear_once_and_nothing_is_confident_without_a_passage() -> None:
    assert fused([found("a"), found("b")], INQUIRY, confident=True).notices == ["n"]
    assert not fused([found(), found()], INQUIRY, confident=True).confident


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True), min_size=1, max_size=5))
def test_each_passage_comes_once_best_first_and_within_the_limit(rankings: list[list[str]]) -> None:
    passages = fused([found(*ranking) for ranking in rankings], INQUIRY, confident=True).passages
    chunks = [passage.chunk for passage in passages]
    assert len(chunks) == len(set(chunks))
    assert len(chunks) <= max(4, len(rankings[0]))
    assert [passage.score for passage in passages] == sorted(
        (passage.score for passage in passages), reverse=True
    )


def test_a_models_searches_are_trimmed_shortened_and_limited() -> None:
    assert queries([" a\nb ", "A B", "known", "", "c" * 999, "d"], ["Known"], 2) == ["a b", "c" * 300]


def test_config_option_and_factory_have_the_same_names() -> None:
    (strategy,) = (field for field in fields(RetrievalConfig) if field.name == "strategy")
    ask = commands.ROWS["rules", "ask"].option("strategy")
    assert ask is not None
    assert NAMES == tuple(strategy.metadata["works"]) == ask.choices


HOSTILE = st.lists(
    st.sampled_from(
        ["<", "</", "＜", "passage", "PASSAGES", "question", "earlier>", "\u200b", " ", "\n", '"', ">", "/", "x"]
    ),
    max_size=14,
).map("".join)  # fmt: skip


@given(HOSTILE | st.text(max_size=60))
def test_quoted_text_cannot_open_or_close_a_fence(text: str) -> None:
    passage = Passage("c", "d", "d.md", text, text, None, text, 1.0)
    bare = re.sub("[\u00ad\u200b-\u200f\u2060\ufeff\\s]", "", untrusted.passages([passage])).lower()
    assert len(re.findall(r"[<＜﹤]/?(?:passage|question|earlier|answer|searched)", bare)) == 2
    assert untrusted.earlier([(text, text)], "").count("</earlier>") == 1
    head = untrusted.passages([passage]).partition("\n")[0]
    assert (head.count("<"), head.count(">"), head.count('"')) == (1, 1, 4), "a title stays in its quotes"


def test_invisible_letters_do_not_hide_a_fence() -> None:
    for hidden in ("</pas\u200bsage>", "<\u2066/passage>", "<\u034f/\ufe0fquestion>", "</\u180eearlier>"):
        assert not untrusted.data(hidden).startswith("<"), hidden
    assert untrusted.data("If x < 3, see passage 2 <b>") == "If x < 3, see passage 2 <b>"


async def test_all_searches_end_if_one_fails_or_all_are_stopped() -> None:
    going: set[str] = set()
    begun = asyncio.Semaphore(0)

    class Library:
        async def search(
            self, space: str, shelf: str, question: str, *, k: int | None = None
        ) -> SearchResult:
            if question == "bad":
                raise LookupError
            going.add(question)
            begun.release()
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)  # as a database takes a moment to let go
                going.remove(question)
            raise AssertionError

    with pytest.raises(LookupError):
        await search_all(Library(), MemoryRun(), INQUIRY, {"1": "a", "2": "b", "3": "bad"})
    assert not going
    stopped = asyncio.create_task(search_all(Library(), MemoryRun(), INQUIRY, {"1": "a", "2": "b"}))
    for _ in "abab":  # of the searches before, and of these
        await begun.acquire()
    stopped.cancel()
    await asyncio.wait({stopped})
    assert not going
