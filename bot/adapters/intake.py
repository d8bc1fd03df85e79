"""From what a platform tells of to a request that App performs: what is the same wherever there are messages.

Counts what a person asks for, keeps a channel's messages in order, refuses what is gone or somebody else's, finds out
what plain text means. Knows no platform: each reads its events into these values, acknowledges them, and tells a person
something alone.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol
from weakref import WeakValueDictionary

from bot import commands
from bot.adapters.markdown import clean, title
from bot.command_line import Parsed, lacking_text, parse, value_of
from bot.commands import FOLLOW_UP, NAME_FILES, ON_MESSAGE
from bot.events import Author, File, OptionValue, Place, Request, Sorry
from bot.faults import in_words
from bot.prompts import as_yaml
from bot.runs.requests import event_id
from bot.verb import FOR, ME, SHARE, Verb
from bot.words import Words, name_of

if TYPE_CHECKING:
    from bot.app import App
    from storage.threads import ThreadRow

FIELD = "option:"
"""What a field's id begins with."""
WINDOW = "modal"
"""Of the storage's offers, where what a window will complete is kept: one opened before a restart is answered, too."""
KEPT = timedelta(days=1)
"""How long a window may stand open; most of those that are older have been dismissed."""
QUOTED_CHARS = 1_500
"""Of the message that is asked about; the question itself comes on top."""
RUN_DIGITS = 8
"""Of a run's id, as people are told it: enough to find it in the log."""

ASKS = 6
"""Of what takes a model or a book's length."""
LOOKS = 20
"""Of what is done at once, such as dice: a fight needs many."""
SLIPS = 3
"""Of sentences under a message that was no request, or one too many."""
SECONDS = 30.0
PEOPLE = 4_096
"""How many people's counts are kept before those that no longer hold anybody up are dropped."""

_TAKES_FILES = "|".join(path.replace(" ", r"\s+") for path in sorted(NAME_FILES))
_READS_FILES = re.compile(rf"/\s*(?:{_TAKES_FILES}|add|(?:rules\s+)?ask)\b", re.IGNORECASE)
_UNSAFE = re.compile(r"[^\w.-]")

_log = logging.getLogger(__name__)


class Spot(Protocol):
    """Where a person is."""

    @property
    def user(self) -> str | int: ...

    @property
    def space(self) -> str:
        """The tenant."""
        ...

    @property
    def real(self) -> str:
        """What `storage.threads` calls the thread there, "" where there is none."""
        ...


class Origin(Protocol):
    """Where a request came from."""

    def kept(self, *, title: str, asked: str) -> str:
        """As it is kept with the request; `title` is what a conversation that begins with it is called."""
        ...


@dataclass(frozen=True, slots=True)
class Asked:
    """What somebody wants done.

    `plain`: it was no command. `again`: the request that it repeats. `answers`: see Request.
    """

    row: Verb
    text: str = ""
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    files: tuple[File, ...] = ()
    plain: bool = False
    again: Request | None = None
    answers: str = ""

    @property
    def lacks(self) -> bool:
        """Whether it is answered by the button that opens its form, and begins nothing yet."""
        return self.row.lacks(self.text)

    @property
    def admin(self) -> bool:
        """Whether it is for admins alone: also where only a change is, unless it is one's own."""
        mine = self.options.get(FOR.name) == ME
        return self.row.admin or (self.row.sets and self.text.strip() != "" and not mine)

    @property
    def personal(self) -> bool:
        """Whether the answer is for whoever asks alone, because of what it tells."""
        return self.row.personal and not self.options.get(SHARE.name)

    def request(self, run: str, place: Place, author: Author, locale: str, origin: Origin) -> Request:
        row, options = self.row, dict(self.options) | ({FOLLOW_UP: True} if self.plain else {})
        shown = self.text if row.plain else f"/{row.path} {self.text}".strip()
        kept = origin.kept(title=title(self.text) or row.path, asked=shown)
        files = () if row.bare else self.files
        return Request(
            run,
            place,
            author,
            row.work,
            row.name,
            options,
            self.text,
            files,
            locale,
            kept,
            answers=self.answers,
        )


@dataclass(frozen=True, slots=True)
class Field:
    """An option as a window asks for it; it may stay empty. `values`: what is chosen from, each as people read it."""

    name: str
    label: str
    hint: str
    long: bool = False
    values: tuple[tuple[str, str], ...] = ()

    @property
    def id(self) -> str:
        """By what the platform tells of it."""
        return f"{FIELD}{self.name}"


@dataclass(frozen=True, slots=True)
class Unfinished:
    """What still lacks its text, while a window stands open for it: that is put between `before` and `after`.

    `author` is who may finish it: whoever the window is opened for. `channel` and `thread` are where they were, on
    platforms whose windows do not say so themselves. `answers` is the run whose choice opened the window, "" for a
    command's.
    """

    work: str
    verb: str
    author: str = ""
    before: str = ""
    after: str = ""
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    files: tuple[File, ...] = ()
    channel: str = ""
    thread: str = ""
    answers: str = ""

    @property
    def row(self) -> Verb:
        return commands.verb(self.work, self.verb)

    def kept(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False, separators=(",", ":"))

    def asked(self, typed: str, filled: Mapping[str, str] | None = None) -> Asked:
        """`filled`: options of the verb's form, as they were typed or chosen. Raises Sorry ("commands.option_…")."""
        text, options, row = f"{self.before}{typed}{self.after}".strip(), dict(self.options), self.row
        for name in row.form:
            option, value = row.option(name), (filled or {}).get(name, "").strip()
            if option is not None and value:
                options[name] = value_of(row, option, value)
        return Asked(row, text, options, self.files, answers=self.answers)

    def form(self, say: Words) -> list[Field]:
        """What its window asks for besides the text: what the verb's form has and was not given yet."""
        found = []
        for option in filter(None, map(self.row.option, self.row.form)):
            if option.name not in self.options:
                values = tuple((one, say(name_of(one, option.name))) for one in option.choices)
                label = say(name_of(option.name, "option"))
                found.append(
                    Field(
                        option.name, label[:1].upper() + label[1:], say(option.summary), option.long, values
                    )
                )
        return found


def unfinished(kept: str) -> Unfinished:
    """What `Unfinished.kept` wrote, also an earlier release's. Raises ValueError or TypeError for anything else."""
    tree = json.loads(kept)
    return Unfinished(**tree | {"files": tuple(File(**file) for file in tree.get("files", ()))})


@dataclass(slots=True)
class _Count:
    began: float
    taken: int = 0


class Cooldowns:
    """`clock` gives seconds; tests bring their own."""

    def __init__(
        self, requests: int, seconds: float = SECONDS, clock: Callable[[], float] = time.time
    ) -> None:
        self._requests = requests
        self._seconds = seconds
        self._clock = clock
        self._counts: dict[tuple[str, Hashable], _Count] = {}

    def take(self, space: str, user: Hashable) -> float:
        """Count one request; the seconds to wait where it is one too many, else 0."""
        now, who = self._clock(), (space, user)
        if len(self._counts) >= PEOPLE:
            self._counts = {
                one: count for one, count in self._counts.items() if now < count.began + self._seconds
            }
        count = self._counts.get(who)
        if count is None or now >= count.began + self._seconds:
            count = self._counts[who] = _Count(now)
        if count.taken == self._requests:
            return count.began + self._seconds - now
        count.taken += 1
        return 0.0


class KeyedLocks:
    """A lock for each key, such as a channel, for as long as somebody holds it or waits for it: what happens to a
    channel's messages happens in the order in which the platform tells of it. The storage, which is asked about each
    before it is kept, answers in any.
    """

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()

    def of(self, key: Hashable) -> asyncio.Lock:
        """Whoever enters it first goes first."""
        return self._locks.setdefault(key, asyncio.Lock())

    async def after(self, key: Hashable) -> None:
        """Wait until those who have come by now are through."""
        async with self.of(key):
            pass


class Intake:
    """One per platform. `for_one` says of a request's origin whether the answer is for whoever asked alone."""

    def __init__(self, app: App, platform: str, for_one: Callable[[str], bool]) -> None:
        self.app = app
        self._platform = platform
        self._for_one = for_one
        self._asks, self._looks, self._slips = Cooldowns(ASKS), Cooldowns(LOOKS), Cooldowns(SLIPS)

    def count(self, here: Spot, row: Verb | None = None) -> None:
        """Count a request of this person, apart if it takes long. Raises Sorry for one too many.

        For help, and to stop something, nobody has to wait.
        """
        if row is not None and (row.at_once or row.stops):
            return
        works = row is not None and (row.ordered or row.background)
        if seconds := (self._asks if works else self._looks).take(here.space, here.user):
            raise Sorry("edge.slow_down", n=int(seconds) + 1)

    def hinted_enough(self, here: Spot) -> bool:
        """Count a sentence that somebody gets for what was no request; whether it is one too many.

        Nobody gets the bot to talk without end.
        """
        return self._slips.take(here.space, here.user) > 0

    async def held(self, here: Spot) -> ThreadRow | None:
        """What the bot holds in the thread that this is, which is called as it was opened. Raises StorageFault."""
        return await self.app.records.threads.held(here.space, here.real) if here.real else None

    async def gone(self, place: Place, real: str) -> None:
        """A thread is no more: its conversation goes to the archive, and what still runs there stops. Raises Sorry."""
        await self.app.stop(place)
        records, at = self.app.records, (place.space, place.platform, place.channel, place.thread)
        with in_words():
            if session := await records.sessions.active(*at):
                await records.owned.archive(place.space, session.author_id, session.id)
            await records.threads.forget(place.space, real)
            coming = await records.schedules.here(*at)
            await records.schedules.remove(place.space, *(row.id for row in coming))

    async def meant(self, parsed: Parsed, files: tuple[File, ...], place: Place, author: str) -> Asked:
        """What a message asks for: plain text goes to the work of the place's session. Raises Sorry."""
        row = parsed.verb or commands.verb(*await self.app.plain(place, author, parsed.text))
        return Asked(row, parsed.text, parsed.options, files, plain=parsed.verb is None)

    async def same_again(self, here: Spot, run: str) -> Asked:
        """A run's question once more, as it is worded now. Raises Sorry where it is gone, or somebody else's alone."""
        past = await self.app.request_of(here.space, run)
        if past is None or self._for_another(past, here):
            raise Sorry("edge.gone")
        row = commands.verb(past.work, past.verb)
        if row.argument is not None and row.argument.required and not (past.text or past.files):
            raise Sorry("edge.gone")  # whoever asked has taken it back
        return Asked(row, past.text, past.options, past.files, again=past)

    async def of_message(self, here: Spot, row: Verb, messages: Sequence[str], channel: str) -> Asked:
        """What somebody asks for who has called the verb on a message of that `channel` (see Place), which the outbox
        knows by one of these ids.

        Raises Sorry where it is no run's, or for somebody else alone.
        """
        with in_words():
            found = await self.app.records.outbox.shown_by(here.space, *messages)
        for run, stage in found:
            past = await self.app.request_of(here.space, run)
            if past is not None and past.place.channel == channel and not self._for_another(past, here):
                return Asked(row, options={ON_MESSAGE: stage}, answers=run)
        raise Sorry("edge.no_answer")

    async def hidden(self, here: Spot, run: str) -> bool:
        """Whether what the run was asked, and what came of it, is for somebody else alone. Raises Sorry."""
        past = await self.app.request_of(here.space, run)
        return past is not None and self._for_another(past, here)

    def _for_another(self, past: Request, here: Spot) -> bool:
        return past.origin != "" and past.author.id != str(here.user) and self._for_one(past.origin)

    async def sweep(self) -> None:
        """Forget windows that nobody will send any more."""
        await self.app.records.offers.sweep(WINDOW, KEPT)

    async def wording(self, here: Spot, prompt: str) -> str:
        """Today's text of a prompt, to be changed in a window. Raises Sorry."""
        return as_yaml((await self.app.wording(here.space, prompt)).text)

    async def keep(self, here: Spot, event: str, asked: Unfinished, *, admin: bool) -> str:
        """Keep what a window will complete: the id by which it comes back. Raises Sorry.

        `admin`: whoever is here may change what the whole space shares.
        """
        if asked.row.admin and not admin:
            raise Sorry("app.admins", verb=asked.row.path)
        self.count(here)
        window = event_id(self._platform, here.space, event)
        kept = replace(asked, author=str(here.user)).kept()
        await self.app.records.offers.keep(here.space, window, WINDOW, [kept], author_id=str(here.user))
        return window

    async def kept(self, here: Spot, window: str) -> Unfinished | None:
        """What a window of this person's completes; None where that is gone."""
        kept = await self.app.records.offers.get(here.space, window, WINDOW, 0)
        asked = unfinished(kept) if kept is not None else None
        return asked if asked is not None and asked.author == str(here.user) else None


def parsed_of(line: str, files: Sequence[File]) -> Parsed:
    """What a line asks for; files stand for those that it would name, and a form for a text. Raises Sorry."""
    try:
        return parse(line)
    except Sorry as sorry:
        if sorry.key != "commands.missing":
            raise
        if (formed := lacking_text(line)) is not None:
            return formed
        if not files or sorry.values["verb"] not in NAME_FILES:
            raise
    return parse(" ".join([line, *(_UNSAFE.sub("_", one.name) for one in files)]))


def reads_files(line: str) -> bool:
    """Whether it is a question, which the files with it may answer, or a command that takes them in."""
    return bool(line) and (not line.startswith("/") or _READS_FILES.match(line) is not None)


def chosen(command: str, run: str, *, private: bool = False) -> Asked:
    """What the line of one of a run's choices asks for, such as "/rules lookup Grappled". Raises Sorry.

    `private`: it was offered to one person alone.
    """
    parsed = parse(command)
    if parsed.verb is None:
        raise Sorry("edge.gone")
    return Asked(parsed.verb, parsed.text, _kept_private(parsed, private), answers=run)


def lacking(command: str, run: str, *, private: bool = False) -> Unfinished:
    """The same of a choice that asks for words, which come behind the line's own text. Raises Sorry."""
    parsed = parse(command, asks=True)
    if parsed.verb is None:
        raise Sorry("edge.gone")
    before = f"{parsed.text} " if parsed.text else ""
    options = _kept_private(parsed, private)
    return Unfinished(parsed.verb.work, parsed.verb.name, before=before, options=options, answers=run)


def _kept_private(parsed: Parsed, private: bool) -> dict[str, OptionValue]:
    takes = parsed.verb is not None and parsed.verb.option("private") is not None
    return {**parsed.options, "private": True} if private and takes else dict(parsed.options)


def quotation(text: str) -> str:
    """What somebody wrote, cut, as a quotation in Markdown under the question about it; "" of nothing."""
    text = clean(text[: 4 * QUOTED_CHARS].lstrip()).strip()
    if len(text) > QUOTED_CHARS:
        text = text[: QUOTED_CHARS - 1].rstrip() + "…"
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


@asynccontextmanager
async def told(tell: Callable[[Exception], Awaitable[None]]) -> AsyncGenerator[None, None]:
    """Whatever goes wrong inside is told to the person, and goes no further."""
    try:
        with in_words():
            yield
    except Exception as error:
        await tell(error)


def sentence(say: Words, error: BaseException, run: str = "", *, adapt: Callable[[str], str] = str) -> str:
    """A refusal or a fault in words, and never a trace; `run` where the request had become one.

    `adapt` makes it the platform's. What nobody foresaw goes to the log, where its run's digits find it again.
    """
    if isinstance(error, Sorry):
        text = adapt(say(error.key, **error.values))
        return say("edge.run", text=text, run=run[:RUN_DIGITS]) if run else text
    # Not a trace of what a library says: its exceptions may hold tokens. The formatter of the log takes known ones out.
    _log.error("run %s failed", run or "(none)", exc_info=error)
    return say("app.failed", run=run[:RUN_DIGITS] or "-")
