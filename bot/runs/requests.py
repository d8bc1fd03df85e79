"""Requests as JSON and as rows of the inbox: their ids, the lines they wait in, and how they are stored.

Requests that arrive during a commit share the next one: a commit takes hardly longer for a hundred than for one, and a
platform waits three seconds for an acknowledgement. Starting a run takes as long as ten acknowledgements, so runs start
while no acknowledgement is pending. Knows no platform.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, TypeAlias
from unicodedata import normalize

from bot import commands
from bot.conversation import title_of
from bot.events import Author, Ended, File, Place, Quoted, Request
from storage.faults import StorageFault
from storage.inbox import Inbox, NewRequest

if TYPE_CHECKING:
    from storage.sessions import Sessions

WATCH = "watch"
"""The platform of requests from watched folders, which no person makes."""

ONLY = "only"
"""The option of these requests that names the files to process."""

PLAYED = "played"
"""The key of the child request that repeats the words of another one as if its author had typed them."""

REPEATS = "repeats"
"""The option that holds the run id of the earlier request that this one repeats."""

QUOTED_CHARS = 12
"""The least characters that a request of another person shares with an earlier one to count as a repetition; fewer may
be chance.
"""

MOST = 250
"""The most requests of one commit, well below the number of values that any SQLite accepts in one statement."""

GATE_S = 1.0
"""How many seconds a run waits for pending acknowledgements."""


def event_id(platform: str, space: str, event: str) -> str:
    """The id of the request for a platform's event: the same for each delivery."""
    return sha256("\0".join((platform, space, event)).encode(errors="surrogatepass")).hexdigest()[:32]


def child_id(parent: Request, key: str) -> str:
    """The id of the child run that `parent` begins under this key."""
    return event_id(parent.place.platform, parent.place.space, f"{parent.id}/{key}")


def composed(request: Request) -> Request:
    """The request with the accents of its words and names composed (NFC), so that equal letters are equal names.

    Paths are not changed: a file system may distinguish composed and decomposed names.
    """
    row, options, files = commands.ROWS[request.work, request.verb], dict(request.options), request.files
    for name, value in request.options.items():
        if isinstance(value, str) and ((option := row.option(name)) is None or option.completes != "path"):
            options[name] = normalize("NFC", value)
    if files:
        files = tuple(replace(file, name=normalize("NFC", file.name)) for file in files)
    return replace(request, text=normalize("NFC", request.text), options=options, files=files)


def request_to_json(request: Request) -> str:
    tree = asdict(request)
    # Left out if empty: an earlier release that shares the database may read this, too.
    if tree["author"]["groups"] is None:
        del tree["author"]["groups"]
    if not request.author.outside:
        del tree["author"]["outside"]
    if request.asked_in is not None:
        tree["asked_in"] = request.asked_in.channel
    for name in ("asked_in", "quoted", "proxied"):
        if not tree[name]:
            del tree[name]
    return json.dumps(tree, ensure_ascii=False, separators=(",", ":"))


def request_from_json(text: str) -> Request:
    """The request that `request_to_json` wrote. Raises KeyError or TypeError for anything else."""
    tree = json.loads(text)
    tree["place"] = place = Place(**tree["place"])
    if "asked_in" in tree:
        tree["asked_in"] = replace(place, channel=tree["asked_in"], thread="")
    author = Author(**tree["author"])
    tree["author"] = replace(author, groups=None if author.groups is None else tuple(author.groups))
    tree["files"] = tuple(File(**file) for file in tree["files"])
    tree["quoted"] = tuple(Quoted(**quoted) for quoted in tree.get("quoted") or ())
    return Request(**tree)


def line_of(request: Request) -> Hashable:
    """The line in which a run waits for earlier ones: a library job in its shelf's line, any other run in its place's
    line or in the one that the request names; None if it does not wait.
    """
    verb = commands.ROWS[request.work, request.verb]
    waits = verb.ordered or (request.line != "" if request.parent else verb.background)
    if not waits:
        return None
    if request.line:
        return "line", request.place.space, request.line
    if verb.background:
        return "shelf", request.place.space, str(request.options.get("shelf") or "").strip()
    return request.place


def line_name(request: Request) -> str:
    """The name of the line in which a run waits, "" if it does not wait; the same in every process."""
    line = line_of(request)
    return sha256(repr(line).encode(errors="surrogatepass")).hexdigest()[:32] if line is not None else ""


def row_of(request: Request) -> NewRequest:
    """The inbox row for a request."""
    place, line = request.place, line_name(request)
    return NewRequest(
        id=request.id,
        platform=place.platform,
        space=place.space,
        channel=place.channel,
        thread=place.thread,
        author_id=request.author.id,
        work=request.work,
        verb=request.verb,
        ordered=line != "",
        payload=request_to_json(request),
        parent=request.parent,
        follows=request.answers or str(request.options.get(REPEATS) or ""),
        line=line,
        created_at=datetime.now(UTC),
    )


def readable(payload: str) -> Request | None:
    """The stored request; None if it cannot be read, as one of another release."""
    try:
        return request_from_json(payload)
    except (KeyError, TypeError, ValueError):
        return None


def ended_as(state: str) -> Ended:
    """How the run of an inbox row with this state ended."""
    return "done" if state in ("done", "answered") else "stopped" if state == "stopped" else "failed"


def withdrawn(request: Request) -> bool:
    """Whether its author has withdrawn it: then its words are erased."""
    return not (request.text or request.options or request.files or request.origin)


_Arrival: TypeAlias = tuple[Request, NewRequest, asyncio.Future[int | None]]


class Arrivals:
    """Stores new requests, those that arrive during a commit together."""

    def __init__(
        self, inbox: Inbox, arrived: Callable[[Request, int, datetime], object] | None = None
    ) -> None:
        """`arrived`, if given, is called for each new request with its number and time, in the order of the numbers."""
        self._inbox = inbox
        self._arrived = arrived
        self._turn = asyncio.Lock()
        self._waiting: list[_Arrival] = []

    async def receive(self, request: Request) -> int | None:
        """Store the request. Returns its number, or None when it was stored before. Raises StorageFault."""
        number: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, row_of(request), number))
        async with self._turn:
            if not number.done():  # no earlier batch contained it
                batch, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
                await self._keep(batch)
        return await number

    async def _keep(self, batch: Sequence[_Arrival]) -> None:
        _, rows, waiters = zip(*batch, strict=True)
        try:
            numbers = await self._inbox.receive(rows)
        except StorageFault as fault:
            for number in waiters:
                number.set_exception(fault)
        except Exception as error:
            if len(batch) == 1:
                waiters[0].set_exception(error)
            else:  # one request that cannot be stored must not fail the others
                for entry in batch:
                    await self._keep([entry])
        else:
            for request, row, number in batch:
                seq = numbers.pop(request.id, None)
                if seq is not None and self._arrived is not None:
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
        """Keep the gate closed inside the block."""
        self._waiting += 1
        self._empty.clear()
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._empty.set()

    async def passed(self) -> None:
        """Wait until it is open, for at most GATE_S, because requests may keep arriving."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._timeout_s):
                await self._empty.wait()


class PastRequests:
    """Stored requests, for authors who repeat, delete or edit them. Runs of another space are not found."""

    def __init__(self, inbox: Inbox, sessions: Sessions) -> None:
        self._inbox = inbox
        self._sessions = sessions

    async def request(self, space: str, run: str) -> Request | None:
        """The run's request; None if this space has no such run, or if its row cannot be read."""
        row = await self._inbox.get(run)
        return readable(row.payload) if row is not None and row.space == space else None

    async def stands(self, request: Request) -> bool:
        """Whether the request still has its words: a withdrawn one has no words and no answer."""
        past = await self.request(request.place.space, request.id)
        words_of = (request.text, request.options, request.origin)
        return past is not None and (any((past.text, past.options, past.origin)) or not any(words_of))

    async def repeating(self, request: Request) -> list[str]:
        """The later runs that repeat this request's words, because somebody asked again or a reminder was sent."""
        runs = []
        for row in await self._inbox.following(request.place.space, request.id):
            if (other := readable(row.payload)) is None:
                continue
            same_author = other.author.id in ("", request.author.id)
            shorter, longer = sorted((request.text, other.text), key=len)
            if shorter and (
                shorter == longer or (shorter in longer and (same_author or len(shorter) >= QUOTED_CHARS))
            ):
                runs.append(other.id)
        return runs

    async def withdraw(self, request: Request) -> None:
        """Erase the words of the request, its answer and the answer's buttons. This also stops the run."""
        emptied = replace(request, text="", options={}, files=(), origin="", quoted=())
        # A conversation's title is made of its first question, so it is erased, too.
        title = title_of(request.text)
        await self._inbox.withdraw(request.place.space, request.id, request_to_json(emptied), title)

    async def reword(self, space: str, run: str, text: str) -> bool:
        """Store new words of the request and of the question in its conversation. Returns whether this space has the
        run.
        """
        request = await self.request(space, run)
        if request is None or not (request.text or request.origin):  # withdrawn: its words stay erased
            return False
        await self._inbox.reword(run, request_to_json(replace(request, text=text)))
        await self._sessions.reword_exchange(space, run, text)
        return True
