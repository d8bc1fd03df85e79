"""The chair's text is split at its DISSENT: line, whatever pieces it arrives in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.works.council.verdict import DissentSplitter

ABOVE = "Take the ferry.\n\nDIS is no line of its own, nor is a D alone:\nD\n- DISSENT in a list"
BELOW = "The pass is faster.\nDISSENT: said once more."


def parted(text: str, cuts: list[int]) -> tuple[str, str]:
    parting, shown, at = DissentSplitter(), [], 0
    for cut in [*sorted(cuts), len(text)]:
        shown.append(parting.feed(text[at:cut]))
        at = max(at, cut)
    shown.append(parting.finish())
    return "".join(shown), parting.dissent


@given(st.lists(st.integers(0, 140), max_size=40), st.sampled_from(["", "**", "## ", "__"]))
def test_the_pieces_in_which_the_text_arrives_make_no_difference(cuts: list[int], mark: str) -> None:
    closing = "" if mark == "## " else mark
    text = f"{ABOVE}\n\n{mark}Dissent:{closing}\n{BELOW}"
    assert parted(text, [cut for cut in cuts if cut <= len(text)]) == (ABOVE, BELOW)


def test_a_text_without_the_line_is_shown_completely() -> None:
    assert parted(ABOVE, [3, 9, 20]) == (ABOVE, "")


@pytest.mark.parametrize("said", ["none", "None.", "*none*", "nenhuma", " \n"])
def test_a_dissent_that_says_there_is_none_is_left_out(said: str) -> None:
    assert parted(f"Take the ferry.\nDISSENT:\n{said}", []) == ("Take the ferry.", "")


def test_words_are_shown_once_they_cannot_be_the_dissent_line() -> None:
    parting = DissentSplitter()
    assert parting.feed("Take ") == "Take "
    assert parting.feed("the ferry.\n") == "the ferry."
    assert parting.feed("DIS") == ""
    assert parting.feed("tant") == "\nDIStant"
