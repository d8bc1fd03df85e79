"""What the extractor notes about a turn is found by search and counts for that turn; flipped, forgotten,
replaced.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bot.config import Config
from bot.config.settings import EmbeddingConfig
from bot.retrieval.embedding import Embedding
from bot.works.story.config import RecallConfig
from bot.works.story.log.story import Story
from bot.works.story.memory.index import Piece
from bot.works.story.memory.memory import Memory
from bot.works.story.memory.pieces import extracted_pieces, pieces_of
from bot.works.story.memory.ranking import Query, add_extracted
from bot.works.story.memory.recalled import Recalled
from storage.db import Database
from storage.story_vectors import StoryVectors
from tests.fakes import migrated
from tests.works.story.tale import Tale

FOUND = {"summary": "Mira gives the silver key away.", "place": "the pier", "time": "spring"}


def extracted(tale: Tale, turn: str, **found: object) -> str:
    scene = tale.story.turns[turn].scene
    return tale.add("extracted", {"scene": scene.id if scene is not None else turn, **found}, turn)


async def recalled(
    tmp_path: Path, story: Story, query: str, by: RecallConfig | None = None
) -> list[Recalled]:
    """By words: no model."""
    database = await Database.open(migrated.database(tmp_path / "sutradhar.db"))
    try:
        embedding = Embedding(
            Config(data_dir=tmp_path, models_dir=tmp_path, embedding=EmbeddingConfig("none"))
        )
        memory = Memory(StoryVectors(database), embedding, by or RecallConfig())
        return await memory.recall("local", "story", "main", story, Query(query), 10)
    finally:
        await database.close()


def test_notes_become_pieces_of_the_node_that_stores_them() -> None:
    tale = Tale()
    turn = tale.turn("I let go of it.", "It shines as it falls.")
    assert extracted_pieces(tale.story.turns[turn]) == ("", [])
    memories = [{"character": "Mira", "kind": "action", "text": "She swore never to sail again."}]
    node = extracted(tale, turn, **FOUND, events=["The key is lost."], memories=memories)
    assert extracted_pieces(tale.story.turns[turn]) == (
        node,
        [
            Piece("", "Mira gives the silver key away.", "spring", "the pier"),
            Piece("", "The key is lost.", "spring", "the pier"),
            Piece("Mira", "She swore never to sail again.", "spring", "the pier"),
        ],
    )
    assert node not in pieces_of(tale.story.turns[turn]), "it is nobody's words"


def test_another_version_has_no_notes_of_the_first() -> None:
    tale = Tale()
    turn = tale.turn("I let go of it.", "It shines as it falls.")
    extracted(tale, turn, **FOUND)
    tale.add("scene", {"text": "It does not fall."}, turn)
    assert extracted_pieces(tale.story.turns[turn]) == ("", [])


def test_a_turn_of_a_chat_log_can_have_notes() -> None:
    tale = Tale()
    turn = tale.add("act", {"mode": "say", "text": "It is gone.", "name": "Gina", "when": "8 May, 2023"})
    node = extracted(tale, turn, events=["Gina lost her ring."])
    assert extracted_pieces(tale.story.turns[turn]) == (
        node,
        [Piece("", "Gina lost her ring.", "8 May, 2023")],
    )


async def test_a_turn_is_recalled_by_its_notes_but_in_its_own_words(tmp_path: Path) -> None:
    tale = Tale()
    turns = [tale.turn(f"Step {n}.", f"We climb on, floor {n}, and rest.") for n in range(5)]
    extracted(tale, turns[2], **FOUND)
    best = (await recalled(tmp_path, tale.story, "silver key"))[0]
    assert best.turn == turns[2]
    assert best.node in pieces_of(tale.story.turns[turns[2]])
    assert not await recalled(tmp_path, tale.story, "silver key", RecallConfig().without(["events"]))


def a_log(*lines: str) -> Tale:
    tale = Tale()
    for number, text in enumerate(lines):
        tale.add("act", {"mode": "say", "text": text, "name": "Gina", "label": f"L{number}", "group": "1"})
    return tale


async def test_a_note_on_a_stretch_finds_the_line_that_told_it(tmp_path: Path) -> None:
    tale = a_log("I put it there.", "We dance.", "We sing.", "We sleep.")
    path = tale.story.path
    found = {"summary": "An evening of Gina's.", "events": ["A silver key lies in the oven.", "They waltz."]}
    tale.add("extracted", {"scene": path[3], **found, "turns": 4, "lines": [3, 2]}, path[3])
    assert (await recalled(tmp_path, tale.story, "silver key"))[0].turn == path[0]
    assert (await recalled(tmp_path, tale.story, "waltz"))[0].turn == path[1]
    assert (await recalled(tmp_path, tale.story, "evening"))[0].turn == path[3]
    tale.add("forgotten", {"node": path[0]})
    assert not await recalled(tmp_path, tale.story, "silver key")
    assert not await recalled(tmp_path, tale.story, "evening"), "nor what was made of all of it"
    assert (await recalled(tmp_path, tale.story, "waltz"))[0].turn == path[1]


@pytest.mark.parametrize("lines", [[], [99, -5], [10**30] * 9])
async def test_wrong_line_numbers_in_a_file_do_no_harm(tmp_path: Path, lines: list[int]) -> None:
    tale = a_log("We dance.", "We sleep.")
    path = tale.story.path
    tale.add(
        "extracted",
        {"scene": path[1], "events": ["Silver.", "Gold."], "turns": 10**30, "lines": lines},
        path[1],
    )
    assert await recalled(tmp_path, tale.story, "silver gold")


async def test_notes_of_a_forgotten_scene_are_forgotten_too(tmp_path: Path) -> None:
    tale = Tale()
    turn = tale.turn("I let go of it.", "It shines as it falls.")
    extracted(tale, turn, **FOUND)
    scene = tale.story.turns[turn].scene
    assert scene is not None
    assert await recalled(tmp_path, tale.story, "silver key")
    tale.add("forgotten", {"node": scene.id})
    assert not await recalled(tmp_path, tale.story, "silver key")


async def test_late_notes_are_recalled_from_then_on(tmp_path: Path) -> None:
    tale = Tale()
    turns = [tale.turn(f"Step {n}.", f"We climb on, floor {n}, and rest.") for n in range(3)]
    database = await Database.open(migrated.database(tmp_path / "sutradhar.db"))
    try:
        embedding = Embedding(
            Config(data_dir=tmp_path, models_dir=tmp_path, embedding=EmbeddingConfig("none"))
        )
        memory, story = Memory(StoryVectors(database), embedding, RecallConfig()), tale.story
        assert not await memory.recall("local", "story", "main", story, Query("silver key"), 10)
        extracted(tale, turns[0], **FOUND)
        story.add(tale.nodes[-1])
        found = await memory.recall("local", "story", "main", story, Query("silver key"), 10)
        assert found[0].turn == turns[0]
    finally:
        await database.close()


def test_the_best_note_counts_only_for_the_pieces_of_its_turn() -> None:
    scores = {"words": np.zeros(4, dtype=np.float32)}
    found = {"words": np.array([0.2, 1.0, 0.5], dtype=np.float32)}
    turn_of, noted_of = np.array([0, 1, 1, 2]), np.array([1, 1, 2])
    add_extracted(scores, turn_of, found, noted_of, RecallConfig(events=0.5))  # type: ignore[arg-type]
    assert scores["words"].tolist() == [0.0, 0.5, 0.5, 0.25]
