"""Without a model, a question that leans on the previous one is read together with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.readers import read
from bot.retrieval.chunk import chunks
from bot.retrieval.contents import ShelvedDocument
from bot.retrieval.lexical import Segment
from bot.retrieval.ranking import Options
from bot.retrieval.results import Passage, SearchResult
from bot.retrieval.shelf import Shelf
from bot.strategies.base import Inquiry
from bot.strategies.rewrite import Rewriting
from tests.fakes.run import MemoryRun
from tests.strategies.conftest import searched

EXAMPLES = Path(__file__).parents[2] / "examples"
LANTERNS, FATE = ("lanterns.md", "en"), ("fate-acelerado.md", "pt")

# (book, the question before, the question, what one of the three best passages says, or None for "nothing found")
PAIRS = [
    (LANTERNS, "How long does a candle burn?", "And when running?", "one hour of running"),
    (LANTERNS, "How long does a candle burn?", "How many burdens are they?", "six candles are one burden"),
    (LANTERNS, "How long does a candle burn?", "Who painted Guernica?", None),
    (LANTERNS, "How long does a candle burn?", "How much does a longsword cost?", None),
    (LANTERNS, "How long does a candle burn?", "And who painted it?", None),
    (LANTERNS, "How long does a candle burn?", "And in Tokyo?", None),
    (LANTERNS, "How long does a candle burn?", "What time is it in Tokyo?", None),
    (LANTERNS, "How long does a candle burn?", "best pizza in Naples", None),
    (LANTERNS, "How far does a lit lantern show things?", "And beyond thirty paces?", "beyond\nthirty paces"),
    (LANTERNS, "How far does a lit lantern show things?", "What about wolves?", "Wolves follow"),
    (LANTERNS, "How far does a lit lantern show things?", "Is it a burden?", "A lantern is one burden"),
    (LANTERNS, "How far does a lit lantern show things?", "Who wrote Hamlet?", None),
    (LANTERNS, "When do wolves withdraw?", "How many are they?", "Wolves follow"),
    (LANTERNS, "When do wolves withdraw?", "Do they come within the light?", "never come within the light"),
    (LANTERNS, "When do wolves withdraw?", "Why?", "withdraws when its courage"),
    (LANTERNS, "When do wolves withdraw?", "Who is the president of France?", None),
    (LANTERNS, "What happens when the last candle goes out?", "At dawn?", "At dawn"),
    (LANTERNS, "Can I push a roll twice?", "And with help?", "lend you one die"),
    (LANTERNS, "Can I push a roll twice?", "How do I bake bread?", None),
    (LANTERNS, "Can I push a roll twice?", "What is the capital of Mongolia?", None),
    (FATE, "O que são consequências?", "Como me recupero delas?", "consequência"),
    (FATE, "O que são consequências?", "E estresse?", "estresse"),
    (FATE, "O que são consequências?", "Quantas posso ter?", "consequência"),
    (FATE, "O que são consequências?", "Quem pintou a Guernica?", None),
    (FATE, "O que são consequências?", "Quanto custa uma espada longa?", None),
    (FATE, "O que são consequências?", "E em Tóquio?", None),
    (FATE, "Quantas façanhas posso ter?", "E pontos de destino?", "pontos de destino"),
    (FATE, "Quantas façanhas posso ter?", "Quem escreveu Dom Casmurro?", None),
    (FATE, "Quantas façanhas posso ter?", "receita de bolo de cenoura", None),
    (FATE, "O que é um aspecto?", "Como eu uso ele?", "aspecto"),
    (FATE, "O que é um aspecto?", "Por quê?", "aspecto"),
    (FATE, "O que é um aspecto?", "Qual é a capital da Mongólia?", None),
]  # fmt: skip


class Shelved:
    """One example book, searched by words."""

    def __init__(self, name: str) -> None:
        document = read(name, (EXAMPLES / name).read_bytes())
        self._chunks = chunks(document, child_chars=800, parent_chars=2000)
        sections = [(section.title, section.path) for section in document.sections]
        places = [chunk.section for chunk in self._chunks]
        segment = Segment.build(self._chunks, document.language)
        self._shelf = Shelf(
            [ShelvedDocument(name, document.title, document.language, sections, places, segment)]
        )

    async def search(self, space: str, shelf: str, question: str, *, k: int | None = None) -> SearchResult:
        ranked = self._shelf.search(question, None, Options())
        passages = [
            Passage(hit.chunk_id, name, name, name, chunk.breadcrumb, None, chunk.text, hit.score)
            for hit in ranked.hits
            for name, _, at in [hit.chunk_id.rpartition(":")]
            for chunk in [self._chunks[int(at)]]
        ]
        return SearchResult(passages, ranked.confident, ranked.evidence.title)


@pytest.fixture(scope="module")
def books() -> dict[str, Shelved]:
    return {name: Shelved(name) for name, _ in (LANTERNS, FATE)}


async def test_follow_ups_find_their_answer_and_unrelated_questions_none(books: dict[str, Shelved]) -> None:
    models: object = None  # nobody asks
    wrong = []
    for (book, language), before, question, wanted in PAIRS:
        inquiry = Inquiry(
            "local", "rules", question, language, language, languages=(language,), history=((before, "…"),)
        )
        asked = Rewriting("single", books[book], models)  # type: ignore[arg-type]
        run = MemoryRun()
        updates = [update async for update in asked.search(run, await searched(books[book], run, inquiry))]
        result = updates[-1]
        assert isinstance(result, SearchResult)
        said = "\n".join(passage.text for passage in result.passages[:3])
        if result.confident != (wanted is not None) or (wanted or "") not in said:
            wrong.append(
                (before, question, result.confident, [passage.heading for passage in result.passages[:3]])
            )
    assert not wrong, "\n".join(map(str, wrong))
