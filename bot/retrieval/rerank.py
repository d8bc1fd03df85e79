"""Reranks the candidates of a search with a model that reads question and passage together.

Models are synchronous: `Reranking` loads the configured one and uses a thread. The caller passes the texts;
`second_look` defines how the scores change an order. After any fault the order stays as it was, with a notice.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from bot import models
from bot.events import UserError
from bot.retrieval.language import may_vote
from bot.retrieval.onnx import opened
from bot.retrieval.ranking import min_max, neighbour_scores

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bot.config import Config
    from bot.retrieval.ranking import Hit, Ranked
    from bot.retrieval.shelf import Shelf

    Vectors = NDArray[np.float32]

_log = logging.getLogger(__name__)

WEIGHT = 0.5
"""The share of the new scores in the sum with the old ones; docs/retrieval-lab.md measured others."""

NAME_WEIGHT = 0.25
"""The same for a bare name, because these models were trained on questions."""

NEIGHBOUR = 0.5
"""The share of its neighbours' new scores that a passage gets for a name that no heading has."""


class Reranker(Protocol):
    """A model of pairs. `languages` None means that it reads every language."""

    name: str
    languages: frozenset[str] | None

    def scores(self, question: str, texts: Sequence[str], budget_s: float) -> list[float]:
        """One score for each of the first texts, for as many as `budget_s` seconds allow; higher is better."""
        ...


def reranker(kind: str, models_dir: Path, *, threads: int | None = None) -> Reranker | None:
    """The reranker named `kind`, or None for "none"; its files are in <models_dir>/<kind>.

    Raises UserError: "models.unknown", or "models.absent" if a file does not exist.
    """
    if kind == "none":
        return None
    if kind == "cross-encoder":
        return CrossEncoder(models_dir / kind, threads=threads)
    if kind == "colbert":
        return ColBERT(models_dir / kind, threads=threads)
    raise UserError("models.unknown", name=kind, choices="none, cross-encoder, colbert")


def in_time(
    texts: Sequence[str],
    budget_s: float,
    score: Callable[[str], float],
    clock: Callable[[], float] = time.monotonic,
) -> list[float]:
    """Scores of texts one by one, until the next one, at the slowest speed so far, would exceed the budget."""
    began = last = clock()
    slowest = 0.0
    scores: list[float] = []
    for text in texts:
        if last - began + slowest >= budget_s:
            break
        scores.append(score(text))
        now = clock()
        slowest, last = max(slowest, now - last), now
    return scores


class _Onnx:
    """A model file and its tokenizer, one text (or pair) at a time.

    Batches of 4 took 1.3 to 1.7 times as long per text as one by one, because of the padding. An int8 model also scales
    by its whole batch, so only a text alone always has the same score.
    """

    def __init__(self, name: str, folder: Path, tokens: int, threads: int | None) -> None:
        self._session, self.tokenizer = opened(name, folder, tokens=tokens, threads=threads)
        self.tokenizer.no_padding()

    def run(self, ids: Sequence[int], types: Sequence[int]) -> Vectors:
        """The model's first output for one sequence, without the batch's dimension."""
        import numpy as np

        inputs = {
            "input_ids": np.array([ids], dtype=np.int64),
            "attention_mask": np.ones((1, len(ids)), dtype=np.int64),
            "token_type_ids": np.array([types], dtype=np.int64),
        }
        states: Vectors = self._session.run(None, inputs)[0][0]
        return states


class CrossEncoder:
    """cross-encoder/ms-marco-MiniLM-L-12-v2 (Apache-2.0), int8 ONNX: question and passage read together."""

    name = "cross-encoder"
    languages: frozenset[str] | None = frozenset({"en"})

    _TOKENS = 320  # 800 characters of prose are about 180; number-heavy tables run longer

    def __init__(self, folder: Path, *, threads: int | None = None) -> None:
        self._model = _Onnx(self.name, folder, self._TOKENS, threads)

    def scores(self, question: str, texts: Sequence[str], budget_s: float) -> list[float]:
        shortened = question[:600]  # leaves at least half of the tokens for the passage

        def score(text: str) -> float:
            pair = self._model.tokenizer.encode(shortened, text)
            return float(self._model.run(pair.ids, pair.type_ids)[0])

        return in_time(texts, budget_s, score)


class ColBERT:
    """answerdotai/answerai-colbert-small-v1 (Apache-2.0), int8 ONNX: late interaction.

    After Khattab and Zaharia, "ColBERT", SIGIR 2020: question and passage are read separately; the score is the mean,
    over the question's tokens, of the likeness of the passage's nearest token. The file gives the last hidden states,
    384 numbers a token, without the model's own projection to 96; filling short questions with [MASK], as in training,
    makes results worse without the projection and is left out.
    """

    name = "colbert"
    languages: frozenset[str] | None = frozenset({"en"})

    _TOKENS = 320

    def __init__(self, folder: Path, *, threads: int | None = None) -> None:
        self._model = _Onnx(self.name, folder, self._TOKENS, threads)
        self._question = self._model.tokenizer.token_to_id("[unused0]")
        self._passage = self._model.tokenizer.token_to_id("[unused1]")

    def scores(self, question: str, texts: Sequence[str], budget_s: float) -> list[float]:
        began = time.monotonic()
        question_vectors = self._tokens(question[:600], self._question)

        def score(text: str) -> float:
            return float((question_vectors @ self._tokens(text, self._passage).T).max(axis=1).mean())

        return in_time(texts, budget_s - (time.monotonic() - began), score)

    def _tokens(self, text: str, mark: int) -> Vectors:
        """Vectors of shape (tokens, 384), with rows of length 1."""
        import numpy as np

        first, *rest = self._model.tokenizer.encode(text).ids
        ids = [first, mark, *rest]
        states = self._model.run(ids, [0] * len(ids))
        return np.asarray(states / np.linalg.norm(states, axis=1, keepdims=True), dtype=np.float32)


def reordered(old: Sequence[float], new: Sequence[float | None], weight: float) -> list[int]:
    """The order, as indices, of candidates sorted by falling score `old`, after a second look gave them `new`.

    Candidates with a new score are redistributed over the places they held, by old / its best + `weight` x min-max of
    the new. Those without (out of time, or in a language that the model does not read) keep their places, because
    nothing was learnt about them. Without any new score the order does not change.
    """
    import numpy as np

    places = [at for at, score in enumerate(new) if score is not None]
    olds = np.array([old[at] for at in places], dtype=np.float32)
    news = np.array([new[at] for at in places], dtype=np.float32)
    top = float(olds.max(initial=0.0))
    sums = (olds / np.float32(top) if top > 0 else olds) + np.float32(weight) * min_max(news)
    order = list(range(len(new)))
    for place, chosen in zip(places, np.argsort(-sums, kind="stable"), strict=True):
        order[place] = places[int(chosen)]
    return order


def second_look(
    pool: Sequence[Hit], scores: Mapping[int, float], *, name: bool, weight: float | None = None
) -> list[int]:
    """The order, as indices, of candidates of which some have new scores.

    A passage that a good passage led to counts as much as the best, because read alone it seldom answers the question.
    For a name that no heading has, the neighbours' scores count too, because its text is near its mentions. `weight`
    replaces the measured weights.
    """
    if weight is None:
        weight = NAME_WEIGHT if name else WEIGHT
    best = max(scores.values(), default=None)
    new = [best if hit.by == "bridge" else scores.get(at) for at, hit in enumerate(pool)]
    if name:
        places = [((hit.document_id, hit.section), int(hit.chunk_id.rpartition(":")[2])) for hit in pool]
        new = neighbour_scores(places, new, NEIGHBOUR)
    return reordered([hit.score for hit in pool], new, weight)


class Reranking:
    """Loads the reranker, chooses candidates for it, and lets the library work without one."""

    def __init__(self, config: Config, load: Callable[[Config], Reranker | None] | None = None) -> None:
        self._config = config
        self._configured = config.retrieval.rerank != "none"
        self._load = load or _load
        self._loading = asyncio.Lock()
        self._reranker: Reranker | None = None

    async def get(self) -> Reranker | None:
        """The reranker, or None if none is configured. Raises UserError if its files are missing."""
        async with self._loading:
            if self._reranker is None and self._configured:
                self._reranker = await asyncio.to_thread(self._load, self._config)
        return self._reranker

    async def reordered(
        self, question: str, ranked: Ranked, shelf: Shelf, texts: Mapping[str, str], notices: list[str]
    ) -> list[Hit]:
        """The hits that have a text, the first of them in the order of a second look.

        `texts` are by chunk id, heading first. A question that consists of a heading's words is answered by that
        section: it gets no second look, and neither do the hits found by its title.
        """
        hits = [hit for hit in ranked.hits if hit.chunk_id in texts]
        if not self._configured or ranked.evidence.title:
            return hits
        try:
            model = await self.get()
        except UserError as error:
            _log.warning("no reranker: %s", error)
            notices.append("rules.rerank_missing" if error.key == "models.absent" else "rules.rerank_failed")
            return hits
        if model is None:
            return hits
        front = [hit for hit in hits if hit.titled]
        untitled = [hit for hit in hits if not hit.titled]
        pool = untitled[: self._config.retrieval.rerank_top]
        indices = [
            at
            for at, hit in enumerate(pool)
            if hit.by != "bridge"
            and may_vote(model.languages, ranked.language, shelf.language_of(hit.document_id) or "")
        ]
        pool_texts = [texts[pool[at].chunk_id] for at in indices]
        try:
            seconds = self._config.retrieval.rerank_seconds
            scores = (
                await asyncio.to_thread(model.scores, question, pool_texts, seconds) if pool_texts else []
            )
        except Exception:  # a native library may raise anything; the order without reranking is kept
            _log.exception("the reranker failed")
            notices.append("rules.rerank_failed")
            return hits
        order = second_look(pool, dict(zip(indices, scores, strict=False)), name=ranked.nameless)
        # A place keeps its score, so that scores still fall from the first passage to the last.
        placed = [replace(pool[at], score=hit.score) for at, hit in zip(order, pool, strict=True)]
        return [*front, *placed, *untitled[len(pool) :]]


def _load(config: Config) -> Reranker | None:
    kind, folder = config.retrieval.rerank, config.models_dir
    for name in models.needed(kind):
        models.check(folder, name)  # hashing takes a tenth of a second, once
    return reranker(kind, folder)
