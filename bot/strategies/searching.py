"""What the strategies share: searches as durable steps, and several findings put together.

Knows no model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from bot.events import Run
from bot.retrieval.found import Found, Passage
from bot.strategies.base import Inquiry

OTHER_LANGUAGE = "rules.other_language"
"""The library's notice for a question in a language that neither the shelf nor the embedder speaks."""

QUERY_CHARS = 300
"""A search that a model names is cut here: it is a question or a heading, not a text."""

HIGH = 3
"""How many of a further search's passages get a bonus; the others were found by a guess."""

TITLED, OTHER = 0.4, 0.2
"""The bonus of the first of them, as a share of the best score: of a heading found by its name, and else."""

SEE_ALSO = 8


class Searchable(Protocol):
    """The part of bot.retrieval.library.Library that a strategy needs."""

    async def search(self, space: str, shelf: str, question: str, *, k: int | None = None) -> Found: ...


class Searches:
    """The library, searched durably."""

    def __init__(self, library: Searchable) -> None:
        self._library = library

    async def one(self, run: Run, step: str, inquiry: Inquiry, question: str) -> Found:
        """One search as the run's step `step`."""
        return await run.step(
            step,
            lambda: self._library.search(inquiry.space, inquiry.shelf, question, k=inquiry.k),
            Found,
        )

    async def all(self, run: Run, inquiry: Inquiry, questions: Mapping[str, str]) -> list[Found]:
        """Several searches at once, each as the step it is keyed by; in their order."""
        # The engine numbers steps as they begin, and tasks begin in the order they were made.
        made = [asyncio.ensure_future(self.one(run, step, inquiry, text)) for step, text in questions.items()]
        try:
            return list(await asyncio.gather(*made))
        finally:
            for task in made:
                task.cancel()
            # None outlives the search, or fails with nobody listening.
            await asyncio.gather(*made, return_exceptions=True)

    async def begun(self, run: Run, inquiry: Inquiry) -> list[Found]:
        """What the question itself finds."""
        return list(inquiry.begun) or [await self.one(run, "search", inquiry, inquiry.question)]


def queries(named: Sequence[str], known: Sequence[str], limit: int) -> list[str]:
    """The searches that a model named, on one line each: at most `limit`, none that was made before."""
    seen = {one.casefold() for one in known}
    chosen: list[str] = []
    for name in named:
        text = " ".join(name.split())[:QUERY_CHARS]
        if text and text.casefold() not in seen:
            seen.add(text.casefold())
            chosen.append(text)
    return chosen[:limit]


def fused(found: Sequence[Found], inquiry: Inquiry, *, confident: bool) -> Found:
    """Several findings as one: the first's scores, and a bonus for what stands high in each other one.

    Reciprocal rank fusion in equal parts pulls the stronger list down (docs/retrieval.md, "Strategies").
    As many passages as a single search gives.
    """
    first = found[0]
    if len(found) == 1:
        return replace(first, confident=confident and bool(first.passages))
    by_chunk: dict[str, Passage] = {}
    for one in (passage for some in found for passage in some.passages):
        by_chunk.setdefault(one.chunk, one)
    best = max((one.score for one in first.passages), default=1.0)
    scores = {one.chunk: one.score for one in first.passages}
    for some in found[1:]:
        bonus = best * (TITLED if some.titled else OTHER)
        for rank, one in enumerate(some.passages[:HIGH], 1):
            scores[one.chunk] = scores.get(one.chunk, 0.0) + bonus / rank
    limit = inquiry.k or max(len(some.passages) for some in found)
    ranked = sorted(scores, key=lambda chunk: -scores[chunk])
    # The best of each further search is handed on, however strong the first search's tail.
    newest = dict.fromkeys(some.passages[0].chunk for some in found[1:] if some.passages)
    late = [chunk for chunk in ranked[limit:] if chunk in newest][: limit // 2]
    ranked = ranked[: limit - len(late)] + late
    return Found(
        passages=[replace(by_chunk[chunk], score=scores[chunk]) for chunk in ranked],
        confident=confident and bool(ranked),
        titled=first.titled,
        nearest=first.nearest or _each(some.nearest for some in found)[:3],
        see_also=_each(some.see_also for some in found)[:SEE_ALSO],
        notices=_each(some.notices for some in found),
    )


def sure_of_any(found: Sequence[Found], inquiry: Inquiry) -> Found:
    """What a question found in its several wordings: an answer if any of them found one."""
    return fused(found, inquiry, confident=any(one.confident for one in found))


def _each(lists: Iterable[Iterable[str]]) -> list[str]:
    return list(dict.fromkeys(one for some in lists for one in some))
