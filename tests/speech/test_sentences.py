from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.speech.sentences import LONGEST, Sentences


def cut(*pieces: str) -> list[str]:
    sentences = Sentences()
    found = [sentence for piece in pieces for sentence in sentences.feed(piece)]
    return found + sentences.end()


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("The door opens. A wolf!", ["The door opens.", "A wolf!"]),
        ("Is it? It is… and it waits.", ["Is it?", "It is… and it waits."]),
        (
            "Dr. Ana met Mrs. Lima at 3.5 km. Nobody came.",
            ["Dr. Ana met Mrs. Lima at 3.5 km.", "Nobody came."],
        ),
        ("Veja a pág. 12 do cap. 3. Depois pare.", ["Veja a pág. 12 do cap. 3.", "Depois pare."]),
        ("J. R. Silva fell. He rose.", ["J. R. Silva fell.", "He rose."]),
        ("So did I. He laughed.", ["So did I.", "He laughed."]),
        ('"Run!" she said. "Now."', ['"Run!"', "she said.", '"Now."']),
        ("— Corra! — disse ela. E correu.", ["— Corra!", "— disse ela.", "E correu."]),
        ("e.g. wolves, etc. and bears. Done.", ["e.g. wolves, etc. and bears.", "Done."]),
        ("A heading\n\nAnd a text", ["A heading", "And a text"]),
        ("Take:\n- a rope\n- a lamp\nand go.", ["Take:", "- a rope", "- a lamp\nand go."]),
        ("1. Wait.\n2. Go.", ["1. Wait.", "2. Go."]),
        ("天黑了。狼来了！", ["天黑了。", "狼来了！"]),
        ("no end", ["no end"]),
        ("", []),
        ("  \n\n ", []),
    ],
)
def test_sentences_end_where_a_reader_pauses(text: str, sentences: list[str]) -> None:
    assert cut(text) == sentences
    assert cut(*text) == sentences


def test_a_sentence_is_there_as_soon_as_the_next_one_begins() -> None:
    sentences = Sentences()
    assert sentences.feed("The door opens. ") == []
    assert sentences.feed("A") == ["The door opens."]


def test_a_sentence_without_an_end_is_cut_at_a_comma() -> None:
    words = "and on, " * 200
    found = cut(words)
    assert all(len(one) <= LONGEST for one in found)
    assert all(one.endswith(",") for one in found)
    assert all(len(one) <= LONGEST for one in cut("x" * 3 * LONGEST))


TEXTS = st.text(st.sampled_from('aA1 .!?…,\n")-。' + "é"), max_size=900)


@given(TEXTS, st.lists(st.integers(0, 900), max_size=8))
def test_the_pieces_in_which_a_text_arrives_change_nothing(text: str, cuts: list[int]) -> None:
    at = sorted({0, *cuts, len(text)})
    pieces = [text[begin:end] for begin, end in itertools.pairwise(at)]
    assert cut(*pieces) == cut(text)


@given(TEXTS)
def test_no_word_is_lost_or_said_twice(text: str) -> None:
    found = cut(text)
    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(one and len(one) <= LONGEST for one in found)
