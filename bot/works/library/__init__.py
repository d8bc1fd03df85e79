"""Library: adds books to shelves, removes and reindexes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bot.check import Check
from bot.config.settings import in_range
from bot.kind import Complete, Kind, Runs, Typed
from bot.verb import PRIVATE, SHELF, Argument, Option, Verb

if TYPE_CHECKING:
    from bot.config import Config
    from bot.resources import Resources
    from bot.words import Words
    from bot.work import Work
    from bot.works.library.watch import Watch


SHELVES = 12
"""The maximum number of books in an overview."""
_SHELF_OR_DEFAULT = replace(SHELF, summary="verbs.option_shelf_or_default")


@dataclass(frozen=True, slots=True)
class LibraryConfig:
    """Folders that are kept in sync with the library of a space, and the maximum size of one file (megabytes)."""

    watch: tuple[Path, ...] = ()
    watch_space: str = "local"
    max_mb: int = in_range(20, 1, 1_000)

    @property
    def max_bytes(self) -> int:
        return self.max_mb * 1_000_000


_verb = partial(Verb, "library")

VERBS: tuple[Verb, ...] = (
    _verb(
        "add",
        "handbook.md notes/ --shelf rules",
        Argument("paths", "verbs.arg_paths", many=True, completes="path"),
        (
            _SHELF_OR_DEFAULT,
            Option("replace", "verbs.option_replace", "flag"),
            Option("ocr", "verbs.option_ocr", "flag"),
        ),
        background=True,
        admin=True,
    ),
    _verb("list", "--shelf rules", options=(SHELF,)),
    _verb("show", "handbook.pdf", Argument("name", "verbs.arg_book", completes="book"), (SHELF, PRIVATE)),
    _verb(
        "remove",
        "handbook.md --shelf rules",
        Argument("name", "verbs.arg_book", completes="book"),
        (_SHELF_OR_DEFAULT,),
        admin=True,
    ),
    _verb("reindex", "--shelf rules", options=(SHELF,), background=True, admin=True),
    _verb("jobs"),
    _verb("cancel", "4f6a1c", Argument("job", "verbs.arg_job", required=False, completes="job")),
)


def make(resources: Resources, runs: Runs) -> Work:
    from bot.commands import KINDS
    from bot.works.library.jobs import JobBoard
    from bot.works.library.no_books import why_no_books
    from bot.works.library.show import BookPage
    from bot.works.library.work import LibraryWork

    max_bytes = resources.config.section(LibraryConfig).max_bytes
    shapes = {name: shape for kind in KINDS.values() for name, shape in kind.shapes(resources.config).items()}
    return LibraryWork(
        resources.library,
        resources.intake,
        resources.jobs,
        resources.incoming,
        JobBoard(resources.jobs, runs.stop_run),
        max_bytes,
        shapes,
        partial(why_no_books, resources),
        BookPage(resources.library, resources.intake, resources.passages, max_bytes),
    )


def _watch(resources: Resources, runs: Runs, work: Work | None) -> Watch:
    from bot.works.library.watch import Watch

    section = resources.config.section(LibraryConfig)
    documents, refused = resources.records.documents, resources.jobs.refused
    return Watch(section.watch, section.watch_space, documents, runs.perform, runs.goes_on, refused)


def _examine(config: Config, say: Words) -> Iterator[Check]:
    """Check the watched folders."""
    from bot.works.library.watch import folder_stamps

    section = config.section(LibraryConfig)
    for folder in section.watch:
        try:
            n = len(folder_stamps(folder))
        except OSError as error:
            yield Check(False, say("doctor.watch_gone", folder=folder, reason=error.strerror))
        else:
            values = {"folder": folder, "shelf": folder.name, "space": section.watch_space}
            yield Check(True if n else None, say("doctor.watch", n=n, **values))


async def _clear(resources: Resources) -> None:
    """Delete what interrupted jobs have left unfinished."""
    await resources.intake.clear()


async def _job(resources: Resources, typed: Typed) -> list[str]:
    from bot.works.library import jobs

    return await jobs.names(resources.jobs, typed.space, typed.prefix)


def _completions(name: str) -> Complete:
    async def names(resources: Resources, typed: Typed) -> list[str]:
        return await resources.library.complete(typed.space, name, typed.prefix, typed.shelf)

    return names


async def _overview(
    resources: Resources, space: str, say: Words, name: Callable[[str], str]
) -> AsyncIterator[str]:
    counts = Counter(book.shelf for book in await resources.records.documents.list(space))
    yield say("slack_home.books" if counts else "slack_home.no_books")
    for shelf, n in sorted(counts.items())[:SHELVES]:
        yield say("slack_home.shelf", shelf=name(shelf), n=n)
    if more := sorted(counts)[SHELVES:]:
        yield say("slack_home.more_shelves", n=len(more))


KIND = Kind(
    "library",
    VERBS,
    make,
    completes={"job": _job} | {name: _completions(name) for name in ("section", "book", "shelf")},
    tidy=_clear,
    overview=_overview,
    sections={"library": LibraryConfig},
    examine=_examine,
    service=_watch,
)
