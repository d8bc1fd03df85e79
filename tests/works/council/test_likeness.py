"""If no member can judge, the answers are ranked by what they have in common."""

from __future__ import annotations

from bot.works.council.tally import count, likeness_votes

PARIS = "The capital of France is Paris, on the river Seine."
PARIS_TOO = "Paris is the capital of France."
PARIS_AGAIN = "France has its capital in Paris, on the Seine, and its largest harbour elsewhere."
LYON = "Bananas grow in warm countries, and sailors like them."


def test_the_answer_that_shares_least_with_the_others_comes_last() -> None:
    texts = {0: LYON, 1: PARIS, 4: PARIS_TOO, 6: PARIS_AGAIN}
    tally = count(list(texts), likeness_votes(texts), "exclude")
    assert tally.standings[-1].seat == 0
    assert tally.standings[-1].score == 0


def test_common_words_make_no_answers_similar() -> None:
    one, other = "O gato dorme em uma caixa.", "O barco parte em uma baía."
    like = "Gato preto, bravo, grande, velho."
    assert likeness_votes({0: one, 1: other, 2: like})[0].order == [2, 1, 0]


def test_a_long_answer_has_no_advantage() -> None:
    stuffed = PARIS + " " + " ".join(f"word{n}" for n in range(300))
    assert likeness_votes({0: PARIS_TOO, 1: stuffed, 2: PARIS_AGAIN})[0].order == [2, 1, 0]


def test_an_answer_is_last_in_its_own_order() -> None:
    assert [vote.order[-1] for vote in likeness_votes({0: PARIS, 1: PARIS_TOO, 2: PARIS_AGAIN})] == [0, 1, 2]


def test_two_equally_similar_answers_are_not_ranked() -> None:
    votes = likeness_votes({0: PARIS, 1: LYON, 2: LYON})
    assert votes[0].order == []
    assert votes[1].order == [2, 0, 1]
    assert count([0, 1, 2], likeness_votes({0: PARIS, 1: PARIS, 2: PARIS}), "exclude").first == []


def test_two_answers_are_equally_similar_to_each_other() -> None:
    assert count([0, 1], likeness_votes({0: PARIS, 1: LYON}), "exclude").first == []


def test_the_votes_count_as_one_and_do_not_depend_on_the_order_of_answers() -> None:
    texts = {3: PARIS, 1: PARIS_TOO, 2: PARIS_AGAIN}
    votes = likeness_votes(texts)
    assert votes == likeness_votes(dict(sorted(texts.items())))
    assert count([1, 2, 3], votes, "exclude").effective == 1.0


def test_answers_without_words_do_not_vote() -> None:
    assert [vote.order for vote in likeness_votes({0: "", 1: "…", 2: "?"})] == [[], [], []]
    assert likeness_votes({}) == []
