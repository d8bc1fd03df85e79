"""Decides whether the passages answer the question, or the reply must be "nothing found".

Knows neither texts nor models: it weighs evidence measured on the best passages.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for the best passages.

    `title`: a title was looked up. `share` (0..1): of the weight of the question's words (function words
    aside), how much one of the best passages says, a word said n times counting n / (n + 1). `worth`: the
    same as a sum, in words that no other passage holds. `words`: how many the question has. `size`: the
    shelf's chunks. `name`: a bare phrase, or "What is …?" of one. `apart`: names in it (capitals
    inside a sentence) whose words no passage at all holds together. `likeness`: the nearest passage's
    cosine, None without a vote (of the passage that says most, too: a model that cannot read it may not speak
    against it). `foreign`:
    the passages are in another language than the question, so that its words are only those that look alike;
    `match` is then the best passage's score by words, as a part of what all such words weigh, None
    between languages whose spellings are not known.
    """

    title: bool = False
    share: float = 0.0
    worth: float = 0.0
    words: int = 0
    size: int = 0
    name: bool = False
    apart: int = 0
    likeness: float | None = None
    phrase: bool = False
    about: bool = False
    headed: bool = False
    foreign: bool = False
    match: float | None = None


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Rounded from logistic fits over the development sets; docs/retrieval-lab.md says how they were checked."""

    worth: float = 0.16
    start: float = 0.05  # added to the worth before its logarithm: what nothing at all is worth
    size: float = 0.04
    least: float = 0.02
    few_words: float = 0.13
    few_chunks: float = 0.0
    name: float = 0.22
    short_name: float = 0.1  # and so much more for one or two words, which any book may say in passing
    apart: float = 0.12
    phrase: float = 0.25  # "wall of fire" in a row is worth more than a wall and a fire
    about: float = 0.2
    one_word: float = 0.1  # and so much more for a single word that no passage is about
    headed: float = 0.1
    share: float = 1.0
    match: float = 0.0


FOREIGN = Thresholds(
    worth=0.3,
    start=0.05,
    least=-0.1,
    few_words=5.0,
    few_chunks=1.0,
    name=0.7,
    short_name=0.0,
    one_word=0.0,
    apart=0.0,
    share=0.0,
    match=3.0,
)
"""Of a foreign question a passage never says much, and each word has several likenesses: all of them count.

In a few passages a likeness by chance is as rare as a true one: they ask for more.
"""

FOREIGN_NEAR = Thresholds(
    worth=0.3,
    start=0.5,
    least=0.2,
    few_words=2.4,
    name=1.0,
    short_name=0.0,
    one_word=0.0,
    apart=0.0,
    share=2.0,
)
"""The same beside a cosine that counts: how much of a question is said counts double, how rare that is little. A bare
phrase is as near to what does not answer it as to what does."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """What an embedder's cosines are worth as evidence: how much each weighs, and which speaks neither way.

    `foreign_…`: between two languages, where the same meaning is less alike, and words say little beside it.
    None leaves the cosines out: those of one model say nothing of another's.
    """

    weight: float = 2.0
    even: float = 0.68
    foreign_weight: float = 0.0
    foreign_even: float = 0.0


_BGE_SMALL = Likeness()
_SHORT = 2


DOUBTFUL = 0.15
"""So little below the bar it is a guess worth showing: docs/retrieval.md."""


def confident(
    evidence: Evidence, thresholds: Thresholds | None = None, likeness: Likeness | None = _BGE_SMALL
) -> bool:
    """Whether the evidence is enough to answer."""
    return margin(evidence, thresholds, likeness) >= 0


def margin(
    evidence: Evidence, thresholds: Thresholds | None = None, likeness: Likeness | None = _BGE_SMALL
) -> float:
    """How far the evidence is above the bar for an answer, or below it.

    The best of many passages says more by chance than the best of few, so a large shelf asks for more; few
    words are easily said, so a short question asks for more; so does a name that no heading bears, and most of
    all one that no passage holds.
    """
    if evidence.title:
        return math.inf
    if not evidence.words or not evidence.size:
        return -math.inf
    weight, even = 0.0, 0.0
    if evidence.likeness is not None and likeness is not None:
        home, abroad = (likeness.weight, likeness.even), (likeness.foreign_weight, likeness.foreign_even)
        weight, even = abroad if evidence.foreign else home
    if evidence.foreign and evidence.match is None and not weight:
        return (
            -math.inf
        )  # between languages whose spellings are not known, words that look alike prove nothing
    usual = (FOREIGN_NEAR if weight else FOREIGN) if evidence.foreign else Thresholds()
    limits = thresholds or usual
    score = limits.share * evidence.share + limits.match * (evidence.match or 0.0)
    score += limits.worth * math.log(evidence.worth + limits.start) - limits.size * math.log(evidence.size)
    score += weight * ((evidence.likeness or 0.0) - even)
    bar = limits.least + limits.few_words / evidence.words + limits.apart * (evidence.apart > 0)
    bar += limits.few_chunks / math.sqrt(evidence.size) - limits.headed * evidence.headed
    if evidence.name:
        bar += limits.name + limits.short_name * (evidence.words <= _SHORT)
        if evidence.words == 1:
            bar += limits.one_word * (not evidence.about)
        else:
            bar -= limits.phrase * evidence.phrase
        bar -= limits.about * evidence.about
    return score - bar
