"""A scripted writer and extractor, and a story played with both."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.fakes.reply import Body, Reply
from tests.fakes.wires import WIRES
from tests.promises.talk import Talk, settings, talking
from tests.works.story.writer import Writer, last


def found(**said: Any) -> dict[str, Any]:
    empty = {"summary": "", "place": "", "time": "", "characters": [], "memories": [], "events": []}
    return empty | {"key_events": [], "contradictions": []} | said


def standing(name: str, **fields: Any) -> dict[str, Any]:
    empty = {
        "where": "",
        "holding": "",
        "wearing": "",
        "mood": "",
        "relations": [],
        "dead": False,
        "present": True,
    }
    return {"character": name, **empty, **fields}


class Service(Writer):
    """`found` are the extractor's next answers; without one it finds nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.extracted: list[Body] = []
        self.broken: dict[str, Reply] = {}
        """The reply to every request about a scene with these words."""
        self.begun = asyncio.Event()
        self.gate: asyncio.Event | None = None
        """The extractor's answers wait until it is set."""

    def __call__(self, asked: Body) -> Reply:
        if asked["model"] != "tiny":
            return super().__call__(asked)
        self.extracted.append(asked)
        self.begun.set()
        for words, reply in self.broken.items():
            if words in last(asked):
                return reply
        if self.gate is not None:
            return Reply(pieces=["{", "}"], gates={1: self.gate})
        return Reply(pieces=[self.found.pop(0) if self.found else json.dumps(found())])

    def finds(self, **said: Any) -> None:
        self.found.append(json.dumps(found(**said)))


@asynccontextmanager
async def playing(
    data: Path, service: Service, *, every: int = 1, extract: bool = True, interrupted: bool = False
) -> AsyncIterator[Talk]:
    async with WIRES["chat"].service(service) as served:
        served.models = ("small", "tiny")
        toml = f'[embedding]\nmodel = "none"\n[story]\nextract_every = {every}\nextract = {json.dumps(extract)}\n'
        config = settings(data, served, toml=toml)
        config = replace(config, roles=replace(config.roles, extractor=("fake:tiny",)))
        async with talking(config, interrupted=interrupted) as talk:
            yield talk


async def looked_into(talk: Talk, scenes: int) -> None:
    """Wait until the extractor has read this many scenes, in quiet runs."""
    assert talk.app is not None
    stories, count = talk.app.resources.stories, 0
    async with asyncio.timeout(60):
        while count < scenes:  # each check lets the runs continue
            (row,) = await stories.all("local")
            whole = await stories.load("local", row.id)
            assert whole is not None
            count = sum(node.kind == "extracted" for node in whole[2])
