"""No text makes the ballot reader slow: its time grows linearly with the text."""

from __future__ import annotations

import re
import time
from functools import cache

import pytest

from bot.works.council import (
    ballot_syntax,
    ballot_values,
    ballot_words,
    diagram,
    direction,
    final_ranking,
    judge_text,
    mentions,
    places,
    program,
    refusal,
    reservations,
    scales,
    stated_order,
    unheaded_ranking,
)
from bot.works.council.ballot import read
from tests.kill.instants import ALL

CRITIQUES = (
    "Response A is sound in {0}.\n\nResponse B tries to cheat in {0}.\n\nResponse C is the best in {0}.\n\n"
)
SIGNS = [
    "FINAL RANKING:\n", "final ranking of ", "1. Response C\n", "Response C ", "Response ", "- ", "> ", "A > ", "A < ",
    "A=", "A ", "A, ", "A and ", "A\n", "so ", "is ", "and ", "the ", "My top 3:\n", "top 3 \n", "Best: ", "9/10 ",
    "rank 1 ", "(", ")", "[", "{", '{"', "{'", '["', "|", "`", "```\n", "*", "~", "_", "#", "9", "\"", "'", "<",
    "<a>", "<td>", "“", "”", "„", "«", "»", "★\n", "{“", "“\n“: ", "\\; ",
    "Ответ А\n", "А > В", "S tier: ", "S tier\n", "- A: grade B\n", "```dot\nA->B\n", "an arrow is better ", "more is ",
    "....... 9", "Last: A\n", "| A | B |\n", "Rank-", "<ol>", "A is 1st: ", "It is ", "List: A, B\n",
    "A is out. ", "3rd place: A\n",
    '<p name="ranking">', "🥇\n", "🥉\n⚠️", "<think>", "</think>\n", "⟦", "\\", "\\boxed{", "$",
    "🏁", "🏁 ", "# 🏁 ", " »A« ", " »A", "print(ranking)\n", "print(", "scores = [('A', 1), ", "print(ranking)  # A, ",
    "C is fourth, ", "A, B and C share ", "can't JSON ", "/*", "…", " ", "\n",
]  # fmt: skip
WORDS = sorted({
    word
    for module in (
        ballot_syntax, ballot_words, diagram, direction, final_ranking, judge_text, places, refusal, scales,
        stated_order, unheaded_ranking, mentions, program, reservations, ballot_values,
    )
    for name, text in vars(module).items()
    for word in re.findall(r"[^\W\d_]+(?: [^\W\d_]+){0,2}", str(getattr(text, "pattern", text)))
    if isinstance(text, str | re.Pattern) and not name.startswith("__")
})  # fmt: skip
"""Every word that the patterns of the reader know, also with those behind it."""


def seconds(text: str) -> float:
    begun = time.process_time()
    read(text, 3)
    return time.process_time() - begun


@cache
def plain_seconds(length: int) -> float:
    """The time for critiques without repeated lines, so that cached lines do not help."""
    return seconds("".join(CRITIQUES.format(n) for n in range(length // len(CRITIQUES)))[:length])


@pytest.mark.parametrize("piece", SIGNS)
@pytest.mark.parametrize("head", ["", "FINAL RANKING: "])
def test_the_longest_answers_are_read_quickly(piece: str, head: str) -> None:
    """In at most six times the processor time of plain critiques as long.

    A text is long enough to tell where even time that grows with its square would stay within that.
    """
    allowed = 6 * plain_seconds(64_000)
    for length in (8_000, 16_000, 32_000, 64_000):
        needed = seconds(head + piece * (length // len(piece)))
        if needed * (64_000 / length) ** 2 < allowed:
            break
    assert needed < allowed


@pytest.mark.parametrize(
    "start", [0, *(pytest.param(start, marks=pytest.mark.slow) for start in range(1, 8 if ALL else 2))]
)
def test_no_word_that_is_repeated_makes_the_reader_slow(start: int) -> None:
    """Words that two parts of a pattern match cost exponential time within a few dozen repetitions.

    A quarter of the words; all of them in `make test-kill`.
    """
    allowed = 30 * plain_seconds(1_200)
    for word in WORDS[start::8]:
        said = f"{word} " * (380 // (len(word) + 1))
        assert seconds(f"A is best {said}.\nso {said}: A > B > C\n{said} A") < allowed, word
