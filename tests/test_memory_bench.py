"""Our own data sets for a story's memory match what docs/retrieval-lab.md says about them."""

from __future__ import annotations

import json

import pytest

from benchmarks.memory_sets import portuguese, reworded_play
from bot.retrieval.lexical import content_terms
from bot.works.story.command_line import read_queries


@pytest.mark.parametrize("name", ["Portuguese", "Portuguese reworded"])
def test_each_portuguese_question_has_its_answer_in_the_story(name: str) -> None:
    ((log, questions),) = portuguese()[name]
    turns = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    asked = read_queries(questions)
    assert len({turn["scene"] for turn in turns}) >= 80
    assert len(asked) >= 60
    assert len({question.query for question in asked}) == len(asked)
    assert {label for question in asked for label in question.gold} <= {turn["id"] for turn in turns}


def test_reworded_queries_share_fewer_words_with_their_answers() -> None:
    shares = {}
    for name, ((log, questions),) in portuguese().items():
        turns = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        texts = {turn["id"]: f"{turn['speaker']} {turn['text']}" for turn in turns}
        shared = []
        for asked in read_queries(questions):
            terms = set(content_terms(asked.query, "pt"))
            answer_terms = {term for label in asked.gold for term in content_terms(texts[label], "pt")}
            shared.append(len(terms & answer_terms) / len(terms))
        shares[name] = sum(shared) / len(shared)
    assert shares["Portuguese reworded"] < shares["Portuguese"] / 2


def test_there_are_a_hundred_reworded_queries_over_play() -> None:
    asked = reworded_play()
    assert (
        len({question["query"] for question in asked})
        == len({(question["episode"], question["scene"]) for question in asked})
        == 100
    )
