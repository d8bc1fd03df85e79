"""How a shelf is searched, and what comes out: passages by their ids, best first.

Knows no text.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from bot.retrieval.confidence import Evidence, Likeness, Thresholds
from bot.retrieval.titles import MatchKind


@dataclass(frozen=True, slots=True)
class Options:
    """How to search; the defaults are what docs/retrieval.md measured best over all sets."""

    k: int = 12
    lookup: bool = True
    documents: frozenset[str] | None = None  # only these
    model_languages: frozenset[str] | None = None  # the dense model's; None = all
    hops: int = 1  # titles named in the best passages are followed this often
    thresholds: Thresholds | None = None  # None = those of docs/retrieval.md
    likeness: Likeness | None = field(default_factory=Likeness)  # the dense model's; None = not known
    k1: float = 1.2
    b: float = 0.6
    head_weight: float = 2.0
    neighbour_weight: float = 0.5
    dense_weight: float = 0.8
    bridge_weight: float = 1.2


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage: its chunk, its section's ordinal in its document, and why it is here."""

    chunk_id: str
    document_id: str
    section: int
    score: float
    by: (
        MatchKind | str
    )  # "exact" | "alias" | "fuzzy" title, "search", "bridge" (a good passage names its title)

    @property
    def titled(self) -> bool:
        """Whether a look-up of its title brought it."""
        return self.by not in ("search", "bridge")


@dataclass(frozen=True, slots=True)
class Ranked:
    """Passages, best first, and whether they may be called an answer."""

    hits: tuple[Hit, ...]
    confident: bool
    language: str | None
    evidence: Evidence

    @property
    def nameless(self) -> bool:
        """Whether a bare name was asked for that no heading bears: its text stands beside where it is mentioned."""
        return self.evidence.name and not any(hit.titled for hit in self.hits)
