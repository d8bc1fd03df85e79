"""Measures how close the scenes of a script are to a query in meaning, if there is an embedder.

Vectors are made in the background and stored by the content of scenes; those that exist count together with the words.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from bot.events import UserError
from bot.retrieval.language import detect_question, may_vote

if TYPE_CHECKING:
    from bot.retrieval.embedding import Embedder, Embedding
    from bot.works.script.catalogue import OpenScript
    from bot.works.script.model import Scene
    from bot.works.script.scene_search import Floats
    from storage.scripts import Reader, Scripts

PIECE_CHARS: Final = 1_200
"""The length of a piece with its own vector: embedders read about 500 tokens."""
MOST_PIECES: Final = 40
"""The maximum number of a scene's pieces with vectors; the rest of a longer scene is found by its words."""
BATCH: Final = 16
"""How many scenes' vectors are stored in one transaction."""

_log = logging.getLogger(__name__)


class Likeness:
    """Makes the vectors of scripts' scenes, and compares queries with them."""

    def __init__(self, rows: Scripts, embedding: Embedding) -> None:
        self._rows = rows
        self._embedding = embedding
        self._vectors: WeakKeyDictionary[OpenScript, dict[str, SceneVectors]] = WeakKeyDictionary()

    async def lacks_vectors(self, asker: Reader, id: str, opened: OpenScript) -> bool:
        """Whether there is an embedder, and some scenes of the script have no vectors from it."""
        embedder = await self._embedder(opened)
        return embedder is not None and bool(await self._scenes_without_vectors(asker, id, opened, embedder))

    async def learn(self, asker: Reader, id: str, opened: OpenScript) -> None:
        """Make the vectors that the script lacks. Raises UserError if the service fails."""
        if (embedder := await self._embedder(opened)) is None:
            return
        missing = await self._scenes_without_vectors(asker, id, opened, embedder)
        for first in range(0, len(missing), BATCH):
            batch = missing[first : first + BATCH]
            vectors = await asyncio.to_thread(scene_vectors, embedder, batch)
            await self._rows.keep_vectors(asker.space, id, embedder.name, vectors)
        if missing:
            contents = [scene.content for scene in opened.script.scenes]
            await self._rows.drop_vectors(asker.space, id, embedder.name, contents)

    async def cosines(self, asker: Reader, id: str, opened: OpenScript, query: str) -> Floats | None:
        """`SceneVectors.cosines` of a query; None without an embedder for its language, or if the service fails."""
        try:
            if (embedder := await self._embedder(opened, query)) is None:
                return None
            query_vector = await asyncio.to_thread(embedder.query, query)
            vectors = await self._scene_vectors(asker, id, opened, embedder.name, query_vector.size)
            return vectors.cosines(query_vector)
        except UserError as error:
            _log.warning("a script is searched only by words: %s", error)
            return None

    async def _scene_vectors(
        self, asker: Reader, id: str, opened: OpenScript, embedder: str, dimensions: int
    ) -> SceneVectors:
        """The vectors of an open script, read again only if another scene has got vectors since."""
        by_embedder = self._vectors.setdefault(opened, {})
        vectors = by_embedder.get(embedder)
        if vectors is None or not vectors.whole:
            contents = await self._rows.embedded(asker, id, embedder)
            if vectors is None or vectors.stale(contents):
                stored = await self._rows.vectors(asker, id, embedder)
                vectors = await asyncio.to_thread(SceneVectors, opened.script.scenes, stored, dimensions)
                by_embedder[embedder] = vectors
        return vectors

    async def _embedder(self, opened: OpenScript, query: str = "") -> Embedder | None:
        if not self._embedding.configured or (embedder := await self._embedding.get()) is None:
            return None
        language = opened.search.language
        languages = list(dict.fromkeys([language, "en", "pt"]))
        question = detect_question(query, languages) if query else None
        return embedder if may_vote(embedder.languages, question, language) else None

    async def _scenes_without_vectors(
        self, asker: Reader, id: str, opened: OpenScript, embedder: Embedder
    ) -> list[Scene]:
        embedded = await self._rows.embedded(asker, id, embedder.name)
        scenes = {scene.content: scene for scene in opened.script.scenes}
        return [scene for content, scene in scenes.items() if content not in embedded]


def pieces(scene: Scene) -> list[str]:
    """A scene's words in pieces of whole lines, each after the heading."""
    parts: list[str] = []
    for line in _short_lines(scene):
        if parts and len(parts[-1]) + len(line) < PIECE_CHARS:
            parts[-1] += f"\n{line}"
        else:
            parts.append(f"{scene.heading.text}\n{line}" if parts else line)
    return parts[:MOST_PIECES]


def _short_lines(scene: Scene) -> Iterator[str]:
    for line in scene.text.split("\n"):
        yield from (line[at : at + PIECE_CHARS] for at in range(0, max(1, len(line)), PIECE_CHARS))


def scene_vectors(embedder: Embedder, scenes: Sequence[Scene]) -> dict[str, bytes]:
    """Each scene's vectors as half-precision numbers, by content; blocking."""
    import numpy as np

    parts = [pieces(scene) for scene in scenes]
    vectors = embedder.passages([piece for scene_pieces in parts for piece in scene_pieces])
    packed, at = {}, 0
    for scene, scene_pieces in zip(scenes, parts, strict=True):
        packed[scene.content] = vectors[at : at + len(scene_pieces)].astype(np.float16).tobytes()
        at += len(scene_pieces)
    return packed


class SceneVectors:
    """The vectors of a script's scenes, stored by content; `whole` says that no scene lacks them."""

    def __init__(self, scenes: Sequence[Scene], stored: Mapping[str, bytes], dimensions: int) -> None:
        """Read the stored vectors; those with another number of dimensions are ignored. Blocking."""
        import numpy as np

        self._contents = {scene.content for scene in scenes}
        self._embedded = self._contents & stored.keys()
        rows, self._starts, self._places, at = [], list[int](), list[int](), 0
        for place, scene in enumerate(scenes):
            flat = np.frombuffer(stored.get(scene.content, b""), dtype=np.float16)
            if flat.size and flat.size % dimensions == 0:
                rows.append(flat.reshape(-1, dimensions).astype(np.float32))
                self._starts.append(at)
                self._places.append(place)
                at += len(rows[-1])
        self._matrix = np.concatenate(rows) if rows else np.zeros((0, dimensions), dtype=np.float32)
        self._scenes = len(scenes)
        self.whole = len(rows) == len(scenes)

    def stale(self, contents: Set[str]) -> bool:
        """Whether the scenes that have vectors now, `contents`, are others than those read here."""
        return self._contents & contents != self._embedded

    def cosines(self, query: Floats) -> Floats:
        """(scenes,): the cosine of a query, of length 1, with each scene's nearest piece; 0 for one without vectors."""
        import numpy as np

        cosines = np.zeros(self._scenes, dtype=np.float32)
        if self._places:
            nearest = np.maximum.reduceat(self._matrix @ query, self._starts)
            cosines[self._places] = np.maximum(nearest, 0)
        return cosines
