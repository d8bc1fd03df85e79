"""How like a query the scenes of a script are by their meaning, where there is an embedder.

Vectors are made in the background, by the scenes' contents, and those that are there vote beside the words.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from bot.events import Sorry
from bot.retrieval.language import detect_question, may_vote

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bot.retrieval.embed import Embedder
    from bot.retrieval.embedding import Embedding
    from bot.works.script.catalogue import Reading
    from bot.works.script.model import Scene
    from storage.scripts import Reader, Scripts

    Floats = NDArray[np.float32]

PIECE_CHARS: Final = 1_200
"""Of a piece that has a vector of its own: embedders read some 500 tokens."""
PIECES: Final = 40
"""Of one scene; what stands behind them is found by its words."""
AT_ONCE: Final = 16
"""Scenes whose vectors are kept together."""

_log = logging.getLogger(__name__)


class Likeness:
    """Makes the vectors of scripts' scenes, and compares queries with them."""

    def __init__(self, rows: Scripts, embedding: Embedding) -> None:
        self._rows = rows
        self._embedding = embedding

    async def lacking(self, asked: Reader, id: str, reading: Reading) -> bool:
        """Whether there is an embedder that has not seen all scenes of the script."""
        embedder = await self._embedder(reading)
        return embedder is not None and bool(await self._without(asked, id, reading, embedder))

    async def learn(self, asked: Reader, id: str, reading: Reading) -> None:
        """Make the vectors that the script lacks. Raises Sorry where a service makes none."""
        if (embedder := await self._embedder(reading)) is None:
            return
        without = await self._without(asked, id, reading, embedder)
        for first in range(0, len(without), AT_ONCE):
            some = without[first : first + AT_ONCE]
            made = await asyncio.to_thread(_made, embedder, some)
            await self._rows.keep_vectors(asked.space, id, embedder.name, made)
        if without:
            contents = [scene.content for scene in reading.script.scenes]
            await self._rows.drop_vectors(asked.space, id, embedder.name, contents)

    async def of(self, asked: Reader, id: str, reading: Reading, query: str) -> Floats | None:
        """(scenes,): the query's cosine with each scene's nearest piece, 0 where there is none that can be judged; None
        where nobody votes."""
        try:
            if (embedder := await self._embedder(reading, query)) is None:
                return None
            kept = await self._rows.vectors(asked, id, embedder.name)
            if not kept:
                return None
            return await asyncio.to_thread(_cosines, embedder, reading.script.scenes, kept, query)
        except Sorry as sorry:
            _log.warning("a script is searched by its words alone: %s", sorry)
            return None

    async def _embedder(self, reading: Reading, query: str = "") -> Embedder | None:
        if not self._embedding.configured or (embedder := await self._embedding.get()) is None:
            return None
        script = reading.search.language
        languages = list(dict.fromkeys([script, "en", "pt"]))
        question = detect_question(query, languages) if query else None
        return embedder if may_vote(embedder.languages, question, script) else None

    async def _without(self, asked: Reader, id: str, reading: Reading, embedder: Embedder) -> list[Scene]:
        kept = await self._rows.vectors(asked, id, embedder.name)
        scenes = {scene.content: scene for scene in reading.script.scenes}
        return [scene for content, scene in scenes.items() if content not in kept]


def _pieces(scene: Scene) -> list[str]:
    """A scene's words in pieces of whole lines, each behind the heading."""
    pieces: list[str] = []
    for line in _short_lines(scene):
        if pieces and len(pieces[-1]) + len(line) < PIECE_CHARS:
            pieces[-1] += f"\n{line}"
        else:
            pieces.append(f"{scene.heading.text}\n{line}" if pieces else line)
    return pieces[:PIECES]


def _short_lines(scene: Scene) -> Iterator[str]:
    for line in scene.text.split("\n"):
        yield from (line[at : at + PIECE_CHARS] for at in range(0, max(1, len(line)), PIECE_CHARS))


def _made(embedder: Embedder, scenes: Sequence[Scene]) -> dict[str, bytes]:
    """Vectors by content, as half-precision numbers; blocking."""
    import numpy as np

    pieces = [_pieces(scene) for scene in scenes]
    vectors = embedder.passages([piece for some in pieces for piece in some])
    made, at = {}, 0
    for scene, some in zip(scenes, pieces, strict=True):
        made[scene.content] = vectors[at : at + len(some)].astype(np.float16).tobytes()
        at += len(some)
    return made


def _cosines(embedder: Embedder, scenes: Sequence[Scene], kept: dict[str, bytes], query: str) -> Floats:
    """Blocking."""
    import numpy as np

    asked = embedder.query(query)
    found = np.zeros(len(scenes), dtype=np.float32)
    for at, scene in enumerate(scenes):
        rows = np.frombuffer(kept.get(scene.content, b""), dtype=np.float16)
        if rows.size and rows.size % asked.size == 0:
            found[at] = max(0.0, float((rows.reshape(-1, asked.size).astype(np.float32) @ asked).max()))
    least = embedder.likeness.even if embedder.likeness is not None else 0.0
    return np.where(found >= least, found, np.float32(0))
