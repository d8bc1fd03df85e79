"""Scenes are found by meaning and by words once they are embedded; until then by words."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from bot.config import Config
from bot.config.settings import EmbeddingConfig
from bot.events import UserError
from bot.readers.screenplay.fountain import fountain
from bot.retrieval.embedding import Embedding
from bot.works.script.catalogue import Catalogue, body_of
from bot.works.script.likeness import Likeness, scene_vectors
from bot.works.script.scene_search import SceneSearch
from storage.db import Database
from storage.scripts import Reader, ScriptRow, Scripts
from tests.fakes import migrated
from tests.fakes.embedder import Letters
from tests.works.course.desk import opened
from tests.works.script.test_answer import FERRY, ferry
from tests.works.script.test_scripts import ADA, Room

EMBEDDER = "openai:one"
SETTINGS = f'[embedding]\nmodel = "{EMBEDDER}"\n'
MISSPELT = "Oil in the whelhouze?"
"""Its letters are those of the wheelhouse, in which no oil is named."""


async def test_vectors_missed_in_an_outage_are_made_later(tmp_path: Path) -> None:
    async with opened(tmp_path, SETTINGS) as desk:
        room, letters = Room(desk), Letters("openai:one")
        embedding, scripts = desk.app.resources.embedding, desk.app.resources.scripts
        reader = Reader("local", "ada")

        def out(name: str) -> None:
            raise UserError("embedding.key_missing", model=name)

        async def ended() -> None:
            for child in await desk.app.resources.records.inbox.children("local", f"{room.runs:032x}"):
                await desk.app.ended(child.id)

        embedding.load = out
        await room.has(ADA, FERRY)
        (row,) = await scripts.all(reader)
        assert "WHEELHOUSE - DAY" not in await room.said(ADA, "ask", MISSPELT)
        assert await scripts.vectors(reader, row.id, "openai:one") == {}

        embedding.load = letters.load
        # This question is answered by words and starts the vectors; the next one is answered by vectors, too.
        assert "WHEELHOUSE - DAY" not in await room.said(ADA, "ask", MISSPELT)
        await ended()
        kept = await scripts.vectors(reader, row.id, "openai:one")
        assert set(kept) == {scene.content for scene in ferry().scenes}
        assert await scripts.vectors(Reader("local", "eve"), row.id, "openai:one") == {}
        assert "WHEELHOUSE - DAY" in await room.said(ADA, "ask", MISSPELT)
        # Some scene is always the most similar, but it is no answer without any word of the question.
        assert "No scene has these words." in await room.said(ADA, "ask", "Zeppelins?")
        await ended()

        # A new draft makes only its missing vectors, and those of removed scenes are deleted.
        await room.has(ADA, FERRY.replace("Eat something", "Eat nothing"), run="second")
        before = kept
        await room.said(ADA, "ask", "The lamp?")
        await ended()
        kept = await scripts.vectors(reader, row.id, "openai:one")
        assert (len(kept), len(set(kept) & set(before))) == (4, 3)
        assert all(kept[content] == before[content] for content in set(kept) & set(before))


def test_meaning_counts_as_well_as_words() -> None:
    search = SceneSearch(ferry())
    by_words = [scene.number for _, scene in search.ranked("lamp oil", 4)]
    assert by_words == [2, 4, 1]
    likest = np.array([0.0, 0.5, 0.9, 0.7], dtype=np.float32)
    fused = search.ranked("lamp oil", 4, cosines=likest)
    assert {scene.number for _, scene in fused} == {1, 2, 3, 4}
    assert fused[0][1].number == 2
    assert [scene.number for _, scene in search.ranked("zeppelin", 2, cosines=likest)] == [3, 4]
    nobody = np.zeros(4, dtype=np.float32)
    assert [scene.number for _, scene in search.ranked("lamp oil", 4, cosines=nobody)] == by_words
    inside = search.ranked("zeppelin", 2, lambda scene: scene.heading.setting == "EXT", likest)
    assert [scene.number for _, scene in inside] == [4, 2]


async def test_existing_vectors_of_an_incomplete_script_are_read_once(tmp_path: Path) -> None:
    class Counting(Scripts):
        reads = 0

        async def vectors(self, reader: Reader, id: str, embedder: str) -> dict[str, bytes]:
            Counting.reads += 1
            return await super().vectors(reader, id, embedder)

    letters = Letters(EMBEDDER)
    embedding = Embedding(Config(tmp_path, tmp_path, embedding=EmbeddingConfig(EMBEDDER)))
    embedding.load = letters.load
    db = await Database.open(migrated.database(tmp_path / "scripts.db"))
    try:
        rows, reader, now = Counting(db), Reader("local", "ada"), datetime(2026, 1, 1, tzinfo=UTC)
        place = ("terminal", "", "")
        row = ScriptRow(
            "1" * 32, "local", "Ferry", "ferry.fountain", "ada", "me", *place, "run", 1, 4, now, now
        )
        await rows.put(row, body_of(fountain(FERRY)))
        likeness, script = Likeness(rows, embedding), await Catalogue(rows).open(reader, row)
        for scenes in (script.script.scenes[:2], script.script.scenes[2:3]):
            vectors = scene_vectors(letters.load(EMBEDDER), scenes)
            await rows.keep_vectors("local", row.id, EMBEDDER, vectors)
            before = Counting.reads
            cosines = [await likeness.cosines(reader, row.id, script, MISSPELT) for _ in range(3)]
            assert Counting.reads == before + 1
            assert all(query is not None and query[scenes[0].number - 1] > 0 for query in cosines)
        assert all(query is not None and query[3] == 0 for query in cosines)
    finally:
        await db.close()
