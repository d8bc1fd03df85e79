"""Strategies as a person sees them through `chat --json`: follow-ups, other languages, hops."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from bot.config import Config, load
from tests.fakes import migrated
from tests.fakes.chat_completions import ChatService, Reply
from tests.promises.talk import ASK, KEY, of, settings, status, talking, texts

Body = dict[str, Any]
HOPS = "/rules ask Who made the lantern of the ferryman? --strategy multi-hop --k 2"
FERRY = """# The Ferry

## The ferryman

The ferryman carries a lantern across the river, and the lantern is called Duskglass by those who wait.

## The river crossing

A ferryman and a lantern are needed to cross the river. Waiting costs a coin.

## Ledger of the smithy

Duskglass was forged by Ilmare in the winter of the long bells.
"""


def kind(body: Body) -> str:
    """The kind of request, by its schema; without one, an answer."""
    if "response_format" not in body:
        return "answer"
    wanted = body["response_format"]["json_schema"]["schema"]["properties"]
    return "rewrite" if "translations" in wanted else "judge" if "sufficient" in wanted else "expand"


def prompt(body: Body) -> str:
    return str(body["messages"][-1]["content"])


def helping(**said: Any) -> Any:
    """A script by the kind of request: JSON for helper calls, text for an answer, or a function of the prompt."""

    def answered(body: Body) -> Reply:
        answer = said[kind(body)]
        answer = answer(prompt(body)) if callable(answer) else answer
        return Reply(text=answer) if isinstance(answer, str) else Reply(pieces=[json.dumps(answer)])

    return answered


def judge(read: str) -> dict[str, Any]:
    """A correct judge, which searches for a name in the passages."""
    if "forged by" in read:
        return {"sufficient": True, "searches": []}
    (name,) = set(re.findall(r"is called (\w+)", read))
    return {"sufficient": False, "searches": [f"{name} forged"]}


def number(read: str, words: str) -> str:
    """The number of the passage with these words."""
    found: list[tuple[str, str]] = re.findall(r'<passage n="(\d+)".*?>\n(.*?)\n</passage>', read, re.DOTALL)
    return next(n for n, text in found if words in text)


async def test_a_follow_up_is_rewritten_as_a_complete_question_and_searched(stocked: Path) -> None:
    alone = "How long does a hooded lantern burn on a flask of oil?"
    script = helping(
        rewrite={"question": alone, "translations": []}, answer="The lantern burns six hours on a flask [1]."
    )
    async with ChatService(script) as service, talking(settings(stocked, service)) as talk:
        await talk.say("How far does a hooded lantern cast bright light?")
        events = await talk.say("and how long?")
    assert status(events) == "done"
    assert [kind(body) for body in service.requests] == ["answer", "rewrite", "answer"]
    assert f"Searching for: {alone}" in texts(events, "status")
    assert of(events, "citation")[0]["heading"].endswith("Lanterns")


async def test_a_translated_question_finds_english_text_and_is_cited_with_its_words(stocked: Path) -> None:
    question = "/rules ask O que acontece com a velocidade de uma criatura que foi agarrada por outra?"

    def answer(read: str) -> str:
        n = number(read, "speed becomes zero")
        return f'A velocidade dela passa a ser zero [{n} "speed becomes zero until the grapple ends"]. Ela voa [{n}].'

    script = helping(
        rewrite={"question": "", "translations": ["What happens to the speed of a grappled creature?"]},
        answer=answer,
    )
    async with ChatService(script) as service, talking(settings(stocked, service)) as talk:
        events = await talk.say(question)
    assert status(events) == "done"
    assert [kind(body) for body in service.requests] == ["rewrite", "answer"]
    text = texts([event for event in events if event.get("stage") == "answer"])
    assert re.fullmatch(r"A velocidade dela passa a ser zero \[\d+\]\. Ela voa\. ?", text)
    (citation,) = of(events, "citation")
    assert citation["quote"] == "speed becomes zero until the grapple ends"
    assert "Brazilian Portuguese" in service.requests[-1]["messages"][0]["content"]
    assert "idiomas" not in texts(events, "notice")  # the notice about the other language is not shown again


async def test_statements_without_a_valid_marker_are_named_below_the_answer(stocked: Path) -> None:
    def answer(read: str) -> str:
        n = number(read, "speed becomes zero")
        return f"The speed of a grappled creature becomes zero [{n}]. Dragons hoard amethysts [{n}]. Elves sing [^99]."

    async with ChatService(helping(answer=answer)) as service, talking(settings(stocked, service)) as talk:
        events = await talk.say("/rules ask What happens to the speed of a grappled creature?")
    text = texts([event for event in events if event.get("stage") == "answer"])
    assert "Dragons hoard amethysts. Elves sing." in text
    (notice,) = of(events, "notice")
    assert "2 statements above have no source" in notice["text"]
    assert "Dragons hoard amethysts" in notice["text"]


async def test_brackets_in_a_book_are_no_citation_markers(stocked: Path, tmp_path: Path) -> None:
    book = tmp_path / "notes.md"
    book.write_text(
        "# Bells [2]\n\nThe bell of the ferry rings twice [1] at dusk【3】, says the keeper.",
        encoding="utf-8",
    )
    async with talking(settings(stocked)) as talk:
        await talk.say(f"/library add {book} --shelf bells")
        events = await talk.say("/rules ask When does the bell of the ferry ring? --shelf bells")
    text = texts([event for event in events if event.get("stage") == "answer"])
    assert "rings twice (1) at dusk(3), says" in text
    assert re.findall(r"\[.*?\]", text) == ["[1]"]
    assert "twice [1] at dusk" in of(events, "citation")[0]["quote"]


async def test_without_a_model_a_foreign_question_gets_a_notice(stocked: Path) -> None:
    async with talking(settings(stocked)) as talk:
        events = await talk.say(
            "/rules ask O que acontece com a velocidade de uma criatura agarrada, grappled?"
        )
    assert "idiomas diferentes" in texts(events, "notice")


async def test_multi_hop_shows_each_hop_and_cites_the_last(stocked: Path, tmp_path: Path) -> None:
    (tmp_path / "ferry.md").write_text(FERRY, encoding="utf-8")

    def answer(read: str) -> str:
        return f"Ilmare forged Duskglass [{number(read, 'forged')}]."

    async with (
        ChatService(helping(judge=judge, answer=answer)) as service,
        talking(settings(stocked, service)) as talk,
    ):
        assert status(await talk.say(f"/library add {tmp_path / 'ferry.md'} --shelf rules")) == "done"
        events = await talk.say(HOPS)
    assert status(events) == "done"
    hop = next(
        status for status in of(events, "status") if "Searching for: Duskglass forged" in status["text"]
    )
    assert (hop["done"], hop["total"]) == (2, 3)
    (citation,) = of(events, "citation")
    assert citation["heading"].endswith("Ledger of the smithy")
    assert [kind(body) for body in service.requests] == ["judge", "judge", "answer"]


async def test_multi_question_searches_its_parts_at_once_in_the_durable_engine(stocked: Path) -> None:
    parts = ["Grappled", "How long does a hooded lantern burn?", "rounds without breath", "Drowning"]

    def answer(read: str) -> str:
        return f"Speed becomes zero [{number(read, 'speed becomes zero')}]. It burns six hours [{number(read, 'six')}]."

    script = helping(expand={"questions": parts}, answer=answer)
    async with ChatService(script) as service, talking(settings(stocked, service)) as talk:
        events = await talk.say(
            "/rules ask Do a grappled speed and a lantern compare? --strategy multi-question"
        )
    assert status(events) == "done"
    assert f"Searching for: {' · '.join(parts)}" in texts(events, "status")
    assert {citation["heading"].rsplit(" › ", 1)[-1] for citation in of(events, "citation")} == {
        "Grappled",
        "Lanterns",
    }
    assert [kind(body) for body in service.requests] == ["expand", "answer"]


async def test_a_strategy_without_a_model_is_a_single_search_and_says_so_once(stocked: Path) -> None:
    async with talking(settings(stocked)) as talk:
        events = await talk.say(f"{ASK} --strategy multi-question")
    assert status(events) == "done"
    assert texts(events, "notice").count("multi-question") == 1
    assert "speed becomes zero" in texts(events)


async def test_an_unknown_strategy_is_refused_with_a_list_of_the_known_ones(stocked: Path) -> None:
    async with talking(settings(stocked)) as talk:
        events = await talk.say(f"{ASK} --strategy psychic")
    assert "single, multi-question, multi-hop" in texts(events, "failed")


def chained(data: Path, service: ChatService, *, cites: bool = True) -> Config:
    """A config with a model that the service does not know, and a fallback that answers."""
    file = data.with_name("chain.toml")
    file.write_text(
        f'[embedding]\nmodel = "none"\n[providers.fake]\nkind = "openai-compatible"\n'
        f'base_url = "{service.base_url}"\napi_key_env = "FAKE_KEY"\ncites = {str(cites).lower()}\n'
        '[roles]\nanswerer = ["fake:gone", "fake:small"]\n',
        encoding="utf-8",
    )
    return load(file, migrated.folder(data), {"FAKE_KEY": KEY})


async def test_the_answer_names_the_fallback_model(stocked: Path) -> None:
    script = helping(answer="The speed of a grappled creature becomes zero [1].")
    async with ChatService(script) as service, talking(chained(stocked, service)) as talk:
        events = await talk.say(ASK)
    assert "because fake:gone failed" in texts(events, "notice")
    assert of(events, "citation")


async def test_a_model_that_cannot_cite_is_replaced_by_the_passages(stocked: Path) -> None:
    async with ChatService(helping()) as service, talking(chained(stocked, service, cites=False)) as talk:
        events = await talk.say(ASK)
    assert service.calls == 0
    assert "speed becomes zero" in texts(events)
    assert "is not reliable enough to cite" in texts(events, "notice")


async def test_a_conversation_mentions_the_demo_model_once(stocked: Path) -> None:
    file = stocked.with_name("demo.toml")
    file.write_text('[embedding]\nmodel = "none"\n[roles]\nanswerer = "demo:smollm2"\n', encoding="utf-8")
    async with talking(load(file, stocked, {})) as talk:
        first, second = await talk.say(ASK), await talk.say(f"{ASK} --k 3")
    assert "ANTHROPIC_API_KEY" in texts(first, "notice")
    assert "speed becomes zero" in texts(first)
    assert "ANTHROPIC_API_KEY" not in texts(second, "notice")


async def test_cross_references_come_before_close_passages_that_are_not_cited(
    stocked: Path, tmp_path: Path
) -> None:
    book = "# Town\n\n## Gates\n\nThe gate keeper opens the gate. See also Bells.\n\n## Gate toll\n\n"
    book += "The gate keeper takes a toll at the gate.\n\n## Bells\n\nBells ring at noon.\n"
    (tmp_path / "town.md").write_text(book, encoding="utf-8")

    def answer(read: str) -> str:
        return f"The gate keeper opens the gate [{number(read, 'opens the gate')}]."

    async with ChatService(helping(answer=answer)) as service, talking(settings(stocked, service)) as talk:
        await talk.say(f"/library add {tmp_path / 'town.md'} --shelf rules")
        events = await talk.say("/rules ask What does the gate keeper do at the gate?")
    authors, close = of(events, "choices")
    assert [choice["label"] for choice in authors["choices"]] == ["Bells"]
    assert "Gate toll" in [choice["label"] for choice in close["choices"]]
    assert authors["prompt"] != close["prompt"]


@pytest.mark.parametrize("quoting", [False, True])
async def test_the_first_token_is_shown_without_delay(stocked: Path, quoting: bool) -> None:
    sent: list[float] = []

    def answered(body: Body) -> Reply:
        sent.append(time.perf_counter())
        return Reply(text="The speed becomes zero" + (' [1 "speed becomes zero"].' if quoting else " [1]."))

    waited: list[float] = []
    async with ChatService(answered) as service, talking(settings(stocked, service)) as talk:
        for _ in range(9):
            start = len(talk.events)
            await talk.type(ASK)
            await talk.until(
                lambda events: any(e["event"] == "text" and e.get("stage") == "answer" for e in events), start
            )
            waited.append(time.perf_counter() - sent[-1])
            await talk.until(lambda events: any(e["event"] == "done" for e in events), start)
    # The best of nine: a busy machine delays some, but a wait in the bot (a quarter of a second at least) would delay
    # all.
    assert min(waited) <= 0.2, waited
