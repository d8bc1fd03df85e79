"""How like a query the scenes of a script are by their meaning, where there is an embedder.

Vectors are made in the background, by the scenes' contents, and those that are there vote beside the words.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
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
            vectors = await asyncio.to_thread(made, embedder, some)
            await self._rows.keep_vectors(asked.space, id, embedder.name, vectors)
        if without:
            contents = [scene.content for scene in reading.script.scenes]
            await self._rows.drop_vectors(asked.space, id, embedder.name, contents)

    async def of(self, asked: Reader, id: str, reading: Reading, query: str) -> Floats | None:
        """(scenes,): the query's cosine with each scene's nearest piece, 0 where it has no vectors; None where nobody
        votes."""
        try:
            if (embedder := await self._embedder(reading, query)) is None:
                return None
            vectors = reading.vectors.get(embedder.name)
            query_vector = await asyncio.to_thread(embedder.query, query)
            if vectors is None:
                kept = await self._rows.vectors(asked, id, embedder.name)
                vectors = await asyncio.to_thread(
                    SceneVectors, reading.script.scenes, kept, query_vector.size
                )
                if vectors.whole:
                    reading.vectors[embedder.name] = vectors
            return vectors.cosines(query_vector)
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


def pieces(scene: Scene) -> list[str]:
    """A scene's words in pieces of whole lines, each behind the heading."""
    parts: list[str] = []
    for line in _short_lines(scene):
        if parts and len(parts[-1]) + len(line) < PIECE_CHARS:
            parts[-1] += f"\n{line}"
        else:
            parts.append(f"{scene.heading.text}\n{line}" if parts else line)
    return parts[:PIECES]


def _short_lines(scene: Scene) -> Iterator[str]:
    for line in scene.text.split("\n"):
        yield from (line[at : at + PIECE_CHARS] for at in range(0, max(1, len(line)), PIECE_CHARS))


def made(embedder: Embedder, scenes: Sequence[Scene]) -> dict[str, bytes]:
    """Vectors by content, as half-precision numbers; blocking."""
    import numpy as np

    parts = [pieces(scene) for scene in scenes]
    vectors = embedder.passages([piece for some in parts for piece in some])
    packed, at = {}, 0
    for scene, some in zip(scenes, parts, strict=True):
        packed[scene.content] = vectors[at : at + len(some)].astype(np.float16).tobytes()
        at += len(some)
    return packed


class SceneVectors:
    """The vectors of a script's scenes, as they are kept by content; `whole` where no scene lacks them."""

    def __init__(self, scenes: Sequence[Scene], kept: Mapping[str, bytes], dimensions: int) -> None:
        """Blocking. What is kept of other dimensions does not count."""
        import numpy as np

        rows, self._starts, self._places, at = [], list[int](), list[int](), 0
        for place, scene in enumerate(scenes):
            some = np.frombuffer(kept.get(scene.content, b""), dtype=np.float16)
            if some.size and some.size % dimensions == 0:
                rows.append(some.reshape(-1, dimensions).astype(np.float32))
                self._starts.append(at)
                self._places.append(place)
                at += len(rows[-1])
        self._rows = np.concatenate(rows) if rows else np.zeros((0, dimensions), dtype=np.float32)
        self._scenes = len(scenes)
        self.whole = len(rows) == len(scenes)

    def cosines(self, query: Floats) -> Floats:
        """(scenes,): a query's with each scene's nearest piece, 0 for a scene without vectors; of unit vectors."""
        import numpy as np

        found = np.zeros(self._scenes, dtype=np.float32)
        if self._places:
            nearest = np.maximum.reduceat(self._rows @ query, self._starts)
            found[self._places] = np.maximum(nearest, 0)
        return found
