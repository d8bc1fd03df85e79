"""The reranker: which candidates it moves, which it may not move, and what happens without it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.config import Config, RetrievalConfig, load
from bot.events import UserError
from bot.readers import read
from bot.resources import Resources
from bot.retrieval.chunk import chunks
from bot.retrieval.contents import ShelvedDocument
from bot.retrieval.intake import Item
from bot.retrieval.lexical import Segment
from bot.retrieval.ranking import Hit, Options, neighbour_scores
from bot.retrieval.rerank import (
    ColBERT,
    CrossEncoder,
    Reranker,
    Reranking,
    in_time,
    reordered,
    reranker,
    second_look,
)
from bot.retrieval.shelf import Shelf
from bot.words import words
from tests.fakes import migrated

MODELS = load(environ=os.environ).models_dir
KINDS: dict[str, Callable[[Path], Reranker]] = {"cross-encoder": CrossEncoder, "colbert": ColBERT}
HAVE = {kind for kind in KINDS if (MODELS / kind / "model.onnx").is_file()}

SCORES = st.lists(st.one_of(st.none(), st.floats(-20, 20, width=32)), max_size=25)
QUESTION = "Which harbour sells rope and lamp oil to travellers?"
ENGLISH = """# Harbours

## Northgate

Travellers may rest at this harbour. Rope is not sold here, nor lamp oil, whatever travellers ask.

## Southgate

The chandler of this harbour keeps a shop where every traveller can buy rope and lamp oil.

## Rope and lamp oil

Both are dear in winter.
"""
PORTUGUESE = """# Portos

## Porto Norte

Os viajantes descansam neste porto. Aqui não se vende corda nem óleo de lampião aos viajantes.

## Porto Sul

O armazém deste porto vende corda e óleo de lampião a todos os viajantes.
"""


class Counted:
    """A reranker that prefers its last text and records its input."""

    name = "counted"

    def __init__(self, languages: frozenset[str] | None = frozenset({"en"}), most: int = 100) -> None:
        self.languages = languages
        self.most = most
        self.asked: list[list[str]] = []

    def scores(self, question: str, texts: Sequence[str], budget_s: float) -> list[float]:
        self.asked.append(list(texts))
        return [float(at) for at in range(len(texts))][: self.most]


class Broken(Counted):
    def scores(self, question: str, texts: Sequence[str], budget_s: float) -> list[float]:
        raise RuntimeError("the native library says no")


def shelved(document_id: str, text: str) -> ShelvedDocument:
    document = read("book.md", text.encode())
    made = chunks(document, child_chars=800, parent_chars=800)
    sections = [(section.title, section.path) for section in document.sections]
    return ShelvedDocument(
        document_id,
        document.title,
        document.language,
        sections,
        [chunk.section for chunk in made],
        Segment.build(made, document.language),
    )


def settings(tmp_path: Path, **retrieval: object) -> Config:
    chosen = RetrievalConfig(**({"rerank": "cross-encoder"} | retrieval))  # type: ignore[arg-type]
    return Config(data_dir=tmp_path, models_dir=tmp_path / "models", retrieval=chosen)


async def looked_at(
    config: Config, model: Counted, question: str, books: dict[str, str]
) -> tuple[list[Hit], list[Hit], list[str]]:
    """(plain order, order after reranking, notices) for a shelf with these books."""
    shelf = Shelf([shelved(name, text) for name, text in books.items()])
    ranked = shelf.search(question, None, Options(k=50))
    notices: list[str] = []
    texts = {hit.chunk_id: hit.chunk_id for hit in ranked.hits}
    reranking = Reranking(config, lambda _: model)
    return (
        list(ranked.hits),
        await reranking.reordered(question, ranked, shelf, texts, notices),
        notices,
    )


@given(new=SCORES, weight=st.floats(0, 10))
def test_unscored_candidates_keep_their_places_and_none_is_lost(
    new: list[float | None], weight: float
) -> None:
    old = [1 / (1 + at) for at in range(len(new))]
    order = reordered(old, new, weight)
    assert sorted(order) == list(range(len(new)))
    assert all(order[at] == at for at, score in enumerate(new) if score is None)
    assert reordered(old, new, 0.0) == list(range(len(new)))
    assert reordered(old, [None] * len(new), weight) == list(range(len(new)))


@given(new=st.lists(st.integers(-50, 50).map(float), unique=True, min_size=1, max_size=20))
def test_a_heavy_new_score_decides_alone(new: list[float]) -> None:
    order = reordered([1.0] * len(new), list(new), 1.0)
    assert order == np.argsort(-np.array(new)).tolist()


@given(scores=SCORES, weight=st.floats(0, 2))
def test_neighbours_only_raise_scores_and_unscored_passages_stay_unscored(
    scores: list[float | None], weight: float
) -> None:
    made = neighbour_scores([("section", at) for at in range(len(scores))], scores, weight)
    assert [one is None for one in made] == [score is None for score in scores]
    assert all(one >= 0 for one in made if one is not None)
    alone = neighbour_scores([(at, at) for at in range(len(scores))], scores, weight)
    assert all(one is None or two is None or one >= two for one, two in zip(made, alone, strict=True))


@given(
    takes=st.lists(st.floats(0.01, 1.0), min_size=1, max_size=20),
    budget=st.floats(0.0, 5.0),
)
def test_the_budget_is_kept_but_for_one_text(takes: list[float], budget: float) -> None:
    now = 0.0
    at = 0

    def score(text: str) -> float:
        nonlocal now, at
        now += takes[at]
        at += 1
        return float(text)

    texts = [str(number) for number in range(len(takes))]
    made = in_time(texts, budget, score, clock=lambda: now)
    assert made == [float(number) for number in range(len(made))]
    assert sum(takes[: max(0, len(made) - 1)]) <= budget
    if len(made) < len(takes):
        assert sum(takes[: len(made)]) + max(takes[: len(made)], default=0.0) >= budget
    if not budget:
        assert made == []


def hit(ordinal: int, score: float, by: str = "search", section: int = 0) -> Hit:
    return Hit(f"book:{ordinal}", "book", section, score, by)


def test_passages_found_through_another_get_the_best_new_score() -> None:
    pool = [hit(0, 3.0), hit(2, 2.9, "bridge"), hit(4, 1.0), hit(6, 0.9)]
    assert second_look(pool, {0: 5.0, 2: 4.0, 3: -9.0}, name=False) == [0, 1, 2, 3]
    assert second_look(pool, {0: -9.0, 2: 4.0, 3: 5.0}, name=False)[0] == 1
    assert second_look(pool, {}, name=False) == [0, 1, 2, 3]


def test_for_a_name_the_neighbours_of_the_best_passage_follow_it() -> None:
    pool = [hit(9, 1.0, section=1), hit(3, 0.99), hit(4, 0.98), hit(20, 0.9, section=2)]
    scores = {0: 5.0, 1: 9.0, 2: 4.0, 3: 0.0}
    assert second_look(pool, scores, name=False) == [1, 0, 2, 3]
    assert second_look(pool, scores, name=True) == [1, 2, 0, 3]


async def test_reranking_moves_candidates_and_keeps_scores_descending(tmp_path: Path) -> None:
    plain, after, notices = await looked_at(settings(tmp_path), Counted(), QUESTION, {"en": ENGLISH})
    assert len(plain) == 3
    assert [candidate.chunk_id for candidate in after] != [candidate.chunk_id for candidate in plain]
    assert {candidate.chunk_id for candidate in after} == {candidate.chunk_id for candidate in plain}
    assert [candidate.score for candidate in after] == [candidate.score for candidate in plain]
    assert notices == []


async def test_only_as_many_candidates_as_configured_are_read(tmp_path: Path) -> None:
    model = Counted()
    plain, after, _ = await looked_at(settings(tmp_path, rerank_top=2), model, QUESTION, {"en": ENGLISH})
    assert model.asked == [[candidate.chunk_id for candidate in plain[:2]]]
    assert after[2:] == plain[2:]


async def test_candidates_beyond_the_time_limit_keep_their_places(tmp_path: Path) -> None:
    plain, after, _ = await looked_at(settings(tmp_path), Counted(most=2), QUESTION, {"en": ENGLISH})
    assert after[2:] == plain[2:]
    plain, after, _ = await looked_at(settings(tmp_path), Counted(most=0), QUESTION, {"en": ENGLISH})
    assert after == plain


async def test_a_requested_heading_stays_first(tmp_path: Path) -> None:
    model = Counted()
    plain, after, _ = await looked_at(settings(tmp_path), model, "Northgate", {"en": ENGLISH})
    assert plain[0].titled
    assert after == plain
    assert model.asked == []


@pytest.mark.parametrize(
    ("question", "read"),
    [("Quem vende corda e óleo de lampião aos viajantes neste porto?", False), (QUESTION, False)],
)
async def test_books_in_a_language_the_model_does_not_read_are_left_alone(
    tmp_path: Path, question: str, read: bool
) -> None:
    model = Counted()
    plain, after, notices = await looked_at(settings(tmp_path), model, question, {"pt": PORTUGUESE})
    assert after == plain
    assert bool(model.asked) is read
    assert notices == []


async def test_only_books_in_the_models_language_are_reranked(tmp_path: Path) -> None:
    question = "harbour travellers viajantes porto rope corda"
    books = {"en": ENGLISH, "pt": PORTUGUESE}
    model = Counted()
    plain, after, _ = await looked_at(settings(tmp_path), model, question, books)
    places = {candidate.chunk_id: at for at, candidate in enumerate(plain)}
    assert model.asked
    assert all(text.startswith("en:") for text in model.asked[0])
    kept = [candidate for candidate in plain if candidate.document_id == "pt"]
    assert kept
    assert [after[places[one.chunk_id]].chunk_id for one in kept] == [one.chunk_id for one in kept]
    model = Counted(languages=None)
    await looked_at(settings(tmp_path), model, question, books)
    assert {text.partition(":")[0] for text in model.asked[0]} == {"en", "pt"}


async def test_if_the_model_fails_the_plain_order_and_a_notice_remain(tmp_path: Path) -> None:
    plain, after, notices = await looked_at(settings(tmp_path), Broken(), QUESTION, {"en": ENGLISH})
    assert after == plain
    assert notices == ["rules.rerank_failed"]
    assert all(words(locale)(notices[0]) for locale in ("en", "pt-BR"))


def test_a_reranker_is_known_by_its_name(tmp_path: Path) -> None:
    assert reranker("none", tmp_path) is None
    for kind in KINDS:
        with pytest.raises(UserError) as caught:
            reranker(kind, tmp_path)
        assert (caught.value.key, caught.value.values) == ("models.absent", {"name": kind})
    with pytest.raises(UserError):
        reranker("cross-encodr", tmp_path)


def configured(folder: Path, rerank: str, models: Path) -> Config:
    folder.mkdir()
    text = f'[retrieval]\nrerank = "{rerank}"\nrerank_seconds = 30\n\n[embedding]\nmodel = "none"\n'
    (folder / "config.toml").write_text(text, encoding="utf-8")
    (folder / "book.md").write_text(ENGLISH, encoding="utf-8")
    return load(
        folder / "config.toml", migrated.folder(folder / "data"), environ={"SUTRADHAR_MODELS": str(models)}
    )


async def found_in_a_library(
    folder: Path, rerank: str, models: Path, question: str = QUESTION
) -> tuple[list[str], list[str]]:
    """(headings, notices) of a search in a library with one English book, without vectors."""
    resources = await Resources.open(configured(folder, rerank, models))
    try:
        await resources.intake.take(
            "local", "rules", Item("book.md", str(folder / "book.md")), "k", replace=False
        )
        result = await resources.library.search("local", "rules", question)
        alone = await resources.library.search("local", "rules", question, rerank=False)
        assert alone.notices == []
        assert alone.confident == result.confident
    finally:
        await resources.close()
    return [passage.heading.rpartition(" ")[2] for passage in result.passages], result.notices


async def test_without_its_files_the_library_answers_in_plain_order_and_says_so(tmp_path: Path) -> None:
    plain, _ = await found_in_a_library(tmp_path / "plain", "none", tmp_path / "models")
    for kind in KINDS:
        headings, notices = await found_in_a_library(tmp_path / kind, kind, tmp_path / "models")
        assert headings == plain
        assert notices == ["rules.rerank_missing"]


@pytest.mark.skipif("cross-encoder" not in HAVE, reason="its files: python -m bot models pull cross-encoder")
async def test_damaged_files_are_not_run(tmp_path: Path) -> None:
    folder = tmp_path / "models" / "cross-encoder"
    folder.mkdir(parents=True)
    for file in (MODELS / "cross-encoder").iterdir():
        data = file.read_bytes()
        (folder / file.name).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    _, notices = await found_in_a_library(tmp_path / "house", "cross-encoder", tmp_path / "models")
    assert notices == ["rules.rerank_failed"]


@pytest.fixture(scope="module", params=list(KINDS))
def model(request: pytest.FixtureRequest) -> Reranker:
    kind: str = request.param
    if kind not in HAVE:
        pytest.skip(f"the files of {kind} are not there: python -m bot models pull {kind}")
    return KINDS[kind](MODELS / kind)


def test_the_answer_scores_best(model: Reranker) -> None:
    texts = [
        "Knead the dough for ten minutes and let it rise under a cloth until it has doubled.",
        "A lit lantern shows everything within ten paces and hints at what stands within thirty.",
        "Wolves follow the smell of tallow. They never come within the light.",
    ]
    for question, answer in (("How far does a lantern shine?", 1), ("What attracts wolves?", 2)):
        scores = model.scores(question, texts, 30.0)
        assert scores.index(max(scores)) == answer
        assert sorted(scores)[-1] - sorted(scores)[-2] > 0.01


def test_a_score_does_not_depend_on_the_other_texts(model: Reranker) -> None:
    texts = ["Wolves follow the smell of tallow.", "Bread. " * 90, "tallow"]
    together = model.scores("What attracts wolves?", texts, 30.0)
    assert together == [model.scores("What attracts wolves?", [text], 30.0)[0] for text in texts]


def test_unusual_texts_get_scores_too(model: Reranker) -> None:
    odd = ["", "\0", "…", "word " * 5000, "💡" * 700]
    assert len(model.scores("", odd, 60.0)) == len(odd)
    assert len(model.scores("why? " * 3000, odd, 60.0)) == len(odd)


def test_without_time_there_are_no_scores(model: Reranker) -> None:
    assert model.scores("What attracts wolves?", ["Wolves"], 0.0) == []
    assert model.scores("What attracts wolves?", [], 9.0) == []


async def test_the_library_ranks_the_answer_first(model: Reranker, tmp_path: Path) -> None:
    plain, _ = await found_in_a_library(tmp_path / "plain", "none", MODELS)
    headings, notices = await found_in_a_library(tmp_path / "again", model.name, MODELS)
    assert notices == []
    assert plain[0] != headings[0] == "Southgate"
    headings, _ = await found_in_a_library(tmp_path / "titled", model.name, MODELS, "Northgate")
    assert headings[0] == "Northgate"
