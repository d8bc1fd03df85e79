"""The prompts for a council's members: first the topic, which is the same for all of a member's tasks, then the task.

Everything that a person or another model wrote is fenced as data. Knows no model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot import untrusted
from bot.budget import text_tokens
from bot.config.model_spec import ModelSpec
from bot.llm.base import CACHED_TOKENS, Message, Prompt, room
from bot.works.council.rotation import label, labels
from bot.works.council.values import Ballot, Snapshot, Standing

_PROSE = ("council_answer", "council_attack", "council_revise")
"""The tasks of a debate. They share a beginning that the service may cache: a member's answer writes it to the cache,
and its attack or second answer reads it. A ballot has a schema, which changes its beginning, and the chair usually has
another model: a cache mark there would cost a quarter more, and nothing would read the cache.
"""

VERDICT_CHARS, DISSENT_CHARS = 6_000, 1_500
"""The maximum length of an earlier verdict in a follow-up's prompt, and the part of it kept at the end for the
dissent.
"""

CRITIQUE_WORDS = 100
"""The words of a ballot for each answer: up to three sentences, and its place in the ranking."""

_READ = "Read. What is my task?"
_ALIKE = "Write as {persona}."


class CouncilPrompts:
    """The prompts of one council. `findings` are the researchers' texts, by category."""

    def __init__(self, snapshot: Snapshot, findings: Mapping[str, str]) -> None:
        self._snapshot = snapshot
        self._findings = findings

    def research(self, category: str) -> Prompt:
        system, user = self._snapshot.prompts[f"research_{category}"].fill(
            question=untrusted.data(self._snapshot.question), words=str(self._snapshot.research_words)
        )
        most = room(self._snapshot.research_words, None)
        return Prompt(system, (Message("user", user),), max_tokens=most)

    def answer(self, member: ModelSpec) -> Prompt:
        if self._snapshot.demo:  # it would continue the instructions instead of following them
            return Prompt(
                f"You are {member.persona or 'a helpful assistant'}. Answer in a few sentences.",
                (Message("user", self._snapshot.question),),
                max_tokens=member.tokens or self._snapshot.tokens,
                temperature=member.temperature,
            )
        return self._task("council_answer", member, persona=_persona(member))

    def ballot(self, judge: ModelSpec, texts: Sequence[str], criteria: str) -> Prompt:
        """`texts` as this judge sees them, in its own order."""
        letters = labels(len(texts))
        return self._task(
            "council_ballot",
            judge,
            most=room(CRITIQUE_WORDS * len(texts), judge.effort),
            criteria=untrusted.data(criteria),
            responses=responses(texts),
            labels=", ".join(letters[:-1]) + f" and {letters[-1]}",
        )

    def attack(self, member: ModelSpec, texts: Sequence[str]) -> Prompt:
        words = self._snapshot.attack_words
        most = room(words, member.effort)
        return self._task("council_attack", member, most=most, responses=responses(texts), words=str(words))

    def revise(self, member: ModelSpec, own: str, others: Sequence[str], attack: str) -> Prompt:
        return self._task(
            "council_revise",
            member,
            persona=_persona(member),
            own=untrusted.data(own),
            responses=responses(others),
            attack=untrusted.data(attack),
        )

    def chair(
        self,
        seats: Sequence[int],
        texts: Mapping[int, str],
        standings: Sequence[Standing],
        ballots: Sequence[Ballot],
    ) -> Prompt:
        """`seats` in the order in which the chair sees them."""
        names = None if self._snapshot.blind else [self._snapshot.names[seat] for seat in seats]
        return self._task(
            "council_chair",
            ModelSpec(""),
            criteria=untrusted.data(self._snapshot.criteria),
            responses=responses([texts[seat] for seat in seats], names),
            standings=_standings(seats, standings),
            critiques=_critiques(seats, ballots),
        )

    def _task(self, name: str, member: ModelSpec, *, most: int | None = None, **values: str) -> Prompt:
        snapshot = self._snapshot
        system, about = snapshot.prompts["council"].fill(
            history=untrusted.earlier(
                ((past_question, _both_ends(past_answer)) for past_question, past_answer in snapshot.history),
                snapshot.earlier,
                most=VERDICT_CHARS,
            ),
            research="\n".join(
                f'<finding about="{name.replace("_", " ")}">\n{untrusted.data(text)}\n</finding>'
                for name, text in self._findings.items()
            ),
            question=untrusted.data(snapshot.question),
        )
        needs_reading = snapshot.debate and name in _PROSE
        task = "\n".join(snapshot.prompts[name].fill(**values))
        return Prompt(
            system,
            (
                Message(
                    "user",
                    about.strip(),
                    cache=needs_reading and text_tokens(system + about) >= CACHED_TOKENS,
                ),
                # A message in between, since some models require that the two sides take turns.
                Message("assistant", _READ),
                Message("user", task),
            ),
            max_tokens=most or member.tokens or snapshot.tokens,
            temperature=member.temperature,
            effort=member.effort,
            reasoning=True,
            min_timeout=member.timeout or snapshot.timeout,
        )


def responses(texts: Sequence[str], names: Sequence[str] | None = None) -> str:
    """Answers under letters; `names` has their authors, for a chair that may know them."""
    blocks = []
    for position, text in enumerate(texts):
        whose = f' from="{untrusted.data(names[position])}"' if names else ""
        blocks.append(f'<response letter="{label(position)}"{whose}>\n{untrusted.data(text)}\n</response>')
    return "\n".join(blocks)


def _both_ends(verdict: str) -> str:
    if len(verdict) <= VERDICT_CHARS:
        return verdict
    between = "\n\n[…]\n\n"
    return verdict[: VERDICT_CHARS - DISSENT_CHARS - len(between)] + between + verdict[-DISSENT_CHARS:]


def _persona(member: ModelSpec) -> str:
    return _ALIKE.format(persona=untrusted.data(member.persona)) if member.persona else ""


def _standings(seats: Sequence[int], standings: Sequence[Standing]) -> str:
    letters = {seat: label(position) for position, seat in enumerate(seats)}
    return "\n".join(
        f"{standing.place}. Response {letters[standing.seat]}"
        + (f" ({standing.score:.2f} of 1 by {standing.votes} ballots)" if standing.score is not None else "")
        for standing in standings
        if standing.seat in letters
    )


def _critiques(seats: Sequence[int], ballots: Sequence[Ballot]) -> str:
    """The judges' words about each response, under the chair's letters instead of each judge's own."""
    blocks = []
    for position, seat in enumerate(seats):
        for ballot in ballots:
            if seat not in ballot.shown:
                continue
            own = label(ballot.shown.index(seat))
            if text := ballot.reading.critiques.get(own, "").strip():
                blocks.append(f'<critique of="{label(position)}">{untrusted.data(text)}</critique>')
    return "\n".join(blocks)
