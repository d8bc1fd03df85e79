"""The index finds pieces by their words, and a branch is not affected by its siblings."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.works.story.config import RecallConfig
from bot.works.story.memory.branch import BranchPieces
from bot.works.story.memory.index import Piece, Pieces

TEXTS = st.lists(
    st.sampled_from(["lamp", "door", "sea", "bell", "stairs", "key", "Mira", "Bo", "runs"]), max_size=6
)


def branch_of(*pieces: Piece, language: str = "en", scenes: list[int] | None = None) -> BranchPieces:
    index = Pieces(language)
    index.add("node", pieces)
    return BranchPieces(index, range(len(pieces)), scenes or list(range(len(pieces))))


def first(branch: BranchPieces, query: str) -> int:
    return int(np.argmax(sum(branch.scores(query, RecallConfig()).values())))


def test_the_piece_that_holds_the_rare_word_comes_first() -> None:
    branch = branch_of(
        Piece("Bo", "We walk along the shore."),
        Piece("Mira", "She wears the red sundress."),
        Piece("Bo", "The shore is cold, and we walk on."),
    )
    assert first(branch, "the sundress") == 1
    assert first(branch, "walking") in (0, 2), "words are stemmed"


def test_an_answer_is_found_by_the_question_before_it() -> None:
    branch = branch_of(
        Piece("Bo", "It was a long winter."),
        Piece("Bo", "Where did you hide the silver key?"),
        Piece("Mira", "Under the third step."),
        Piece("Bo", "The silver is gone."),
        scenes=[0, 1, 1, 2],
    )
    scores = sum(branch.scores("Where is the silver key hidden?", RecallConfig()).values())
    assert np.argsort(-np.asarray(scores))[:2].tolist() == [1, 2]


def test_a_piece_does_not_raise_the_score_of_another_scene() -> None:
    texts = ("Nothing.", "The silver key.", "Nothing at all.", "Far away.")
    pieces = [Piece("Bo", text) for text in texts]
    apart = branch_of(*pieces).scores("silver key", RecallConfig())["words"]
    together = branch_of(*pieces, scenes=[0, 0, 0, 1]).scores("silver key", RecallConfig())["words"]
    assert (apart > 0).tolist() == [False, True, False, False]
    assert (together > 0).tolist() == [True, True, True, False]


def test_speakers_dates_and_the_requested_time_raise_scores() -> None:
    branch = branch_of(
        Piece("Mira", "The boat leaves harbour."),
        Piece("Bo", "The boat leaves harbour.", when="2 May 1923"),
        Piece("Bo", "The boat leaves tomorrow."),
    )
    assert first(branch, "Mira and the boat") == 0
    assert first(branch, "the boat in May") == 1
    assert first(branch, "When does the boat leave?") == 2
    pieces = (Piece("B", text) for text in ("O barco parte cedo.", "O barco parte amanhã."))
    assert first(branch_of(*pieces, language="pt"), "Quando parte o barco?") == 1


def test_the_dates_that_match_most_words_of_the_requested_one_count() -> None:
    texts = ("We saw a film.", "We saw a film.", "We saw a film.", "Rain.")
    dates = ("21 January, 2022", "2 May, 2022", "20 May, 2022", "1 May, 2023")
    pieces = [Piece("Bo", text, date) for text, date in zip(texts, dates, strict=True)]
    branch = branch_of(*pieces)

    def dated(branch: BranchPieces, query: str) -> list[bool]:
        return [bool(score > 0) for score in branch.scores(query, RecallConfig())["time"]]

    assert dated(branch, "What film was it in May 2022?") == [False, True, True, False]
    assert dated(branch, "What film was it in 2022?") == [True, True, True, False]
    assert dated(branch, "What film was it?") == [False] * 4
    branch = BranchPieces(branch.index, [0, 3], [0, 1])
    assert dated(branch, "What film was it in May 2022?") == [True, True], "not by another branch's dates"


def test_if_no_scene_has_half_of_the_words_the_scene_nearest_in_meaning_wins() -> None:
    texts = ("A hall.", "They poured wine.", "Music all night.", "The bell rang.", "She left.", "A storm.")
    branch = branch_of(*(Piece("", text) for text in texts), scenes=[0, 0, 0, 1, 2, 3])
    query, nearest = (
        "a banquet where dancers heard some distant bell",
        {1: 0.8, 2: 0.8, 3: 0.7, 4: 0.5, 5: 0.4},
    )
    covered, words = (
        sum(branch.scores(query, by, nearest).values()) for by in (RecallConfig(), RecallConfig(covered=0.0))
    )
    assert branch.scenes[int(np.argmax(words))] == 1
    assert branch.scenes[int(np.argmax(covered))] == 0
    asked = "the bell rang"
    assert (
        branch.scores(asked, RecallConfig(), nearest)["words"].tolist()
        == branch.scores(asked, RecallConfig(covered=0.0), nearest)["words"].tolist()
    ), "words that are there count in full"


def test_scenes_near_in_meaning_are_found_without_a_common_word() -> None:
    branch = branch_of(Piece("Bo", "A frigid wind."), Piece("Bo", "Bread and cheese."))
    by_reason = branch.scores("what they ate", RecallConfig(), nearest={0: 0.2, 1: 0.8})
    assert int(np.argmax(by_reason["meaning"])) == 1
    assert not by_reason["words"].any()


@given(own=st.lists(TEXTS, min_size=1, max_size=8), other=st.lists(TEXTS, max_size=8), asked=TEXTS)
def test_scenes_of_a_sibling_branch_change_no_score(
    own: list[list[str]], other: list[list[str]], asked: list[str]
) -> None:
    pieces = [Piece("Mira", " ".join(words)) for words in own]
    alone, shared = Pieces("en"), Pieces("en")
    shared.add("sibling", [Piece("Bo", " ".join(words), when="May") for words in other])
    numbers = shared.add("own", pieces)
    scenes = [number // 2 for number in range(len(pieces))]
    before = BranchPieces(alone, alone.add("own", pieces), scenes).scores(" ".join(asked), RecallConfig())
    after = BranchPieces(shared, numbers, scenes).scores(" ".join(asked), RecallConfig())
    for reason, scores in before.items():
        np.testing.assert_array_equal(scores, after[reason])


def test_the_order_of_adding_pieces_does_not_change_scores() -> None:
    texts = ("The bell rang.", "Mira rang the bell, the bell of the sea.", "No bell.", "The sea.", "A key.")
    pieces, scenes = [Piece("Bo", text) for text in texts], [0, 0, 1, 2, 2]
    in_order, mixed = branch_of(*pieces, scenes=scenes), Pieces("en")
    for at in (3, 0, 4, 2, 1):
        mixed.add(f"node-{at}", [pieces[at]])
    mixed.add("of another branch", pieces)
    branch = BranchPieces(mixed, [1, 4, 3, 0, 2], scenes)
    assert branch.scenes_with("bell").tolist() == in_order.scenes_with("bell").tolist() == [0, 1]
    assert branch.scenes_with("sea").tolist() == [0, 2]
    assert branch.containing("bell", np.array([1, 3])).tolist() == [1]
    nearest = {1: 0.9, 4: 0.4}
    for query in ("the bell of the sea", "Where did Bo put some key of the harbour office?"):
        scored = in_order.scores(query, RecallConfig(), nearest)
        again = branch.scores(query, RecallConfig(), {4: 0.9, 2: 0.4})
        for reason, scores in scored.items():
            np.testing.assert_array_equal(scores, again[reason])


@pytest.mark.slow
def test_two_hundred_thousand_pieces_are_searched_quickly() -> None:
    words = [f"word{number}" for number in range(5_000)]
    chance = np.random.default_rng(1)
    picks = chance.integers(0, len(words), (200_000, 10))
    index = Pieces("xx")
    numbers = index.add("all", [Piece("Bo", " ".join(words[at] for at in row)) for row in picks])
    branch = BranchPieces(index, numbers, [number // 20 for number in numbers])
    branch.scores("word1", RecallConfig())
    began = time.process_time()
    branch.scores("word7 word8 word9 word10 and word11", RecallConfig())
    assert time.process_time() - began < 1.0, "some milliseconds, as make bench measures"


def test_different_dates_for_every_piece_cost_little_more_than_one() -> None:
    def spent(dates: list[str]) -> float:
        index, began = Pieces("en"), time.process_time()
        numbers = index.add("all", [Piece("Bo", f"word{at}", date) for at, date in enumerate(dates)])
        BranchPieces(index, numbers, list(numbers)).scores("the boat of May 1923", RecallConfig())
        return time.process_time() - began

    shared = spent(["2 May 1923"] * 20_000)
    assert spent([f"{at} May {at + 1000}" for at in range(20_000)]) < 4 * shared + 0.5
