"""What finds more: vectors of pieces or of sentences, by which model, with words or without them.

    SUTRADHAR_BENCH_DATA=DIR SUTRADHAR_MODELS=DIR SUTRADHAR_BENCH_CACHE=DIR python -m benchmarks.sentences

prints a table of docs/retrieval-lab.md: the planted facts asked for in other words, in English and in Portuguese, and
the questions of LoCoMo's first chat. Nothing that an extractor finds takes part. Gains are those of sentences over
pieces, by a paired bootstrap.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.memory import STANDARD, model, opened
from benchmarks.memory_sets import english
from benchmarks.planted import SCENES
from benchmarks.planted_story import planted
from benchmarks.strategies import bootstrap
from bot.events import UserError
from bot.retrieval.centred import Centred
from bot.retrieval.rerank import ColBERT
from bot.works.story.command_line import PIECES, scores_of
from bot.works.story.log.story import Story
from bot.works.story.memory.history import History, build
from bot.works.story.memory.index import Pieces
from bot.works.story.memory.indexed import NEAREST, Near
from bot.works.story.memory.pieces import pieces_of, sentences, time_and_place
from bot.works.story.memory.ranking import Query
from bot.works.story.memory.recalled import Recalled, best_pieces
from bot.works.story.memory.vectors import outstanding
from bot.works.story.world import state

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from benchmarks.cached_vectors import CachedVectors

    Floats = NDArray[np.float32]

WORDS = replace(STANDARD, events=0.0)
LINES = replace(WORDS, meaning=WORDS.meaning_lines, covered=WORDS.covered_lines)
Search = Callable[[Sequence[str], str], "Floats"]
"""From texts and a question to how near each text is."""


@dataclass(frozen=True, eq=False)
class Asked:
    """A story with its questions, each with the ids or the labels of the turns that answer it."""

    story: Story
    history: History
    questions: list[tuple[str, list[str]]]
    of_lines: bool = False


def history_of(story: Story) -> History:
    path = story.path[: story.length]
    return build(Pieces("en"), None, 0, story, path, story.seq)


@cache  # a search keeps what it made of a list by its identity
def texts_of(asked: Asked, *, by_sentence: bool) -> tuple[list[str], NDArray[np.int64]]:
    """What is searched, and the number of the piece that each text is of."""
    story, path = asked.story, asked.history.turns
    titles, texts, numbers = state.chapter_titles(story, path), list[str](), list[int]()
    for at, turn in enumerate(path):
        chapter = state.title_at(titles, at)
        for node, pieces in pieces_of(story.turns[turn], chapter).items():
            own = asked.history.pieces.index.of(node, time_and_place(story.turns[turn], chapter))
            for number, piece in zip(own or (), pieces, strict=True):
                parts = sentences(piece.text) if by_sentence else [piece.prefixed]
                texts += parts
                numbers += [number] * len(parts)
    return texts, np.array(numbers)


def by_cosine(cached: CachedVectors) -> Search:
    def search(texts: Sequence[str], question: str) -> Floats:
        products: Floats = cached.passages(texts) @ cached.query(question)
        return products

    return search


def apart(cached: CachedVectors) -> Search:
    """As stories are searched: centred, by how much nearer than the rest."""
    centred, made = Centred(cached), dict[int, "Floats"]()

    def search(texts: Sequence[str], question: str) -> Floats:
        if id(texts) not in made:
            made[id(texts)] = centred.passages(texts)
        vectors, every = made[id(texts)], np.arange(len(texts), dtype=np.int32)
        crowd = vectors[np.linspace(0, len(vectors) - 1, min(512, len(vectors)), dtype=np.intp)]
        near = outstanding(centred.question(cached.query(question)), every, vectors, crowd, len(texts))
        scores = np.zeros(len(texts), dtype=np.float32)
        scores[list(near)] = [score for score, _ in near.values()]
        return scores

    return search


def late(colbert: ColBERT) -> Search:
    """Late interaction: of each token of the question the likest token of the text."""
    known, joined = dict[str, "Floats"](), dict[int, tuple["Floats", "NDArray[np.int64]"]]()

    def tokens(text: str, mark: int) -> Floats:
        if text not in known:
            known[text] = colbert._tokens(text, mark)
        return known[text]

    def search(texts: Sequence[str], question: str) -> Floats:
        asked = tokens(question, colbert._question)
        if id(texts) not in joined:
            parts = [tokens(text, colbert._passage) for text in texts]
            joined[id(texts)] = np.concatenate(parts), np.cumsum([0, *map(len, parts[:-1])])
        every, starts = joined[id(texts)]
        scores: Floats = np.maximum.reduceat(every @ asked.T, starts).mean(axis=1)
        return scores

    return search


def recalled(asked: Asked, question: str, near: Mapping[int, Near], *, words: bool) -> list[Recalled]:
    """What is found; without words in the order of the vectors."""
    if words:
        by, turns = LINES if asked.of_lines else WORDS, asked.story.turns
        return best_pieces(asked.history, Query(question), by, near, turns, PIECES, frozenset())
    history, pieces = asked.history, list[Recalled]()
    for number, (score, _) in near.items():
        node, part = history.pieces.index.node_of(number)
        at = int(history.turn_of[history.pieces._place[number]])
        pieces.append(Recalled(node, part, history.turns[at], at + 1, score, ()))
    return pieces


def measured(
    asked: Asked, search: Search | None, *, by_sentence: bool, words: bool
) -> list[dict[str, float]]:
    """The figures of each question: `found` of the planted facts, else as `story eval` has them."""
    texts, numbers = texts_of(asked, by_sentence=by_sentence)
    figures = []
    for question, gold in asked.questions:
        near = dict[int, Near]()
        if search is not None:
            scores = search(texts, question)
            for at in np.argsort(-scores, kind="stable").tolist():
                near.setdefault(int(numbers[at]), Near(float(scores[at]), None))
                if len(near) == NEAREST:
                    break
        pieces = recalled(asked, question, near, words=words)
        if asked.of_lines:
            figures.append(dict(scores_of(asked.story, pieces, gold)))
        else:
            scenes = list(dict.fromkeys(piece.turn for piece in pieces))[:SCENES]
            figures.append({"found": float(gold[0] in scenes)})
    return figures


def searches() -> Iterator[tuple[str, Search | None]]:
    yield "no vectors", None
    for name in ("bge-small", "e5-enpt"):
        if (cached := model(name)) is not None:
            yield f"{name}, by cosine", by_cosine(cached)
            yield f"{name}, by how much nearer", apart(cached)
    try:
        yield "ColBERT, late interaction", late(ColBERT(Path(os.environ["SUTRADHAR_MODELS"]) / "colbert"))
    except (KeyError, UserError):
        return


async def sets() -> dict[str, list[Asked]]:
    """By name; without LoCoMo where it is not on this machine."""
    by_name: dict[str, list[Asked]] = {"facts, en": [], "facts, pt": []}
    for name, branch in planted().items():
        history = history_of(branch.story)
        facts = [(fact, turn) for fact, turn in branch.facts if fact.branch or name == "main"]
        for title, questions in (
            ("facts, en", [(fact.query, [turn]) for fact, turn in facts]),
            ("facts, pt", [(fact.query_pt, [turn]) for fact, turn in facts]),
        ):
            by_name[title].append(Asked(branch.story, history, questions))
    with tempfile.TemporaryDirectory() as folder:
        if chats := english(Path(folder)).get("LoCoMo"):
            async with opened({"LoCoMo": chats[:1]}, None) as bench:
                for log in bench.sets["LoCoMo"]:
                    rows = [(row.query, list(row.gold)) for row in log.queries]
                    by_name["LoCoMo, chat 0"] = [Asked(log.story, history_of(log.story), rows, of_lines=True)]
    return by_name


def main() -> None:
    print("| set, figure | vectors | words | pieces | sentences | gain of sentences |\n" + "|---" * 6 + "|")
    by_name = asyncio.run(sets())
    for title, search in searches():
        for name, stories in by_name.items():
            for words in (False, True) if search is not None else (True,):
                by_part = [
                    [
                        row
                        for asked in stories
                        for row in measured(asked, search, by_sentence=by_sentence, words=words)
                    ]
                    for by_sentence in (False, True)
                ]
                for figure in ("found",) if "found" in by_part[0][0] else ("recall@10", "scene_hit@5"):
                    pieces, parts = ([row[figure] for row in rows] for rows in by_part)
                    gained, low, high = bootstrap(pieces, parts)
                    gain = f"{gained:+.3f} ({low:+.3f} … {high:+.3f})" if search is not None else ""
                    told = (
                        f"{mean(pieces):.3f} | {mean(parts):.3f}"
                        if search is not None
                        else f"{mean(pieces):.3f} | "
                    )
                    mark = "yes" if words else "no"
                    print(f"| {name}, {figure} | {title} | {mark} | {told} | {gain} |", flush=True)


if __name__ == "__main__":
    main()
