"""Imports files as scripts: reads each in the parser's process, compares it with the stored scripts, and stores it."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bot.events import Event, Request, Stage, Status, Text, UserError, user_error
from bot.readers.sandbox import Sandbox
from bot.readers.screenplay.elements import Screenplay
from bot.retrieval.files import Candidate, Refused, read_whole
from bot.retrieval.titles import normal
from bot.words import Words, words
from bot.work import Run
from bot.works.library import LibraryConfig
from bot.works.library.files import failures, files_of, left_out, named_paths
from bot.works.script.catalogue import Catalogue, body_of, reader, visibility
from bot.works.script.changes import changes
from bot.works.script.length import in_pages
from bot.works.script.model import script
from bot.works.script.report import figures
from storage.scripts import ScriptRow

if TYPE_CHECKING:
    from bot.config import Config
    from bot.incoming import Incoming
    from bot.readers.document import Document
    from bot.works.script.analysis import BackgroundAnalysis

KINDS: Final = (".fdx", ".fountain", ".fadein", ".osf", ".celtx", ".highland", ".trelby", ".txt", ".pdf")
TITLE_CHARS: Final = 200
LISTED: Final = 20
"""How many numbers of changed scenes a message names."""

_ONE_SCRIPT: Final = 1 / 3
"""The minimum share of the longer draft's scenes that the other one must have for them to be drafts of one script."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome for a file. Its only words of the script are the title, since a run's steps outlive a deleted one.

    `known`: the contents are stored already. `changed`, `cut` and `new` are numbers of scenes, `cut` those of the old
    draft.
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
        self, catalogue: Catalogue, incoming: Incoming, max_bytes: int, background: BackgroundAnalysis
    ) -> None:
        self._background = background
        self._catalogue = catalogue
        self._incoming = incoming
        self._max_bytes = max_bytes
        self._sandbox = Sandbox(at_once=1)

    async def events(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        paths = named_paths(request)
        if not paths and not request.files:
            raise UserError("script.no_files")
        files, refused = await files_of(run, self._incoming, paths, self._max_bytes, KINDS)
        count = len(files) + len(refused)
        yield Stage("script", say("script.reading_title", n=count))
        if not files and not refused:
            raise UserError("script.no_files")
        if request.verb == "replace" and len(files) > 1:
            raise UserError("script.one_draft")
        for n, file in enumerate(files):
            yield Status(say("script.reading", name=file.name), n, len(files))
            file_intake = _FileIntake(
                self._catalogue, self._incoming, self._sandbox, request, file, self._max_bytes
            )
            # Two steps: once the draft is stored, its changes can no longer be found.
            outcome = await run.step(f"compare:{n}", partial(file_intake.compare, f"{run.id}:{n}"), Outcome)
            if outcome.refused is not None:
                refused = [*refused, outcome.refused]
                continue
            if not outcome.known:
                await run.step(f"keep:{n}", partial(file_intake.store, outcome, run.id), bool)
            lines = _outcome_lines(outcome, say)
            if not outcome.known and await self._background.begin(run, f"analyse:{n}", outcome.id):
                lines.append(say("script.analysing"))
            yield Text("\n".join(lines) + "\n\n")
        for event in failures(refused, count, say, most=count):
            yield event
        async for notice in left_out(run, paths):
            yield notice


@dataclass(slots=True)
class _FileIntake:
    """One file: read once, compared with the stored scripts, and stored."""

    _catalogue: Catalogue
    _incoming: Incoming
    _sandbox: Sandbox
    _request: Request
    _file: Candidate
    _max_bytes: int
    _document: Document | None = None

    async def compare(self, new: str) -> Outcome:
        """Compare the file with the stored scripts. The id of a new script is a hash of `new`."""
        try:
            return await self._outcome(new)
        except UserError as error:
            values = {key: v if isinstance(v, int) else str(v) for key, v in error.values.items()}
            return Outcome(refused=Refused(self._file.name, error.key, {"name": self._file.name, **values}))

    async def store(self, outcome: Outcome, run: str) -> bool:
        """Store the screenplay according to the outcome."""
        screenplay = await self._read()
        asker, now = reader(self._request), datetime.now(UTC)
        row = ScriptRow(
            outcome.id, asker.space, outcome.title, self._file.name, asker.author_id, visibility(self._request),
            asker.platform, asker.channel, asker.thread, run, outcome.draft, outcome.scenes, now, now,
        )  # fmt: skip
        await self._catalogue.rows.put(row, await asyncio.to_thread(body_of, screenplay))
        await self._catalogue.rows.set_focus(asker, outcome.id)
        return True

    async def _read(self) -> Screenplay:
        name = self._file.name
        if self._document is None:
            data = await self._incoming.read(self._file.path, self._max_bytes)
            try:
                self._document = await self._sandbox.read(_as_script(name), data)
            except UserError as error:
                # It may be readable as a book.
                if error.key in ("library.file_wrong_kind", "library.file_other_kind"):
                    raise UserError("script.wrong_kind", name=name, kind=error.values["kind"]) from error
                raise user_error(
                    error.key, {**error.values, "name": name}, transient=error.transient
                ) from error
        if self._document.screenplay is None:
            raise UserError("cli.no_script")
        return self._document.screenplay

    async def _outcome(self, new: str) -> Outcome:
        screenplay = await self._read()
        title = self._document.title if self._document is not None else ""
        now = await asyncio.to_thread(script, screenplay, title)
        if not now.scenes:
            raise UserError("script.no_scenes")
        typed_title = " ".join(str(self._request.options.get("title") or "").split())
        title_of_draft = typed_title or now.title
        outcome_of = partial(
            Outcome,
            title=title_of_draft[:TITLE_CHARS],
            scenes=len(now.scenes),
            eighths=sum(scene.eighths for scene in now.scenes),
            characters=len(now.characters),
            guessed=now.guessed,
        )
        new_script = partial(outcome_of, id=hashlib.sha256(new.encode()).hexdigest()[:32])
        replaces, asker = self._request.verb == "replace", reader(self._request)
        own_scripts = [
            row for row in await self._catalogue.rows.all(asker) if row.author_id == asker.author_id
        ]
        if (old := await self._draft_of(own_scripts, title_of_draft)) is None:
            return new_script()
        before = await self._catalogue.read(asker, old)
        if before == replace(now, title=before.title):
            return outcome_of(id=old.id, title=old.title, draft=old.draft, known=True)
        draft_changes = await asyncio.to_thread(changes, before, now)
        shared = len(draft_changes.same) + len(draft_changes.changed)
        most = max(len(before.scenes), len(now.scenes))
        differs = shared < most * _ONE_SCRIPT
        if not replaces:
            # Many files still have the title of the template from which they were begun.
            titles = {normal(row.title) for row in own_scripts}
            names = (typed_title,) if typed_title else (title_of_draft, Path(self._file.name).stem)
            free_titles = [title for title in names if normal(title) not in titles]
            if differs and free_titles:
                return new_script(title=free_titles[0][:TITLE_CHARS])
            raise UserError("script.title_taken", title=old.title)
        if differs and not self._request.options.get("yes"):
            raise UserError("script.other_script", title=old.title, shared=shared, n=most)
        # A given name, or the file's, is kept; so is the name of one of two scripts with the same title page.
        printed_title = Screenplay((), before.title_page).title
        others = {normal(row.title) for row in own_scripts if row.id != old.id}
        renamed = (
            normal(old.title) == normal(printed_title or old.title) and normal(title_of_draft) not in others
        )
        return outcome_of(
            id=old.id,
            title=title_of_draft[:TITLE_CHARS] if typed_title or renamed else old.title,
            draft=old.draft + 1,
            changed=[number for _, number in draft_changes.changed],
            cut=list(draft_changes.cut),
            new=list(draft_changes.new),
        )

    async def _draft_of(self, own_scripts: Sequence[ScriptRow], title: str) -> ScriptRow | None:
        """The script of which the file is a draft, or None. Raises UserError if a replacement matches none."""
        asker = reader(self._request)
        if typed := str(self._request.options.get("script") or "").strip():
            row = await self._catalogue.resolve(asker, typed)
            if row.author_id != asker.author_id:
                raise UserError("script.not_yours", title=row.title)
            return row
        same_title = [row for row in own_scripts if normal(row.title) == normal(title)]
        same_file = (
            [row for row in own_scripts if row.source == self._file.name]
            if not self._request.options.get("title")
            else []
        )
        both = [row for row in same_title if row in same_file]
        draft_of = next(iter(both or same_file or same_title), None)
        if draft_of is None and self._request.verb == "replace":
            raise UserError("script.draft_of_what", title=title[:TITLE_CHARS])
        return draft_of


def _outcome_lines(outcome: Outcome, say: Words) -> list[str]:
    values = {
        "title": outcome.title,
        "n": outcome.scenes,
        "length": in_pages(outcome.eighths, say),
        "characters": outcome.characters,
        "draft": outcome.draft,
    }
    if outcome.known:
        return [say("script.known", **values)]
    lines = [say("script.added" if outcome.draft == 1 else "script.drafted", **values)]
    if outcome.guessed:
        lines.append(say("script.guessed"))
    if outcome.draft > 1:
        counts = {"changed": outcome.changed, "cut": outcome.cut, "new": outcome.new}
        counted = [say(f"script.{name}", n=len(numbers)) for name, numbers in counts.items() if numbers]
        lines.append(say("script.changes", told=", ".join(counted)) if counted else say("script.moved"))
        for name, numbers in counts.items():
            if numbers:
                shown = ", ".join(map(str, numbers[:LISTED])) + (" …" if len(numbers) > LISTED else "")
                lines.append(f"- {say(f'script.which_{name}', numbers=shown)}")
    return lines


def _as_script(name: str) -> str:
    """The name under which the file is read: a .txt is read as Fountain."""
    path = Path(name)
    return str(path.with_suffix(".fountain")) if path.suffix.lower() == ".txt" else name


async def report_of(config: Config, file: Path) -> dict[str, Any]:
    """The figures of the script in a file (see `figures`), without a data folder. Raises UserError."""
    max_bytes = config.section(LibraryConfig).max_bytes
    data = await asyncio.to_thread(lambda: read_whole(str(file.resolve()), max_bytes))
    document = await Sandbox().read(_as_script(file.name), data)
    if (screenplay := document.screenplay) is None:
        raise UserError("cli.no_script", name=file.name)
    return await asyncio.to_thread(lambda: figures(script(screenplay, document.title)))
