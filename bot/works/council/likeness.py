"""Votes where no member can judge: each answer ranks the others by the content words that it shares with them.

What independent authors say alike is more often right than what one says alone (Wang et al. 2023, "Self-consistency
improves chain of thought reasoning"). It is no judgement of quality, and people are told so. Knows no model.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from bot.retrieval.language import FUNCTION_WORDS
from bot.retrieval.lexical import content_terms
from bot.works.council.values import Vote

VOICE = "likeness"
"""All these votes are one voice: it is one measure that speaks."""


def votes(texts: Mapping[int, str]) -> list[Vote]:
    """A vote of each answer, the same for the same texts.

    Likeness is the share of common words among the words of both (Jaccard 1901), so that a long answer gains
    nothing by its length. An answer that is as like as another ends the order: no more can be told. Itself
    comes last, where there is a whole order: likest to itself, it must gain nothing by it.
    """
    language = _language(" ".join(texts.values()))
    words = {seat: frozenset(content_terms(text, language)) for seat, text in texts.items()}
    return [Vote(seat, _order(seat, words), VOICE) for seat in sorted(texts)]


def _language(text: str) -> str:
    """The language whose function words bind the answers together: of the others none are known to be skipped,
    and the classifier takes seconds to load.
    """
    said = text.casefold().split()
    return max(FUNCTION_WORDS, key=lambda one: sum(word in FUNCTION_WORDS[one] for word in said))


def _order(seat: int, words: Mapping[int, frozenset[str]]) -> list[int]:
    alike = {other: _share(words[seat], words[other]) for other in words if other != seat}
    order: list[int] = []
    for other in sorted(alike, key=lambda one: -alike[one]):
        if sum(share == alike[other] for share in alike.values()) > 1:
            return order
        order.append(other)
    return [*order, seat]


def _share(one: frozenset[str], other: frozenset[str]) -> Fraction:
    return Fraction(len(one & other), len(one | other) or 1)
