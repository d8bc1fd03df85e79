"""Prepares a question for any strategy: rewrites a follow-up to be complete, and translates a question into the shelf's
language.

One model call does both, and is made only if one of them is needed. Without a model, a follow-up is searched together
with the question before it, or with the last message in the thread.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace

from bot import untrusted
from bot.events import Status, UserError
from bot.retrieval.results import SearchResult
from bot.strategies import HELPED, SINGLE
from bot.strategies.base import (
    OTHER_LANGUAGE,
    Asks,
    Inquiry,
    Searchable,
    SearchEvent,
    Strategy,
    ask_helper,
    failed,
    fused,
    named,
    queries,
    search_all,
)
from bot.strategies.following import borne_out, foremost, leans
from bot.words import words
from bot.work import Run

TONGUES = 2
"""The most languages of a shelf into which a question is translated."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What the model writes: the complete question, and its translation into each language asked for."""

    question: str
    translations: list[str]


@dataclass(frozen=True, slots=True)
class Rewriting:
    """Prepares a question that has been searched for, and passes it on to the strategy of a name in NAMES."""

    _name: str
    _library: Searchable
    _models: Asks

    async def search(self, run: Run, inquiry: Inquiry) -> AsyncGenerator[SearchEvent, None]:
        (first,) = inquiry.begun
        ready = inquiry
        follows = bool(inquiry.history or inquiry.earlier) and not first.titled
        strange = inquiry.language not in inquiry.languages
        foreign = bool(OTHER_LANGUAGE.intersection(first.notices)) or (
            strange and (follows or not first.confident)
        )
        if follows and not inquiry.helper:
            ready = await self._by_words(run, inquiry)
        elif inquiry.helper and (follows or foreign):
            tongues = inquiry.languages[:TONGUES] if foreign else ()
            yield Status(words(inquiry.locale)("strategies.rewriting"))
            try:
                rewritten = await self._rewritten(run, inquiry, tongues)
            except UserError as error:
                yield failed(inquiry, error)
                ready = await self._by_words(run, inquiry) if follows else inquiry
            else:
                steps = _steps(inquiry, rewritten, follows, tongues)
                if steps:
                    label = " · ".join(steps.values())
                    yield Status(words(inquiry.locale)("strategies.searching_for", what=label))
                ready = await self._searched(run, inquiry, first, steps)
        if self._name == SINGLE:
            yield ready.begun[0] if len(ready.begun) == 1 else fused(ready.begun, ready)
            return
        strategy: Strategy = HELPED[self._name](self._library, self._models)
        async with aclosing(strategy.search(run, ready)) as events:
            async for event in events:
                yield event

    async def _by_words(self, run: Run, inquiry: Inquiry) -> Inquiry:
        """A short follow-up such as "and at night?" is searched together with the question before it.

        Only if the question depends on the other, and only if the passages found together contain what it adds.
        Otherwise the earlier answer would be found again.
        """
        before, question = _before(inquiry), inquiry.question
        languages = (inquiry.language, *inquiry.languages)
        if not leans(question, before, languages, confident=inquiry.begun[0].confident):
            return inquiry
        both = f"{before} {question}"
        (result,) = await search_all(self._library, run, inquiry, {"search-together": both})
        if result.confident and borne_out(question, before, inquiry.language, result.passages):
            passages = foremost(question, before, inquiry.language, result.passages)
            return replace(inquiry, question=both, begun=(replace(result, passages=passages),))
        return inquiry

    async def _rewritten(self, run: Run, inquiry: Inquiry, tongues: tuple[str, ...]) -> Rewritten:
        return await ask_helper(
            self._models,
            run,
            inquiry,
            "rewrite",
            "rewrite",
            Rewritten,
            history=untrusted.earlier(inquiry.history, inquiry.earlier),
            question=untrusted.data(inquiry.question),
            languages=named(tongues) if tongues else "none",
        )

    async def _searched(
        self, run: Run, inquiry: Inquiry, first: SearchResult, steps: dict[str, str]
    ) -> Inquiry:
        """The inquiry with the results of these steps. Results in the shelf's own language come first."""
        by_step = dict(zip(steps, await search_all(self._library, run, inquiry, steps), strict=True))
        alone = by_step.pop(ALONE, first)
        if by_step:  # translated: the notices about the question's language no longer hold
            alone = replace(
                alone, notices=[notice for notice in alone.notices if notice not in OTHER_LANGUAGE]
            )
        begun = [*by_step.values(), alone]
        if alone is not first and first.confident and not alone.confident:
            begun.append(first)
        return replace(inquiry, question=steps.get(ALONE, inquiry.question), begun=tuple(begun))


ALONE = "search-alone"
LINE_CHARS = 300
"""The most characters of an earlier message that are searched together with a short question."""


def _before(inquiry: Inquiry) -> str:
    """The question before this one, or else the last message in the thread."""
    if inquiry.history:
        return inquiry.history[-1][0]
    line = inquiry.earlier.splitlines()[-1]
    return (line.partition(": ")[2] or line)[:LINE_CHARS]


def _steps(inquiry: Inquiry, rewritten: Rewritten, follows: bool, tongues: tuple[str, ...]) -> dict[str, str]:
    """What to search for besides the question's own words, by step name."""
    known = [inquiry.question]
    steps: dict[str, str] = {}
    if follows and (alone := queries([rewritten.question], known, 1)):
        steps[ALONE] = alone[0]
        known += alone
    for tongue, text in zip(tongues, rewritten.translations, strict=False):
        if translated := queries([text], known, 1):
            steps[f"search-{tongue}"] = translated[0]
            known += translated
    return steps
