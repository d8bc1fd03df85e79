"""A turn is cut into pieces: nothing is lost, none is too long, and withdrawn words are left out."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from bot.works.story.exchange.chat_log import read_chat_log
from bot.works.story.log.nodes import Part
from bot.works.story.log.story import fold
from bot.works.story.memory.pieces import BEFORE_CHARS, LONGEST, paragraphs, pieces_of, texts_to_embed
from tests.works.story.tale import Tale, prose

WORDS = st.lists(st.sampled_from(["lamp", "sea.", "door!", "\n\n", "\n", "“Go.”", "x" * 200]), max_size=80)


@given(WORDS)
def test_paragraphs_contain_every_word_in_order(words: list[str]) -> None:
    text = " ".join(words)
    assert " ".join(paragraphs(text)).split() == text.split()


def test_a_long_paragraph_is_cut_at_sentences() -> None:
    parts = paragraphs("She counts the steps under her breath. " * 60)
    assert len(parts) > 3
    assert all(len(part) <= LONGEST and part.endswith("breath.") for part in parts)


def test_a_turn_has_its_players_words_and_the_current_scene() -> None:
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
    (pieces,) = pieces_of(tale.story.current_turns[0]).values()
    assert [piece.prefixed for piece in pieces] == ["Gina (20 January, 2023): Hello."]


def test_a_line_of_a_chat_log_is_embedded_with_those_before_it_in_its_scene() -> None:
    said = [("Gina", "Where did you go?", 1), ("Jon", "Rome.", 1), ("Gina", "When?", 1), ("Jon", "In May.", 1),
            ("Gina", "x" * 600, 2), ("Jon", "Well.", 2)]  # fmt: skip
    lines = [{"id": at, "speaker": who, "text": text, "scene": n} for at, (who, text, n) in enumerate(said)]
    read = read_chat_log("\n".join(map(json.dumps, lines)).encode(), "log.jsonl", "local")
    nodes = list(read.nodes)

    def texts() -> list[str]:
        story = fold([Part(read.story.id)], nodes)
        return [
            texts_to_embed(story, story.path, at)[turn.act.id][0][1]
            for at, turn in enumerate(story.current_turns)
        ]

    assert texts()[:5] == [
        "Gina: Where did you go?",
        "Gina: Where did you go?\nJon: Rome.",
        "Gina: Where did you go?\nJon: Rome.\nGina: When?",
        "Gina: Where did you go?\nJon: Rome.\nGina: When?\nJon: In May.",
        f"Gina: {'x' * 600}",
    ]
    assert texts()[5] == "x" * BEFORE_CHARS + "\nJon: Well."
    # Reworded and forgotten text is in no other line's vector.
    body = json.loads(nodes[1].body) | {"text": "A secret."}
    nodes.append(replace(nodes[1], seq=7, id="new", author_id="jon", body=json.dumps(body)))
    forgotten = json.dumps({"node": nodes[2].id})
    nodes.append(replace(nodes[2], seq=8, id="kept out", kind="forgotten", author_id="jon", body=forgotten))
    assert texts()[1] == "Gina: Where did you go?\nJon: A secret."
    assert texts()[2:4] == ["Gina: Where did you go?\nGina: When?", "Gina: Where did you go?\nJon: In May."]
