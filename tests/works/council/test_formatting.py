"""The formatting in a member's answer does not affect the text below it."""

from __future__ import annotations

import pytest

from bot.adapters.markdown import blocks
from bot.words import words
from bot.works.council import formatting, tally
from bot.works.council.values import Reply

say = words("en")
AFTER = "What comes next."


def in_code(markdown: str) -> bool:
    """Whether text that follows would be shown as code."""
    return any(
        block.kind == "fence" and AFTER in block.source for block in blocks(f"{markdown}\n\n{AFTER}\n")
    )


@pytest.mark.parametrize(
    "text",
    [
        "```py\nx = 1",
        "~~~\nx = 1",
        "````md\n```\nx = 1",
        "- so:\n  ```py\n  x = 1",
        "1. ```\n   x = 1",
        "> ```\n> x = 1",
        "```\nx = 1\n``` no end",
        "Three of them (```) open nothing.",
        "````\n```\n````",
        "```\nprint('```')\n```",
    ],
)
def test_a_code_block_ends_with_its_answer(text: str) -> None:
    assert not in_code(formatting.whole(text))
    assert formatting.whole(text).startswith(text)


def test_complete_formatting_is_unchanged() -> None:
    for text in (
        "```py\nx = 1\n```",
        "Use ``` in the middle.",
        "````\n```\n````",
        "> ```\n> x\n\nAnd so on.",
    ):
        assert formatting.whole(text) == text


def test_a_code_block_ends_within_its_list_item_or_quotation() -> None:
    assert formatting.closing("- ```py\n  x = 1") == "\n  ```"
    assert formatting.closing("> ~~~~\n> x = 1") == "\n> ~~~~"


def test_a_long_answer_cut_inside_code_leaves_no_block_open() -> None:
    shown = formatting.excerpt("So:\n\n```py\n" + "x = 1\n" * 400 + "```\nEnd.", say)
    assert not in_code(shown)
    assert shown.endswith(f"*… {say('council.more', n='1,621')}*")


def test_a_reason_of_one_day_is_in_the_singular() -> None:
    reply = Reply(0, fault="budget.space", values={"cap": "1.00", "spent": "0.90", "days": "1"})
    assert "for 1 day," in formatting.failure(reply, say)


def test_figures_have_the_language_s_decimals_and_a_comparison_has_no_votes() -> None:
    counted = tally.count(
        [0, 1, 2], tally.likeness_votes({0: "a hot dog", 1: "a hot dog bun", 2: "tea"}), "exclude"
    )
    names = ["Ana", "Bo", "Cai"]
    compared = formatting.table(counted, names, words("pt"), judged=False)
    assert compared.startswith("| lugar | resposta | pontos |\n")
    assert "1,00 |" in compared
    judged = formatting.table(counted, names, words("en"))
    assert "votes for 1st" in judged
    assert "1.00 |" in judged
    assert words("pt")("council.tokens", tokens="1,234") == "1.234 tokens"
    assert words("pt")("council.minutes", n="1.5") == "1,5 min"
