"""Whether what was found may be called an answer, or honesty asks for "nothing found".

Knows neither texts nor models: it weighs evidence that the Shelf has measured.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for the best passages.

    `title`: a title was looked up. `coverage`: of the question's weight in terms (inverse document
    frequency; a term that no book has weighs most; function words none), the share that one of the best
    passages holds, and `together` the share that all five hold. `mentions`: how often that passage says
    those terms, its breadcrumb twice. `asked`: it ended as a question does. `known`: the share that the
    shelf holds anywhere. `cosine`: the best passage's likeness to the question, None without a vote.
    """

    title: bool
    coverage: float
    together: float
    mentions: int
    asked: bool
    known: float
    cosine: float | None


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Chosen over all ordered pairs of the development sets; docs/retrieval.md has the table.

    `alone` and `mentions` hold where vectors have no vote, `voted`, `together` and `cosine` where they have.
    """

    alone: float = 0.55
    mentions: int = 3
    voted: float = 0.3
    together: float = 0.5
    cosine: float = 0.65


def confident(evidence: Evidence, thresholds: Thresholds | None = None) -> bool:
    """Whether to answer at all.

    A word said once in passing is no answer to a bare phrase: without vectors the best passage must hold the
    question's words, and a phrase's more than once or twice; with vectors it must also be about the question.
    """
    limits = thresholds or Thresholds()
    if evidence.title:
        return True
    if evidence.cosine is None:
        return evidence.coverage >= limits.alone and (evidence.asked or evidence.mentions >= limits.mentions)
    return (
        evidence.coverage >= limits.voted
        and evidence.together >= limits.together
        and evidence.cosine >= limits.cosine
    )
