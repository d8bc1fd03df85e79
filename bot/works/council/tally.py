"""Counts votes: the places, how far the judges agree, and how many independent voices they are.

Knows no ballots' texts and no names. Fractions are exact until the end, so that equal results are equal.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from bot.retrieval.language import FUNCTION_WORDS
from bot.retrieval.lexical import content_terms
from bot.works.council.values import Ballot, SelfVotes, Standing, Tally, Vote, groups

EXCLUDED_FROM = 5
"""From this many answers on, "auto" excludes judges' votes for themselves; with fewer, too few votes would remain."""

WEIGHTS = {"schema": 1.0, "ranking": 1.0, "mention": 0.5, "none": 0.0}
"""The weight of a ballot according to how it was read: the order of mention is a guess."""

LIKENESS = "likeness"
"""The voice shared by all votes by likeness, which are one measure."""


@dataclass(slots=True)
class _Count:
    """The votes for one answer. `votes` and `places` (twice their sum) are by the number of answers in a vote."""

    votes: Counter[int] = field(default_factory=Counter)
    places: Counter[int] = field(default_factory=Counter)
    ranks: list[int] = field(default_factory=list)
    points: Fraction = Fraction(-1)
    mean_rank: Fraction = Fraction(0)

    def finish(self) -> None:
        """Set `points` and `mean_rank` from the counted votes."""
        if n := self.votes.total():
            points = [Fraction(2 * m * k - self.places[m], 2 * (m - 1)) for m, k in self.votes.items()]
            self.points = sum(points, Fraction(0)) / n
            self.mean_rank = Fraction(self.places.total(), 2 * n)

    @property
    def score(self) -> float | None:
        return float(self.points) if self.votes else None


def count(seats: Sequence[int], votes: Sequence[Vote], self_votes: SelfVotes) -> Tally:
    """The count of `votes` over the answers of `seats`, self-votes in and out; an empty vote abstains.

    The Borda points of a vote over m answers are m - 1 for the first and 0 for the last, divided by m - 1. Tied answers
    share the mean of their places, and those that a partial vote leaves out the mean of the remaining places (Cullinan,
    Hsiao and Polett 2014, "A Borda count for partially ordered ballots"). Without self-votes, a judge ranks only the
    others, which move up. The mean over the votes decides, then the mean rank, then the mean without self-votes, then
    the number of first places; otherwise answers share a place. `agreement`, `effective` and `disputed` are of the
    ballots as cast.

    Without self-votes any two answers are compared by two judges fewer, which costs more accuracy than vanity does;
    only for breaking ties is it better to leave them out (docs/council.md).
    """
    ballots = [_known_seats_only(seats, vote) for vote in votes]
    ballots = [ballot for ballot in ballots if ballot.order]
    excluded = self_votes == "exclude" or (self_votes == "auto" and len(seats) >= EXCLUDED_FROM)
    counted = _counted(seats, ballots, exclude=excluded)
    alternative = _counted(seats, ballots, exclude=not excluded)
    compared = counted if excluded else alternative
    keys = _keys(counted, compared)
    ordered = sorted(keys.values(), reverse=True)
    standings = [
        Standing(
            seat,
            1 + ordered.index(keys[seat]),
            counts.score,
            alternative[seat].score,
            float(counts.mean_rank) if counts.votes else None,
            counts.votes.total(),
            counts.ranks,
        )
        for seat, counts in counted.items()
    ]
    standings.sort(key=lambda standing: (standing.place, standing.seat))
    places_by_vote = [_places(seats, groups(ballot)) for ballot in ballots]
    return Tally(
        standings,
        "exclude" if excluded else "count",
        ballots=len(ballots),
        abstained=len(votes) - len(ballots),
        agreement=kendall_w(
            [[Fraction(low + high, 2) for low, high in places.values()] for places in places_by_vote]
        ),
        effective=effective(ballots),
        first=_first(counted, compared),
        other_first=_first(alternative, compared),
        disputed=_disputed([standing.seat for standing in standings], places_by_vote),
    )


def vote(ballot: Ballot, voice: str) -> Vote:
    """A ballot as a vote; a partial one has the weight of the share of answers that it ranks."""
    weight = WEIGHTS[ballot.reading.source]
    if ballot.reading.partial and ballot.shown:
        weight *= len(ballot.order) / len(ballot.shown)
    return Vote(ballot.seat, ballot.order, voice, weight, ballot.tied)


def likeness_votes(texts: Mapping[int, str]) -> list[Vote]:
    """Votes for the case that no member can judge: each answer ranks the others by the content words that it shares
    with them.

    Statements that independent authors share are more often right than those of one author (Wang et al. 2023,
    "Self-consistency improves chain of thought reasoning"). It is not a judgement of quality, and the result says so.

    Likeness is the share of common words among the words of both (Jaccard 1901), so that a long answer gains nothing by
    its length. The order ends before answers with equal likeness. In a complete order an answer puts itself last, so
    that it gains nothing by its likeness to itself.
    """
    language = _main_language(" ".join(texts.values()))
    words = {seat: frozenset(content_terms(text, language)) for seat, text in texts.items()}
    return [Vote(seat, _by_likeness(seat, words), LIKENESS) for seat in sorted(texts)]


def kendall_w(ranks: Sequence[Sequence[Fraction]]) -> float | None:
    """Kendall's coefficient of concordance: 1 where all judges rank alike, 0 where they cancel each other out.

    One row of ranks for each judge, ties with their mean rank, corrected for them (Kendall and Babington Smith 1939,
    "The problem of m rankings"; Siegel 1956, p. 234). None for fewer than two judges or two answers, and if no judge
    distinguishes any.
    """
    judges, n = len(ranks), len(ranks[0]) if ranks else 0
    if judges < 2 or n < 2:
        return None
    sums = [sum(column, Fraction(0)) for column in zip(*ranks, strict=True)]
    mean = sum(sums, Fraction(0)) / n
    square_sum = sum(((rank_sum - mean) ** 2 for rank_sum in sums), Fraction(0))
    tied = sum(t**3 - t for row in ranks for t in Counter(row).values())
    most = judges**2 * (n**3 - n) - judges * tied
    return float(12 * square_sum / most) if most else None


def effective(votes: Sequence[Vote]) -> float:
    """The effective number of independent voices: (Σw)² / Σw² over voices (Kish 1965; Laakso
    and Taagepera 1979 count parties this way). The weights of one voice are added; a vote without a voice is its own.
    """
    voices: defaultdict[str | int, float] = defaultdict(float)
    for vote in votes:
        voices[vote.voice or vote.seat] += vote.weight
    squares = sum(weight**2 for weight in voices.values())
    return sum(voices.values()) ** 2 / squares if squares else 0.0


def _known_seats_only(seats: Sequence[int], vote: Vote) -> Vote:
    """The vote without seats that are not counted."""
    groups_kept = [
        seats_kept for group in groups(vote) if (seats_kept := [seat for seat in group if seat in seats])
    ]
    tied = [seat for group in groups_kept for seat in group[1:]]
    return replace(vote, order=[seat for group in groups_kept for seat in group], tied=tied)


def _places(seats: Sequence[int], order: Sequence[Sequence[int]]) -> dict[int, tuple[int, int]]:
    """The best and the worst place, from 1, that an order allows for each seat: equals in any order among themselves,
    those left out anywhere below.
    """
    ranked: dict[int, tuple[int, int]] = {}
    for group in order:
        places = (len(ranked) + 1, len(ranked) + len(group))
        ranked |= dict.fromkeys(group, places)
    unranked = (len(ranked) + 1, len(seats))
    return {seat: ranked.get(seat, unranked) for seat in seats}


def _counted(seats: Sequence[int], votes: Sequence[Vote], *, exclude: bool) -> dict[int, _Count]:
    """The votes for each seat; `exclude` leaves each judge's own answer out of its vote."""
    counts = {seat: _Count(ranks=[0] * len(seats)) for seat in seats}
    for vote in votes:
        ranked_seats = [seat for seat in seats if not (exclude and seat == vote.seat)]
        order = [
            seats_kept
            for group in groups(vote)
            if (seats_kept := [seat for seat in group if seat in ranked_seats])
        ]
        if len(ranked_seats) < 2 or not order or len(order[0]) == len(ranked_seats):
            continue  # it distinguishes none of them
        for seat, (low, high) in _places(ranked_seats, order).items():
            seat_count = counts[seat]
            seat_count.votes[len(ranked_seats)] += 1
            seat_count.places[len(ranked_seats)] += low + high
            if low == high:
                seat_count.ranks[low - 1] += 1
    for seat_count in counts.values():
        seat_count.finish()
    return counts


def _keys(
    counts: dict[int, _Count], other_counts: dict[int, _Count]
) -> dict[int, tuple[Fraction, Fraction, Fraction, int]]:
    """The sort keys, larger is better; `other_counts` is the count without self-votes."""
    return {
        seat: (seat_count.points, -seat_count.mean_rank, other_counts[seat].points, seat_count.ranks[0])
        for seat, seat_count in counts.items()
    }


def _first(counts: dict[int, _Count], other_counts: dict[int, _Count]) -> list[int]:
    """The seats that win; none without votes."""
    keys = _keys(counts, other_counts)
    best = max(keys.values(), default=None)
    return [seat for seat, key in keys.items() if counts[seat].votes and key == best]


def _disputed(seats: Sequence[int], ballots: Sequence[dict[int, tuple[int, int]]]) -> int | None:
    """The seat with the widest range of places; of equal ones the best placed. A ballot that leaves a seat out says
    nothing about which of the last places it has.
    """
    if not ballots:
        return None
    distances = {
        seat: max(places[seat][0] for places in ballots) - min(places[seat][1] for places in ballots)
        for seat in seats
    }
    widest = max(seats, key=lambda seat: distances[seat])
    return widest if distances[widest] > 0 else None


def _main_language(text: str) -> str:
    """The language with the most function words in the text. Only languages with a list of function words matter, since
    only those can be skipped; the classifier would take seconds to load.
    """
    words = text.casefold().split()
    return max(FUNCTION_WORDS, key=lambda language: sum(word in FUNCTION_WORDS[language] for word in words))


def _by_likeness(seat: int, words: Mapping[int, frozenset[str]]) -> list[int]:
    """The other seats by the words that they share with this one, up to the first tie; complete, this one is last."""
    own = words[seat]
    alike = {
        other_seat: Fraction(len(own & other_words), len(own | other_words) or 1)
        for other_seat, other_words in words.items()
        if other_seat != seat
    }
    order: list[int] = []
    for other_seat in sorted(alike, key=lambda seat_alike: -alike[seat_alike]):
        if sum(share == alike[other_seat] for share in alike.values()) > 1:
            return order
        order.append(other_seat)
    return [*order, seat]
