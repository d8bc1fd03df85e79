"""Multi-hop search: a second search uses words that only the first one's passages contain."""

from __future__ import annotations

import re
from typing import Any

from bot.retrieval.results import SearchResult
from tests.fakes.chat_completions import Reply
from tests.fakes.run import MemoryRun
from tests.strategies.conftest import Bench, headings

QUESTION = "Who made the lantern of the ferryman?"
ENOUGH = {"sufficient": True, "searches": []}
BAD = {"message": "no", "type": "invalid_request_error", "code": None}


def named_lantern(system: str, prompt: str) -> dict[str, Any]:
    """An honest judge: it can only search for words that it reads."""
    (name,) = set(re.findall(r"is called (\w+)", prompt))
    return {"sufficient": False, "searches": [f"{name} forged"]}


async def test_hop_two_searches_with_a_term_found_only_in_the_passages_of_hop_one(bench: Bench) -> None:
    inquiry = await bench.inquiry(QUESTION)
    single, _ = await bench.search("single", inquiry)
    assert "Ledger of the smithy" not in headings(single)
    assert "Duskglass" not in QUESTION
    bench.answers += [named_lantern, ENOUGH]
    run = MemoryRun()
    result, notices = await bench.search("multi-hop", await bench.inquiry(QUESTION), run)
    assert "Ledger of the smithy" in headings(result)
    assert result.confident
    assert "Searching for: Duskglass forged (hop 2 of 3)" in notices
    assert list(run.kept) == ["search", "judge-1", "search-hop-2-1", "judge-2"]
    assert "forged by Ilmare" in bench.prompt(1)  # the second judge reads what the second hop found
    assert "- Duskglass forged" in bench.prompt(1)


async def test_no_second_search_follows_sufficient_passages(bench: Bench) -> None:
    bench.answers.append(ENOUGH)
    run = MemoryRun()
    result, _ = await bench.search("multi-hop", await bench.inquiry(QUESTION), run)
    assert list(run.kept) == ["search", "judge-1"]
    assert result == (await bench.search("single", await bench.inquiry(QUESTION)))[0]


async def test_there_are_never_more_hops_than_allowed(bench: Bench) -> None:
    bench.answers += [
        {"sufficient": False, "searches": ["Ledger of the smithy"]},
        {"sufficient": False, "searches": ["Ilmare", "Vorn", "candles", "grappled"]},
        {"sufficient": False, "searches": ["the widow"]},
    ]
    run = MemoryRun()
    await bench.search("multi-hop", await bench.inquiry(QUESTION, max_hops=3, k=1), run)
    searched = sorted(name for name in run.kept if name.startswith("search"))
    assert searched == ["search", "search-hop-2-1", "search-hop-3-1", "search-hop-3-2", "search-hop-3-3"]
    assert bench.service.calls == 2  # what was sure needs no last judge


async def test_no_search_is_repeated(bench: Bench) -> None:
    bench.answers.append({"sufficient": False, "searches": [QUESTION.upper(), "  ", ""]})
    run = MemoryRun()
    await bench.search("multi-hop", await bench.inquiry(QUESTION), run)
    assert list(run.kept) == ["search", "judge-1"]


async def test_a_judge_that_fails_loses_only_its_own_findings(bench: Bench) -> None:
    bench.answers += [named_lantern, Reply(status=400, error=BAD)]
    result, notices = await bench.search("multi-hop", await bench.inquiry(QUESTION))
    assert "Ledger of the smithy" in headings(result)
    assert result.confident
    assert notices[-1].startswith("The model that helps with searching failed, so I searched without it.")


async def test_passages_that_no_judge_found_sufficient_are_not_called_an_answer(bench: Bench) -> None:
    strange = "Which ferry company won the football cup of Duskshire in 1987?"
    assert not (await bench.search("single", await bench.inquiry(strange)))[0].confident
    bench.answers += [{"sufficient": False, "searches": ["Candles"]}, {"sufficient": False, "searches": []}]
    result, _ = await bench.search("multi-hop", await bench.inquiry(strange))
    assert not result.confident


async def test_a_replay_makes_no_call_and_finds_the_same(bench: Bench) -> None:
    bench.answers += [named_lantern, ENOUGH]
    run, inquiry = MemoryRun(), await bench.inquiry(QUESTION)
    first, notices = await bench.search("multi-hop", inquiry, run)
    again, told_again = await bench.search("multi-hop", inquiry, run.replay())
    assert (again, told_again) == (first, notices)
    assert bench.service.calls == 2


async def test_a_run_interrupted_between_hops_continues_there(bench: Bench) -> None:
    bench.answers += [named_lantern, ENOUGH]
    run, inquiry = MemoryRun(), await bench.inquiry(QUESTION)
    cut = bench.told("multi-hop", inquiry, run)
    async for told in cut:
        if "(hop 2 of 3)" in getattr(told, "text", ""):
            break
    await cut.aclose()
    assert list(run.kept) == ["search", "judge-1"]
    result, _ = await bench.search("multi-hop", inquiry, run.replay())
    assert isinstance(result, SearchResult)
    assert bench.service.calls == 2
