"""Requests as JSON and as rows of the inbox, their ids, the line that each waits in, and how they are stored.

Requests that arrive during one commit share the next: a commit takes hardly longer for a hundred than for one, and a
platform waits three seconds for an acknowledgement. Starting a run takes as long as ten acknowledgements, so runs start
while none is pending. Knows no platform.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING
from unicodedata import normalize

from bot import commands
from bot.conversation import title_of
from bot.events import Author, Ended, File, Place, Quoted, Request
from storage.faults import StorageFault
from storage.inbox import Inbox, InboxRow, NewRequest

if TYPE_CHECKING:
    from storage.sessions import Sessions

WATCH = "watch"
"""The platform of the requests of watched folders, which no person makes."""

ONLY = "only"
"""Their option that names the files of the folder which are due."""

PLAYED = "played"
"""The key of the request that plays what another one was about, as if its author had typed it."""

REPEATS = "repeats"
"""The option of a request that asks for the same as an earlier one: the run of that."""

QUOTED_CHARS = 12
"""Characters that somebody else's request has from an earlier one, at least: fewer may be the same by chance."""

MOST = 250
"""Requests of one commit, well below the number of values that any SQLite takes in one statement."""

GATE_S = 1.0
"""How long a run waits for pending acknowledgements."""


def event_id(platform: str, space: str, event: str) -> str:
    """The id of the request of a platform's event: the same for each delivery."""
    return sha256("\0".join((platform, space, event)).encode(errors="surrogatepass")).hexdigest()[:32]


def child_id(parent: Request, key: str) -> str:
    """The id of the run that `parent` begins under this key."""
    return event_id(parent.place.platform, parent.place.space, f"{parent.id}/{key}")


def composed(request: Request) -> Request:
    """The same with the accents of its words and names composed, so that the same letters are the same name.

    Not of paths: a file system may know two names of the same letters.
    """
    row = commands.verb(request.work, request.verb)
    paths = {option.name for option in row.options if option.completes == "path"}
    options = {
        name: normalize("NFC", value) if isinstance(value, str) and name not in paths else value
        for name, value in request.options.items()
    }
    files = tuple(replace(file, name=normalize("NFC", file.name)) for file in request.files)
    return replace(request, text=normalize("NFC", request.text), options=options, files=files)


def request_to_json(request: Request) -> str:
    tree = asdict(request)
    # Left out where they say nothing: an earlier release, which may share the database, reads it, too.
    if tree["author"]["groups"] is None:
        del tree["author"]["groups"]
    if not request.author.outside:
        del tree["author"]["outside"]
    for name in ("asked_in", "quoted", "proxied"):
        if not tree[name]:
            del tree[name]
    return json.dumps(tree, ensure_ascii=False, separators=(",", ":"))


def request_from_json(text: str) -> Request:
    """The request that `request_to_json` wrote. Raises KeyError or TypeError for anything else."""
    tree = json.loads(text)
    tree["place"] = Place(**tree["place"])
    author = Author(**tree["author"])
    tree["author"] = replace(author, groups=None if author.groups is None else tuple(author.groups))
    tree["files"] = tuple(File(**file) for file in tree["files"])
    tree["quoted"] = tuple(Quoted(**quoted) for quoted in tree.get("quoted") or ())
    return Request(**tree)


def line_of(request: Request) -> Hashable:
    """The line in which a run waits for others that came before it: library jobs one per shelf, everything else one
    per place, or a line of its own; None where it waits for nobody.
    """
    verb = commands.verb(request.work, request.verb)
    waits = verb.ordered or (request.line != "" if request.parent else verb.background)
    if not waits:
        return None
    if request.line:
        return "line", request.place.space, request.line
    if verb.background:
        return "shelf", request.place.space, str(request.options.get("shelf") or "").strip()
    return request.place


def line_name(request: Request) -> str:
    """The name of the line in which a run waits, "" where it waits for nobody; the same in every process."""
    line = line_of(request)
    return sha256(repr(line).encode(errors="surrogatepass")).hexdigest()[:32] if line is not None else ""


def row_of(request: Request) -> NewRequest:
    """The inbox's row of a request."""
    place = request.place
    return NewRequest(
        id=request.id,
        platform=place.platform,
        space=place.space,
        channel=place.channel,
        thread=place.thread,
        author_id=request.author.id,
        work=request.work,
        verb=request.verb,
        ordered=line_of(request) is not None,
        payload=request_to_json(request),
        parent=request.parent,
        follows=request.answers or str(request.options.get(REPEATS) or ""),
        line=line_name(request),
        created_at=datetime.now(UTC),
    )


def readable(row: InboxRow) -> Request | None:
    """The row's request; None where it cannot be read."""
    try:
        return request_from_json(row.payload)
    except (KeyError, TypeError, ValueError):
        return None


def ended_as(state: str) -> Ended:
    """The end that an inbox row's state stands for."""
    return "done" if state in ("done", "answered") else "stopped" if state == "stopped" else "failed"


def withdrawn(request: Request) -> bool:
    """Whether its author has taken it back: nothing of it is left."""
    return not (request.text or request.options or request.files or request.origin)


class Arrivals:
    def __init__(self, inbox: Inbox, arrived: Callable[[Request, int, datetime], object]) -> None:
        """`arrived` is called for each fresh request with its number and moment, in the order of the numbers."""
        self._inbox = inbox
        self._arrived = arrived
        self._turn = asyncio.Lock()
        self._waiting: list[tuple[Request, asyncio.Future[int | None]]] = []

    async def receive(self, request: Request) -> int | None:
        """Store the request. Returns its number, or None when it was stored before. Raises StorageFault."""
        number: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, number))
        async with self._turn:
            if not number.done():  # no earlier batch has contained it
                batch, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
                await self._keep(batch)
        return await number

    async def _keep(self, batch: Sequence[tuple[Request, asyncio.Future[int | None]]]) -> None:
        try:
            rows = [row_of(request) for request, _ in batch]
            numbers = await self._inbox.receive(rows)
        except StorageFault as fault:
            for _, number in batch:
                number.set_exception(fault)
        except Exception as error:
            if len(batch) == 1:
                batch[0][1].set_exception(error)
            else:  # one request that cannot be written must not fail the others
                for entry in batch:
                    await self._keep([entry])
        else:
            for (request, number), row in zip(batch, rows, strict=True):
                seq = numbers.pop(request.id, None)
                if seq is not None:
                    self._arrived(request, seq, row.created_at)
                number.set_result(seq)


class AcknowledgementGate:
    """Closed while a request waits for its acknowledgement."""

    def __init__(self, seconds: float = GATE_S) -> None:
        self._timeout_s = seconds
        self._waiting = 0
        self._empty = asyncio.Event()
        self._empty.set()

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Keep the gate closed meanwhile."""
        self._waiting += 1
        self._empty.clear()
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._empty.set()

    async def passed(self) -> None:
        """Wait until it is open, for a limited time: requests may keep arriving."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._timeout_s):
                await self._empty.wait()


class PastRequests:
    """Stored requests, for when their author asks again, deletes or edits. A run of another space is not found."""

    def __init__(self, inbox: Inbox, sessions: Sessions) -> None:
        self._inbox = inbox
        self._sessions = sessions

    async def request(self, space: str, run: str) -> Request | None:
        """The run's request; None where this space has no such run, or its row cannot be read."""
        row = await self._inbox.get(run)
        return readable(row) if row is not None and row.space == space else None

    async def repeating(self, request: Request) -> list[str]:
        """Runs that have the same words from this one: somebody asked again, or its reminder came."""
        runs = []
        for row in await self._inbox.following(request.place.space, request.id):
            if (other := readable(row)) is None:
                continue
            own = other.author.id in ("", request.author.id)
            shorter, longer = sorted((request.text, other.text), key=len)
            if shorter and (
                shorter == longer or (shorter in longer and (own or len(shorter) >= QUOTED_CHARS))
            ):
                runs.append(other.id)
        return runs

    async def withdraw(self, request: Request) -> None:
        """Erase the words of the request, its answer and what the answer offered; that stops the run, too."""
        emptied = replace(request, text="", options={}, files=(), origin="", quoted=())
        # A conversation's title is made of its first question: that goes, too.
        title = title_of(request.text)
        await self._inbox.withdraw(request.place.space, request.id, request_to_json(emptied), title)

    async def reword(self, space: str, run: str, text: str) -> bool:
        """Store new words of the request and of the question in its conversation; whether this space has the run."""
        request = await self.request(space, run)
        if request is None or not (request.text or request.origin):  # withdrawn: its words stay erased
            return False
        await self._inbox.reword(run, request_to_json(replace(request, text=text)))
        await self._sessions.reword_exchange(space, run, text)
        return True
