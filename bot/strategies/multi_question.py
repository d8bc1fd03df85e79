"""`multi-question`: a model takes the question apart; its parts are searched all at once, beside the whole."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass

from bot import untrusted
from bot.events import Run, Status, UserError
from bot.strategies.base import (
    Asks,
    Inquiry,
    Searchable,
    SearchEvent,
    ask_helper,
    failed,
    fused,
    named,
    queries,
    search_all,
)
from bot.words import words

PARTS = 4
"""The most sub-questions that are searched."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What the model writes."""

    questions: list[str]


class MultiQuestion:
    """One model call, then one round of searches."""

    name = "multi-question"
    prompts: tuple[str, ...] = ("multi_question",)

    def __init__(self, library: Searchable, models: Asks) -> None:
        self._library = library
        self._models = models

    async def search(self, run: Run, inquiry: Inquiry) -> AsyncGenerator[SearchEvent, None]:
        say = words(inquiry.locale)
        begun = fused(inquiry.begun, inquiry)
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
                languages=named(inquiry.languages),
            )
        except UserError as error:
            yield failed(inquiry, error)
            yield begun
            return
        questions = queries(parts.questions, [inquiry.question], PARTS)
        if not questions:
            yield begun
            return
        yield Status(say("strategies.searching_for", what=" · ".join(questions)))
        steps = {f"search-part-{n}": question for n, question in enumerate(questions, 1)}
        results = await search_all(self._library, run, inquiry, steps)
        # Parts that a model made up may be answered where the question is not; most of them hardly will.
        sure = begun.confident or 2 * sum(result.confident for result in results) > len(results)
        yield fused([begun, *results], inquiry, confident=sure)
