"""Prepares a question for any strategy: completes a follow-up, and translates a question into the shelf's language.

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
    fused,
    helper_notice,
    language_names,
    queries,
    search_all,
)
from bot.strategies.following import contain_addition, depends_on_previous, with_addition_first
from bot.words import words
from bot.work import Run

MOST_LANGUAGES = 2
"""The most languages of a shelf into which a question is translated."""
COMPLETE = "search-alone"
"""The step that searches for the complete question of a follow-up."""
LINE_CHARS = 300
"""The most characters of an earlier message that are searched together with a short question."""


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
        (first,) = inquiry.results
        ready = inquiry
        follows = bool(inquiry.history or inquiry.earlier) and not first.titled
        other_language = inquiry.language not in inquiry.languages
        translates = bool(OTHER_LANGUAGE.intersection(first.notices)) or (
            other_language and (follows or not first.confident)
        )
        if follows and not inquiry.helper:
            ready = await self._by_words(run, inquiry)
        elif inquiry.helper and (follows or translates):
            languages = inquiry.languages[:MOST_LANGUAGES] if translates else ()
            yield Status(words(inquiry.locale)("strategies.rewriting"))
            try:
                rewritten = await self._rewrite(run, inquiry, languages)
            except UserError as error:
                yield helper_notice(inquiry, error)
                ready = await self._by_words(run, inquiry) if follows else inquiry
            else:
                steps = _steps(inquiry, rewritten, follows, languages)
                if steps:
                    label = " · ".join(steps.values())
                    yield Status(words(inquiry.locale)("strategies.searching_for", what=label))
                ready = await self._search_steps(run, inquiry, first, steps)
        if self._name == SINGLE:
            yield ready.results[0] if len(ready.results) == 1 else fused(ready.results, ready)
            return
        strategy: Strategy = HELPED[self._name](self._library, self._models)
        async with aclosing(strategy.search(run, ready)) as events:
            async for event in events:
                yield event

    async def _by_words(self, run: Run, inquiry: Inquiry) -> Inquiry:
        """The inquiry with the results of a follow-up ("and at night?") searched together with the previous question.

        Unchanged if the question does not depend on the previous one, or if the passages do not contain what it adds:
        then they would only repeat the earlier answer.
        """
        before, question = _previous(inquiry), inquiry.question
        languages = (inquiry.language, *inquiry.languages)
        if not depends_on_previous(question, before, languages, confident=inquiry.results[0].confident):
            return inquiry
        together = f"{before} {question}"
        (result,) = await search_all(self._library, run, inquiry, {"search-together": together})
        if result.confident and contain_addition(question, before, inquiry.language, result.passages):
            passages = with_addition_first(question, before, inquiry.language, result.passages)
            return replace(inquiry, question=together, results=(replace(result, passages=passages),))
        return inquiry

    async def _rewrite(self, run: Run, inquiry: Inquiry, languages: tuple[str, ...]) -> Rewritten:
        return await ask_helper(
            self._models,
            run,
            inquiry,
            "rewrite",
            "rewrite",
            Rewritten,
            history=untrusted.earlier(inquiry.history, inquiry.earlier),
            question=untrusted.data(inquiry.question),
            languages=language_names(languages) if languages else "none",
        )

    async def _search_steps(
        self, run: Run, inquiry: Inquiry, first: SearchResult, steps: dict[str, str]
    ) -> Inquiry:
        """The inquiry with the results of these steps. Results in the shelf's own language come first."""
        by_step = dict(zip(steps, await search_all(self._library, run, inquiry, steps), strict=True))
        complete = by_step.pop(COMPLETE, first)
        if by_step:  # translated: the notices about the question's language no longer hold
            complete = replace(
                complete, notices=[notice for notice in complete.notices if notice not in OTHER_LANGUAGE]
            )
        results = [*by_step.values(), complete]
        if complete is not first and first.confident and not complete.confident:
            results.append(first)
        return replace(inquiry, question=steps.get(COMPLETE, inquiry.question), results=tuple(results))


def _previous(inquiry: Inquiry) -> str:
    """The question before this one, or else the last message in the thread."""
    if inquiry.history:
        return inquiry.history[-1][0]
    line = inquiry.earlier.splitlines()[-1]
    return (line.partition(": ")[2] or line)[:LINE_CHARS]


def _steps(
    inquiry: Inquiry, rewritten: Rewritten, follows: bool, languages: tuple[str, ...]
) -> dict[str, str]:
    """What to search for besides the question's own words, by step name."""
    known = [inquiry.question]
    steps: dict[str, str] = {}
    if follows and (complete := queries([rewritten.question], known, 1)):
        steps[COMPLETE] = complete[0]
        known += complete
    for language, text in zip(languages, rewritten.translations, strict=False):
        if translated := queries([text], known, 1):
            steps[f"search-{language}"] = translated[0]
            known += translated
    return steps
