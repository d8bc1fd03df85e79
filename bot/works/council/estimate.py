"""Estimates the cost of a council before it begins: each call's input, and its usual output.

Asks `Models` for prices. This is a guess; the ledger counts and limits the real cost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from bot.budget import text_tokens
from bot.events import UserError
from bot.llm.completion import Usage
from bot.works.council.values import Level, Snapshot

if TYPE_CHECKING:
    from bot.llm.registry import Models

TASK_TOKENS = 300
"""The tokens of one task's instructions."""

ANSWER_TOKENS = 600
CRITIQUE_TOKENS = 80
VERDICT_TOKENS = 800
"""The tokens of a usual answer, critique and verdict: a quarter to half a page."""

TOKENS_PER_WORD = 1.6
"""Tokens for each word of a finding or an attack, which are usually about as long as allowed."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Dollars for `calls` calls; `unpriced` are the models without a known price."""

    calls: int
    usd: Decimal
    unpriced: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Estimates:
    """The estimate of the requested council, and of the cheaper levels."""

    asked: Estimate
    cheaper: list[tuple[Level, Estimate]] = field(default_factory=list)


async def estimates(snapshot: Snapshot, models: Models, mini: int) -> Estimates:
    """The estimate of the council and, if it has more members than a cheaper level, of that level."""
    cheaper: list[tuple[Level, Estimate]] = []
    if snapshot.level == "full" and len(snapshot.members) > mini:
        cheaper.append(("mini", await _estimate(_fewer(snapshot, mini), models)))
    if snapshot.level != "single":
        cheaper.append(("single", await _estimate(_fewer(snapshot, 1), models)))
    return Estimates(await _estimate(snapshot, models), cheaper)


def _fewer(snapshot: Snapshot, members: int) -> Snapshot:
    judges = [seat for seat in snapshot.judges if seat < members]
    debate = snapshot.debate and members > 1
    return replace(snapshot, members=snapshot.members[:members], judges=judges, debate=debate)


async def _estimate(snapshot: Snapshot, models: Models) -> Estimate:
    calls, usd, unpriced = 0, Decimal(0), dict[str, None]()
    for model, input_tokens, output_tokens in _calls(snapshot):
        calls += 1
        try:
            price = await models.price("council", model, Usage(input_tokens, output_tokens))
        except UserError:  # its provider is unknown, which the call itself reports
            price = None
        if price is None:
            unpriced[model] = None
        else:
            usd += price
    return Estimate(calls, usd, list(unpriced))


def _calls(snapshot: Snapshot) -> Iterator[tuple[str, int, int]]:
    """Each call's model, its input tokens, and its usual output tokens."""
    members = len(snapshot.members)
    answer = min(ANSWER_TOKENS, snapshot.tokens)
    question = text_tokens(snapshot.question)
    finding, attack = (
        int(snapshot.research_words * TOKENS_PER_WORD),
        int(snapshot.attack_words * TOKENS_PER_WORD),
    )
    for _ in snapshot.research:
        for researcher in snapshot.researchers[:1]:
            yield researcher, TASK_TOKENS + question, finding
    history_tokens = sum(
        text_tokens(past_question) + text_tokens(past_answer)
        for past_question, past_answer in snapshot.history
    )
    history_tokens += text_tokens(snapshot.earlier)
    about = TASK_TOKENS + question + history_tokens + len(snapshot.research) * finding
    for member in snapshot.members:
        yield member.model, about, answer
    if members == 1:
        return
    if snapshot.debate:
        yield snapshot.members[0].model, about + members * answer, attack
        for member in snapshot.members[1:]:
            yield member.model, about + members * answer + attack, answer
    for seat in snapshot.judges:
        yield snapshot.members[seat].model, about + members * answer, members * CRITIQUE_TOKENS
    for chair in snapshot.chair[:1]:
        critiques = len(snapshot.judges) * members * CRITIQUE_TOKENS
        yield chair, about + members * answer + critiques, VERDICT_TOKENS
