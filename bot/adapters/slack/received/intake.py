"""Takes in what people ask on Slack: from an event, a command or a press to a request that App performs.

Every refusal and every fault ends here, as one sentence to the person alone. Whoever calls may return, and so
acknowledge, as soon as these do: the request is kept then. Knows neither how an answer looks nor how events do.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from bot.adapters import intake
from bot.adapters.intake import Invocation, KeyedLocks
from bot.adapters.log_redaction import type_and_trace
from bot.adapters.slack import placing
from bot.adapters.slack.placing import PLATFORM, RESPONSE_SECONDS, Location, Origin, origin_of
from bot.adapters.slack.received.line import parsed_of
from bot.adapters.slack.received.people import People, Person
from bot.adapters.slack.shown.ephemeral import show, tell
from bot.adapters.slack.text.help import as_typed, help_page
from bot.adapters.surface import SurfaceFault
from bot.events import Author, File, Request
from bot.runs.requests import event_id
from bot.words import Words, words
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.adapters.slack.installed.workspaces import Workspaces
    from bot.adapters.stored_choices import VoteCounts
    from bot.app import App
    from bot.config import Config
    from storage.threads import ThreadRow

Ack = Callable[..., Awaitable[Any]]
T = TypeVar("T")
MOST: Final = 8_192
"""Events that are remembered: more than come within the five minutes after which Slack tells of one again."""
LEAVE_S: Final = 5.0
"""How long leaving waits for what is still to be told."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Begun:
    """An event that is taken in: whose it is, and the run that it has become, once it has.

    Bolt answers with what the last acknowledgement carried, so there is one. `response_url` is a secret.
    """

    location: Location
    response_url: str = field(repr=False)
    run: str = ""
    acknowledged: bool = False


class Intake(intake.Intake):
    """One per process. In `turns`, by channel and root, messages are taken in as Slack tells of them."""

    counts: VoteCounts

    def __init__(self, app: App, config: Config, workspaces: Workspaces, people: People) -> None:
        super().__init__(app, PLATFORM, placing.for_one)
        self.config = config
        self.workspaces = workspaces
        self.people = people
        self.turns = KeyedLocks()
        self._taking = KeyedLocks()
        self._became: OrderedDict[str, str] = OrderedDict()
        """What events became, by the id of the run that each would be: "" for none.

        Only what this process has seen; what an earlier one has kept is known to the inbox. Without this a refusal
        would be told twice, and a mention would count for two against whoever asks too much.
        """
        self._going: set[asyncio.Task[Any]] = set()

    async def line(
        self, here: Location, event: str, text: str, ack: Ack, *, files: tuple[File, ...] = ()
    ) -> None:
        """Do what a line says: a command, also without its slash, or plain text."""

        async def asked() -> Invocation:
            parsed, goes = parsed_of(text, files), placing.home(here, ordered=False)
            place = placing.place(here, event="", goes=goes, held=await self.thread_row(here))
            return await self.interpreted(parsed, files, place, here.user)

        await self.perform(here, event, asked, ack)

    async def choose(
        self,
        here: Location,
        event: str,
        command: str,
        ack: Ack,
        *,
        response_url: str = "",
        private: bool = False,
        answers: str = "",
    ) -> None:
        """Do what a line such as "/rules lookup Grappled" says. `private`: it was offered to one person alone."""

        async def asked() -> Invocation:
            return intake.choice_invocation(command, answers, private=private)

        await self.perform(here, event, asked, ack, response_url=response_url)

    async def again(self, here: Location, event: str, run: str, ack: Ack, *, response_url: str = "") -> None:
        """Ask a run's question once more, here, as whoever pressed the button."""
        asked = partial(self.repetition, here, run)
        await self.perform(here, event, asked, ack, response_url=response_url)

    async def hint(self, here: Location, event: str, key: str, **values: object) -> None:
        """A sentence of the catalogue to the person alone, once, unless they have got many."""

        async def tell() -> None:
            await self.tell(here, (await self.words(here))(key, **values))

        await self.aside(here, event, key, tell)

    async def aside(
        self, here: Location, event: str, what: str, do: Callable[[], Coroutine[Any, Any, Any]]
    ) -> None:
        """Do what makes no run, once for all that Slack tells of the event, unless the person got much of it."""
        run = event_id(PLATFORM, here.space, f"{what}:{event}")
        async with self._taking.of(run):
            if run not in self._became and not self.too_many_hints(here):
                self._remember(run, "")
                self.later(do())

    def first(self, here: Location, event: str) -> bool:
        """Whether nothing has been opened for the event yet, which Slack may tell of more than once."""
        run = event_id(PLATFORM, here.space, f"window:{event}")
        if run in self._became:
            return False
        self._remember(run, "")
        return True

    def never(self, here: Location, event: str) -> None:
        """The event is to become nothing, should Slack tell of it after all, or again."""
        self._remember(event_id(PLATFORM, here.space, event), "")

    def _remember(self, run: str, became: str) -> None:
        self._became[run] = became
        if len(self._became) > MOST:
            self._became.popitem(last=False)

    async def words(self, here: Location) -> Words:
        """In the language of the person's own Slack."""
        return words((await self.people.of(here)).locale)

    async def tell(self, here: Location, text: str, response_url: str = "") -> None:
        """Something to the person alone; never raises."""
        await tell(self.workspaces, here, text, response_url)

    async def holds(self, here: Location) -> bool:
        """Whether the bot is in the conversation of this thread already, or about to be. Raises StorageFault."""
        if not here.thread:
            return False
        if await self.thread_row(here) is not None:
            return True
        there, records = (here.space, PLATFORM, here.channel, here.thread), self.app.records
        return await records.sessions.active(*there) is not None or await records.inbox.waiting_at(*there)

    @asynccontextmanager
    async def reporting_faults(
        self, here: Location, *, response_url: str = ""
    ) -> AsyncGenerator[Begun, None]:
        """Whatever goes wrong inside is told to the person, but not waited for: so is the acknowledgement."""
        begun = Begun(here, response_url)
        async with intake.reporting_faults(partial(self._failed, begun)):
            yield begun

    async def _failed(self, begun: Begun, error: Exception) -> None:
        self.later(self._tell_of(begun, error))

    def later(self, doing: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Go on with something that no acknowledgement waits for, or not for long."""
        task = asyncio.create_task(doing)
        self._going.add(task)
        task.add_done_callback(self._going.discard)
        return task

    async def close(self) -> None:
        """Tell what is still to be told, but not for ever."""
        if self._going:
            _, late = await asyncio.wait(self._going, timeout=LEAVE_S)
            for one in late:
                one.cancel()
            if late:
                await asyncio.wait(late)
        await self.people.close()

    async def perform(
        self,
        here: Location,
        event: str,
        asked: Invocation | Callable[[], Awaitable[Invocation]],
        ack: Ack,
        *,
        response_url: str = "",
    ) -> str:
        """Take in an event that Slack may tell of more than once, or as two: the run's id, "" if it was refused, and
        told why.
        """
        run = event_id(PLATFORM, here.space, event)
        acknowledged = False
        async with self._taking.of(run):  # whoever comes meanwhile waits for what comes of it
            if (became := self._became.get(run)) is None:
                async with self.reporting_faults(here, response_url=response_url) as begun:
                    found = asked if isinstance(asked, Invocation) else await asked()
                    await self._take(begun, run, found, ack)
                became, acknowledged = begun.run, begun.acknowledged
                # Of what was refused, only a message comes as two events; a window may be sent once more.
                if became or here.message:
                    self._remember(run, became)
        if not acknowledged:
            await ack()
        return became

    async def _take(self, begun: Begun, run: str, asked: Invocation, ack: Ack) -> None:
        """From something that says everything to a run; returns once it is kept and acknowledged."""
        here, response_url = begun.location, begun.response_url
        row = asked.row
        self.count(here, row)
        if row.at_once:
            # Answered on the spot, to the person alone: there is nothing in it to keep or to lose.
            self.later(self._help(here, asked.text, response_url))
            return
        # Who is one of the admins is asked anew for what is theirs alone.
        person = await self.people.of(here, fresh=asked.admin)
        if not person.name:
            person = replace(person, name=words(person.locale)("slack.somebody"))
        held, called_in = await self.thread_row(here), bool(row.plain and here.thread and here.message)
        earlier = called_in and not await self.holds(here)
        request = request_of(asked, here, run, person, held, earlier=earlier, response_url=response_url)
        kept = asyncio.get_running_loop().create_future()

        async def acknowledge() -> None:
            begun.run, begun.acknowledged = request.id, True
            await ack()
            kept.set_result(None)

        async def perform() -> None:
            async with intake.reporting_faults(partial(self._failed, begun)):
                begun.run = (await self.app.perform(request, acknowledge)).run

        going = self.later(perform())
        await asyncio.wait({going, kept}, return_when=asyncio.FIRST_COMPLETED)

    async def _help(self, here: Location, topic: str, response_url: str) -> None:
        async with self.reporting_faults(here, response_url=response_url):
            me = await self.workspaces.me(here.team, here.enterprise)
            page = help_page(await self.words(here), topic, me.name)
            await show(self.workspaces, here, page, response_url)

    async def _tell_of(self, begun: Begun, error: Exception) -> None:
        here = begun.location
        typed = partial(as_typed, thread=bool(here.thread))
        said = intake.sentence(await self.words(here), error, begun.run, adapt=typed)
        if not (here.message and self.too_many_hints(here)):
            await self.tell(here, said, begun.response_url)


def called_in(past: Request, here: Location) -> str:
    """Of what is asked again in its thread: the ts of the message that called the bot into others' talk, or ""."""
    if not past.origin:
        return ""
    origin = origin_of(past.origin)
    there = origin.earlier and (origin.channel, origin.thread) == (here.channel, here.thread)
    return origin.message if there else ""


def request_of(
    asked: Invocation,
    here: Location,
    run: str,
    person: Person,
    held: ThreadRow | None = None,
    *,
    earlier: bool = False,
    response_url: str = "",
) -> Request:
    """`held` is what the bot holds in this thread; `earlier`: others have talked here before the bot came.

    `response_url` is a secret, "" where there is none.
    """
    row, before = asked.row, called_in(asked.again, here) if asked.again is not None else ""
    earlier = earlier or before != ""
    private = bool(asked.options.get("private")) or asked.personal
    goes = placing.home(here, ordered=row.ordered, private=private)
    place = placing.place(here, event=run, goes=goes, held=held)
    if row.stops and not here.thread:
        # Nothing runs in the thread that the message begins: as a command, it means what its writer has begun here.
        place = replace(place, thread="")
    origin = Origin(
        home=goes,
        channel=here.channel,
        user=here.user,
        team=here.team,
        enterprise=here.enterprise,
        thread=here.root,
        message=before or here.message,
        response_url=response_url,
        until=time.time() + RESPONSE_SECONDS if response_url else 0.0,
        earlier=earlier,
    )
    author = Author(here.user, person.name, admin=person.admin)
    return replace(asked, plain=asked.plain or earlier).request(run, place, author, person.locale, origin)


async def unattended(what: str, doing: Coroutine[Any, Any, None]) -> None:
    """Do what nobody waits for: should it go wrong, the log says so, in a line that begins with `what`."""
    try:
        await doing
    except (SurfaceFault, StorageFault) as fault:
        _log.warning("%s: %s", what, fault)
    except Exception as fault:
        _log.error("%s: %s", what, type_and_trace(fault))
