"""Measures passage-finding over the sets in SUTRADHAR_BENCH_DATA: recall, confidence across sets, time.

    SUTRADHAR_BENCH_DATA=DIR SUTRADHAR_MODELS=DIR python -m benchmarks.retrieval [SET ...]

Without SUTRADHAR_MODELS the search is by words alone. With SUTRADHAR_BENCH_CACHE=DIR vectors are kept there between
runs; "embed CPU s" is then that of the texts that were not there. Knows no storage: documents go straight onto a Shelf.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.figures import Figure, data, skipped
from benchmarks.kept_vectors import KeptVectors
from bot.readers import Document, read
from bot.retrieval.chunk import Chunk, chunks, parents
from bot.retrieval.embedding import embedder
from bot.retrieval.evaluate import Passage, Question, bare, read_questions, score, summary
from bot.retrieval.expansion import NAME_CHARS, REACH
from bot.retrieval.lexical import Segment
from bot.retrieval.ranking import Hit, Options, Ranked
from bot.retrieval.shelf import Shelf, ShelvedDocument

if TYPE_CHECKING:
    from numpy.typing import NDArray

SETS = ("rules-en-srd51", "rules-en-srd51-bare", "rules-pt-fate", "faquad-pt", "hotpot-en")
ABROAD = "cross-pt-en-cfi"
HALVED = "hotpot-en"  # its articles come in tens, one ten a question: half of them know nothing of the other questions
_NEAREST = 50


@dataclass
class Corpus:
    """One set on a shelf, or a part `of` one, with what a library would keep in its database.

    `texts` are by chunk id, `headed` the same under their headings, as models read them; `cuts` by document.
    """

    name: str
    of: str
    questions: list[Question]
    shelf: Shelf
    texts: dict[str, str]
    headed: dict[str, str]
    cuts: dict[str, tuple[Document, list[Chunk]]]
    ids: list[str]
    vectors: NDArray[np.float32] | None
    lexical_s: float
    embedding_cpu_s: float
    child_chars: int


def build(
    folder: Path, model: KeptVectors | None, child_chars: int = 800, files: Sequence[str] | None = None
) -> Corpus:
    """A set's corpus, or these `files` of it: read, cut, indexed and, where a model speaks its language, embedded."""
    began = time.perf_counter()
    shelved: list[ShelvedDocument] = []
    cut: list[tuple[str, Document, list[Chunk]]] = []
    for file in sorted((folder / "corpus").iterdir()):
        if files is not None and file.name not in files:
            continue
        document = read(file.name, file.read_bytes())
        made = chunks(document, child_chars=child_chars, parent_chars=2000)
        sections = [(section.title, section.path) for section in document.sections]
        places = [chunk.section for chunk in made]
        segment = Segment.build(made, document.language)
        shelved.append(
            ShelvedDocument(file.name, document.title, document.language, sections, places, segment)
        )
        cut.append((file.name, document, made))
    shelf = Shelf(shelved)
    lexical = time.perf_counter() - began
    texts = {f"{name}:{chunk.ordinal}": chunk.text for name, _, made in cut for chunk in made}
    headed = {
        f"{name}:{chunk.ordinal}": f"{chunk.breadcrumb}\n{chunk.text}"
        for name, _, made in cut
        for chunk in made
    }
    vectors, ids = None, list[str]()
    cpu = time.process_time()
    if model is not None:
        ids = [
            f"{name}:{chunk.ordinal}"
            for name, document, made in cut
            if model.languages is None or document.language in model.languages
            for chunk in made
        ]
        if ids:
            vectors = model.passages([headed[chunk_id] for chunk_id in ids])
    spent = time.process_time() - cpu
    questions = read_questions(folder / "questions.jsonl")
    cuts = {name: (document, made) for name, document, made in cut}
    name = folder.name if files is None else f"{folder.name}, {len(files)} of its texts"
    return Corpus(
        name, folder.name, questions, shelf, texts, headed, cuts, ids, vectors, lexical, spent, child_chars
    )


def ask(
    corpus: Corpus, query: str, vector: NDArray[np.float32] | None, options: Options
) -> tuple[Ranked, float]:
    """What the shelf ranks, and the seconds its own part took."""
    dense = None
    if corpus.vectors is not None and vector is not None:
        cosines = corpus.vectors @ vector
        dense = [(corpus.ids[at], float(cosines[at])) for at in np.argsort(-cosines)[:_NEAREST]]
    began = time.perf_counter()
    ranked = corpus.shelf.search(query, dense, options)
    return ranked, time.perf_counter() - began


def handed(corpus: Corpus, hits: Sequence[Hit], parent_chars: int) -> list[Passage]:
    """The passages as `bot.retrieval.expansion` hands them on; one that an earlier one has grown over is left out."""
    if parent_chars <= corpus.child_chars:
        return [Passage(hit.document_id, corpus.texts[hit.chunk_id]) for hit in hits]
    taken: set[str] = set()
    made: list[Passage] = []
    for hit in hits:
        if hit.chunk_id in taken:
            continue
        document, cut = corpus.cuts[hit.document_id]
        at = int(hit.chunk_id.rpartition(":")[2])
        first = max(0, at - REACH)
        near = cut[first : at + REACH + 1]
        start, end = parents([(one.section, one.start, one.end) for one in near], at - first, parent_chars)
        taken |= {f"{hit.document_id}:{one.ordinal}" for one in near if start <= one.start and one.end <= end}
        wide = (start, end) != (cut[at].start, cut[at].end)
        made.append(Passage(hit.document_id, document.text[start:end] if wide else cut[at].text))
    return made


def passages(corpus: Corpus, ranked: Ranked) -> list[Passage]:
    """What the library hands on by its default settings."""
    return handed(corpus, ranked.hits, NAME_CHARS if ranked.nameless else 0)


def kept_model() -> KeptVectors | None:
    """bge-small over SUTRADHAR_MODELS and SUTRADHAR_BENCH_CACHE; None without the former."""
    models, cache = os.environ.get("SUTRADHAR_MODELS"), os.environ.get("SUTRADHAR_BENCH_CACHE")
    made = embedder("bge-small", Path(models)) if models else None
    return KeptVectors(made, Path(cache) if cache else None) if made else None


def measured(corpus: Corpus, vectors: dict[str, NDArray[np.float32]], options: Options) -> dict[str, float]:
    """The figures of `evaluate.summary` for a set on its own corpus; times are the shelf's own."""
    rows = []
    for question in corpus.questions:
        ranked, seconds = ask(corpus, question.query, vectors.get(question.query), options)
        found = passages(corpus, ranked)
        rows.append(score(question.gold, found, seconds, confident=ranked.confident))
    return summary(rows)


def asked(corpora: Sequence[Corpus], model: KeptVectors | None) -> dict[str, NDArray[np.float32]]:
    """The vectors of all their questions."""
    queries = sorted({question.query for corpus in corpora for question in corpus.questions})
    return dict(zip(queries, model.queries(queries), strict=True)) if model and queries else {}


def figures() -> Iterator[Figure]:
    """Recall on every set that is there, and strangers answered; by words alone without SUTRADHAR_MODELS."""
    model = kept_model()
    corpora: list[Corpus] = []
    options = Options(model_languages=model.languages if model else None)
    for name in SETS:
        what = f"{name}: recall@5, @10, @4k; refused; p50"
        folder = data(name)
        if folder is None:
            yield skipped(what)
            continue
        corpus = build(folder, model)
        corpora.append(corpus)
        made = measured(corpus, asked([corpus], model), options)
        recall = ", ".join(f"{made[key]:.3f}" for key in ("recall@5", "recall@10", "recall@4k"))
        yield Figure(what, f"{recall}; {made['refused']:.3f}; {made['p50_ms']:.1f} ms")
    shelves = _shelves(corpora, model)
    vectors = asked(shelves, model)
    pairs = [(one, shelf) for one in shelves if one.name == one.of for shelf in shelves]
    all_pairs = sum((refusals(one, shelf, vectors, options) for one, shelf in pairs), Refusals())
    yield Figure("strangers, all sets put to all; right ones (gold in the first five)", str(all_pairs))


def main(names: list[str]) -> int:
    """Prints two tables: each set on its own corpus, and each set's questions put to the others'."""
    model = kept_model()
    corpora: list[Corpus] = []
    for name in names or SETS:
        folder = data(name)
        if folder is None:
            print(f"{name}: skipped (no such set in SUTRADHAR_BENCH_DATA)")
            continue
        corpora.append(build(folder, model))
    vectors = asked(corpora, model)
    spoken = model.languages if model else None
    print(
        "| set | look-up | recall@5 | recall@10 | recall@4k | mrr | chars@5 | refused | p50 ms | p95 ms "
        "| lexical s | embed CPU s |"
    )
    print("|" + "---|" * 12)
    for corpus in corpora:
        for lookup in (True, False):
            made = measured(corpus, vectors, Options(model_languages=spoken, lookup=lookup))
            cells = [f"{value:.3f}" if value <= 1 else f"{value:.1f}" for value in list(made.values())[:-1]]
            extra = f"{corpus.lexical_s:.2f} | {corpus.embedding_cpu_s:.0f}"
            print(
                f"| {corpus.name} | {'yes' if lookup else 'no'} | {' | '.join(cells)} | {extra} |", flush=True
            )
    across(_shelves(corpora, model), vectors, Options(model_languages=spoken))
    return 0


def _shelves(corpora: list[Corpus], model: KeptVectors | None) -> list[Corpus]:
    """The corpora that strangers are put to: with CFI's Portuguese questions, and half of Hotpot's articles."""
    shelves = list(corpora)
    if (folder := data(ABROAD)) is not None and all(one.name != ABROAD for one in corpora):
        shelves.append(build(folder, None))  # words alone cross languages
    if (folder := data(HALVED)) is not None and any(one.name == HALVED for one in corpora):
        even = sorted(one.name for one in (folder / "corpus").iterdir() if int(one.name[:4]) // 10 % 2 == 0)
        shelves.append(build(folder, model, files=even))
    return shelves


@dataclass(frozen=True)
class Refusals:
    """Of questions put to a corpus: how many were `strange` there and how many of these `answered`; how many
    found a passage that answers them among the first five (`right`), and how many of these were `refused`."""

    strange: int = 0
    answered: int = 0
    right: int = 0
    refused: int = 0

    def __add__(self, other: Refusals) -> Refusals:
        mine, theirs = astuple(self), astuple(other)
        return Refusals(*(one + another for one, another in zip(mine, theirs, strict=True)))

    def __str__(self) -> str:
        said = [f"{self.answered / self.strange:.3f} of {self.strange} answered"] if self.strange else []
        said += [f"{self.refused / self.right:.3f} of {self.right} refused"] if self.right else []
        return "; ".join(said) or "–"


def refusals(
    asking: Corpus, corpus: Corpus, vectors: dict[str, NDArray[np.float32]], options: Options
) -> Refusals:
    """How one set's questions fare at a corpus; golds of another that are truly there are left out."""
    whole = bare(" ".join(corpus.texts.values()))
    made = Refusals()
    for question in asking.questions:
        here = [gold for gold in question.gold if corpus.of == asking.of and gold.source in corpus.cuts]
        if not here and any(bare(gold.quote) in whole for gold in question.gold):
            continue
        ranked, _ = ask(corpus, question.query, vectors.get(question.query), options)
        if not here:
            made += Refusals(strange=1, answered=ranked.confident)
        elif score(here, passages(corpus, ranked)).recall_5:
            made += Refusals(right=1, refused=not ranked.confident)
    return made


def across(corpora: list[Corpus], vectors: dict[str, NDArray[np.float32]], options: Options) -> None:
    """Prints how each set's questions fare at each corpus, and all of them together."""
    print("\n| questions of | " + " | ".join(f"asked of {corpus.name}" for corpus in corpora) + " |")
    print("|---|" + "---|" * len(corpora))
    pooled = Refusals()
    for asking in (one for one in corpora if one.name == one.of):
        cells = [refusals(asking, corpus, vectors, options) for corpus in corpora]
        pooled = sum(cells, pooled)
        print(f"| {asking.name} | {' | '.join(map(str, cells))} |", flush=True)
    print(f"\nPooled: {pooled}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
