"""`multi-hop`: a model reads what was found, says what is missing, and that is searched next; a few times over."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from bot import untrusted
from bot.events import Run, Status, UserError
from bot.retrieval.results import SearchResult
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

NEXT = 3
"""The most searches of one hop."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What the model writes: whether the passages answer the question, and what to search for if not."""

    sufficient: bool
    searches: list[str]


class MultiHop:
    """Read, search, read again. What was searched before is hop one; none follows `max_hops`."""

    name = "multi-hop"
    prompts: tuple[str, ...] = ("multi_hop",)

    def __init__(self, library: Searchable, models: Asks) -> None:
        self._library = library
        self._models = models

    async def search(self, run: Run, inquiry: Inquiry) -> AsyncGenerator[SearchEvent, None]:
        say = words(inquiry.locale)
        begun = fused(inquiry.begun, inquiry)
        results, searched = [begun], [inquiry.question]
        sure = begun.confident
        hops = inquiry.max_hops if begun.passages else 1
        for hop in range(1, hops + 1):
            if hop == hops and (sure or hops == 1):
                break  # nothing can follow, and nobody has to say whether to answer
            yield Status(say("strategies.judging", hop=hop, hops=hops), hop, hops)
            try:
                judged = await self._judge(run, inquiry, f"judge-{hop}", results, searched)
            except UserError as error:
                yield failed(inquiry, error)
                break
            # A model that has read the passages outweighs the count of their words.
            sure = sure or judged.sufficient
            searches = queries(judged.searches, searched, NEXT)
            if judged.sufficient or not searches or hop == hops:
                break
            label = " · ".join(searches)
            yield Status(say("strategies.hop", what=label, hop=hop + 1, hops=hops), hop + 1, hops)
            known = {passage.chunk for some in results for passage in some.passages}
            steps = {f"search-hop-{hop + 1}-{n}": search for n, search in enumerate(searches, 1)}
            new = await search_all(self._library, run, inquiry, steps)
            searched += searches
            results += new
            if known.issuperset(passage.chunk for some in new for passage in some.passages):
                break
        yield fused(results, inquiry, confident=sure)

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
            languages=named(inquiry.languages),
        )
