"""Turns an event, a command or a press on Slack into a request for App.

Every refusal and every fault ends here as one sentence to the person alone. When these methods return, the request is
stored, so the caller may return too and so acknowledge. Independent of the look of answers and events.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from bot import commands
from bot.adapters import intake
from bot.adapters.intake import KeyedLocks, Recent
from bot.adapters.invocation import (
    NOTHING,
    QUOTABLE,
    Brought,
    Invocation,
    late_invocation,
    with_brought,
)
from bot.adapters.log_redaction import type_and_trace
from bot.adapters.slack import placing
from bot.adapters.slack.installed.faults import NOT_IN_CHANNEL
from bot.adapters.slack.placing import PLATFORM, RESPONSE_SECONDS, Location, Origin, origin_of
from bot.adapters.slack.received.brought import LINK, linked
from bot.adapters.slack.received.line import parsed_of
from bot.adapters.slack.received.people import People, Person
from bot.adapters.slack.shown.ephemeral import show, tell
from bot.adapters.slack.text.render import as_typed, help_page
from bot.adapters.surface import PlaceClosed, SurfaceFault
from bot.commands import HELP
from bot.events import Author, File, PressedLate, Request
from bot.runs.requests import event_id
from bot.verb import SHARE, TYPED
from bot.waiting import Background
from bot.words import Words, words
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.adapters.slack.installed.workspaces import Workspaces
    from bot.adapters.stored_choices import VoteCounts
    from bot.app import App
    from bot.config import Config
    from storage.sessions import ThreadRow

Ack = Callable[..., Awaitable[Any]]
MOST: Final = 8_192
"""The most events in memory: more than arrive within the five minutes in which Slack repeats one."""
AGAIN_S: Final = 420.0
"""Seconds for which they stay there."""
PLACED_S: Final = 1.0
"""Seconds to wait for Slack's answer whether the bot is in a direct conversation."""
DAY_S: Final = 86_400.0
"""Seconds for which that answer is cached."""
LEAVE_S: Final = 5.0
"""Seconds that `close` waits for sentences that are not sent yet."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Begun:
    """An event that is being handled, and the run that it has begun.

    Bolt responds with the content of the last acknowledgement, so there must be only one. `response_url` is a secret.
    """

    location: Location
    response_url: str = field(repr=False)
    run: str = ""
    acknowledged: bool = False


class Intake(intake.Intake):
    """Handles what people send; one per process. `turns`, by channel and root, keeps messages in the order in which
    Slack sends them.
    """

    counts: VoteCounts

    def __init__(self, app: App, config: Config, workspaces: Workspaces, people: People) -> None:
        super().__init__(app, PLATFORM, placing.for_one, config.limits)
        self.config = config
        self.workspaces = workspaces
        self.people = people
        self.turns = KeyedLocks()
        self._taking = KeyedLocks()
        self._runs_of_events = Recent[str, str](MOST, AGAIN_S)
        """The runs that events have begun, "" for none, keyed by the id of the run that each event would begin.

        It holds only events of this process; the inbox knows earlier ones. Without it a refusal would be shown twice,
        and a mention, which arrives as two events, would count twice against the limit.
        """
        self._others = Recent[tuple[str, str], bool](MOST, DAY_S)
        """The direct conversations in which commands were used, and whether they are without the bot."""
        self._background = Background()
        self.later = self._background.start
        """Runs something in a task that no acknowledgement waits for."""

    async def line(
        self,
        location: Location,
        event: str,
        text: str,
        ack: Ack,
        *,
        files: tuple[File, ...] = (),
        along: Brought = NOTHING,
    ) -> None:
        """Perform a line: a command, with or without its slash, or plain text. `along` becomes part of a question."""

        async def asked() -> Invocation:
            parsed, goes = parsed_of(text, files), placing.home(location, ordered=False)
            thread_row = await self.app.records.threads.get(location.space, location.real)
            place = placing.place(location, event="", goes=goes, thread_row=thread_row)
            asked = await self.interpreted(parsed, files, place, location.user)
            if asked.row in QUOTABLE:
                return asked if along == NOTHING else with_brought(asked, along)
            return asked if text else Invocation(HELP)

        await self.perform(location, event, asked, ack)

    async def located(self, location: Location) -> Location:
        """The location, with `others` if it is a direct conversation without the bot, where people may use commands,
        too.
        """
        key = location.space, location.channel
        if location.direct and key not in self._others:
            try:
                async with asyncio.timeout(PLACED_S):
                    client = await self.workspaces.client(location.team, location.enterprise)
                    await client.conversations_info(channel=location.channel)
                self._others.note(key, False)
            except PlaceClosed as closed:
                self._others.note(key, closed.code in NOT_IN_CHANNEL)
            except (SurfaceFault, StorageFault, TimeoutError) as fault:
                _log.info("whose a direct conversation is could not be asked: %s", type(fault).__name__)
        return replace(location, others=location.direct and self._others.get(key, False))

    async def hint(self, location: Location, event: str, key: str, **values: object) -> None:
        """Show a sentence of the catalogue to the person alone, once, unless they have already had too many."""

        async def tell() -> None:
            await self.tell(location, (await self.words(location))(key, **values))

        await self.aside(location, event, key, tell)

    async def aside(
        self, location: Location, event: str, label: str, do: Callable[[], Coroutine[Any, Any, Any]]
    ) -> None:
        """Run `do` without a run, once per event, unless the person has already had too many of these."""
        run = event_id(PLATFORM, location.space, f"{label}:{event}")
        async with self._taking.lock(run):
            if run not in self._runs_of_events and not self.too_many_hints(location):
                self._runs_of_events.note(run, "")
                self.later(do())

    def first(self, location: Location, event: str) -> bool:
        """Whether no window has been opened yet for the event, which Slack may send more than once."""
        run = event_id(PLATFORM, location.space, f"window:{event}")
        if run in self._runs_of_events:
            return False
        self._runs_of_events.note(run, "")
        return True

    def never(self, location: Location, event: str) -> None:
        """Ignore the event if Slack sends it later or again."""
        self._runs_of_events.note(event_id(PLATFORM, location.space, event), "")

    async def words(self, location: Location) -> Words:
        """The words in the language that is set here, else that of the person's Slack."""
        person, place = await self.people.person(location), placing.place(location, event="", goes="here")
        return words(self.app.settings.known_locale(place, location.user, person.locale))

    async def tell(self, location: Location, text: str, response_url: str = "") -> None:
        """Show a text to the person alone; never raises."""
        await tell(self.workspaces, location, text, response_url)

    async def holds(self, location: Location) -> bool:
        """Whether the bot already takes part in this thread, or is about to. Raises StorageFault."""
        if not location.thread:
            return False
        if await self.app.records.threads.get(location.space, location.real) is not None:
            return True
        here, records = (location.space, PLATFORM, location.channel, location.thread), self.app.records
        return await records.sessions.active(*here) is not None or await records.inbox.waiting_at(*here)

    @asynccontextmanager
    async def reporting_faults(
        self, location: Location, *, response_url: str = ""
    ) -> AsyncGenerator[Begun, None]:
        """Show any fault of the body to the person, without waiting for that, so that the acknowledgement is not
        delayed.
        """
        begun = Begun(location, response_url)
        try:
            yield begun
        except Exception as error:
            self.later(self._tell_of(begun, error))

    async def close(self) -> None:
        """Wait for the remaining tasks, for a limited time."""
        if self._background.tasks:
            _, late = await asyncio.wait(self._background.tasks, timeout=LEAVE_S)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)
        await self.people.close()

    async def check(self, location: Location, invocation: Invocation) -> None:
        """Raise UserError if the run of this invocation would refuse what was typed into its window."""
        row = invocation.row
        person = await self.people.person(location, fresh=row.for_admins(invocation.text, invocation.options))
        thread_row = await self.app.records.threads.get(location.space, location.real)
        await self.app.dispatcher.check(request_of(invocation, location, "", person, thread_row))

    async def perform(
        self,
        location: Location,
        event: str,
        asked: Invocation | Callable[[], Awaitable[Invocation]],
        ack: Ack,
        *,
        response_url: str = "",
    ) -> str:
        """Perform an event's invocation once, even if Slack sends the event more than once. Returns the run's id; "" if
        it was refused, which is shown to the person.

        `event` is the event's own id, the same for each delivery, even if Slack sends two events for one message. A
        message's id has its channel and ts, under which a mention arrives twice; a command's its trigger_id; an
        action's its channel, message, action_ts and user; a window's its view id.
        """
        run = event_id(PLATFORM, location.space, event)
        acknowledged = False
        async with self._taking.lock(run):  # a second delivery waits for the first
            if (became := self._runs_of_events.get(run)) is None:
                async with self.reporting_faults(location, response_url=response_url) as begun:
                    invocation = asked if isinstance(asked, Invocation) else await asked()
                    await self._take(begun, run, invocation, ack)
                became, acknowledged = begun.run, begun.acknowledged
                # Among refused events only messages arrive twice; a window may be submitted again.
                if became or location.message:
                    self._runs_of_events.note(run, run if became == run else became)  # one string for both
        if not acknowledged:
            await ack()
        return became

    async def _take(self, begun: Begun, run: str, invocation: Invocation, ack: Ack) -> None:
        """Begin the run of an invocation. Returns once it is stored and acknowledged."""
        location, response_url = begun.location, begun.response_url
        row = invocation.row
        if row.secret and invocation.text and location.message and not location.direct:
            # Everybody can read the message, so none of its words are stored.
            invocation = replace(invocation, text="", options={TYPED: True})
        self.count(location, invocation)
        if row.at_once:
            # Answered at once, to the person alone, without a run: nothing has to be stored.
            self.later(self._help(location, invocation.text, response_url))
            return
        # For admins' verbs, Slack is asked again whether the person is an admin.
        fresh = row.for_admins(invocation.text, invocation.options)
        person = await self.people.person(location, fresh=fresh)
        if not person.name:
            person = replace(person, name=words(person.locale)("slack.somebody"))
        thread_row = await self.app.records.threads.get(location.space, location.real)
        place = placing.place(location, event="", goes="here", thread_row=thread_row)
        invocation = await self.arranged(invocation, place, location.user)
        typed = not (location.message or invocation.again or invocation.answers)
        if typed and LINK.search(invocation.text) and row in QUOTABLE:
            invocation = with_brought(invocation, await linked(self.people, location, invocation.text))
        called_in = row.plain and location.thread and location.message
        earlier = bool(called_in) and thread_row is None and not await self.holds(location)
        request = request_of(
            invocation, location, run, person, thread_row, earlier=earlier, response_url=response_url
        )
        await self.keep_pace(request)
        stored = asyncio.get_running_loop().create_future()

        async def acknowledge() -> None:
            begun.run, begun.acknowledged = request.id, True
            await ack()
            stored.set_result(None)

        async def perform() -> None:
            try:
                try:
                    begun.run = (await self.app.perform(request, acknowledge)).run
                except PressedLate as late:
                    instead = late_invocation(request, late)
                    alone = request_of(instead, location, run, person, thread_row, response_url=response_url)
                    begun.run = (await self.app.perform(alone, acknowledge)).run
            except Exception as error:
                self.later(self._tell_of(begun, error))

        task = self.later(perform())
        await asyncio.wait({task, stored}, return_when=asyncio.FIRST_COMPLETED)

    async def _help(self, location: Location, topic: str, response_url: str) -> None:
        async with self.reporting_faults(location, response_url=response_url):
            me = await self.workspaces.installed(location.team, location.enterprise)
            page = help_page(await self.words(location), topic, me.name)
            await show(self.workspaces, location, page, response_url)

    async def _tell_of(self, begun: Begun, error: Exception) -> None:
        location = begun.location
        say = await self.words(location)
        typed = partial(as_typed, thread=bool(location.thread), files=say("slack.with_files"))
        sentence = intake.sentence(say, error, begun.run, adapt=typed)
        if not (location.message and self.too_many_hints(location)):
            await self.tell(location, sentence, begun.response_url)


def called_in(past: Request, location: Location) -> str:
    """For a repeated request in its thread, the ts of the message that called the bot into an existing thread;
    otherwise "".
    """
    if not past.origin:
        return ""
    origin = origin_of(past.origin)
    same_thread = origin.earlier and (origin.channel, origin.thread) == (location.channel, location.thread)
    return origin.message if same_thread else ""


def request_of(
    invocation: Invocation,
    location: Location,
    run: str,
    person: Person,
    thread_row: ThreadRow | None = None,
    *,
    earlier: bool = False,
    response_url: str = "",
) -> Request:
    """The request. `thread_row` is the row of this thread if it is the bot's; `earlier`: the thread existed before the
    bot was called.

    `response_url` is a secret, "" for none.
    """
    row = invocation.row
    before = called_in(invocation.again, location) if invocation.again is not None else ""
    earlier = earlier or before != ""
    personal = row.personal and not invocation.options.get(SHARE.name)
    private = bool(invocation.options.get("private")) or personal
    # A private answer about shared play is shown where the play is; any other opens its own conversation.
    apart = row.ordered and not (private and commands.KINDS[row.work].shared)
    goes = placing.home(location, ordered=apart, private=private)
    place = placing.place(location, event=run, goes=goes, thread_row=thread_row)
    if row.stops and not location.thread:
        # The message is at the channel's root. Like a command, it stops what its author has begun in the channel.
        place = replace(place, thread="")
    origin = Origin(
        home=goes,
        channel=location.channel,
        user=location.user,
        team=location.team,
        enterprise=location.enterprise,
        thread=location.thread or location.message,
        message=before or location.message,
        response_url=response_url,
        until=time.time() + RESPONSE_SECONDS if response_url else 0.0,
        earlier=earlier,
        others=location.others,
    )
    outside = person.outside_of(location)
    author = Author(location.user, person.name, admin=person.admin, zone=person.zone, outside=outside)
    invocation = replace(invocation, plain=invocation.plain or earlier)
    request = intake.request_of(invocation, run, place, author, person.locale, origin)
    asked_in = invocation.again.asked_in if invocation.again is not None and location.direct else None
    if goes == "direct":
        asked_in = replace(place, channel=location.channel, thread="")
    return replace(request, asked_in=asked_in)


async def unattended(label: str, doing: Coroutine[Any, Any, None]) -> None:
    """Run something that nobody waits for. A fault is logged in a line that begins with `label`."""
    try:
        await doing
    except (SurfaceFault, StorageFault) as fault:
        _log.warning("%s: %s", label, fault)
    except Exception as fault:
        _log.error("%s: %s", label, type_and_trace(fault))
