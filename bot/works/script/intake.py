"""Files taken in as scripts, each in one step of the run: read in the parser's process, compared, kept.

What is new in a draft is told from what is kept by the scenes' contents.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bot.events import Event, Request, Run, Sorry, Stage, Status, Text
from bot.readers.sandbox import Sandbox
from bot.retrieval.files import Candidate, Refused, read_whole
from bot.retrieval.titles import normal
from bot.words import Words, words
from bot.works.library.intake_job import failures, files_of, named_paths
from bot.works.script.catalogue import Catalogue, body_of, reader, visibility
from bot.works.script.drafts import changes
from bot.works.script.length import pages
from bot.works.script.model import script
from storage.scripts import ScriptRow

if TYPE_CHECKING:
    from bot.incoming import Incoming
    from bot.readers.document import Document
    from bot.readers.screenplay.elements import Screenplay
    from bot.works.script.analysing import Analysing
    from bot.works.script.model import Script

KINDS: Final = (".fdx", ".fountain", ".pdf")
TITLE_CHARS: Final = 200
LISTED: Final = 20
"""Scenes that are named of those that a draft changed."""


@dataclass(frozen=True, slots=True)
class TakenIn:
    """What became of a file. No words of the script but its title: this outlives it in the run's steps.

    `known`: it says what is kept already. `changed`, `cut` and `new` are scenes' numbers, `cut` those of the old draft.
    """

    id: str = ""
    title: str = ""
    scenes: int = 0
    eighths: int = 0
    characters: int = 0
    draft: int = 1
    known: bool = False
    guessed: bool = False
    changed: list[int] = field(default_factory=list)
    cut: list[int] = field(default_factory=list)
    new: list[int] = field(default_factory=list)
    refused: Refused | None = None


class ScriptIntake:
    """The verbs add and replace."""

    def __init__(
        self, catalogue: Catalogue, incoming: Incoming, max_bytes: int, analysing: Analysing
    ) -> None:
        self._analysing = analysing
        self._catalogue = catalogue
        self._incoming = incoming
        self._max_bytes = max_bytes
        self._reading = Sandbox(at_once=1)

    async def events(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        named = named_paths(request)
        if not named and not request.files:
            raise Sorry("script.no_files")
        files, refused = await files_of(run, self._incoming, named, self._max_bytes)
        given = len(files) + len(refused)
        yield Stage("script", say("script.reading_title", n=given))
        if not files and not refused:
            raise Sorry("script.no_files")
        if request.verb == "replace" and len(files) > 1:
            raise Sorry("script.one_draft")
        for n, file in enumerate(files):
            yield Status(say("script.reading", name=file.name), n, len(files))
            taking = _Taking(self._catalogue, self._reading, request, file, self._max_bytes)
            # Two steps: once the draft is kept, what it changed could not be told any more.
            taken = await run.step(f"compare:{n}", partial(taking.compared, f"{run.id}:{n}"), TakenIn)
            if taken.refused is not None:
                refused = [*refused, taken.refused]
                continue
            if not taken.known:
                await run.step(f"keep:{n}", partial(taking.kept, taken, run.id), bool)
            lines = _told(taken, say)
            if not taken.known and await self._analysing.begin(run, f"analyse:{n}", taken.id):
                lines.append(say("script.analysing"))
            yield Text("\n".join(lines) + "\n\n")
        for event in failures(refused, given, say):
            yield event


class _Taking:
    """One file's."""

    def __init__(
        self, catalogue: Catalogue, reading: Sandbox, request: Request, file: Candidate, max_bytes: int
    ) -> None:
        self._catalogue = catalogue
        self._reading = reading
        self._request = request
        self._file = file
        self._max_bytes = max_bytes
        self._document: Document | None = None

    async def compared(self, new: str) -> TakenIn:
        """What the file is, beside what is kept; `new` makes the id of one that is."""
        try:
            return await self._compared(new)
        except Sorry as sorry:
            values = {key: v if isinstance(v, int) else str(v) for key, v in sorry.values.items()}
            return TakenIn(refused=Refused(self._file.name, sorry.key, {"name": self._file.name, **values}))

    async def kept(self, taken: TakenIn, run: str) -> bool:
        """Keep it as that."""
        screenplay = await self._read()
        asked, now = reader(self._request), datetime.now(UTC)
        row = ScriptRow(
            taken.id, asked.space, taken.title, self._file.name, asked.author_id, visibility(self._request),
            asked.platform, asked.channel, asked.thread, run, taken.draft, taken.scenes, now, now,
        )  # fmt: skip
        await self._catalogue.rows.put(row, await asyncio.to_thread(body_of, screenplay))
        await self._catalogue.rows.set_focus(asked, taken.id)
        return True

    async def _read(self) -> Screenplay:
        name = self._file.name
        if Path(name).suffix.lower() not in KINDS:
            raise Sorry("library.file_kind", kinds=", ".join(KINDS))
        if self._document is None:
            data = await asyncio.to_thread(read_whole, self._file.path, self._max_bytes)
            try:
                self._document = await self._reading.read(name, data)
            except Sorry as sorry:
                if sorry.key in (
                    "library.file_wrong_kind",
                    "library.file_other_kind",
                ):  # as a book it may be read
                    raise Sorry("script.wrong_kind", name=name, kind=sorry.values["kind"]) from sorry
                raise
        if self._document.screenplay is None:
            raise Sorry("cli.no_script")
        return self._document.screenplay

    async def _compared(self, new: str) -> TakenIn:
        screenplay = await self._read()
        title = self._document.title if self._document is not None else ""
        now = await asyncio.to_thread(script, screenplay, title)
        if not now.scenes:
            raise Sorry("script.no_scenes")
        made = partial(
            TakenIn,
            title=now.title[:TITLE_CHARS],
            scenes=len(now.scenes),
            eighths=sum(one.eighths for one in now.scenes),
            characters=len(now.characters),
            guessed=now.guessed,
        )
        if (old := await self._draft_of(now)) is None:
            return made(id=hashlib.sha256(new.encode()).hexdigest()[:32])
        before = await self._catalogue.read(reader(self._request), old)
        if before == now:
            return made(id=old.id, draft=old.draft, known=True)
        if self._request.verb != "replace":
            raise Sorry("script.title_taken", title=old.title)
        told = await asyncio.to_thread(changes, before, now)
        return made(
            id=old.id,
            draft=old.draft + 1,
            changed=[number for _, number in told.changed],
            cut=list(told.cut),
            new=list(told.new),
        )

    async def _draft_of(self, now: Script) -> ScriptRow | None:
        """Which script of the same owner's this is a draft of. Raises Sorry where a draft is to replace none."""
        asked = reader(self._request)
        if named := str(self._request.options.get("script") or "").strip():
            row = await self._catalogue.meant(asked, named)
            if row.author_id != asked.author_id:
                raise Sorry("script.not_yours", title=row.title)
            return row
        alike = [
            row
            for row in await self._catalogue.rows.all(asked)
            if row.author_id == asked.author_id and normal(row.title) == normal(now.title)
        ]
        if self._request.verb == "replace" and not alike:
            raise Sorry("script.draft_of_what", title=now.title[:TITLE_CHARS])
        return alike[0] if alike else None


def _told(taken: TakenIn, say: Words) -> list[str]:
    values = {
        "title": taken.title,
        "n": taken.scenes,
        "pages": pages(taken.eighths),
        "characters": taken.characters,
        "draft": taken.draft,
    }
    if taken.known:
        return [say("script.known", **values)]
    lines = [say("script.added" if taken.draft == 1 else "script.drafted", **values)]
    if taken.guessed:
        lines.append(say("script.guessed"))
    if taken.draft > 1:
        counts = {"changed": taken.changed, "cut": taken.cut, "new": taken.new}
        told = [say(f"script.{name}", n=len(numbers)) for name, numbers in counts.items() if numbers]
        lines.append(say("script.changes", told=", ".join(told)) if told else say("script.moved"))
        for name, numbers in counts.items():
            if numbers:
                shown = ", ".join(map(str, numbers[:LISTED])) + (" …" if len(numbers) > LISTED else "")
                lines.append(f"- {say(f'script.which_{name}', numbers=shown)}")
    return lines
