"""Measures the passage search over the sets in SUTRADHAR_BENCH_DATA: recall, confidence across sets, time.

    SUTRADHAR_BENCH_DATA=DIR SUTRADHAR_MODELS=DIR python -m benchmarks.retrieval [SET ...]

With SUTRADHAR_MODELS the models are the default ones: bge-small, and e5-enpt between English and Portuguese. Without it
the search is by words only. With SUTRADHAR_BENCH_CACHE=DIR it stores vectors there between runs; "embed CPU s" then
counts only new texts. Uses no storage: documents go straight onto a Shelf.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.cached_vectors import CachedVectors
from benchmarks.figures import Figure, data, skipped
from bot.readers import Document, read
from bot.retrieval.centred import centred
from bot.retrieval.chunk import Chunk, chunks, parents
from bot.retrieval.contents import ShelvedDocument
from bot.retrieval.embedding import embedder
from bot.retrieval.evaluate import Passage, Question, bare, read_questions, score, summary
from bot.retrieval.expansion import NAME_CHARS, REACH
from bot.retrieval.language import detect_question
from bot.retrieval.lexical import Segment
from bot.retrieval.mention import reread
from bot.retrieval.ranking import Hit, Options, Ranked
from bot.retrieval.shelf import Shelf

if TYPE_CHECKING:
    from numpy.typing import NDArray

SETS = ("rules-en-srd51", "rules-en-srd51-bare", "rules-pt-fate", "faquad-pt", "hotpot-en")
ABROAD = "cross-pt-en-cfi"
SHARED = Path(__file__).parent / "data" / "shared.jsonl"
"""Questions of one set that another set's book answers, too, by their ids; judged by reading what was found."""
HALVED = "hotpot-en"  # its articles come in tens, one ten a question: half of them know nothing of the other questions
REFUSED = {
    "rules-en-srd51": 0.03, "rules-en-srd51-bare": 0.35, "rules-pt-fate": 0.03, "faquad-pt": 0.05, "hotpot-en": 0.2,
}  # fmt: skip
"""The most of each set's questions that may get no plain answer, with the default models."""
STRANGERS, PAIR = 0.03, 0.06
"""The most strangers that may get a plain answer: pooled, and of any pair of sets."""
_NEAREST = 50
_BETWEEN = frozenset({"en", "pt"})  # e5-enpt's languages
_CROSSED = ("rules-en-srd51", ABROAD)
"""English books that get the second model's vectors; Portuguese questions to the others are judged by words."""


@dataclass(frozen=True)
class OtherVectors:
    """The second model's vectors, for questions in a language other than the book's."""

    model: CachedVectors
    ids: list[str]
    vectors: NDArray[np.float32]


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
    other: OtherVectors | None = None


def build(
    folder: Path, model: CachedVectors | None, child_chars: int = 800, files: Sequence[str] | None = None
) -> Corpus:
    """A set's corpus, or these `files` of it: read, cut, indexed and, where a model speaks its language, embedded."""
    began = time.perf_counter()
    shelved: list[ShelvedDocument] = []
    cut: list[tuple[str, Document, list[Chunk]]] = []
    for file in sorted((folder / "corpus").iterdir()):
        if files is not None and file.name not in files:
            continue
        document = read(file.name, file.read_bytes())
        document_chunks = chunks(document, child_chars=child_chars, parent_chars=2000)
        sections = [(section.title, section.path) for section in document.sections]
        places = [chunk.section for chunk in document_chunks]
        segment = Segment.build(document_chunks, document.language)
        shelved.append(
            ShelvedDocument(file.name, document.title, document.language, sections, places, segment)
        )
        cut.append((file.name, document, document_chunks))
    shelf = Shelf(shelved)
    lexical = time.perf_counter() - began
    texts = {
        f"{name}:{chunk.ordinal}": chunk.text for name, _, document_chunks in cut for chunk in document_chunks
    }
    headed = {
        f"{name}:{chunk.ordinal}": f"{chunk.breadcrumb}\n{chunk.text}"
        for name, _, document_chunks in cut
        for chunk in document_chunks
    }
    vectors, ids = None, list[str]()
    cpu = time.process_time()
    if model is not None:
        ids = [
            f"{name}:{chunk.ordinal}"
            for name, document, document_chunks in cut
            if model.languages is None or document.language in model.languages
            for chunk in document_chunks
        ]
        if ids:
            vectors = model.passages([headed[chunk_id] for chunk_id in ids])
    spent = time.process_time() - cpu
    questions = read_questions(folder / "questions.jsonl")
    cuts = {name: (document, document_chunks) for name, document, document_chunks in cut}
    name = folder.name if files is None else f"{folder.name}, {len(files)} of its texts"
    return Corpus(
        name, folder.name, questions, shelf, texts, headed, cuts, ids, vectors, lexical, spent, child_chars
    )


def ask(
    corpus: Corpus, query: str, vector: NDArray[np.float32] | None, options: Options
) -> tuple[Ranked, float]:
    """The shelf's ranking, and the seconds that the shelf took.

    The second model's vectors stand in for the first's where the question is in the other language.
    """
    dense, vectors, ids = None, corpus.vectors, corpus.ids
    if (other := corpus.other) is not None and crosses(corpus, query):
        vectors, ids = other.vectors, other.ids
        vector = centred(other.model, other.model.query(query))
        options = replace(options, model_languages=other.model.languages, likeness=other.model.likeness)
    if vectors is not None and vector is not None:
        cosines = vectors @ vector
        dense = [(ids[at], float(cosines[at])) for at in np.argsort(-cosines)[:_NEAREST]]
    began = time.perf_counter()
    ranked = corpus.shelf.search(query, dense, options)
    weighed = []
    for chunk_id in ranked.weighed:
        name = chunk_id.rpartition(":")[0]
        breadcrumb = corpus.headed[chunk_id].removesuffix(f"\n{corpus.texts[chunk_id]}")
        weighed.append((breadcrumb, corpus.texts[chunk_id], corpus.cuts[name][0].language))
    ranked = reread(ranked, weighed, options)
    return ranked, time.perf_counter() - began


def crosses(corpus: Corpus, query: str) -> bool:
    """Whether a question is in one language of `_BETWEEN` and the corpus in the other."""
    languages = corpus.shelf.languages
    language = detect_question(query, languages)
    return language in _BETWEEN and language not in languages and not _BETWEEN.isdisjoint(languages)


def with_other(corpora: Sequence[Corpus], model: CachedVectors, questions: Sequence[Question]) -> None:
    """Give English corpora the second model's vectors if one of these questions needs them; embed those
    questions.
    """
    queries = {question.query for question in questions}
    crossing: set[str] = set()
    for corpus in corpora:
        asking = {query for query in queries if crosses(corpus, query)}
        if asking and corpus.shelf.languages == ["en"]:
            ids = list(corpus.headed)
            vectors = model.passages([corpus.headed[chunk_id] for chunk_id in ids])
            corpus.other = OtherVectors(model, ids, vectors)
            crossing |= asking
    if crossing:
        model.queries(sorted(crossing))


def handed(corpus: Corpus, hits: Sequence[Hit], parent_chars: int) -> list[Passage]:
    """The passages as `bot.retrieval.expansion` returns them, without those that an earlier one includes."""
    if parent_chars <= corpus.child_chars:
        return [Passage(hit.document_id, corpus.texts[hit.chunk_id]) for hit in hits]
    taken_chunks: set[str] = set()
    passages_of_chunks: list[Passage] = []
    for hit in hits:
        if hit.chunk_id in taken_chunks:
            continue
        document, cut = corpus.cuts[hit.document_id]
        at = int(hit.chunk_id.rpartition(":")[2])
        first = max(0, at - REACH)
        nearby = cut[first : at + REACH + 1]
        start, end = parents(
            [(chunk.section, chunk.start, chunk.end) for chunk in nearby], at - first, parent_chars
        )
        taken_chunks |= {
            f"{hit.document_id}:{chunk.ordinal}"
            for chunk in nearby
            if start <= chunk.start and chunk.end <= end
        }
        wide = (start, end) != (cut[at].start, cut[at].end)
        passages_of_chunks.append(
            Passage(hit.document_id, document.text[start:end] if wide else cut[at].text)
        )
    return passages_of_chunks


def passages(corpus: Corpus, ranked: Ranked) -> list[Passage]:
    """The passages that the library returns by default."""
    return handed(corpus, ranked.hits, NAME_CHARS if ranked.nameless else 0)


def kept_model(name: str = "bge-small") -> CachedVectors | None:
    """A model over SUTRADHAR_MODELS and SUTRADHAR_BENCH_CACHE; None without the former."""
    models, cache = os.environ.get("SUTRADHAR_MODELS"), os.environ.get("SUTRADHAR_BENCH_CACHE")
    local = embedder(name, Path(models)) if models else None
    return CachedVectors(local, Path(cache) if cache else None) if local else None


def measured(corpus: Corpus, vectors: dict[str, NDArray[np.float32]], options: Options) -> dict[str, float]:
    """The figures of `evaluate.summary` for a set on its own corpus; times are the shelf's own."""
    rows = []
    for question in corpus.questions:
        ranked, seconds = ask(corpus, question.query, vectors.get(question.query), options)
        results = passages(corpus, ranked)
        rows.append(score(question.gold, results, seconds, confident=ranked.confident))
    return summary(rows)


def asked(corpora: Sequence[Corpus], model: CachedVectors | None) -> dict[str, NDArray[np.float32]]:
    """The vectors of all the questions."""
    queries = sorted({question.query for corpus in corpora for question in corpus.questions})
    return dict(zip(queries, model.queries(queries), strict=True)) if model and queries else {}


def figures() -> Iterator[Figure]:
    """Recall on every present set, and unrelated questions answered; by words only without SUTRADHAR_MODELS."""
    model = kept_model()
    corpora: list[Corpus] = []
    options = Options(model_languages=model.languages if model else None)
    for name in SETS:
        label = f"{name}: recall@5, @10, @4k; refused; p50"
        folder = data(name)
        if folder is None:
            yield skipped(label)
            continue
        corpus = build(folder, model)
        corpora.append(corpus)
        figures = measured(corpus, asked([corpus], model), options)
        recall = ", ".join(f"{figures[key]:.3f}" for key in ("recall@5", "recall@10", "recall@4k"))
        most = REFUSED[name] if model else None
        yield Figure(
            label,
            f"{recall}; {figures['refused']:.3f}; {figures['p50_ms']:.1f} ms",
            "" if most is None else f"refused ≤ {most:.2f}",
            "",
            None if most is None else figures["refused"] <= most,
        )
    shelves = _shelves(corpora, model)
    vectors = asked(shelves, model)
    pairs = [(asking, shelf) for asking in shelves if asking.name == asking.of for shelf in shelves]
    by_pair = {
        f"{asking.name} to {shelf.name}": refusals(asking, shelf, vectors, options) for asking, shelf in pairs
    }
    pooled = sum(by_pair.values(), Refusals())
    label = "strangers, all sets put to all; right ones (gold in the first five)"
    yield Figure(
        label, str(pooled), f"≤ {STRANGERS:.2f} of strangers answered", "", pooled.share <= STRANGERS
    )
    if not by_pair:
        return
    worst = max(by_pair, key=lambda pair: by_pair[pair].share)
    share = by_pair[worst].share
    yield Figure(f"strangers, worst pair ({worst})", f"{share:.3f}", f"≤ {PAIR:.2f}", "", share <= PAIR)


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
    languages = model.languages if model else None
    print(
        "| set | look-up | recall@5 | recall@10 | recall@4k | mrr | chars@5 | refused | p50 ms | p95 ms "
        "| lexical s | embed CPU s |"
    )
    print("|" + "---|" * 12)
    for corpus in corpora:
        for lookup in (True, False):
            figures = measured(corpus, vectors, Options(model_languages=languages, lookup=lookup))
            cells = [
                f"{value:.3f}" if value <= 1 else f"{value:.1f}" for value in list(figures.values())[:-1]
            ]
            extra = f"{corpus.lexical_s:.2f} | {corpus.embedding_cpu_s:.0f}"
            print(
                f"| {corpus.name} | {'yes' if lookup else 'no'} | {' | '.join(cells)} | {extra} |", flush=True
            )
    across(_shelves(corpora, model), vectors, Options(model_languages=languages))
    return 0


def _shelves(corpora: list[Corpus], model: CachedVectors | None) -> list[Corpus]:
    """The corpora that get unrelated questions, with CFI's Portuguese set and half of Hotpot's articles added."""
    shelves = list(corpora)
    if (folder := data(ABROAD)) is not None and all(corpus.name != ABROAD for corpus in corpora):
        shelves.append(build(folder, model))
    if (folder := data(HALVED)) is not None and any(corpus.name == HALVED for corpus in corpora):
        even = sorted(
            file.name for file in (folder / "corpus").iterdir() if int(file.name[:4]) // 10 % 2 == 0
        )
        shelves.append(build(folder, model, files=even))
    if (other := kept_model("e5-enpt")) is not None:
        crossed = [shelf for shelf in shelves if shelf.name in _CROSSED]
        with_other(crossed, other, [question for shelf in shelves for question in shelf.questions])
    return shelves


@cache
def shared() -> frozenset[tuple[str, str]]:
    """(book, question id) for the questions in SHARED."""
    rows = map(json.loads, SHARED.read_text(encoding="utf-8").splitlines())
    return frozenset((row["book"], row["id"]) for row in rows)


def _whole(name: str) -> str:
    """A set's name, or a question's id, where the book has its headings."""
    return name.replace("-bare", "")


@dataclass(frozen=True)
class Refusals:
    """Of questions put to a corpus: how many were `strange` there and how many of these `answered`; how many
    found a passage that answers them among the first five (`right`), and how many of these were `refused`; how many
    of either got a guess in place of a plain answer. `shared`: questions of another set that this corpus answers, too
    (SHARED), and how many of them got a plain answer."""

    strange: int = 0
    answered: int = 0
    strange_guessed: int = 0
    right: int = 0
    refused: int = 0
    right_guessed: int = 0
    shared: int = 0
    shared_answered: int = 0

    @property
    def share(self) -> float:
        """The share of unrelated questions that get a confident answer."""
        return self.answered / self.strange if self.strange else 0.0

    def __add__(self, added: Refusals) -> Refusals:
        own, others = astuple(self), astuple(added)
        return Refusals(*(count + another for count, another in zip(own, others, strict=True)))

    def __str__(self) -> str:
        shares = []
        if self.strange:
            answered, guessed = self.answered / self.strange, self.strange_guessed / self.strange
            shares.append(f"{answered:.3f} of {self.strange} answered ({guessed:.3f} guessed)")
        if self.right:
            refused, guessed = self.refused / self.right, self.right_guessed / self.right
            shares.append(f"{refused:.3f} of {self.right} refused ({guessed:.3f} guessed)")
        if self.shared:
            shares.append(f"{self.shared_answered} of {self.shared} answered that this book answers, too")
        return "; ".join(shares) or "–"


def refusals(
    asking: Corpus, corpus: Corpus, vectors: dict[str, NDArray[np.float32]], options: Options
) -> Refusals:
    """How one set's questions fare at a corpus.

    Leaves out another set's questions that this corpus also answers: it contains their gold, or has a heading with
    their words. The questions in SHARED are counted separately.
    """
    whole_text = bare(" ".join(corpus.texts.values()))
    known = shared()
    total = Refusals()
    for question in asking.questions:
        golds = [gold for gold in question.gold if corpus.of == asking.of and gold.source in corpus.cuts]
        if not golds and (
            any(bare(gold.quote) in whole_text for gold in question.gold)
            or any(match.kind != "fuzzy" for match in corpus.shelf.lookup(question.query))
        ):
            continue
        ranked, _ = ask(corpus, question.query, vectors.get(question.query), options)
        if not golds and (_whole(corpus.of), _whole(question.id)) in known:
            total += Refusals(shared=1, shared_answered=ranked.confident)
        elif not golds:
            total += Refusals(strange=1, answered=ranked.confident, strange_guessed=ranked.doubtful)
        elif score(golds, passages(corpus, ranked)).recall_5:
            total += Refusals(right=1, refused=not ranked.confident, right_guessed=ranked.doubtful)
    return total


def across(corpora: list[Corpus], vectors: dict[str, NDArray[np.float32]], options: Options) -> None:
    """Prints how each set's questions fare at each corpus, and all of them together."""
    print("\n| questions of | " + " | ".join(f"asked of {corpus.name}" for corpus in corpora) + " |")
    print("|---|" + "---|" * len(corpora))
    pooled = Refusals()
    for asking in (asking_corpus for asking_corpus in corpora if asking_corpus.name == asking_corpus.of):
        cells = [refusals(asking, corpus, vectors, options) for corpus in corpora]
        pooled = sum(cells, pooled)
        print(f"| {asking.name} | {' | '.join(map(str, cells))} |", flush=True)
    print(f"\nPooled: {pooled}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
