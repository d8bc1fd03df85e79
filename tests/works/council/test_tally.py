"""The tally agrees with published elections that were counted by hand."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.works.council.tally import count, effective, kendall_w, vote
from bot.works.council.values import Ballot, ReadFrom, Reading, Reply, SelfVotes, Standing, Tally, Vote

OUTSIDE = 90
"""A judge that has given no answer, so that no vote of its is one for itself."""


def election(*groups: tuple[int, str]) -> list[Vote]:
    """Votes of judges without answers of their own: how many, and the seats by letter."""
    orders = [order for voters, order in groups for _ in range(voters)]
    return [
        Vote(OUTSIDE + n, ["ABCDEFGH".index(letter) for letter in order]) for n, order in enumerate(orders)
    ]


def by_seat(tally: Tally) -> list[Standing]:
    return sorted(tally.standings, key=lambda standing: standing.seat)


def test_bordas_own_example_is_counted_as_he_counted() -> None:
    # Mémoire sur les élections au scrutin (1781): 21 voters, A has the most first places, 13 put it last.
    tally = count(range(3), election((1, "ABC"), (7, "ACB"), (7, "BCA"), (6, "CBA")), "auto")
    assert [standing.seat for standing in tally.standings] == [2, 1, 0]
    assert [standing.score for standing in by_seat(tally)] == [16 / 42, 21 / 42, 26 / 42]
    assert [standing.ranks for standing in by_seat(tally)] == [[8, 0, 13], [7, 7, 7], [6, 14, 1]]
    assert tally.first == [2]


def test_the_textbook_election_of_a_capital_has_the_published_result() -> None:
    # The textbooks' election: Memphis, Nashville, Chattanooga, Knoxville; 126, 194, 173 and 107 points.
    votes = election((42, "ABCD"), (26, "BCDA"), (15, "CDBA"), (17, "DCBA"))
    tally = count(range(4), votes, "count")
    assert [standing.score for standing in by_seat(tally)] == [126 / 300, 194 / 300, 173 / 300, 107 / 300]
    assert [standing.mean_rank for standing in by_seat(tally)] == [2.74, 2.06, 2.27, 2.93]
    assert [standing.place for standing in by_seat(tally)] == [3, 1, 2, 4]


def test_ties_share_the_mean_of_their_places_and_stay_ties_without_self_votes() -> None:
    tied = Vote(0, [2, 0, 1, 3], tied=[1])  # C > A = B > D, by the author of A
    tally = count(range(4), [tied], "count")
    assert [standing.score for standing in by_seat(tally)] == [0.5, 0.5, 1.0, 0.0]
    assert [standing.mean_rank for standing in by_seat(tally)] == [2.5, 2.5, 1.0, 4.0]
    assert [standing.ranks for standing in by_seat(tally)] == [[0] * 4, [0] * 4, [1, 0, 0, 0], [0, 0, 0, 1]]
    assert [standing.other for standing in by_seat(tally)] == [None, 0.5, 1.0, 0.0]
    first = Vote(2, [2, 0, 1, 3], tied=[1])  # without C the two are first, and still equals
    assert [standing.other for standing in by_seat(count(range(4), [first], "count"))] == [
        0.75,
        0.75,
        None,
        0.0,
    ]


def test_a_partial_ballot_shares_the_places_left_among_those_it_leaves_out() -> None:
    # A has place 1; B, C and D share 2, 3 and 4: 3 each, which is (4 - 3) / 3 of a vote.
    tally = count(range(4), election((1, "A")), "count")
    assert [standing.score for standing in by_seat(tally)] == [1, 1 / 3, 1 / 3, 1 / 3]
    assert [standing.mean_rank for standing in by_seat(tally)] == [1, 3, 3, 3]
    assert [standing.place for standing in by_seat(tally)] == [1, 2, 2, 2]
    assert [standing.ranks for standing in by_seat(tally)] == [[1, 0, 0, 0], [0] * 4, [0] * 4, [0] * 4]


def test_the_only_response_that_a_ballot_leaves_out_is_its_last() -> None:
    assert count(range(3), election((1, "CA")), "count") == count(range(3), election((1, "CAB")), "count")


def test_a_self_vote_helps_only_if_self_votes_count() -> None:
    # Each of four puts itself first and the others in the order of seats.
    votes = [Vote(seat, [seat, *(one for one in range(4) if one != seat)]) for seat in range(4)]
    counted, excluded = count(range(4), votes, "count"), count(range(4), votes, "exclude")
    # In: seat 3 has 3 + 0 + 0 + 0 of 12. Out, of three others' votes: 0 of 6.
    assert by_seat(counted)[3].score == 3 / 12
    assert by_seat(excluded)[3].score == 0
    assert [standing.other for standing in by_seat(counted)] == [
        standing.score for standing in by_seat(excluded)
    ]
    assert [standing.other for standing in by_seat(excluded)] == [
        standing.score for standing in by_seat(counted)
    ]
    assert [standing.votes for standing in by_seat(excluded)] == [3] * 4


def test_without_its_own_answer_a_judges_other_ranks_move_up() -> None:
    tally = count(range(3), [Vote(1, [1, 2, 0])], "exclude")
    assert [standing.ranks for standing in by_seat(tally)] == [[0, 1, 0], [0, 0, 0], [1, 0, 0]]
    assert [standing.score for standing in by_seat(tally)] == [0, None, 1]
    assert [standing.place for standing in by_seat(tally)] == [2, 3, 1]  # nobody voted on seat 1


@pytest.mark.parametrize(("seats", "way"), [(2, "count"), (4, "count"), (5, "exclude"), (8, "exclude")])
def test_in_auto_mode_self_votes_count_with_fewer_than_five_members(seats: int, way: str) -> None:
    assert count(range(seats), [], "auto").self_votes == way


def test_the_winner_under_the_other_rule_is_reported() -> None:
    votes = [Vote(0, [0, 1, 2]), Vote(1, [0, 2, 1]), Vote(2, [1, 0, 2])]
    tally = count(range(3), votes, "count")
    # In: 5, 3 and 1 of 6. Out: seat 0 has 1 and 0 of 2; seat 1 has 1 and 1; seat 2 has 0 and 0.
    assert (tally.first, tally.other_first) == ([0], [1])


def test_two_judges_without_self_votes_decide_nothing() -> None:
    tally = count([0, 1], [Vote(0, [0, 1]), Vote(1, [0, 1])], "exclude")
    assert [standing.score for standing in tally.standings] == [None, None]
    assert (tally.first, tally.other_first) == ([], [0])


def test_equal_scores_are_decided_by_the_votes_of_others_before_first_places() -> None:
    votes = [Vote(0, [0, 1, 2]), Vote(1, [0, 1, 2]), Vote(2, [1, 2, 0])]
    a, b, _ = by_seat(count(range(3), votes, "count"))
    assert (a.score, b.score) == (4 / 6, 4 / 6)
    assert (a.ranks[0], b.ranks[0]) == (2, 1)  # one of A's is its own
    assert (a.other, b.other) == (1 / 2, 1)
    assert (a.place, b.place) == (2, 1)


def test_equal_scores_are_decided_by_first_places() -> None:
    # All have 3 of 6 points and a mean rank of 2; B was never first, nor last.
    tally = count(range(3), election((1, "ABC"), (1, "CBA"), (1, "ABC"), (1, "CBA")), "count")
    assert [standing.score for standing in tally.standings] == [1 / 2] * 3
    assert [(standing.seat, standing.place) for standing in tally.standings] == [(0, 1), (2, 1), (1, 3)]
    assert tally.first == [0, 2]


def test_equal_scores_are_decided_by_the_mean_rank_before_first_places() -> None:
    # Own votes out: A has 0 and 0 among two and 1 among three; B has 0 and 1 among two and 0 among three.
    votes = [Vote(0, [0, 2, 1]), Vote(1, [1, 2, 0]), Vote(2, [2, 1, 0]), *election((1, "ACB"))]
    a, b, _ = by_seat(count(range(3), votes, "exclude"))
    assert (a.score, b.score) == (1 / 3, 1 / 3)
    assert (a.mean_rank, b.mean_rank) == (5 / 3, 6 / 3)
    assert (a.ranks[0], b.ranks[0]) == (1, 1)
    assert (a.place, b.place) == (2, 3)


def test_there_is_no_winner_without_a_vote() -> None:
    tally = count([3, 1], [Vote(1, []), Vote(3, [])], "auto")
    assert (tally.ballots, tally.abstained, tally.effective, tally.agreement) == (0, 2, 0.0, None)
    assert [
        (standing.seat, standing.place, standing.score, standing.mean_rank) for standing in tally.standings
    ] == [
        (1, 1, None, None),
        (3, 1, None, None),
    ]
    assert (tally.first, tally.other_first, tally.disputed) == ([], [], None)
    assert count([], [], "auto").standings == []


def test_an_abstention_counts_only_as_an_abstention() -> None:
    votes = election((2, "ABC"), (1, "BCA"))
    with_one = count(range(3), [*votes, Vote(1, []), Vote(2, [7])], "count")
    assert (with_one.ballots, with_one.abstained) == (3, 2)
    assert with_one.standings == count(range(3), votes, "count").standings


def test_siegels_three_executives_have_his_low_agreement_on_six_applicants() -> None:
    # Siegel (1956), Nonparametric Statistics, table 9.5: s = 25.5, W = .16.
    ranks = [[1, 6, 3, 2, 5, 4], [1, 5, 6, 4, 2, 3], [6, 3, 2, 5, 4, 1]]
    assert kendall_w([[Fraction(one) for one in row] for row in ranks]) == pytest.approx(25.5 / 157.5)
    orders = [sorted(range(6), key=row.__getitem__) for row in ranks]
    votes = [Vote(OUTSIDE + n, order) for n, order in enumerate(orders)]
    assert count(range(6), votes, "auto").agreement == pytest.approx(0.1619, abs=5e-5)


def test_agreement_with_ties_is_as_siegel_computed_it() -> None:
    # Siegel (1956), p. 234: ten individuals, s = 591, ΣT = 9.5, W = .828.
    rows = (
        "1 4.5 2 4.5 3 7.5 6 9 7.5 10",
        "2.5 1 2.5 4.5 4.5 8 9 6.5 10 6.5",
        "2 1 4.5 4.5 4.5 4.5 8 8 8 10",
    )
    ranks = [[Fraction(part) for part in row.split()] for row in rows]
    assert kendall_w(ranks) == pytest.approx(591 / 714)


def test_agreement_is_computed_for_two_answers_too() -> None:
    # Sums 4 and 5; S = 1/2; W = 12·½ / (9·6).
    assert count(range(2), election((2, "AB"), (1, "BA")), "count").agreement == 6 / 54


def test_agreement_treats_unranked_responses_as_tied() -> None:
    # Ranks 1, 3, 3, 3 and 1, 2, 3, 4: sums 2, 5, 6, 7; S = 14; W = 12·14 / (4·60 - 2·24).
    assert count(range(4), election((1, "A"), (1, "ABCD")), "count").agreement == 168 / 192


def test_agreement_is_of_the_ballots_as_cast_whether_self_votes_count_or_not() -> None:
    votes = [Vote(seat, [seat, *(one for one in range(3) if one != seat)]) for seat in range(3)]
    assert (
        count(range(3), votes, "count").agreement == count(range(3), votes, "exclude").agreement is not None
    )


def test_one_ballot_has_no_agreement() -> None:
    assert count(range(3), election((1, "ABC")), "count").agreement is None


@pytest.mark.parametrize(
    ("voices", "worth"), [("xyz", 3), ("xxx", 1), ("xxy", 9 / 5), ("xxyy", 2), ("", 0), ("wxyz", 4)]
)
def test_seats_of_one_model_count_as_one_voice(voices: str, worth: float) -> None:
    assert effective([Vote(seat, [0, 1], voice) for seat, voice in enumerate(voices)]) == worth


def test_a_guessed_vote_counts_less_than_a_whole_voice() -> None:
    # (1 + 1 + .5)² / (1 + 1 + .25)
    votes = [Vote(0, [0, 1]), Vote(1, [0, 1]), Vote(2, [0, 1], weight=0.5)]
    assert effective(votes) == 6.25 / 2.25
    assert count([0, 1], [*votes, Vote(3, [])], "auto").effective == 6.25 / 2.25


def test_the_weight_of_a_vote_does_not_scale_scores() -> None:
    votes = [Vote(0, [0, 1]), Vote(1, [1, 0], weight=0.1)]
    assert [standing.score for standing in count([0, 1], votes, "count").standings] == [1 / 2, 1 / 2]


@pytest.mark.parametrize(
    ("source", "ranking", "partial", "weight"),
    [
        ("schema", [2, 0, 1], False, 1.0),
        ("ranking", [2, 0, 1], False, 1.0),
        ("mention", [2, 0, 1], False, 0.5),
        ("ranking", [2, 0], True, 2 / 3),
        ("none", [], False, 0.0),
    ],
)
def test_a_ballot_becomes_a_vote_for_seats(
    source: ReadFrom, ranking: list[int], partial: bool, weight: float
) -> None:
    ballot = Ballot(7, [5, 7, 3], Reply(7), None, Reading(ranking, source, partial=partial))
    assert vote(ballot, "m") == Vote(7, [[5, 7, 3][at] for at in ranking], "m", weight)


def test_the_most_disputed_is_the_one_whose_places_lie_furthest_apart() -> None:
    assert count(range(4), election((2, "ABCD"), (1, "BCAD")), "count").disputed == 0
    assert count(range(4), election((2, "ABCD"), (1, "DABC")), "count").disputed == 3


def test_of_two_equally_disputed_answers_the_better_placed_is_named() -> None:
    assert count(range(3), election((2, "CBA"), (1, "ABC")), "count").disputed == 2


@pytest.mark.parametrize("orders", [["ABCD"], ["ABCD", "ABCD"], ["ABCD", "AB"], ["A", "ABC"]])
def test_if_all_agree_nothing_is_disputed(orders: list[str]) -> None:
    assert count(range(4), election(*((1, order) for order in orders)), "count").disputed is None


def test_repeated_and_unknown_responses_on_a_ballot_are_ignored() -> None:
    assert count([0, 1], [Vote(0, [1, 7, 1, 0])], "count") == count([0, 1], [Vote(0, [1, 0])], "count")


SEATS = st.integers(2, 8).flatmap(lambda n: st.permutations(range(n)))


@st.composite
def councils(draw: st.DrawFn) -> tuple[list[int], list[Vote]]:
    seats = sorted(draw(SEATS))
    judges = draw(st.lists(st.integers(0, 12), max_size=9, unique=True))
    orders = [draw(st.permutations(seats))[: draw(st.integers(0, len(seats)))] for _ in judges]
    return seats, [Vote(seat, list(order)) for seat, order in zip(judges, orders, strict=True)]


@settings(deadline=None, max_examples=60)
@given(councils(), st.sampled_from(["auto", "count", "exclude"]), st.randoms())
def test_the_count_is_consistent(
    council: tuple[list[int], list[Vote]], way: SelfVotes, chance: Random
) -> None:
    seats, votes = council
    tally = count(seats, votes, way)
    assert sorted(standing.seat for standing in tally.standings) == seats
    assert [standing.place for standing in tally.standings] == sorted(
        standing.place for standing in tally.standings
    )
    assert tally.first == [
        standing.seat for standing in by_seat(tally) if standing.place == 1 and standing.votes
    ]
    assert all(0 <= standing.score <= 1 for standing in tally.standings if standing.score is not None)
    assert tally.agreement is None or 0 <= tally.agreement <= 1
    assert 0 <= tally.effective <= len(votes) + 1e-9
    # No judge's place among the judges counts for anything.
    chance.shuffle(votes)
    assert count(seats, votes, way) == tally


@settings(deadline=None, max_examples=60)
@given(councils())
def test_every_judge_gives_the_same_number_of_points(council: tuple[list[int], list[Vote]]) -> None:
    seats, votes = council
    tally = count(seats, votes, "count")
    if tally.ballots:
        assert sum(standing.score or 0 for standing in tally.standings) == pytest.approx(len(seats) / 2)


def test_over_all_ballots_every_answer_wins_equally_often() -> None:
    votes = [Vote(OUTSIDE + n, list(order)) for n, order in enumerate(permutations(range(4)))]
    tally = count(range(4), votes, "count")
    assert (tally.first, tally.agreement) == ([0, 1, 2, 3], 0.0)
