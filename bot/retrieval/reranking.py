"""The configured reranker, loaded once, on first use, off the event loop; and what it does to a search's order.

Knows texts only as its caller gives them. Whatever goes wrong, the order stays as it was, with a notice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from bot import models
from bot.events import Sorry
from bot.retrieval.language import may_vote
from bot.retrieval.rerank import second_look

if TYPE_CHECKING:
    from bot.config import Config
    from bot.retrieval.ranked import Hit, Ranked
    from bot.retrieval.rerank import Reranker
    from bot.retrieval.shelf import Shelf

_log = logging.getLogger(__name__)


class Reranking:
    """What stands between the library and its reranker: loading, choosing candidates, doing without."""

    def __init__(self, config: Config, load: Callable[[Config], Reranker | None] | None = None) -> None:
        self._config = config
        self._load = load or _load
        self._loading = asyncio.Lock()
        self._reranker: Reranker | None = None

    @property
    def wanted(self) -> bool:
        return self._config.retrieval.rerank != "none"

    async def get(self) -> Reranker | None:
        """The reranker, or None where none is configured. Raises Sorry where its files are not to be had."""
        async with self._loading:
            if self._reranker is None and self.wanted:
                self._reranker = await asyncio.to_thread(self._load, self._config)
        return self._reranker

    async def reordered(
        self, question: str, ranked: Ranked, shelf: Shelf, texts: Mapping[str, str], notices: list[str]
    ) -> list[Hit]:
        """The hits whose text is there, the first of them in the order of a second look.

        `texts` are by chunk id, heading first. A question that is a heading's own words is answered by that
        section: it gets no second look, and neither does what its title brought.
        """
        hits = [hit for hit in ranked.hits if hit.chunk_id in texts]
        if not self.wanted or ranked.evidence.title:
            return hits
        try:
            model = await self.get()
        except Sorry as sorry:
            _log.warning("no reranker: %s", sorry)
            notices.append("rules.rerank_missing" if sorry.key == "models.absent" else "rules.rerank_failed")
            return hits
        if model is None:
            return hits
        front = [hit for hit in hits if hit.titled]
        rest = [hit for hit in hits if not hit.titled]
        pool = rest[: self._config.retrieval.rerank_top]
        read = [
            at
            for at, hit in enumerate(pool)
            if hit.by != "bridge"
            and may_vote(model.languages, ranked.language, shelf.language_of(hit.document_id) or "")
        ]
        asked = [texts[pool[at].chunk_id] for at in read]
        try:
            seconds = self._config.retrieval.rerank_seconds
            made = await asyncio.to_thread(model.scores, question, asked, seconds) if asked else []
        except Exception:  # whatever a native library throws: the plain order is an answer too
            _log.exception("the reranker failed")
            notices.append("rules.rerank_failed")
            return hits
        order = second_look(pool, dict(zip(read, made, strict=False)), name=ranked.nameless)
        # A place keeps its score, so that scores still fall from the first passage to the last.
        placed = [replace(pool[at], score=hit.score) for at, hit in zip(order, pool, strict=True)]
        return [*front, *placed, *rest[len(pool) :]]


def _load(config: Config) -> Reranker | None:
    from bot.retrieval.rerank import reranker

    kind, folder = config.retrieval.rerank, config.models_dir
    for name in models.needed(kind):
        models.check(folder, name)  # hashing takes a tenth of a second, once
    return reranker(kind, folder)
