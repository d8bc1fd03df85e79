"""Strategies in which a model chooses further searches: `multi-question` all at once, `multi-hop` step by step."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from bot import untrusted
from bot.events import Status, UserError
from bot.retrieval.results import SearchResult
from bot.strategies.base import (
    Asks,
    Inquiry,
    Searchable,
    SearchEvent,
    ask_helper,
    fused,
    helper_notice,
    language_names,
    queries,
    search_all,
)
from bot.words import words
from bot.work import Run

MOST_PARTS = 4
"""The most sub-questions to search for."""

MOST_SEARCHES = 3
"""The most searches of one hop."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts into which the model splits a question."""

    questions: list[str]


@dataclass(frozen=True, slots=True)
class Judged:
    """The model's judgement: whether the passages answer the question, and what to search for if not."""

    sufficient: bool
    searches: list[str]


class MultiQuestion:
    """A model splits the question; its parts are searched at once, together with the whole question."""

    name = "multi-question"
    prompts: tuple[str, ...] = ("multi_question",)

    def __init__(self, library: Searchable, models: Asks) -> None:
        self._library = library
        self._models = models

    async def search(self, run: Run, inquiry: Inquiry) -> AsyncGenerator[SearchEvent, None]:
        say = words(inquiry.locale)
        first = fused(inquiry.results, inquiry)
        yield Status(say("strategies.expanding"))
        try:
            parts = await ask_helper(
                self._models,
                run,
                inquiry,
                "expand",
                "multi_question",
                Parts,
                question=untrusted.data(inquiry.question),
                languages=language_names(inquiry.languages),
            )
        except UserError as error:
            yield helper_notice(inquiry, error)
            yield first
            return
        questions = queries(parts.questions, [inquiry.question], MOST_PARTS)
        if not questions:
            yield first
            return
        yield Status(say("strategies.searching_for", what=" · ".join(questions)))
        steps = {f"search-part-{n}": question for n, question in enumerate(questions, 1)}
        results = await search_all(self._library, run, inquiry, steps)
        # A question that finds nothing may still be split into invented parts that do find something.
        answers = first.confident or 2 * sum(result.confident for result in results) > len(results)
        yield fused([first, *results], inquiry, confident=answers)


class MultiHop:
    """A model reads the passages and says what is missing, which is searched next; repeated a few times.

    The searches made before are hop one; there are at most `max_hops`.
    """

    name = "multi-hop"
    prompts: tuple[str, ...] = ("multi_hop",)

    def __init__(self, library: Searchable, models: Asks) -> None:
        self._library = library
        self._models = models

    async def search(self, run: Run, inquiry: Inquiry) -> AsyncGenerator[SearchEvent, None]:
        say = words(inquiry.locale)
        first = fused(inquiry.results, inquiry)
        results, searched = [first], [inquiry.question]
        answers = first.confident
        hops = inquiry.max_hops if first.passages else 1
        for hop in range(1, hops + 1):
            if hop == hops and (answers or hops == 1):
                break  # no search can follow, and whether to answer is already decided
            yield Status(say("strategies.judging", hop=hop, hops=hops), hop, hops)
            try:
                judged = await self._judge(run, inquiry, f"judge-{hop}", results, searched)
            except UserError as error:
                yield helper_notice(inquiry, error)
                break
            # The judgement of a model that has read the passages outweighs the lexical score.
            answers = answers or judged.sufficient
            searches = queries(judged.searches, searched, MOST_SEARCHES)
            if judged.sufficient or not searches or hop == hops:
                break
            label = " · ".join(searches)
            yield Status(say("strategies.hop", what=label, hop=hop + 1, hops=hops), hop + 1, hops)
            known = {passage.chunk for result in results for passage in result.passages}
            steps = {f"search-hop-{hop + 1}-{n}": search for n, search in enumerate(searches, 1)}
            new_results = await search_all(self._library, run, inquiry, steps)
            searched += searches
            results += new_results
            if known.issuperset(passage.chunk for result in new_results for passage in result.passages):
                break
        yield fused(results, inquiry, confident=answers)

    async def _judge(
        self, run: Run, inquiry: Inquiry, step: str, results: Sequence[SearchResult], searched: Sequence[str]
    ) -> Judged:
        read = fused(results, inquiry, confident=True).passages
        return await ask_helper(
            self._models,
            run,
            inquiry,
            step,
            "multi_hop",
            Judged,
            question=untrusted.data(inquiry.question),
            passages=untrusted.passages(read),
            searched=untrusted.lines(searched),
            languages=language_names(inquiry.languages),
        )
