"""The scripts of a space as one person may read them: which one a name means, and what it says.

What scripts say is kept in memory by their drafts.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

from bot.events import Request, Sorry
from bot.readers.frames import decode_screenplay, encode_screenplay
from bot.retrieval.titles import normal
from bot.works.script.model import Script, script
from bot.works.script.quotations import Quotations
from bot.works.script.searching import SceneSearch
from storage.scripts import VISIBILITIES, Reader, ScriptRow, Visibility

if TYPE_CHECKING:
    from bot.readers.screenplay.elements import Screenplay
    from bot.works.script.likeness import SceneVectors
    from storage.scripts import Scripts

KEPT: Final = 8
"""Scripts in memory; the least recently read goes first."""
NAMED: Final = 10
"""Of several scripts that a name could mean so many are told of."""


def reader(request: Request) -> Reader:
    """Who asks, and where."""
    place = request.place
    return Reader(place.space, request.author.id, place.platform, place.channel, place.thread)


def visibility(request: Request) -> Visibility:
    """Who may read a script, as the request's option says; the thread by default."""
    asked = str(request.options.get("visible") or "thread")
    return next((one for one in VISIBILITIES if one == asked), "me")


def body_of(screenplay: Screenplay) -> str:
    """The screenplay as it is kept."""
    return json.dumps(encode_screenplay(screenplay), ensure_ascii=False, separators=(",", ":"))


class Reading:
    """A script as the run `run` has taken it in; its search and its words to check quotations by, made when needed.

    `vectors`, by their embedder, are there once all have been made (`likeness`).
    """

    def __init__(self, run: str, script: Script) -> None:
        self.run = run
        self.script = script
        self.vectors: dict[str, SceneVectors] = {}

    @cached_property
    def search(self) -> SceneSearch:
        return SceneSearch(self.script)

    @cached_property
    def quotations(self) -> Quotations:
        return Quotations(self.script)


class Catalogue:
    """Finds and reads them. Every way to a script leads through `storage.scripts`, which minds who may read it."""

    def __init__(self, scripts: Scripts) -> None:
        self.rows = scripts
        self._known: OrderedDict[str, Reading] = OrderedDict()
        self._reading = asyncio.Lock()

    async def meant(self, asked: Reader, name: str = "") -> ScriptRow:
        """The script of this name, title or id; without one the thread's, or the only one that is not a secret.

        Raises Sorry where there is none, or more than one.
        """
        rows = await self.rows.all(asked)
        if not rows:
            raise Sorry("script.none")
        if not name.strip():
            return await self._of_thread(asked, rows)
        wanted, plain = name.strip(), normal(name)
        for fits in (
            [row for row in rows if wanted in (row.id, row.alias)],
            [row for row in rows if normal(row.title) == plain],
            [row for row in rows if plain and plain in normal(row.title)],
        ):
            if len(fits) == 1:
                return fits[0]
            if fits:
                raise Sorry("script.several", name=wanted[:80], names=listed(fits))
        raise Sorry("script.no_such", name=wanted[:80])

    async def _of_thread(self, asked: Reader, rows: Sequence[ScriptRow]) -> ScriptRow:
        spoken = await self.rows.focus(asked)
        if spoken and (found := next((row for row in rows if row.id == spoken[0]), None)):
            return found
        # What only its owner may read is not told of, nor chosen, unless it is named: others read along here.
        open_to_all = [row for row in rows if row.visibility != "me"]
        if len(open_to_all) == 1:
            return open_to_all[0]
        raise Sorry("script.which", names=listed(open_to_all)) if open_to_all else Sorry("script.name_it")

    async def read(self, asked: Reader, row: ScriptRow) -> Script:
        """What the script says now. Raises Sorry where it has gone meanwhile."""
        return (await self.open(asked, row, questions=False)).script

    async def open(self, asked: Reader, row: ScriptRow, *, questions: bool = True) -> Reading:
        """The same, with what `questions` to it need."""
        async with self._reading:
            known = self._known.get(row.id)
            if known is None or known.run != row.run_id:
                found = await self.rows.read(asked, row.id)
                if found is None:
                    raise Sorry("script.no_such", name=row.title)
                row, body = found
                made = await asyncio.to_thread(lambda: script(decode_screenplay(json.loads(body)), row.title))
                known = self._known[row.id] = Reading(row.run_id, made)
                while len(self._known) > KEPT:
                    self._known.popitem(last=False)
            self._known.move_to_end(row.id)
            if questions:
                await asyncio.to_thread(lambda: (known.search, known.quotations))
            return known


def listed(rows: Sequence[ScriptRow]) -> str:
    """Titles, each with the short id that tells it from others."""
    names = "; ".join(f"“{row.title}” ({row.alias})" for row in rows[:NAMED])
    return f"{names} …" if len(rows) > NAMED else names
