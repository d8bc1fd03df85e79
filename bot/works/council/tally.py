"""Counts votes: the places, how far the judges agree, and how many independent voices they are.

Knows no ballot paper and no name. Exact fractions until the end, so that equals are equal.
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
"""From so many answers on "auto" leaves out what judges say of their own; with fewer, too few votes remain."""

WEIGHTS = {"schema": 1.0, "ranking": 1.0, "mention": 0.5, "none": 0.0}
"""What a ballot is worth by how it was read: the order of mention is a guess."""

LIKENESS = "likeness"
"""The voice of all votes by likeness: it is one measure that speaks."""


@dataclass(slots=True)
class _Count:
    """What one answer was given. `votes` and `places` (twice their sum) are by how many a vote was among."""

    votes: Counter[int] = field(default_factory=Counter)
    places: Counter[int] = field(default_factory=Counter)
    ranks: list[int] = field(default_factory=list)
    points: Fraction = Fraction(-1)
    mean_rank: Fraction = Fraction(0)

    def close(self) -> None:
        if n := self.votes.total():
            points = [Fraction(2 * m * k - self.places[m], 2 * (m - 1)) for m, k in self.votes.items()]
            self.points = sum(points, Fraction(0)) / n
            self.mean_rank = Fraction(self.places.total(), 2 * n)

    @property
    def score(self) -> float | None:
        return float(self.points) if self.votes else None


def count(seats: Sequence[int], votes: Sequence[Vote], self_votes: SelfVotes) -> Tally:
    """The count of `votes` over the answers of `seats`, self-votes in and out; an empty vote abstains.

    Borda's points of a vote over m answers are m - 1 for the first and 0 for the last, divided by m - 1. What
    is tied shares the mean of its places, and what a partial vote leaves out that of the places left (Cullinan,
    Hsiao and Polett 2014, "A Borda count for partially ordered ballots"). Where self-votes are excluded, a
    judge ranks the others only, who move up. The mean over the votes decides, then the mean rank, then the mean
    without self-votes, then how often it came first; else answers share a place. `agreement`, `effective` and
    `disputed` are of the ballots as cast.

    Without self-votes any two answers are compared by two judges fewer, which costs more than vanity does; to part
    equals they are better left out (docs/council.md).
    """
    cast = [_cast(seats, vote) for vote in votes]
    cast = [cast_vote for cast_vote in cast if cast_vote.order]
    excluded = self_votes == "exclude" or (self_votes == "auto" and len(seats) >= EXCLUDED_FROM)
    counted = _counted(seats, cast, exclude=excluded)
    alternative = _counted(seats, cast, exclude=not excluded)
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
    places_by_vote = [_places(seats, groups(cast_vote)) for cast_vote in cast]
    return Tally(
        standings,
        "exclude" if excluded else "count",
        ballots=len(cast),
        abstained=len(votes) - len(cast),
        agreement=kendall_w(
            [[Fraction(low + high, 2) for low, high in places.values()] for places in places_by_vote]
        ),
        effective=effective(cast),
        first=_first(counted, compared),
        other_first=_first(alternative, compared),
        disputed=_disputed([standing.seat for standing in standings], places_by_vote),
    )


def vote(ballot: Ballot, voice: str) -> Vote:
    """A ballot as it is counted; a partial one weighs as much as the share of the answers that it ranks."""
    weight = WEIGHTS[ballot.reading.source]
    if ballot.reading.partial and ballot.shown:
        weight *= len(ballot.order) / len(ballot.shown)
    return Vote(ballot.seat, ballot.order, voice, weight, ballot.tied)


def likeness_votes(texts: Mapping[int, str]) -> list[Vote]:
    """Votes where no member can judge: each answer ranks the others by the content words that it shares with them.

    What independent authors say alike is more often right than what one says alone (Wang et al. 2023,
    "Self-consistency improves chain of thought reasoning"). It is no judgement of quality, and people are told so.

    Likeness is the share of common words among the words of both (Jaccard 1901), so that a long answer gains
    nothing by its length. An answer that is as like as another ends the order: no more can be told. Itself
    comes last, where there is a whole order: likest to itself, it must gain nothing by it.
    """
    language = _spoken_language(" ".join(texts.values()))
    words = {seat: frozenset(content_terms(text, language)) for seat, text in texts.items()}
    return [Vote(seat, _by_likeness(seat, words), LIKENESS) for seat in sorted(texts)]


def kendall_w(ranks: Sequence[Sequence[Fraction]]) -> float | None:
    """Kendall's coefficient of concordance: 1 where all judges rank alike, 0 where they cancel each other out.

    One row of ranks for each judge, ties with their mean rank, corrected for them (Kendall and Babington Smith
    1939, "The problem of m rankings"; Siegel 1956, p. 234). None for fewer than two judges or two answers, and
    where nobody tells any apart.
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
    """How many equal, independent voices these votes are worth: (Σw)² / Σw² over voices (Kish 1965; Laakso and
    Taagepera 1979 count parties so). The weights of one voice are added; a vote without one is its own.
    """
    voices: defaultdict[str | int, float] = defaultdict(float)
    for vote in votes:
        voices[vote.voice or vote.seat] += vote.weight
    squares = sum(weight**2 for weight in voices.values())
    return sum(voices.values()) ** 2 / squares if squares else 0.0


def _cast(seats: Sequence[int], vote: Vote) -> Vote:
    groups_kept = [
        seats_kept for group in groups(vote) if (seats_kept := [seat for seat in group if seat in seats])
    ]
    tied = [seat for group in groups_kept for seat in group[1:]]
    return replace(vote, order=[seat for group in groups_kept for seat in group], tied=tied)


def _places(seats: Sequence[int], order: Sequence[Sequence[int]]) -> dict[int, tuple[int, int]]:
    """The best and the worst place, from 1, at which an order lets each seat be: equals anywhere among themselves,
    those that it leaves out anywhere below.
    """
    ranked: dict[int, tuple[int, int]] = {}
    for group in order:
        places = (len(ranked) + 1, len(ranked) + len(group))
        ranked |= dict.fromkeys(group, places)
    rest = (len(ranked) + 1, len(seats))
    return {seat: ranked.get(seat, rest) for seat in seats}


def _counted(seats: Sequence[int], votes: Sequence[Vote], *, exclude: bool) -> dict[int, _Count]:
    counts = {seat: _Count(ranks=[0] * len(seats)) for seat in seats}
    for vote in votes:
        among = [seat for seat in seats if not (exclude and seat == vote.seat)]
        order = [
            seats_kept for group in groups(vote) if (seats_kept := [seat for seat in group if seat in among])
        ]
        if len(among) < 2 or not order or len(order[0]) == len(among):
            continue  # it tells none of them apart
        for seat, (low, high) in _places(among, order).items():
            seat_count = counts[seat]
            seat_count.votes[len(among)] += 1
            seat_count.places[len(among)] += low + high
            if low == high:
                seat_count.ranks[low - 1] += 1
    for seat_count in counts.values():
        seat_count.close()
    return counts


def _keys(
    counts: dict[int, _Count], other_counts: dict[int, _Count]
) -> dict[int, tuple[Fraction, Fraction, Fraction, int]]:
    """The sort keys, larger is better; `other_counts`: without votes for oneself."""
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
    """The seat whose places lie furthest apart; of equals the best placed. To leave one out is to say nothing
    about which of the last places it has.
    """
    if not ballots:
        return None
    distances = {
        seat: max(places[seat][0] for places in ballots) - min(places[seat][1] for places in ballots)
        for seat in seats
    }
    widest = max(seats, key=lambda seat: distances[seat])
    return widest if distances[widest] > 0 else None


def _spoken_language(text: str) -> str:
    """The language whose function words bind the answers together: of the others none are known to be skipped,
    and the classifier takes seconds to load.
    """
    words = text.casefold().split()
    return max(FUNCTION_WORDS, key=lambda language: sum(word in FUNCTION_WORDS[language] for word in words))


def _by_likeness(seat: int, words: Mapping[int, frozenset[str]]) -> list[int]:
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
