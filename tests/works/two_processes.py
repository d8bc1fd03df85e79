"""Two processes of the bot on one Postgres, to test that each learns of the other's changes."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from sqlalchemy import create_engine, text

from bot.command_line import parse
from bot.commands import ROWS
from bot.events import Author, File, Place, Request
from bot.runs.requests import request_to_json
from storage.db import new_id
from tests.fakes.app_process import PLATFORM, AppProcess
from tests.wire.model import Answerer, service, settings

WITHIN_S = 1.0
"""How long another process may not know what one has changed."""

ANA = Author("ana", "Ana")
BIA = Author("bia", "Bia", admin=True)

TABLES = "SELECT schemaname, tablename FROM pg_tables WHERE schemaname IN ('public', 'dbos')"
HOLDS = "SELECT count(*) FROM {schema}.{name} AS held WHERE held::text ILIKE :like"

Looks = Callable[[str], bool]


@dataclass
class House:
    """The processes, and the model that both ask."""

    processes: list[AppProcess]
    model: Answerer
    folder: Path
    url: str

    def tables_with(self, word: str) -> list[str]:
        """The tables of the database, the engine's included, that contain the word."""
        engine = create_engine(self.url)
        with engine.connect() as connection:
            tables = connection.execute(text(TABLES)).all()
            found_in = [
                name
                for schema, name in tables
                if connection.scalar(text(HOLDS.format(schema=schema, name=name)), {"like": f"%{word}%"})
            ]
        engine.dispose()
        return found_in

    def table(self) -> Table:
        return Table(self)


@dataclass
class Table:
    """A space for one test, with a channel. `played` lines go to the first process."""

    house: House
    space: str = field(default_factory=new_id)
    played: set[str] = field(default_factory=set)

    @property
    def model(self) -> Answerer:
        return self.house.model

    @property
    def place(self) -> Place:
        return Place(PLATFORM, self.space, "general", "thread")

    def request(self, line: str, by: Author = BIA) -> Request:
        parsed = parse(line)
        assert parsed.verb is not None, line
        options, files = dict(parsed.options), tuple[File, ...]()
        if isinstance(paths := options.get("paths"), list):
            files = tuple(File(Path(path).name, path, Path(path).stat().st_size) for path in paths)
            del options["paths"]
        row = parsed.verb
        return Request(new_id(), self.place, by, row.work, row.name, options, parsed.text, files)

    async def play(self, line: str, by: Author = BIA, *, process: int = 0) -> str:
        """Let a process run the line; returns what was shown, in either process."""
        request = self.request(line, by)
        self.played.add(ROWS[request.work, request.verb].path)
        answer = await self.house.processes[process].order("perform", request=request_to_json(request))
        shown = await self.shown(request.id)
        assert answer["ended"] == "done", (line, answer, shown)
        return shown

    async def refused(self, line: str, by: Author = ANA, *, process: int = 1) -> str:
        """Why the other process refuses it."""
        request = self.request(line, by)
        answer = await self.house.processes[process].order("perform", request=request_to_json(request))
        return str(answer["text"]) if answer["ended"] == "refused" else ""

    async def begin(self, line: str, by: Author = BIA, *, process: int = 0) -> str:
        """Let it start the line; returns its run."""
        request = self.request(line, by)
        self.played.add(ROWS[request.work, request.verb].path)
        await self.house.processes[process].order("begin", request=request_to_json(request))
        return request.id

    async def executing(self, run: str) -> int:
        """The process that executes the run."""
        lives = [await process.order("live") for process in self.house.processes]
        (number,) = [number for number, live in enumerate(lives) if run in live["text"]]
        return number

    async def shown(self, run: str) -> str:
        """What both processes have shown of a run, in order."""
        texts = [await process.order("texts", run=run) for process in self.house.processes]
        in_order = sorted(tuple(shown) for each in texts for shown in each["texts"])
        return "".join(words for _, words in in_order)

    async def read(self, process: int, what: str, by: Author = BIA) -> str:
        """What a process returns for a line, or for one of the words below and its argument."""
        order = self.house.processes[process].order
        if what.startswith("/"):
            return str((await order("read", request=request_to_json(self.request(what, by))))["text"])
        name, _, rest = what.partition(" ")
        place = json.dumps(asdict(self.place))
        if name == "names":
            kind, _, prefix = rest.partition(" ")
            return str((await order("names", kind=kind, prefix=prefix, place=place, author=by.id))["text"])
        if name == "refused":
            return await self.refused(rest, by, process=process)
        if name == "shown":
            return await self.shown(rest)
        if name == "showing":
            return str((await order("showing", run=rest))["text"])
        if name == "ended":
            return str((await order("ended", run=rest))["ended"])
        assert name == "plain", what
        return str((await order("plain", place=place, author=by.id))["text"])

    async def changes(
        self,
        line: str,
        seen: str,
        now: str = "",
        *,
        no_more: str = "",
        by: Author = BIA,
        reader: Author = BIA,
    ) -> str:
        """Play the line: what both processes read before must show its effect within a second."""
        assert now or no_more
        for process in (1, 0):
            before = await self.read(process, seen, reader)
            assert not now or now not in before, (seen, now, before)
            assert not no_more or no_more in before, (seen, no_more, before)
        shown = await self.play(line, by)
        for process in (1, 0):
            await self.sees(
                process, seen, lambda text: now in text and (not no_more or no_more not in text), reader
            )
        return shown

    async def sees(
        self, process: int, what: str, looks: Looks, by: Author = BIA, *, within_s: float = WITHIN_S
    ) -> None:
        """Wait until a process reads it so, at most for a second."""
        ends = time.monotonic() + within_s
        while True:
            began = time.monotonic()
            reads = await self.read(process, what, by)
            if looks(reads):
                return
            assert began < ends, f"process {process} still has for {what!r}: {reads}"
            await asyncio.sleep(0.05)


def found(pattern: str, shown: str) -> str:
    match = re.search(pattern, shown)
    assert match, (pattern, shown)
    return match[1]


@asynccontextmanager
async def opened(folder: Path, url: str, more: str = "") -> AsyncIterator[House]:
    """Two processes on the database at this URL."""
    async with AsyncExitStack() as stack:
        model = Answerer()
        asked = await stack.enter_async_context(service(model))
        asked.models = ("small", "m1", "m2", "m3")
        config = folder / "config.toml"
        config.write_text(f'{settings(asked.base_url)}\n[storage]\nurl = "{url}"\n{more}', encoding="utf-8")
        processes = [AppProcess(config, folder / f"process-{n}") for n in range(2)]
        for process in processes:
            await process.start()
            stack.push_async_callback(process.leave)
        yield House(processes, model, folder, url)
