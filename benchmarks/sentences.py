"""Which vectors alone find the planted facts: of pieces or of sentences, by which model, compared how.

    SUTRADHAR_MODELS=DIR SUTRADHAR_BENCH_CACHE=DIR python -m benchmarks.sentences

prints a table of docs/retrieval-lab.md: facts whose scene is among the first five, asked for in other words.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.memory import model
from benchmarks.planted import SCENES
from benchmarks.planted_story import Planted, planted
from benchmarks.strategies import bootstrap
from bot.events import UserError
from bot.retrieval.centred import Centred
from bot.retrieval.rerank import ColBERT
from bot.works.story.memory.pieces import pieces_of, sentences
from bot.works.story.memory.vectors import PieceVectors, coded, decoded, outstanding
from bot.works.story.world import state

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from benchmarks.cached_vectors import CachedVectors

    Floats = NDArray[np.float32]

Texts = list[tuple[str, str]]
"""What is searched, each with its turn."""

Search = Callable[[Texts, str], list[int]]
"""From texts and a question to places, best first."""

MANY = 200


def texts_of(branch: Planted, *, by_sentence: bool) -> Texts:
    story = branch.story
    path = story.path[: story.length]
    titles, texts = state.titles(story, path), Texts()
    for at, turn in enumerate(path):
        for pieces in pieces_of(story.turns[turn], state.title_at(titles, at)).values():
            for piece in pieces:
                parts = sentences(piece.text) if by_sentence else [piece.prefixed]
                texts.extend((part, turn) for part in parts)
    return texts


def by_cosine(cached: CachedVectors) -> Search:
    def search(texts: Texts, question: str) -> list[int]:
        products = cached.passages([text for text, _ in texts]) @ cached.query(question)
        return list(map(int, np.argsort(-products, kind="stable")))

    return search


def apart(cached: CachedVectors) -> Search:
    """As stories are searched: centred, held small, by how much nearer than the rest."""
    centred, held = Centred(cached), dict[int, tuple[NDArray[np.uint8], PieceVectors]]()

    def search(texts: Texts, question: str) -> list[int]:
        if id(texts) not in held:
            rows = coded(centred.passages([text for text, _ in texts]))
            held[id(texts)] = rows, PieceVectors(rows.shape[1])
            held[id(texts)][1].add(range(len(texts)), rows)
        (rows, signs), every = held[id(texts)], np.arange(len(texts), dtype=np.int32)
        query = centred.question(cached.query(question))
        likely = signs.likely(query, every)
        vectors, crowd = decoded(rows[likely], len(query)), signs.crowd(every, len(query))
        return list(outstanding(query, every[likely], vectors, crowd, MANY))

    return search


def late(colbert: ColBERT) -> Search:
    """Late interaction: of each token of the question the likest token of the text."""
    known = dict[str, Floats]()

    def tokens(text: str, mark: int) -> Floats:
        if text not in known:
            known[text] = colbert._tokens(text, mark)
        return known[text]

    def search(texts: Texts, question: str) -> list[int]:
        asked = tokens(question, colbert._question)
        parts = [tokens(text, colbert._passage) for text, _ in texts]
        starts = np.cumsum([0, *map(len, parts[:-1])])
        scores = np.maximum.reduceat(np.concatenate(parts) @ asked.T, starts).mean(axis=1)
        return list(map(int, np.argsort(-scores, kind="stable")))

    return search


def found(search: Search, *, by_sentence: bool, portuguese: bool) -> list[float]:
    """Of each fact, whether its scene is among the first ones: 1 or 0."""
    facts = []
    for name, branch in planted().items():
        texts = texts_of(branch, by_sentence=by_sentence)
        for fact, turn in branch.facts:
            if fact.branch or name == "main":
                places = search(texts, fact.query_pt if portuguese else fact.query)
                scenes = list(dict.fromkeys(texts[place][1] for place in places))[:SCENES]
                facts.append(float(turn in scenes))
    return facts


def searches() -> Iterator[tuple[str, Search]]:
    for name in ("bge-small", "e5-enpt"):
        if (cached := model(name)) is not None:
            yield f"{name}, by cosine", by_cosine(cached)
            yield f"{name}, by how much nearer", apart(cached)
    try:
        yield "colbert, late interaction", late(ColBERT(Path(os.environ["SUTRADHAR_MODELS"]) / "colbert"))
    except (KeyError, UserError):
        return


def main() -> None:
    print("| | pieces, en | sentences, en | gain | pieces, pt | sentences, pt | gain |\n" + "|---" * 7 + "|")
    for title, search in searches():
        row = []
        for portuguese in (False, True):
            pieces, parts = (
                found(search, by_sentence=by_sentence, portuguese=portuguese) for by_sentence in (False, True)
            )
            gained, low, high = bootstrap(pieces, parts)
            row += [f"{sum(pieces):.0f}", f"{sum(parts):.0f}", f"{gained:+.3f} ({low:+.3f} … {high:+.3f})"]
        print(f"| {title} | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
