"""Many past scenes fit in little room: the best ones in full, the others by their best sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bot.budget import text_tokens
from bot.works.story.config import RecallConfig
from bot.works.story.memory.excerpts import as_prompt, excerpts
from bot.works.story.memory.memory import Memory
from bot.works.story.memory.ranking import Query
from storage.story_vectors import NodeVectors
from tests.fakes.embedder import Letters
from tests.works.story.tale import Tale, prose

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bot.retrieval.confidence import Likeness
    from bot.retrieval.embedding import Embedder

ASKED = "Who hid a key?"
BY = RecallConfig()
NOBODY = "Nobody said a word about it."


class Cellars:
    """By its vectors a sentence about a cellar is the answer, although it shares no word with the query."""

    name, dimensions = "cellars", 96
    languages: frozenset[str] | None = None
    likeness: Likeness | None = None

    def __init__(self) -> None:
        self._letters = Letters("letters").load("letters")

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._letters.passages([ASKED if "cellar" in text else text for text in texts])

    def query(self, text: str) -> NDArray[np.float32]:
        return self._letters.query(text)


class Rows:
    """What a memory asks of the database and of the models."""

    other_languages: frozenset[str] = frozenset()

    def __init__(self, embedder: Embedder | None) -> None:
        self._embedder = embedder
        self._rows: dict[str, bytes] = {}

    async def get(self) -> Embedder | None:
        return self._embedder

    async def put(self, space: str, story: str, embedder: str, rows: Sequence[NodeVectors]) -> None:
        self._rows.update({row.node_id: row.vectors for row in rows})

    async def by_node(self, space: str, story: str, embedder: str, nodes: Sequence[str]) -> dict[str, bytes]:
        return {node: self._rows[node] for node in nodes if node in self._rows}


def played(scenes: int) -> Tale:
    """Each scene has a sentence about a key, in its middle."""
    tale = Tale()
    for n in range(scenes):
        found = f"“So it was here,” said Bo. Teodor hid key {n} under the stairs. {NOBODY}"
        tale.turn(f"I look behind door {n}.", f"{prose(n, 90)}\n\n{found}\n\n{prose(n + 500, 90)}")
    return tale


async def told(tale: Tale, tokens: int, *, embedder: Embedder | None = None, **by: int) -> list[str]:
    """What the excerpts for a turn contain of each scene."""
    rows = Rows(embedder)
    memory = Memory(rows, rows, BY)  # type: ignore[arg-type]
    story, config = tale.story, replace(BY, **by)  # type: ignore[arg-type]
    await memory.learn("space", "story", "main", story)
    found = await excerpts(memory, "space", "story", "main", story, Query(ASKED), config, tokens, ())
    whole = as_prompt(story, found)
    assert text_tokens(whole) <= tokens + 10
    return whole.split("<past ")[1:]


async def test_the_best_scenes_are_quoted_at_length_and_the_others_by_their_best_sentence() -> None:
    parts = await told(played(40), 3_200)
    assert len(parts) == BY.scenes
    broad = [part for part in parts if len(part) > BY.least_chars // 2]
    assert len(broad) == BY.broad
    for part in parts:
        assert "hid key" in part, part
    brief = [part for part in parts if part not in broad]
    beside = [part for part in brief if "said Bo." in part and NOBODY in part]
    assert len(beside) > len(brief) // 2, "with the sentences beside it"
    assert all("\n… " in part and part.rstrip().endswith("…\n</past>") for part in beside[:-1]), beside[0]


async def test_with_less_room_only_sentences_are_quoted() -> None:
    parts = await told(played(40), 800)
    assert 10 < len(parts) < BY.scenes
    assert 0 < sum(len(part) > BY.least_chars // 2 for part in parts) < BY.broad
    alone = [part for part in parts if "hid key" in part and "said Bo." not in part and NOBODY not in part]
    assert len(alone) > len(parts) // 2


async def test_the_quoted_sentence_is_the_nearest_in_meaning() -> None:
    tale = Tale()
    for n in range(12):
        tale.turn(f"I wait {n}.", f"The rain went on. It lay in the cellar, {n} of them. {prose(n, 30)}")
    for part in await told(tale, 3_200, embedder=Cellars(), broad=0):
        assert "cellar" in part, part


async def test_a_line_of_a_chat_log_is_quoted_with_its_neighbours() -> None:
    tale = Tale()
    for n in range(40):
        text = f"Line {n}. I hid key {n}." if n % 5 == 2 else f"Line {n}."
        tale.add("act", {"mode": "say", "text": text, "name": "Bo", "group": f"scene {n // 5}"})
    parts = await told(tale, 3_200, broad=0)
    keys = [part for part in parts if "hid key" in part]
    assert len(keys) == 8
    assert all(part.count("Bo: Line") == 3 for part in keys), keys
