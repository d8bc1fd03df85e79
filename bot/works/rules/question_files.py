"""Files that a question brings along: they answer that question alone, instead of a shelf, or beside the one it names.

Knows no platform. What was fetched is removed at the run's end (`Incoming`), and nothing else is kept of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bot.events import File, Notice, Request, Run, Sorry
from bot.readers.kinds import PICTURES, SUFFIXES, suffix_of
from bot.retrieval.attached import Attached
from bot.retrieval.found import Found
from bot.retrieval.intake import Item
from bot.words import Words

if TYPE_CHECKING:
    from bot.incoming import Incoming
    from bot.retrieval.files import Refused
    from bot.retrieval.intake import Intake
    from bot.retrieval.library import Library

WHOLE_CHARS = 6_000
"""A text of no more characters is handed to a model whole, as many as a dozen passages have."""


@dataclass(frozen=True, slots=True)
class Own:
    """A question's own texts, if it has brought any that can be read, and what is to be said of the others."""

    library: Library
    attached: Attached | None = None
    names: tuple[str, ...] = ()
    left_out: tuple[Refused, ...] = field(default=())

    def __bool__(self) -> bool:
        return self.attached is not None

    async def languages(self, space: str) -> list[str]:
        """Raises Sorry where a file cannot be read."""
        if self.attached is None:
            return []
        return await self.library.within(self.attached).languages(space, "")

    def notices(self, say: Words) -> list[Notice]:
        return [Notice(say(one.key, **one.values)) for one in self.left_out]

    def searched(self, *, shelf: bool, whole: bool) -> Library | Search:
        """What the question is put to. `shelf`: one was named; `whole`: a model reads it, which needs no choice."""
        pinned = self.library.pinned()
        if self.attached is None:
            return pinned
        return Search(
            self.library.within(self.attached), self.attached, pinned if shelf else None, whole=whole
        )


class Search:
    """A strategies.searching.Searchable over a question's files."""

    def __init__(self, within: Library, attached: Attached, shelf: Library | None, *, whole: bool) -> None:
        self._within = within
        self._attached = attached
        self._shelf = shelf
        self._whole = whole

    async def search(self, space: str, shelf: str, question: str, *, k: int | None = None) -> Found:
        found = await self._within.search(space, "", question, k=k)
        # A look-up of its headings would find them on no shelf.
        own = replace(found, nearest=[], see_also=[])
        if self._whole and (every := await self._within.whole(space, self._attached, WHOLE_CHARS)):
            scores = {one.chunk: one.score for one in own.passages}
            every = [replace(one, score=scores.get(one.chunk, 0.0)) for one in every]
            own = replace(own, passages=every, confident=True)
        if self._shelf is None:
            return own
        other = await self._shelf.search(space, shelf, question, k=k)
        there = other.passages if other.confident or not own.confident else []
        half = max(1, len(other.passages) // 2)
        mine = own.passages[:half] if there and not self._whole else own.passages
        return replace(
            other,
            passages=[*mine, *there[:half]],
            confident=own.confident or other.confident,
            notices=list(dict.fromkeys([*own.notices, *other.notices])),
        )


class QuestionFiles:
    def __init__(self, incoming: Incoming, intake: Intake, library: Library) -> None:
        self._incoming = incoming
        self._intake = intake
        self._library = library

    async def of(self, run: Run) -> Own:
        """Fetch what the request brings, a step for each file. Raises Sorry where that leaves nothing to answer from.

        Beside a question a file of no use is only said to be left out: the question goes to the shelf, as without it.
        """
        files = [one for one in brought_by(run.request) if not is_picture(one)]
        if not files:
            return Own(self._library)
        brought, refused = await self._incoming.bring(
            run, (*SUFFIXES, *PICTURES), self._intake.max_bytes, files=files, copied=True
        )
        other = [one for one in refused if one.key != "library.file_kind"]
        if not brought and (other or run.request.options.get("file")):
            raise Sorry((other or refused)[0].key, **(other or refused)[0].values)
        if not brought:
            return Own(self._library, left_out=tuple(refused))
        attached = Attached(self._intake, [Item(one.name, one.path) for one in brought])
        return Own(self._library, attached, tuple(one.name for one in brought), tuple(refused))


def is_picture(file: File) -> bool:
    """Whether it is to be looked at, by its name (see `question_pictures`)."""
    return suffix_of(file.name) in PICTURES


def brought_by(request: Request) -> Sequence[File]:
    """The files of the question, with the one that it names. Raises Sorry where it names one, and there is none."""
    named = request.options.get("file")
    if not isinstance(named, str):
        return request.files
    # Anywhere else a path would be one of the server's, and whoever types it is not its owner.
    if request.place.platform == "terminal":
        path = Path(named).expanduser()
        return (*request.files, File(path.name, str(path), 0))
    if not request.files:
        raise Sorry("rules.file_attach")
    return request.files
