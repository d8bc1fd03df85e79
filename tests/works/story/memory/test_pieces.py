"""A turn as pieces: nothing is lost, nothing is too long, what was withdrawn is none."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bot.works.story.memory.pieces import LONGEST, paragraphs, pieces_of
from tests.works.story.tale import Tale, prose

WORDS = st.lists(st.sampled_from(["lamp", "sea.", "door!", "\n\n", "\n", "“Go.”", "x" * 200]), max_size=80)


@given(WORDS)
def test_paragraphs_hold_every_word_in_order(words: list[str]) -> None:
    text = " ".join(words)
    assert " ".join(paragraphs(text)).split() == text.split()


def test_a_long_paragraph_is_cut_at_sentences() -> None:
    parts = paragraphs("She counts the steps under her breath. " * 60)
    assert len(parts) > 3
    assert all(len(part) <= LONGEST and part.endswith("breath.") for part in parts)


def test_a_turn_is_what_its_player_wrote_and_the_scene_that_counts() -> None:
    tale = Tale()
    turn = tale.turn("I ring the bell.", prose(1, 300))
    tale.add("scene", {"text": "It rings. Nobody comes."}, turn)
    nodes = list(pieces_of(tale.story.turns[turn]).values())
    assert [(piece.speaker, piece.text) for pieces in nodes for piece in pieces] == [
        ("Ana", "I ring the bell."),
        ("", "It rings. Nobody comes."),
    ]


def test_a_piece_is_indexed_with_who_says_it_and_when() -> None:
    tale = Tale()
    tale.add("act", {"mode": "say", "text": "Hello.", "name": "Gina", "when": "20 January, 2023"})
    (pieces,) = pieces_of(tale.story.told[0]).values()
    assert [piece.prefixed for piece in pieces] == ["Gina (20 January, 2023): Hello."]
