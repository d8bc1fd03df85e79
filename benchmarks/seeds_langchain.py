"""Runs one seed design on one set, in the venv with LangChain: `python -m benchmarks.seeds_langchain DESIGN
SET MODELS`.

Prints its figures as JSON. The designs are as in their projects, except for the embedder, which is ours: the
comparison is of how they cut, rank and hand on text. Uses only the embedder and the score of our retrieval.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from langchain_chroma import Chroma
from langchain_classic.retrievers import ParentDocumentRetriever
from langchain_classic.storage import InMemoryStore
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_text_splitters import RecursiveCharacterTextSplitter

from bot.retrieval.embedding import Embedder, embedder
from bot.retrieval.evaluate import Passage, read_questions, score, summary

K, FETCH, LAMBDA = 12, 30, 0.7
PARENT, CHILD = 2000, 200
CHUNK, OVERLAP = 800, 100
BATCH = 40
"""Parents, or chunks, added at once."""

Search = Callable[[str], Sequence[Document]]


class Same(Embeddings):
    """Our embedder, with LangChain's interface."""

    def __init__(self, model: Embedder) -> None:
        self._model = model

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[float(number) for number in row] for row in self._model.passages(texts)]

    def embed_query(self, text: str) -> list[float]:
        return [float(number) for number in self._model.query(text)]


def parent_child(
    store: Chroma,
) -> tuple[Callable[[list[Document]], None], Search, RecursiveCharacterTextSplitter]:
    """Small chunks are found, and their parents are returned; variety by MMR."""
    outer = RecursiveCharacterTextSplitter(chunk_size=PARENT, chunk_overlap=0)
    retriever = ParentDocumentRetriever(
        vectorstore=store,
        docstore=InMemoryStore(),
        parent_splitter=outer,
        child_splitter=RecursiveCharacterTextSplitter(chunk_size=CHILD, chunk_overlap=0),
        search_type="mmr",
        search_kwargs={"k": K, "fetch_k": FETCH, "lambda_mult": LAMBDA},
    )
    return retriever.add_documents, retriever.invoke, outer


def dense(store: Chroma) -> tuple[Callable[[list[Document]], None], Search, RecursiveCharacterTextSplitter]:
    """Overlapping chunks, the nearest first."""

    def add(documents: list[Document]) -> None:
        store.add_documents(documents)

    return (
        add,
        lambda query: store.similarity_search(query, k=K),
        RecursiveCharacterTextSplitter(chunk_size=CHUNK, chunk_overlap=OVERLAP),
    )


DESIGNS = {"parent-child": parent_child, "dense": dense}


def measured(design: str, folder: Path, models: Path) -> dict[str, float]:
    """The figures of `evaluate.summary`, and index_cpu_s (of all threads), slope, mb, pieces.

    `slope` is MB of memory per MB of text (`mb`); `pieces` are what was added, parents or chunks.
    """
    model = embedder("bge-small", models)
    assert model is not None
    model.passages(["warm"])
    process = psutil.Process()
    with tempfile.TemporaryDirectory() as place:
        store = Chroma(
            "seed",
            Same(model),
            persist_directory=place,
            collection_metadata={"hnsw:space": "cosine"},
        )
        add, search, splitter = DESIGNS[design](store)
        cpu = time.process_time()
        texts = [
            Document(page_content=file.read_text(encoding="utf-8"), metadata={"source": file.name})
            for file in sorted((folder / "corpus").iterdir())
        ]
        pieces = splitter.split_documents(texts)
        samples: list[tuple[float, float]] = []
        done = 0.0
        for first in range(0, len(pieces), BATCH):
            batch = pieces[first : first + BATCH]
            add(batch)
            done += sum(len(piece.page_content.encode()) for piece in batch) / 1e6
            samples.append((done, process.memory_info().rss / 1e6))
        busy = time.process_time() - cpu
        rows = []
        for question in read_questions(folder / "questions.jsonl"):
            begun = time.perf_counter()
            results = search(question.query)
            took = time.perf_counter() - begun
            passages = [Passage(str(piece.metadata["source"]), piece.page_content) for piece in results]
            rows.append(score(question.gold, passages, took))
    return summary(rows) | {
        "index_cpu_s": busy,
        "slope": _slope(samples),
        "mb": done,
        "pieces": len(pieces),
    }


def _slope(samples: list[tuple[float, float]]) -> float:
    """By least squares, without the first tenth, during which the model's arena grows."""
    rest: Any = np.array(samples[len(samples) // 10 :])
    return float(np.polyfit(rest[:, 0], rest[:, 1], 1)[0]) if len(rest) > 2 else 0.0


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))))
