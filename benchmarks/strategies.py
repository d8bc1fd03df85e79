"""Measures how much a model helps the search: single compared with multi-question and multi-hop, by paired
bootstrap.

    SUTRADHAR_BENCH_DATA=DIR SUTRADHAR_MODELS=DIR python -m benchmarks.strategies [SET ...]

The model is a script behind the loopback chat service, asked over `Models.json`. It is honest: it gets only the
prompt, so every word that it searches for is in there. The oracle also knows the titles of the gold documents, and may
name one only if the prompt contains it: an upper bound for a judge that reads perfectly, if documents have titles.
Uses no storage but the ledger.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.cached_vectors import CachedVectors
from benchmarks.retrieval import Corpus, ask, build
from bot.config import load
from bot.llm.registry import Models
from bot.prompts import BUNDLED, PromptText, parse
from bot.retrieval.embedding import Embedder, embedder
from bot.retrieval.evaluate import Passage as Judgeable
from bot.retrieval.evaluate import Question, Scores, score
from bot.retrieval.language import FUNCTION_WORDS
from bot.retrieval.ranking import Options
from bot.retrieval.results import Passage, SearchResult
from bot.strategies import NAMES
from bot.strategies.base import Inquiry
from bot.strategies.rewrite import Rewriting
from storage.db import Database
from storage.ledger import Ledger
from tests.fakes.chat_completions import ChatService, Reply
from tests.fakes.run import MemoryRun
from tests.strategies.conftest import searched

if TYPE_CHECKING:
    from numpy.typing import NDArray

SETS = ("hotpot-en", "rules-en-srd51-bare")
FIGURES = ("recall_5", "recall_10", "recall_4k")
_SAMPLES = 2_000
_NAME = re.compile(
    r"\b[A-ZÀ-Þ][\w'’.-]*(?: (?:of|the|and|de|von|van|da|&) (?=[A-ZÀ-Þ])| [A-ZÀ-Þ0-9][\w'’.-]*)*"
)
_WORD = re.compile(r"\w+")
_PASSAGE = re.compile(r'<passage n="\d+" from="([^"]*)">\n(.*?)\n</passage>', re.DOTALL)

Script = Callable[[str, str], dict[str, Any]]
"""(what the system prompt asks for, the user's prompt) → the JSON that the model writes."""


class Corpora:
    """A corpus with a library's search, as strategies call it."""

    def __init__(
        self, corpus: Corpus, model: Embedder | None, cached: dict[str, NDArray[np.float32]]
    ) -> None:
        self._corpus = corpus
        self._model = model
        self._vectors = cached
        self.searches = 0

    async def search(self, space: str, shelf: str, question: str, *, k: int | None = None) -> SearchResult:
        self.searches += 1
        if self._model is not None and question not in self._vectors:
            self._vectors[question] = self._model.query(question)
        languages = self._model.languages if self._model else None
        options = Options(k=k or 12, model_languages=languages)
        ranked, _ = ask(self._corpus, question, self._vectors.get(question), options)
        passages = [
            Passage(
                hit.chunk_id,
                hit.document_id,
                hit.document_id,
                re.sub(r"^\d+_|\.\w+$", "", hit.document_id).replace("_", " "),
                "",
                None,
                self._corpus.texts[hit.chunk_id],
                hit.score,
            )
            for hit in ranked.hits
        ]
        return SearchResult(passages, ranked.confident, ranked.evidence.title)


def content(text: str) -> set[str]:
    return {
        word
        for word in map(str.lower, _WORD.findall(text))
        if word not in FUNCTION_WORDS["en"] and len(word) > 1
    }


def fenced(prompt: str, tag: str) -> str:
    parts = re.findall(rf"<{tag}>\n(.*?)\n</{tag}>", prompt, re.DOTALL)
    return parts[-1] if parts else ""


def honest(system: str, prompt: str) -> dict[str, Any]:
    """Parts: the names in the question, each with what is asked. Next searches: names in the passages' sentences
    that share most with the question, unless a passage about them is there already."""
    question = fenced(prompt, "question")
    question_words = content(question)
    if "`questions`" in system:
        return {"questions": _names(question.split(" ", 1)[-1])[:4] or [" ".join(sorted(question_words))]}
    searched = fenced(prompt, "searched").lower()
    passages = [(name.split(" › ")[0], text) for name, text in _PASSAGE.findall(prompt)]
    title_words = {" ".join(sorted(content(title))) for title, _ in passages}
    weighed: dict[str, float] = {}
    for rank, (_, text) in enumerate(passages[:6]):
        for sentence in re.split(r"(?<=[.!?])\s+", text):
            shared = len(question_words & content(sentence))
            for name in _names(sentence):
                words = content(name)
                # What the question names was searched for already; what it lacks is what leads on.
                if (
                    not words
                    or words <= question_words
                    or " ".join(sorted(words)) in title_words
                    or name.lower() in searched
                ):
                    continue
                weighed[name] = max(weighed.get(name, 0.0), shared / (1 + rank / 3))
    best = sorted(weighed, key=lambda name: -weighed[name])[:3]
    return {"sufficient": False, "searches": [name for name in best if weighed[name] >= 1]}


def oracle(titles: Iterable[str]) -> Script:
    """Names the titles of gold documents that are not among the passages yet, if the prompt contains them."""
    golds = list(titles)

    def judge(system: str, prompt: str) -> dict[str, Any]:
        question = fenced(prompt, "question")
        if "`questions`" in system:
            return {"questions": [gold for gold in golds if content(gold) <= content(question)]}
        shown = {name.split(" › ")[0] for name, _ in _PASSAGE.findall(prompt)}
        words = content(" ".join(text for _, text in _PASSAGE.findall(prompt)) + " " + question)
        missing = [gold for gold in golds if gold not in shown]
        named = [gold for gold in missing if content(gold) <= words]
        return {"sufficient": not missing, "searches": named}

    return judge


def _names(text: str) -> list[str]:
    names = (name.rstrip(".'’-") for name in _NAME.findall(text))
    return list(dict.fromkeys(name for name in names if content(name)))


class Bench:
    """One set with its model service; `script` is the current script of its answers."""

    def __init__(
        self, corpus: Corpus, library: Corpora, models: Models, prompts: dict[str, PromptText]
    ) -> None:
        self.corpus = corpus
        self.strategies = {name: Rewriting(name, library, models) for name in NAMES}
        self._library = library
        self._prompts = prompts

    async def scores(self, name: str, question: Question) -> Scores:
        inquiry = Inquiry(
            "bench",
            self.corpus.name,
            question.query,
            "en",
            "en",
            helper=True,
            languages=("en",),
            prompts=self._prompts,
        )
        run, result = MemoryRun(), None
        async for event in self.strategies[name].search(run, await searched(self._library, run, inquiry)):
            result = event if isinstance(event, SearchResult) else result
        assert result is not None
        return score(
            question.gold,
            [Judgeable(passage.source, passage.text) for passage in result.passages],
            confident=result.confident,
        )


def bootstrap(before: list[float], after: list[float]) -> tuple[float, float, float]:
    """Mean gain of `after` over `before`, and its 95 % interval by paired bootstrap."""
    gains = np.array(after) - np.array(before)
    chance = np.random.default_rng(0)
    means = gains[chance.integers(0, len(gains), (_SAMPLES, len(gains)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(gains.mean()), float(low), float(high)


async def measured(folder: Path, cached: CachedVectors | None, model: Embedder | None) -> None:
    corpus = build(folder, cached)
    queries = [question.query for question in corpus.questions]
    vectors = dict(zip(queries, cached.queries(queries), strict=True)) if cached else {}
    library = Corpora(corpus, model, vectors)
    script: Script = honest

    def answered(body: dict[str, Any]) -> Reply:
        system, user = (message["content"] for message in body["messages"])
        return Reply(pieces=[json.dumps(script(system, user))])

    with tempfile.TemporaryDirectory() as temporary:
        data = Path(temporary)
        database = await Database.open(f"sqlite+aiosqlite:///{data / 'ledger.db'}")
        async with ChatService(answered) as service:
            (data / "config.toml").write_text(
                f'[providers.fake]\nkind = "openai-compatible"\nbase_url = "{service.base_url}"\n'
                '[roles]\nextractor = "fake:small"\n',
                encoding="utf-8",
            )
            models = Models(load(data / "config.toml", data, {}), Ledger(database))
            bench = Bench(corpus, library, models, parse(BUNDLED.read_text(encoding="utf-8")))
            rows: dict[str, list[Scores]] = {}
            for label, name, scripted in (
                ("single", "single", honest),
                ("multi-question", "multi-question", honest),
                ("multi-hop", "multi-hop", honest),
                ("multi-hop, oracle", "multi-hop", None),
            ):
                calls, searches = service.calls, library.searches
                rows[label] = []
                for question in corpus.questions:
                    titles = {
                        re.sub(r"^\d+_|\.\w+$", "", gold.source).replace("_", " ") for gold in question.gold
                    }
                    script = scripted or oracle(sorted(titles))
                    rows[label].append(await bench.scores(name, question))
                _row(corpus, label, rows, (service.calls - calls, library.searches - searches))
            await models.close()
        await database.close()


def _row(corpus: Corpus, label: str, rows: dict[str, list[Scores]], spent: tuple[int, int]) -> None:
    count = len(corpus.questions)
    cells = []
    for figure in FIGURES:
        values = [float(getattr(row, figure)) for row in rows[label]]
        base = [float(getattr(row, figure)) for row in rows["single"]]
        gain, low, high = bootstrap(base, values)
        cells.append(
            f"{np.mean(values):.3f}"
            + (f" ({gain:+.3f}: {low:+.3f} to {high:+.3f})" if label != "single" else "")
        )
    refused = np.mean([not row.confident for row in rows[label]])
    each = f"{spent[0] / count:.1f} | {spent[1] / count:.1f}"
    print(f"| {corpus.name} | {label} | {' | '.join(cells)} | {refused:.3f} | {each} |", flush=True)


def main(names: list[str]) -> int:
    root = Path(os.environ.get("SUTRADHAR_BENCH_DATA", ""))
    models, cache = os.environ.get("SUTRADHAR_MODELS"), os.environ.get("SUTRADHAR_BENCH_CACHE")
    local = embedder("bge-small", Path(models)) if models else None
    cached = CachedVectors(local, Path(cache) if cache else None) if local else None
    print("| set | strategy | recall@5 | recall@10 | recall@4k | refused | calls | searches |")
    print("|" + "---|" * 8)
    for name in names or SETS:
        if not os.environ.get("SUTRADHAR_BENCH_DATA") or not (root / name / "questions.jsonl").is_file():
            print(f"{name}: skipped (no such set in SUTRADHAR_BENCH_DATA)")
            continue
        asyncio.run(measured(root / name, cached, local))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
