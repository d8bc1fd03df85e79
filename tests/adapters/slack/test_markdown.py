"""Markdown for Slack: supported markup stays, the rest is replaced, and a growing text is only extended."""

from __future__ import annotations

import gc
import re

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from bot.adapters.slack.text.escaping import converted
from bot.adapters.slack.text.markdown import Piece, mrkdwn, pieces, safe
from bot.works.council.formatting import quoted
from tests.adapters.slack.looks import CALLS, MARKS, markdown

LATE = re.compile(r"[^\s|]+\s[^\n|]*\|.*\n[\s>|:-]*-")
"""A table's header of which words have been shown before its first pipe came."""


def joined(found: list[Piece]) -> str:
    return "".join(piece.lead + piece.text for piece in found)


@pytest.mark.parametrize(
    "text",
    [
        "# One\n## Two\n\n###### Six",
        "- a\n  - b\n- c **bold** and *lean* and ~~gone~~",
        "1. one\n2. two\n\n   more of two",
        "> quoted\n> on",
        "```py\nx = {'a': 1}\n\n    y = x[0](1) < 2 && True\n```\nand `code`.",
        "It says so [1][2], see https://a.example/b_c.",
    ],
)
def test_markup_that_slack_supports_is_unchanged(text: str) -> None:
    assert safe(text).replace("\u200b", "") == text


def test_a_table_becomes_code_in_aligned_columns() -> None:
    assert safe("Before\n| Spell | Level |\n|:--|--:|\n| **Light** | 0 |\n| Fireball | 3 |\nAfter") == (
        "Before\n```\nSpell     Level\n────────  ─────\nLight         0\nFireball      3\n```\nAfter"
    )


def test_a_wide_table_becomes_a_list() -> None:
    shown = safe("| Name | What it does |\n|---|---|\n| Light | " + "shines " * 20 + "|")
    assert shown.startswith("_Name · What it does_\n- **Light**: shines shines")


def test_a_table_in_a_quotation_looks_as_everywhere_else() -> None:
    """A council shows what its members say as quotations."""
    text = quoted("Mine:\n\n| Spell | Level |\n|---|---|\n| Light | 0 |\n\nSo I say.")
    assert safe(f"**Member 1**\n\n{text}\n\nAfter") == (
        "**Member 1**\n\n> Mine:\n> \n```\nSpell  Level\n─────  ─────\nLight  0\n```\n> \n> So I say.\n\nAfter"
    )
    wide = safe(
        quoted("| Name | What it does |\n|---|---|\n| Light | " + "shines " * 20 + "|\n| **Dark** | is |")
    )
    assert wide.split("\n")[0] == "> _Name · What it does_"
    assert all(line.startswith("> ") for line in wide.split("\n"))
    assert safe("> a | b\n--- | ---") == "> a | b\n--- | ---"
    assert "```" not in safe("| a |\n|---|\n> | b |").split("```")[2]


def test_equivalent_markup_is_normalised() -> None:
    assert safe("+ a\n* b\n3) c") == "- a\n- b\n3. c"
    assert safe("~~~python\nx\n~~~") == "```python\nx\n```"
    assert safe("- ```\n  x\n  ```") == "•\n```\nx\n```"
    assert safe("> ```\n> x\n> ```\nend") == "```\nx\n```\nend"
    assert safe("***") == "─" * 24
    assert safe("no heading\n==\nnor\n--") == "no heading\n\\==\nnor\n\\--"
    assert safe("![a map](https://a.example/m.png)") == "[a map](https://a.example/m.png)"


def test_code_neither_ends_nor_begins_by_accident() -> None:
    assert safe("```\na ``` b\n```").replace("\u200b", "") == "```\na ``` b\n```"
    assert safe("```\na ``` b\n```").count("```") == 2
    assert safe("one ` tick") == "one ˋ tick"
    assert safe("```\nnever closed") == "```\nnever closed\n```"


def test_markdown_becomes_slacks_own_markup() -> None:
    text = "## A *B* ##\n- **bold** and *lean*, ~~gone~~\n> [x](https://a.example)\n\n```py\na < b ** 2\n```"
    assert mrkdwn(text) == (
        "*A _B_*\n• *bold* and _lean_, ~gone~\n> <https://a.example|x>\n\n```\na &lt; b ** 2\n```"
    )


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(["", "word " * 17, "- " + "word " * 17, "> " + "word " * 17, "x | y\n", "日本 " * 30]),
    markdown([*CALLS, *MARKS]).map(lambda text: text[:400]),
    st.sampled_from(["", " and more words", "](https://e.com)`"]),
    st.data(),
)
def test_the_shown_part_of_a_growing_text_never_changes(
    before: str, text: str, after: str, data: st.DataObject
) -> None:
    text = before + text + after
    assume(not LATE.search(text))
    whole = joined(pieces(text))
    for at in data.draw(st.lists(st.integers(0, len(text)), max_size=12)):
        shown = joined(pieces(text[:at], whole=False))
        assert whole.startswith(shown), (at, shown[-80:])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("A line\nAnother li", "A line\nAnother"),
        ("It", ""),
        ("It ", ""),
        ("It i", "It"),
        ("It |", ""),
        ("| It i", ""),
        ("> | It i", ""),
        ("- It i", "- It"),
        ("It is | he", "It is"),
        ("It is | here\n", "It is"),
        ("It is | here\n--", "It is"),
        ("It is | here\n--- he", "It is | here\n---"),
        ("| a | b |\nNo ta", "| a | b |\nNo"),
        ("- - - |", ""),
        ("word " * 32 + "[a li", ("word " * 32).strip()),
        ("word " * 32 + "and `co de", ("word " * 32 + "and").strip()),
        ("word " * 32 + "hey @her", ("word " * 32 + "hey").strip()),
        ("Text\n| a | b |", "Text"),
        ("Text\n| a | b |\n|---|---|\n| 1 | 2 |\n", "Text"),
        ("Text\n| a | b |\n|---|---|\n| 1 | 2 |\n\n", "Text\n```\na  b\n─  ─\n1  2\n```"),
        ("Text\n```py\n", "Text"),
        ("Text\n```py\nx = 1\ny =", "Text\n```py\nx = 1"),
        ("日本語の文" * 20, "日本語の文" * 20),
    ],
)
def test_incomplete_markup_is_held_back(text: str, shown: str) -> None:
    assert joined(pieces(text, whole=False)) == shown


def test_a_long_table_is_shown_part_by_part() -> None:
    rows = "".join(f"| spell {n} | {'x' * 30} |\n" for n in range(200))
    growing = joined(pieces("| a | b |\n|---|---|\n" + rows, whole=False))
    assert "spell 100 " in growing
    assert "spell 199" not in growing
    assert "spell 199" in safe("| a | b |\n|---|---|\n" + rows)


def test_a_line_of_many_quotation_marks_is_a_quotation() -> None:
    assert converted("> > # Bells") == "> > *Bells*"
    assert converted(">" * 5_000 + "a") == "> " * 5_000 + "a"


def test_the_states_of_a_growing_text_use_little_memory() -> None:
    words, before = [f"word{n}" for n in range(400)], _pieces_in_memory()
    for length in range(1, len(words), 4):
        pieces(" ".join(words[:length]), whole=False)
    assert _pieces_in_memory() - before < 5_000, "out of 20,000 blocks in these states"


def _pieces_in_memory() -> int:
    return sum(isinstance(found, Piece) for found in gc.get_objects())
