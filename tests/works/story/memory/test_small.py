"""The measures that keep the index small do not change what is found."""

from __future__ import annotations

import random
from threading import current_thread

import numpy as np
import pytest

from bot.retrieval.lexical import content_terms
from bot.works.story.config import RecallConfig
from bot.works.story.memory import branch as branches
from bot.works.story.memory import memory as memories
from bot.works.story.memory.branch import BranchPieces
from bot.works.story.memory.index import LONGEST, Numbers, Piece, Pieces
from bot.works.story.memory.indexed import StoryIndex
from bot.works.story.memory.vectors import PieceVectors, encode


def test_names_are_numbered_by_first_occurrence() -> None:
    chance = random.Random(2)
    names = [f"run-{chance.randrange(3_000)}/scene" for _ in range(5_000)]
    numbers, first = Numbers(names), dict[str, int]()
    for number, name in enumerate(names):
        assert numbers.add(number) == (name not in first)
        first.setdefault(name, number)
    assert {name: numbers.get(name) for name in names} == first
    assert numbers.get("run-3000/scene") is None


def test_more_speakers_and_dates_than_fit_in_two_bytes_are_distinguished() -> None:
    index = Pieces("en")
    for number in range(LONGEST + 3):
        index.add(f"node-{number}", [Piece(f"p{number}", "", when=f"day{number}")])
    index.add("long", [Piece("", "lamp " * (LONGEST + 9))])
    branch = BranchPieces(index, range(len(index)), range(len(index)))
    assert np.flatnonzero(branch.of_date(f"day{LONGEST + 2}")).tolist() == [LONGEST + 2]
    person = branch.scores(f"p{LONGEST + 1}", RecallConfig())["person"]
    assert np.flatnonzero(person).tolist() == [LONGEST + 1]
    assert index.node_of(LONGEST + 2) == (f"node-{LONGEST + 2}", 0)


def test_pieces_know_their_nodes_also_beside_nodes_without_pieces() -> None:
    index, of_piece = Pieces("en"), list[int]()
    for node, count in enumerate([0, 2, 1, 0, 0, 3, 1, 0]):
        index.add(f"node-{node}", [Piece("", f"lamp {at}") for at in range(count)])
        of_piece += [node] * count
    every = np.arange(len(of_piece), dtype=np.int32)
    assert index.nodes_of(np.tile(every, 3)).tolist() == of_piece * 3, "of many"
    assert [int(index.nodes_of(every[at : at + 1])[0]) for at in every] == of_piece, "of one"
    assert [index.node_of(int(at))[0] for at in every] == [f"node-{node}" for node in of_piece]


def test_a_query_scores_the_same_in_however_many_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    chance, index = random.Random(7), Pieces("en")
    words = [
        "lamp",
        "door",
        "sea",
        "bell",
        "stairs",
        "key",
        "rope",
        "tower",
        "gull",
        "salt",
        "keeper",
        "storm",
    ]
    for node in range(80):
        index.add(f"node-{node}", [Piece("Mira", " ".join(chance.choices(words, k=9))) for _ in range(2)])
    branch = BranchPieces(index, range(160), [number // 2 for number in range(160)])
    query = "the keeper of the tower rang a bell, and salt lay on the stairs at the door to the sea"
    whole = branch.scores(query, RecallConfig())
    for together in (1, 100):
        monkeypatch.setattr(branches, "_TOGETHER", together)
        for reason, scores in branch.scores(query, RecallConfig()).items():
            np.testing.assert_allclose(scores, whole[reason], rtol=1e-6)


def test_short_words_that_no_query_uses_take_no_room() -> None:
    index = Pieces("en")
    index.add("node", [Piece("Mira", "The lamp was on, and I will not see you there by 8.")])
    assert {"the", "was", "and", "i", "you"}.isdisjoint(index.postings)
    assert {"lamp", "will", "there", "8"} <= {*index.postings}, (
        "a word of another language may mean or look like one"
    )
    assert index.postings.of("lamp")[0].tolist() == [0]
    assert set(content_terms("The lamp was on, and I will not see you there by 8.", "en")) <= {
        *index.postings
    }
    assert list(index._lengths) == [14], "they are counted in its length"


def test_an_opposite_vector_is_not_ranked_before_a_near_one() -> None:
    chance = np.random.default_rng(3)
    query = chance.choice([-1.0, 1.0], 384).astype(np.float32) / np.float32(384**0.5)
    others = chance.standard_normal((3_000, 384)).astype(np.float32) / np.float32(384**0.5)
    rows = encode(np.concatenate([[-query, query], others]))
    vectors = PieceVectors(rows.shape[1])
    vectors.add(range(len(rows)), rows)
    likely = vectors.likely(query, np.ones(len(rows), dtype=np.bool_)).tolist()
    assert 1 in likely
    assert 0 not in likely


def test_long_vectors_are_found_by_their_signs() -> None:
    chance = np.random.default_rng(4)
    made = chance.standard_normal((3_000, 1_536)).astype(np.float32) / np.float32(1_536**0.5)
    rows = encode(made)
    vectors = PieceVectors(rows.shape[1])
    vectors.add(range(len(rows)), rows)
    every = np.ones(len(rows), dtype=np.bool_)
    assert all(number in vectors.likely(made[number], every) for number in range(0, 3_000, 500))


async def test_all_stories_share_a_few_search_threads() -> None:
    memory = memories.Memory(None, None, RecallConfig())  # type: ignore[arg-type]
    indexed = [StoryIndex(Pieces("en"), memory._threads) for _ in range(9)]
    names = {await one.in_thread(lambda: current_thread().name) for one in indexed}
    assert len(names) <= memories.THREADS
    assert all(name.startswith("memory") for name in names)
