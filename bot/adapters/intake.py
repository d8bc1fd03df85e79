"""Turns a platform's event into a request for App: the part that all platforms with messages share.

Limits how often a person asks, keeps a channel's messages in order, refuses what is deleted or another person's, and
finds the verb for plain text. Independent of platforms: each reads its events into these values, acknowledges them, and
shows sentences to one person.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import ChainMap
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Protocol, TypeVar
from weakref import WeakValueDictionary

from bot import commands, mention
from bot.adapters.footer import RUN
from bot.adapters.home import leave_place
from bot.adapters.invocation import Invocation, PendingForm, pending_form
from bot.adapters.markdown import title
from bot.command_line import Parsed
from bot.commands import FOLLOW_UP, ON_MESSAGE, UNDER
from bot.commands import RUN as RUN_OF
from bot.events import Author, File, Place, Request, UserError
from bot.faults import in_words
from bot.prompts import as_yaml
from bot.runs.requests import REPEATS, event_id
from bot.settings import EVERYTHING
from bot.verb import PRIVATE
from bot.words import Words
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.app import App
    from bot.config import LimitsConfig
    from bot.verb import Verb

K = TypeVar("K")
V = TypeVar("V")

WINDOW = "modal"
"""The kind of stored offers that holds pending forms, so that a window also works after a restart."""
MODAL = rf"modal:{RUN}"
"""The pattern of a window's id. It contains the id of the run that the opening event would have begun."""
KEPT = timedelta(days=1)
"""How long a window may stay open; most older ones have been dismissed."""
RUN_DIGITS = 8
"""Digits of a run's id in sentences: enough to find it in the log."""

HINTS = 3
"""Hints per person within the config's `[limits] seconds`: about messages that were no request, or one too many."""
PEOPLE = 4_096
"""The most people whose counts are kept in memory before expired ones are dropped."""
PARTS: Final = 5
"""The most groups of what was noted recently."""

_log = logging.getLogger(__name__)


class Origin(Protocol):
    """Where a request came from, and where its answer goes."""

    def to_json(self, *, title: str, asked: str) -> str:
        """The form stored with the request. `title` is that of a conversation which the request begins."""


class Location(Protocol):
    """A person and the place where they act."""

    @property
    def user(self) -> str | int: ...

    @property
    def space(self) -> str:
        """The tenant."""

    @property
    def real(self) -> str:
        """The thread's id in `storage.sessions`, "" where there is none."""


@dataclass(slots=True)
class _Count:
    began: float
    taken: int = 0


class Cooldowns:
    """Limits requests per person and time. `clock` gives seconds; tests pass their own."""

    def __init__(self, requests: int, seconds: float, clock: Callable[[], float] = time.time) -> None:
        self._requests = requests
        self._seconds = seconds
        self._clock = clock
        self._counts: dict[tuple[str, Hashable], _Count] = {}

    def take(self, space: str, user: Hashable) -> float:
        """Count one request. Returns the seconds to wait if it is one too many, else 0."""
        now, author_key = self._clock(), (space, user)
        if len(self._counts) >= PEOPLE:
            self._counts = {
                person: count for person, count in self._counts.items() if now < count.began + self._seconds
            }
        count = self._counts.get(author_key)
        if count is None or now >= count.began + self._seconds:
            count = self._counts[author_key] = _Count(now)
        if count.taken == self._requests:
            return count.began + self._seconds - now
        count.taken += 1
        return 0.0


class Recent(ChainMap[K, V]):
    """What was noted in the last minutes, such as the ids of events that a platform may send again: values by key, for
    `seconds` or a quarter longer, and at most `most` of them; the oldest are dropped in groups.

    Each group is a plain dictionary: an entry with its own time takes twice the memory.
    """

    def __init__(self, most: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._most = most
        self._group_s = seconds / (PARTS - 1)
        self._clock = clock
        self._until = clock() + self._group_s

    def note(self, key: K, value: V) -> None:
        now = self._clock()
        if now >= self._until or len(self.maps[0]) >= self._most // PARTS:
            self.maps = [{}, *self.maps[: PARTS - 1]]
            self._until = now + self._group_s
        self.maps[0][key] = value


class KeyedLocks:
    """A lock for each key, such as a channel; it exists while it is held or waited for. It keeps a channel's events in
    the order in which the platform sends them, although the storage may answer in any order.
    """

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()

    def lock(self, key: Hashable) -> asyncio.Lock:
        """The key's lock; callers get it in order of arrival."""
        return self._locks.setdefault(key, asyncio.Lock())

    async def after(self, key: Hashable) -> None:
        """Wait until all present holders and waiters have finished."""
        async with self.lock(key):
            pass


class Intake:
    """The intake of one platform. `for_one` says of a request's origin whether only the asker sees the answer."""

    def __init__(self, app: App, platform: str, for_one: Callable[[str], bool], limits: LimitsConfig) -> None:
        self.app = app
        self._platform = platform
        self._for_one = for_one
        self._waiting = limits.waiting
        self._asks, self._looks, self._presses, self._slips = (
            Cooldowns(most, limits.seconds)
            for most in (limits.questions, limits.commands, limits.presses, HINTS)
        )

    def count(self, location: Location, asked: Invocation | None = None) -> None:
        """Count a request of this person: a question to a model, a press or a turn, or another command.

        Raises UserError for one too many. Help and stopping are not counted.
        """
        row = asked.row if asked is not None else None
        if row is not None and (row.at_once or row.stops):
            return
        counts = self._looks
        if asked is not None and asked.row.asks_models(asked.text, asked.options):
            counts = self._asks
        elif asked is not None and (asked.answers or asked.row.turn):
            counts = self._presses
        if seconds := counts.take(location.space, location.user):
            raise UserError("edge.slow_down", n=int(seconds) + 1)

    async def keep_pace(self, request: Request) -> None:
        """Raise UserError for a turn while the person already has the allowed number of turns waiting in its place."""
        is_turn = commands.ROWS[request.work, request.verb].turn
        if is_turn and await self.app.runs.turns(request) >= self._waiting:
            raise UserError("edge.turns_waiting", n=self._waiting)

    def too_many_hints(self, location: Location) -> bool:
        """Count a hint about a message that was no request. Returns whether it is one too many and is left out."""
        return self._slips.take(location.space, location.user) > 0

    async def thread_deleted(self, place: Place, real: str) -> None:
        """After a thread was deleted: archive its conversation and stop its runs and schedules. Raises UserError."""
        await self.app.stop(place)
        records = self.app.records
        with in_words():
            if session := await records.sessions.active(*place.key):
                await records.own_sessions.archive(place.space, session.author_id, session.id)
            await records.threads.forget(place.space, real)
            await leave_place(records.schedules, place)

    async def channel_gone(self, space: str, platform: str, channel: str) -> None:
        """After a channel was deleted or the bot has lost it: stop its runs and schedules. Raises UserError."""
        channel_key = (space, platform, channel)
        await self.app.runs.stop_where(
            lambda request: (
                (request.place.space, request.place.platform, request.place.channel) == channel_key
            )
        )
        with in_words():
            await leave_place(self.app.records.schedules, Place(platform, space, channel, ""))

    async def interpreted(
        self, parsed: Parsed, files: tuple[File, ...], place: Place, author: str
    ) -> Invocation:
        """The invocation of a parsed message; plain text becomes the work of the place's session. Raises UserError."""
        row = parsed.verb or commands.ROWS[await self.app.plain(place, author, parsed.text)]
        return Invocation(row, parsed.text, parsed.options, files, plain=parsed.verb is None)

    async def arranged(self, invocation: Invocation, place: Place, author: str) -> Invocation:
        """The invocation adapted to the channel's settings: with a private answer if that is the channel's default.
        Raises UserError.
        """
        row = invocation.row
        if spoken := row is commands.PLAY and "leave" not in invocation.options:
            row = commands.ROWS[await self.app.plain(place, author, invocation.text)]
        pressed = invocation.answers and not spoken
        decided = PRIVATE.name in invocation.options or pressed or invocation.again is not None
        if decided or not await self.app.channel_rules.answers_privately(row, place):
            return invocation
        return replace(invocation, options={**invocation.options, PRIVATE.name: True})

    async def overheard(
        self, place: Place, author: Author, event: str, text: str, *, mentions_people: bool, replies: bool
    ) -> bool:
        """Whether a message that does not address the bot is still meant for it. Raises UserError, StorageFault."""
        if not text or await self.app.channel_rules.listens(place) != EVERYTHING:
            return False
        work, verb = await self.app.plain(place, author.id, text)
        run = event_id(self._platform, place.space, event)
        request = Request(run, place, author, work, verb, text=text)
        return await self.app.plain_text.asks(request, mentions_people=mentions_people, replies=replies)

    async def repetition(self, location: Location, run: str) -> Invocation:
        """A run's request once more, in its present words. Raises UserError if it is deleted or another person's."""
        past = await self.app.request_of(location.space, run)
        if past is None or self._for_another(past, location):
            raise UserError("edge.gone")
        row = commands.ROWS[past.work, past.verb]
        if row.argument is not None and row.argument.required and not (past.text or past.files):
            raise UserError("edge.gone")  # its author has deleted it
        options = dict(past.options)
        if commands.KINDS[row.work].pressed is not None:
            options[UNDER] = f"{RUN_OF}{run}"
        return Invocation(row, past.text, options, past.files, again=past)

    async def called_on_message(
        self, location: Location, row: Verb, messages: Sequence[str], channel: str
    ) -> Invocation:
        """The invocation of a verb from the menu of a message in this `channel` (see Place). `messages` are the ids by
        which the outbox may know it.

        Raises UserError if the message belongs to no run, or is for another person alone.
        """
        with in_words():
            shown_by = await self.app.records.outbox.shown_by(location.space, *messages)
        for run, stage in shown_by:
            past = await self.app.request_of(location.space, run)
            if past is not None and past.place.channel == channel and not self._for_another(past, location):
                return Invocation(row, options={ON_MESSAGE: stage}, answers=run)
        raise UserError("edge.no_answer")

    async def hidden(self, location: Location, run: str) -> bool:
        """Whether only another person may see the run's request and answer. Raises UserError."""
        # People can stop an answer even if the database is away.
        live = self.app.runs.of(location.space, run)
        past = live.request if live is not None else await self.app.request_of(location.space, run)
        return past is not None and self._for_another(past, location)

    def _for_another(self, past: Request, location: Location) -> bool:
        return past.origin != "" and past.author.id != str(location.user) and self._for_one(past.origin)

    async def sweep(self) -> None:
        """Delete pending forms of expired windows."""
        await self.app.records.offers.sweep(WINDOW, KEPT)

    async def wording(self, location: Location, prompt: str) -> str:
        """The present text of a prompt, to be edited in a window. Raises UserError."""
        return as_yaml((await self.app.prompts.wording(location.space, prompt)).text)

    async def store_form(self, location: Location, event: str, form: PendingForm, *, admin: bool) -> str:
        """Store a pending form. Returns the id that its window carries. Raises UserError.

        `admin`: the person may change what the whole space shares.
        """
        if form.row.admin and not admin:
            raise UserError("app.admins", verb=form.row.path)
        self.count(location)
        window = event_id(self._platform, location.space, event)
        stored = replace(form, author=str(location.user)).to_json()
        await self.app.records.offers.keep(
            location.space, window, WINDOW, [stored], author_id=str(location.user)
        )
        return window

    async def stored_form(self, location: Location, window: str) -> PendingForm | None:
        """The pending form of this person's window; None if it is deleted."""
        stored = await self.app.records.offers.get(location.space, window, WINDOW, 0)
        form = pending_form(stored) if stored is not None else None
        return form if form is not None and form.author == str(location.user) else None


def rewords(parsed: Parsed, past: Request) -> bool:
    """Whether an edited line gives its request other words: it is still plain text, or the same verb, or another that
    takes the words of a turn.
    """
    row, before = parsed.verb, commands.ROWS[past.work, past.verb]
    return (
        row is None or row is before or (row.work == before.work and _takes_turn(row) and _takes_turn(before))
    )


def _takes_turn(row: Verb) -> bool:
    return row.turn and row.argument is not None and row.argument.required


def request_of(
    invocation: Invocation, run: str, place: Place, author: Author, locale: str, origin: Origin
) -> Request:
    """The request that an invocation makes to App. `run` is the id of the run that it begins."""
    row, text = invocation.row, invocation.text
    readable = mention.readable(text) if "<" in text else text
    line = text if row.plain else f"/{row.path} {readable}".strip()
    options = dict(invocation.options) | ({FOLLOW_UP: True} if invocation.plain else {})
    if invocation.again is not None:
        options[REPEATS] = invocation.again.id
    return Request(
        run,
        place,
        author,
        row.work,
        row.name,
        options,
        text,
        () if row.bare else invocation.files,
        locale,
        origin.to_json(title=title(invocation.title or readable) or row.path, asked=line),
        answers=invocation.answers,
        window=invocation.window or (invocation.again is not None and invocation.again.window),
        quoted=invocation.quoted or (invocation.again.quoted if invocation.again is not None else ()),
    )


def sentence(say: Words, error: BaseException, run: str = "", *, adapt: Callable[[str], str] = str) -> str:
    """The sentence for a refusal or a fault. `run` is given if the request had become one.

    `adapt` converts the Markdown to the platform's. An unforeseen fault goes to the log with the run's digits.
    """
    if isinstance(error, StorageFault):
        _log.warning("storage: %s", error)
        error = UserError(f"storage.{error.kind}")
    if isinstance(error, UserError):
        text = adapt(say(error.key, **error.values))
        return say("edge.run", text=text, run=run[:RUN_DIGITS]) if run else text
    # The sentence quotes no library's exception, because that may hold tokens. The log's formatter removes those.
    _log.error("run %s failed", run or "(none)", exc_info=error)
    return say("app.failed", run=run[:RUN_DIGITS] or "-")
