"""Follow-ups are rewritten to stand alone, and foreign questions translated, in at most one call."""

from __future__ import annotations

from tests.fakes.chat_completions import Reply
from tests.fakes.run import MemoryRun
from tests.strategies.conftest import Bench, headings

PAST = (("How long does a candle burn while walking?", "Four hours [1]."),)
PORTUGUESE = "Quanto tempo dura uma vela acesa enquanto se caminha à noite?"


async def test_an_independent_question_in_the_shelfs_language_needs_no_model(bench: Bench) -> None:
    run = MemoryRun()
    result, notices = await bench.search("single", await bench.inquiry("How long does a candle burn?"), run)
    assert headings(result)[0] == "Candles"
    assert (bench.service.calls, list(run.kept), notices) == (0, ["search"], [])


async def test_a_heading_typed_as_a_follow_up_needs_no_model(bench: Bench) -> None:
    await bench.search("single", await bench.inquiry("Grappled", history=PAST))
    assert bench.service.calls == 0


async def test_a_follow_up_is_searched_as_it_stands_alone(bench: Bench) -> None:
    bench.answers.append({"question": "How long does a candle burn while running?", "translations": []})
    run = MemoryRun()
    result, notices = await bench.search(
        "single", await bench.inquiry("and when running?", history=PAST), run
    )
    assert headings(result)[0] == "Candles"
    assert result.confident
    assert list(run.kept) == ["search", "rewrite", "search-alone"]
    assert "Searching for: How long does a candle burn while running?" in notices
    prompt = bench.prompt(0)
    assert "<earlier>\n<question>How long does a candle burn while walking?</question>" in prompt


async def test_a_foreign_question_finds_the_same_as_its_translation(bench: Bench) -> None:
    alone, _ = await bench.search("single", await bench.inquiry(PORTUGUESE, language="pt", helper=False))
    assert "rules.other_language" in alone.notices
    bench.answers.append(
        {"question": PORTUGUESE, "translations": ["How long does a candle burn while walking?"]}
    )
    run = MemoryRun()
    result, _ = await bench.search("single", await bench.inquiry(PORTUGUESE, language="pt"), run)
    assert headings(result)[0] == "Candles"
    assert result.confident
    assert result.notices == []
    assert list(run.kept) == ["search", "rewrite", "search-en"]
    assert "English" in bench.service.requests[0]["messages"][0]["content"]


async def test_a_foreign_follow_up_takes_one_call_for_both(bench: Bench) -> None:
    bench.answers.append(
        {
            "question": "Quanto dura uma vela ao correr?",
            "translations": ["How long does a candle burn running?"],
        }
    )
    run = MemoryRun()
    inquiry = await bench.inquiry("e quando se corre durante a noite?", language="pt", history=PAST)
    result, _ = await bench.search("single", inquiry, run)
    assert headings(result)[0] == "Candles"
    assert bench.service.calls == 1
    assert set(run.kept) == {"search", "rewrite", "search-alone", "search-en"}


async def test_when_the_model_fails_a_short_follow_up_is_read_with_the_question_before_it(
    bench: Bench,
) -> None:
    bench.answers += [Reply(text="?"), Reply(text="?")]
    result, notices = await bench.search("single", await bench.inquiry("does it by day?", history=PAST))
    assert headings(result)[0] == "Candles"
    assert notices[-1].startswith("The model that helps with searching failed")


async def test_without_a_model_a_short_follow_up_is_read_the_same_way(bench: Bench) -> None:
    run = MemoryRun()
    inquiry = await bench.inquiry("does it by day?", history=PAST, helper=False)
    result, notices = await bench.search("single", inquiry, run)
    assert headings(result)[0] == "Candles"
    assert (list(run.kept), notices) == (["search", "search-together"], [])


async def test_the_strategy_continues_with_the_rewritten_question(bench: Bench) -> None:
    bench.answers += [
        {"question": "How long does a candle burn while running?", "translations": []},
        {"sufficient": True, "searches": []},
    ]
    await bench.search("multi-hop", await bench.inquiry("and when running?", history=PAST))
    assert "<question>\nHow long does a candle burn while running?\n</question>" in bench.prompt(1)


SAID = "Ana: How bright is a lantern?\nBia: How long does a candle burn while walking?"


async def test_messages_in_the_thread_count_like_earlier_questions(bench: Bench) -> None:
    bench.answers.append({"question": "How long does a candle burn while running?", "translations": []})
    run = MemoryRun()
    result, _ = await bench.search("single", await bench.inquiry("and when running?", earlier=SAID), run)
    assert headings(result)[0] == "Candles"
    assert list(run.kept) == ["search", "rewrite", "search-alone"]
    assert f"<earlier>\n{SAID}\n</earlier>" in bench.prompt(0)


async def test_without_a_model_a_short_question_is_read_with_the_last_line_of_the_thread(
    bench: Bench,
) -> None:
    run = MemoryRun()
    result, _ = await bench.search(
        "single", await bench.inquiry("does it by day?", earlier=SAID, helper=False), run
    )
    assert headings(result)[0] == "Candles"
    assert list(run.kept) == ["search", "search-together"]
    inquiry = await bench.inquiry("does it by day?", earlier=f"Ana: {'candle ' * 5_000}", helper=False)
    await bench.search("single", inquiry, run := MemoryRun())
    assert len(run.kept) == 2


async def test_without_a_model_a_foreign_question_gets_advice(bench: Bench) -> None:
    for language, question in (
        ("nl", "Hoe lang brandt een kaars tijdens het lopen?"),
        ("ru", "Сколько горит свеча?"),
    ):
        inquiry = await bench.inquiry(question, language=language, helper=False)
        result, _ = await bench.search("single", inquiry)
        assert (result.confident, result.notices) == (False, ["rules.other_language"])
