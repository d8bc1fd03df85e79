"""A marker that reaches a reader stands for a passage that supports its sentence."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from bot.works.citing import CitationGate, sentences

PASSAGES = [
    "Fireball. A bright streak flashes to a point within range. Each creature takes 8d6 fire damage.",
    "Grappling. You can use the Attack action to make a grapple.\nThe target must be no larger.",
]


def terms(text: str) -> list[str]:
    return [one for one in re.findall(r"\w+", text.lower()) if len(one) > 3]


def through(*pieces: str) -> tuple[str, CitationGate]:
    gate = CitationGate(PASSAGES, terms)
    return "".join([*(gate.feed(piece) for piece in pieces), gate.finish()]), gate


def test_a_supported_marker_stays_with_a_verbatim_quote() -> None:
    text, gate = through("It deals 8d6 fire damage [1].")
    assert text == "It deals 8d6 fire damage [1]."
    assert gate.quotes == {1: "Each creature takes 8d6 fire damage."}


def test_a_number_that_was_never_given_is_taken_out() -> None:
    text, gate = through("It deals fire damage [7].")
    assert text == "It deals fire damage."
    assert gate.dropped == 1


def test_a_marker_whose_passage_says_nothing_of_the_sentence_is_taken_out() -> None:
    assert through("Swimming costs extra movement [2].")[0] == "Swimming costs extra movement."


def test_a_marker_after_the_full_stop_belongs_to_the_sentence_before_it() -> None:
    assert through("You grapple with an attack action. [2] Then you move.")[1].quotes == {
        2: "You can use the Attack action to make a grapple."
    }


def test_an_unfinished_marker_is_held_back_until_it_closes() -> None:
    gate = CitationGate(PASSAGES, terms)
    assert gate.feed("Fire damage [") == "Fire damage"
    assert gate.feed("1") == ""
    assert gate.feed("] burns") == " [1] burns"


def test_a_marker_that_never_closes_never_shows() -> None:
    assert through("Fire damage [1")[0] == "Fire damage"


def test_lists_and_ranges_of_numbers_are_checked_one_by_one() -> None:
    assert (
        through("Fire damage and the attack action [1, 2-3]")[0] == "Fire damage and the attack action [1][2]"
    )


def test_brackets_that_are_no_markers_pass() -> None:
    assert through("Roll [1d6] or see [the table].")[0] == "Roll [1d6] or see [the table]."


@given(st.text(alphabet="ab. \n[]12,【】", max_size=80), st.integers(1, 7))
def test_cutting_the_stream_anywhere_changes_nothing(text: str, size: int) -> None:
    whole, _ = through(text)
    pieces, _ = through(*[text[i : i + size] for i in range(0, len(text), size)])
    assert pieces.rstrip() == whole.rstrip()


@given(st.text(max_size=300))
def test_sentences_are_substrings_and_lose_no_word(text: str) -> None:
    found = sentences(text)
    assert all(one in text for one in found)
    assert set("".join(text.split())) - set("".join("".join(found).split())) <= set("\"'”’)*_")
