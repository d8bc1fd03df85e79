"""The values that a council's stages pass to each other: frozen, JSON-able, stored by the engine's steps.

A *seat* is a member's number in the council, from 0. Knows no model and no storage.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from bot.config.model_spec import ModelSpec
from bot.conversation import Note
from bot.prompts import PromptText

_MARKUP = re.compile(r"[*_`~|\\\[\]<>#]")

Level: TypeAlias = Literal["single", "mini", "full"]
SelfVotes: TypeAlias = Literal["auto", "count", "exclude"]

Kind: TypeAlias = Literal["", "synthesis", "single", "best"]
"""The kind of a verdict: none yet, a chair's synthesis, one model's answer, or the best of several, unchanged."""

ReadFrom: TypeAlias = Literal["schema", "ranking", "mention", "none"]
"""Where a ballot's order was found: in its JSON, in its FINAL RANKING, in the order in which it names the responses
(low confidence), or nowhere: the judge abstains.
"""


@dataclass(frozen=True, slots=True)
class Reply:
    """The result of one call to one member. `fault` is a key of the catalogue with its `values`, "" if none.

    `seconds` is how long it took, `at` (unix time) when it arrived: a replay shows replies in that order.
    """

    seat: int
    text: str = ""
    finish: str = ""
    model: str = ""
    seconds: float = 0.0
    at: float = 0.0
    reasoning: str = ""
    fault: str = ""
    values: dict[str, str] = field(default_factory=dict)

    @property
    def usable(self) -> bool:
        """Whether it contains an answer: one that broke off or was refused does not count."""
        return not self.fault and self.finish in ("end", "length") and bool(self.text.strip())


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read from a judge's own words. `ranking` holds display positions from 0, best first.

    Those in `tied` share the place of the one before them. A ranking that leaves responses out is `partial`; an empty
    one is an abstention. `critiques` are by label.
    """

    ranking: list[int] = field(default_factory=list)
    source: ReadFrom = "none"
    critiques: dict[str, str] = field(default_factory=dict)
    partial: bool = False
    tied: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Ballot:
    """One judge's ballot. `shown` are the seats whose answers it saw, by display position: label A is `shown[0]`.

    `first` is its first reply, `again` the reply to a second request, if there was one.
    """

    seat: int
    shown: list[int]
    first: Reply
    again: Reply | None = None
    reading: Reading = Reading()

    @property
    def order(self) -> list[int]:
        """Seats, best first."""
        return [self.shown[position] for position in self.reading.ranking]

    @property
    def tied(self) -> list[int]:
        """The seats that share the place of the one before them."""
        return [self.shown[position] for position in self.reading.tied]


@dataclass(frozen=True, slots=True)
class Vote:
    """A ballot for counting: `order` has seats, best first, perhaps not all; those in `tied` share the place of the one
    before them.

    `voice` tells independent judges apart: two seats of one model are one voice. `weight` affects only the effective
    votes.
    """

    seat: int
    order: list[int]
    voice: str = ""
    weight: float = 1.0
    tied: list[int] = field(default_factory=list)


def groups(vote: Vote | Ballot) -> list[list[int]]:
    """The seats of an order, best first, in groups that share a place."""
    places: list[list[int]] = []
    for seat in dict.fromkeys(vote.order):
        if places and seat in vote.tied:
            places[-1].append(seat)
        else:
            places.append([seat])
    return places


@dataclass(frozen=True, slots=True)
class Standing:
    """The result of one answer. `place` is 1 for the best; equals share a place.

    `score` is the normalised Borda count that decides (0 to 1; the mean over the votes that count), `other` the count
    by the other rule for self-votes; None without any vote. `ranks[i]` counts the votes that put it at place i + 1; the
    answers that a partial ballot leaves out are not counted there.
    """

    seat: int
    place: int
    score: float | None
    other: float | None
    mean_rank: float | None
    votes: int
    ranks: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Tally:
    """The count. `standings` are in order of place.

    `self_votes` is whether they counted ("count" or "exclude"); `other_first` are the winning seats by the other rule.
    `agreement` is Kendall's W over the whole ballots (None for fewer than two), `effective` is the number of
    independent voices, `disputed` the seat with the widest range of ranks (None if all agree).
    """

    standings: list[Standing]
    self_votes: Literal["count", "exclude"]
    ballots: int
    abstained: int
    agreement: float | None
    effective: float
    first: list[int]
    other_first: list[int]
    disputed: int | None = None


@dataclass(frozen=True, slots=True)
class Seats:
    """The members of a space's council, and its criteria. `own` are the names of the space's own settings."""

    members: list[ModelSpec]
    chair: list[str]
    criteria: str
    own: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a council decides once, before anything else, so that a replay decides the same.

    `names` are people's names for the seats. `judges` are the seats that can judge. `research` are the categories.
    `ask_above` and `most` (the maximum cost of one run) are in dollars, `began` is unix time. `research_words` and
    `attack_words` are the maximum lengths of a finding and of the advocate's attack. `earlier` is what people said in
    the thread before the first question.
    """

    question: str
    session: str | None
    level: Level
    members: list[ModelSpec]
    names: list[str]
    judges: list[int]
    chair: list[str]
    researchers: list[str]
    criteria: str
    self_votes: SelfVotes
    blind: bool
    timeout: float
    tokens: int
    debate: bool
    ask_above: float
    most: float | None
    began: float
    research: list[str] = field(default_factory=list)
    demo: bool = False
    prompts: dict[str, PromptText] = field(default_factory=dict)
    history: list[tuple[str, str]] = field(default_factory=list)
    earlier: str = ""
    notes: list[Note] = field(default_factory=list)
    research_words: int = 250
    attack_words: int = 150


def names(members: Sequence[ModelSpec]) -> list[str]:
    """A unique name for each seat: the model, its persona where several have the model, a number.

    They appear in Markdown, so a persona's own markup is removed.
    """
    models = [member.short for member in members]
    labels = [
        f"{member.short} ({persona})"
        if (persona := " ".join(_MARKUP.sub("", member.persona).split())) and models.count(member.short) > 1
        else member.short
        for member in members
    ]
    return [
        f"{name} #{labels[: at + 1].count(name)}" if labels.count(name) > 1 else name
        for at, name in enumerate(labels)
    ]
