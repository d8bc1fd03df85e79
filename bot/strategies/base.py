"""The protocol of a strategy, searches as durable steps, and calls of the small helper model.

Knows models and shelves only by the protocols below. Documents are fenced as data.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Final, Protocol, TypeAlias, TypeVar

from bot.events import Notice, Status, UserError
from bot.llm.base import Message, Prompt, room
from bot.prompts import PromptText
from bot.retrieval.results import Passage, SearchResult
from bot.words import words
from bot.work import Run

T = TypeVar("T")

ROLE: Final = "extractor"
"""The role that judges, expands and rewrites; a small model is enough. Without one, the answerer does it."""

HELPER_WORDS = 200
"""The length of the helper's answer, in words: a few searches, in JSON."""

LANGUAGES = {
    "en": "English",
    "pt": "Brazilian Portuguese",
    "es": "Spanish",
    "fr": "French",
    "de": "German",
    "it": "Italian",
}

OTHER_LANGUAGE = frozenset(
    {"rules.other_language", "rules.other_language_soon", "rules.other_language_unknown"}
)
"""The library's notices for a question in a language that the shelf's books or the embedder do not know yet."""

QUERY_CHARS = 300
"""A search that a model writes is cut to this many characters: it should be a question or a heading, not a text."""

BONUS_PASSAGES = 3
"""How many passages of each further search get a bonus; the rest are too uncertain."""

TITLED_BONUS, OTHER_BONUS = 0.4, 0.2
"""The bonus of the first of them, as a share of the best score: for a heading found by its name, and for others."""

SEE_ALSO = 8
"""The most references of a merged result."""


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A question put to one shelf of one space.

    `locale` is the language of status messages. `k` is the most passages to find, None for the configured number.
    `prompts` are the wordings that the run has decided on, by name. `helper` says whether the model in ROLE can judge
    passages. `history` holds the (question, answer) pairs that a follow-up leans on, oldest first; `earlier` what
    people said in the thread before the first question, in place of them. `languages` are the shelf's, as ISO 639-1.
    `results` are those so far, the most important first: at first that of the question as it was asked; `Rewriting`
    adds those of its searches.
    """

    space: str
    shelf: str
    question: str
    locale: str
    language: str
    k: int | None = None
    max_hops: int = 3
    helper: bool = False
    languages: tuple[str, ...] = ()
    prompts: Mapping[str, PromptText] = field(default_factory=dict)
    history: tuple[tuple[str, str], ...] = ()
    earlier: str = ""
    results: tuple[SearchResult, ...] = ()


SearchEvent: TypeAlias = Status | Notice | SearchResult
"""What a search shows while it runs, and its result at the end."""


class Strategy(Protocol):
    """A way to search with a model. `prompts` are the names of its prompts."""

    prompts: tuple[str, ...]

    def search(self, run: Run, inquiry: Inquiry) -> AsyncGenerator[SearchEvent, None]:
        """Yield events, and the SearchResult last. Every search and every model call is a step of the run.

        If a model fails, the search continues without it and the result has a notice.
        """


class Asks(Protocol):
    """The part of bot.llm.registry.Models that a strategy needs."""

    async def json(self, run: Run, role: str, step: str, prompt: Prompt, of: type[T]) -> T: ...


async def ask_helper(
    models: Asks, run: Run, inquiry: Inquiry, step: str, name: str, of: type[T], **values: str
) -> T:
    """The answer of the model in ROLE to the prompt `name`, with `values` filled in. Raises UserError."""
    system, user = inquiry.prompts[name].fill(**values)
    most = room(HELPER_WORDS, "low")
    prompt = Prompt(system=system, messages=(Message("user", user),), max_tokens=most, effort="low")
    return await models.json(run, ROLE, step, prompt, of)


def language_names(languages: tuple[str, ...]) -> str:
    """Names of languages for a prompt."""
    return (
        ", ".join(LANGUAGES.get(language, language) for language in languages)
        or "the language of the question"
    )


def helper_notice(inquiry: Inquiry, error: UserError) -> Notice:
    """The notice that the helper failed and the search continues without it."""
    say = words(inquiry.locale)
    return Notice(say("strategies.helper_failed", reason=say(error.key, **error.values)))


class Searchable(Protocol):
    """The part of bot.retrieval.library.Library that a strategy needs."""

    async def search(
        self, space: str, shelf: str, question: str, *, k: int | None = None
    ) -> SearchResult: ...


async def search_all(
    library: Searchable, run: Run, inquiry: Inquiry, questions: Mapping[str, str]
) -> list[SearchResult]:
    """Run several searches at once; `questions` maps step names to questions. Returns the results in the same order."""
    # The engine numbers steps in the order in which they begin; tasks begin in the order in which they are made.
    search = partial(library.search, inquiry.space, inquiry.shelf, k=inquiry.k)
    tasks = [
        asyncio.ensure_future(run.step(step, partial(search, question=text), SearchResult))
        for step, text in questions.items()
    ]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        # No task may outlive the search or fail unnoticed.
        await asyncio.gather(*tasks, return_exceptions=True)


def queries(typed: Sequence[str], known: Sequence[str], limit: int) -> list[str]:
    """The searches that a model wrote, each on one line: at most `limit`, without those already made."""
    seen = {query.casefold() for query in known}
    chosen: list[str] = []
    for name in typed:
        text = " ".join(name.split())[:QUERY_CHARS]
        if text and text.casefold() not in seen:
            seen.add(text.casefold())
            chosen.append(text)
    return chosen[:limit]


def fused(
    results: Sequence[SearchResult], inquiry: Inquiry, *, confident: bool | None = None
) -> SearchResult:
    """Merge several results: the first one's scores, plus a bonus for the best passages of each other result.

    `confident` says whether they answer the question; None takes it from the results: any confident one is enough, as
    for one question in several wordings. Equal reciprocal rank fusion would weaken the stronger list
    (docs/retrieval-lab.md, "Strategies"). Returns as many passages as a single search.
    """
    first = results[0]
    if len(results) == 1:
        answers = first.confident if confident is None else confident
        answers = answers and bool(first.passages)
        doubtful = not answers and bool(first.passages) and (first.confident or first.doubtful)
        return replace(first, confident=answers, doubtful=doubtful)
    if confident is None:
        confident = any(result.confident for result in results)
    by_chunk: dict[str, Passage] = {}
    for passage in chain.from_iterable(result.passages for result in results):
        by_chunk.setdefault(passage.chunk, passage)
    best = max((passage.score for passage in first.passages), default=1.0)
    scores = {passage.chunk: passage.score for passage in first.passages}
    for result in results[1:]:
        bonus = best * (TITLED_BONUS if result.titled else OTHER_BONUS)
        for rank, passage in enumerate(result.passages[:BONUS_PASSAGES], 1):
            scores[passage.chunk] = scores.get(passage.chunk, 0.0) + bonus / rank
    limit = inquiry.k or max(len(result.passages) for result in results)
    ranked = sorted(scores, key=lambda chunk: -scores[chunk])
    # The best passage of each further search is kept, even if the first search's last passages score higher.
    best_of_others = dict.fromkeys(result.passages[0].chunk for result in results[1:] if result.passages)
    kept = [chunk for chunk in ranked[limit:] if chunk in best_of_others][: limit // 2]
    ranked = ranked[: limit - len(kept)] + kept
    return SearchResult(
        passages=[replace(by_chunk[chunk], score=scores[chunk]) for chunk in ranked],
        confident=confident and bool(ranked),
        titled=first.titled,
        nearest=first.nearest or _unique(result.nearest for result in results)[:3],
        see_also=_unique(result.see_also for result in results)[:SEE_ALSO],
        notices=_unique(result.notices for result in results),
        doubtful=not confident
        and bool(ranked)
        and any(result.confident or result.doubtful for result in results),
    )


def _unique(lists: Iterable[Iterable[str]]) -> list[str]:
    return list(dict.fromkeys(name for names in lists for name in names))
