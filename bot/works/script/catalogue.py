"""The scripts of a space that a person may read: finds them by name, and opens them.

The most recently read scripts stay in memory, each as its newest draft.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from bot.events import Request, UserError
from bot.readers.frames import decode_screenplay, encode_screenplay
from bot.retrieval.titles import normal
from bot.works.script.model import Script, script
from bot.works.script.quotations import Quotations
from bot.works.script.scene_search import SceneSearch
from storage.scripts import VISIBILITIES, Reader, ScriptRow, Visibility

if TYPE_CHECKING:
    from bot.readers.screenplay.elements import Screenplay
    from storage.scripts import Scripts

MOST_OPEN: Final = 8
"""The number of scripts in memory; the least recently read is dropped first."""
MOST_NAMED: Final = 10
"""The maximum number of scripts in a sentence about an ambiguous name."""


def reader(request: Request) -> Reader:
    """The person and the place of a request, which decide which scripts may be read."""
    place = request.place
    return Reader(place.space, request.author.id, place.platform, place.channel, place.thread)


def visibility(request: Request) -> Visibility:
    """Who may read a script, by the request's option `visible`; by default the people in the thread."""
    chosen = str(request.options.get("visible") or "thread")
    return next((visibility for visibility in VISIBILITIES if visibility == chosen), "me")


def body_of(screenplay: Screenplay) -> str:
    """The stored form of a screenplay: JSON."""
    return json.dumps(encode_screenplay(screenplay), ensure_ascii=False, separators=(",", ":"))


class OpenScript:
    """A script as stored by the run `run`; its search and its quotations are made on first use."""

    def __init__(self, run: str, script: Script) -> None:
        self.run = run
        self.script = script

    @cached_property
    def search(self) -> SceneSearch:
        return SceneSearch(self.script)

    @cached_property
    def quotations(self) -> Quotations:
        return Quotations(self.script)


class Catalogue:
    """Finds and opens scripts. In each query `storage.scripts` decides who may read which."""

    def __init__(self, scripts: Scripts) -> None:
        self.rows = scripts
        self._open: OrderedDict[str, OpenScript] = OrderedDict()
        self._opening = asyncio.Lock()

    def drop(self, space: str) -> None:
        """Close all scripts, also those of other spaces; they are opened again when needed."""
        self._open.clear()

    async def resolve(self, asker: Reader, name: str = "") -> ScriptRow:
        """The script with this name, title or id; without a name, the thread's, or the only one that is not private.

        Raises UserError if there is none, or more than one.
        """
        rows = await self.rows.all(asker)
        if not rows:
            raise UserError("script.none")
        if not name.strip():
            return await self._default(asker, rows)
        typed, plain = name.strip(), normal(name)
        for matches in (
            [row for row in rows if typed in (row.id, row.alias)],
            [row for row in rows if normal(row.title) == plain],
            [row for row in rows if plain and plain in normal(row.title)],
        ):
            if len(matches) == 1:
                return matches[0]
            if matches:
                raise UserError("script.several", name=typed[:80], names=title_list(matches))
        raise UserError("script.no_such", name=typed[:80])

    async def _default(self, asker: Reader, rows: Sequence[ScriptRow]) -> ScriptRow:
        focus = await self.rows.focus(asker)
        if focus and (row := next((row for row in rows if row.id == focus[0]), None)):
            return row
        # Others can read the answer here, so scripts that only their owner may read are neither mentioned nor chosen,
        # unless named.
        shared = [row for row in rows if row.visibility != "me"]
        if len(shared) == 1:
            return shared[0]
        if shared:
            raise UserError("script.which", names=title_list(shared))
        raise UserError("script.name_it")

    async def read(self, asker: Reader, row: ScriptRow) -> Script:
        """The present script. Raises UserError if it has been removed."""
        return (await self.open(asker, row, questions=False)).script

    async def draft(self, asker: Reader, row: ScriptRow, number: int) -> Script:
        """A draft of the script. Raises UserError if it is not stored."""
        if number == row.draft:
            return await self.read(asker, row)
        if (body := await self.rows.former(asker, row.id, number)) is None:
            numbers = ", ".join(str(draft.draft) for draft in reversed(await self.rows.drafts(asker, row.id)))
            raise UserError("script.no_draft", number=number, title=row.title, kept=numbers)
        return await asyncio.to_thread(
            lambda: replace(script(decode_screenplay(json.loads(body))), title=row.title)
        )

    async def open(self, asker: Reader, row: ScriptRow, *, questions: bool = True) -> OpenScript:
        """The present script; with `questions`, its search and quotations are made as well. Raises UserError."""
        async with self._opening:
            opened = self._open.get(row.id)
            if opened is None or opened.run != row.run_id:
                stored = await self.rows.read(asker, row.id)
                if stored is None:
                    raise UserError("script.no_such", name=row.title)
                row, body = stored
                parsed = await asyncio.to_thread(lambda: script(decode_screenplay(json.loads(body))))
                # The title page may have the same title as another script's.
                opened = self._open[row.id] = OpenScript(row.run_id, replace(parsed, title=row.title))
                while len(self._open) > MOST_OPEN:
                    self._open.popitem(last=False)
            self._open.move_to_end(row.id)
            if questions:
                await asyncio.to_thread(lambda: (opened.search, opened.quotations))
            return opened


def title_list(rows: Sequence[ScriptRow]) -> str:
    """Titles, each with the short id that distinguishes it."""
    names = "; ".join(f"“{row.title}” ({row.alias})" for row in rows[:MOST_NAMED])
    return f"{names} …" if len(rows) > MOST_NAMED else names
