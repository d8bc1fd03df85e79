"""A turn is embedded once, whether or not the extractor has read its scene first."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bot.works.story.work import SHORT
from tests.fakes.embedder import Letters
from tests.fakes.wires import WIRES
from tests.promises.talk import settings, talking
from tests.works.story.extractor import Service
from tests.works.story.writer import START

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bot.retrieval.embedding import Embedder

ONE = "openai:one"


class Reading:
    """An embedder, and the texts that it was given."""

    def __init__(self, embedder: Embedder) -> None:
        self.name, self.dimensions = embedder.name, embedder.dimensions
        self.languages, self.likeness = embedder.languages, embedder.likeness
        self.query = embedder.query
        self._embedder = embedder
        self.read: list[str] = []

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.read += texts
        return self._embedder.passages(texts)


@pytest.mark.slow
@pytest.mark.parametrize("extracts", [True, False])
async def test_a_turn_is_embedded_once_and_without_its_place(tmp_path: Path, extracts: bool) -> None:
    service, embedder = Service(), Reading(Letters(ONE).load(ONE))
    async with WIRES["chat"].service(service) as served:
        served.models = ("small", "tiny")
        toml = f'[embedding]\nmodel = "{ONE}"\n[story]\nextract = {str(extracts).lower()}\n'
        config = settings(tmp_path / "data", served, toml=toml)
        config = replace(config, roles=replace(config.roles, extractor=("fake:tiny",)))
        async with talking(config) as talk:
            await talk.say("/help")
            assert talk.app is not None
            talk.app.resources.embedding.load = lambda _: embedder
            for n in range(SHORT + 2):
                service.finds(place="the crypt")
                await talk.say(START if not n else f"I do thing number {n}.")
            last = f"I do thing number {SHORT + 1}."
            async with asyncio.timeout(60):
                while not any(last in text for text in embedder.read):
                    await talk.say("/help")
    told = [text for text in embedder.read if "thing number" in text]
    assert len(told) == len(set(told)) == SHORT + 1
    assert [text for text in told if "the crypt" in text] == [], (
        "a name of many scenes says little of a sentence"
    )
