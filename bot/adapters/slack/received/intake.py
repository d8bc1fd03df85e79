"""Takes in what people ask on Slack: from an event, a command or a press to a request that App performs.

Every refusal and every fault ends here, as one sentence to the person alone. Whoever calls may return, and so
acknowledge, as soon as these do: the request is kept then. Knows neither how an answer looks nor how events do.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from bot import commands
from bot.adapters import telling as sentences
from bot.adapters.cooldown import ASKS, LOOKS, SLIPS, Cooldowns
from bot.adapters.discreet import traced
from bot.adapters.slack import placing
from bot.adapters.slack.placing import PLATFORM, Spot
from bot.adapters.slack.received.asking import Asked, asked_again, only_for_another, request_of
from bot.adapters.slack.received.line import parsed_of
from bot.adapters.slack.received.people import People
from bot.adapters.slack.shown.whisper import show, tell
from bot.adapters.slack.text.help import as_typed, help_page
from bot.adapters.surface import SurfaceFault
from bot.adapters.turns import Turns
from bot.command_line import Parsed, parse
from bot.events import File, OptionValue, Sorry
from bot.faults import in_words
from bot.requests import event_id
from bot.verb import Verb
from bot.words import Words, words
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.adapters.counting import Counts
    from bot.adapters.slack.installed.workspaces import Workspaces
    from bot.app import App, Ticket
    from bot.config import Config

Ack = Callable[..., Awaitable[Any]]
T = TypeVar("T")
UNCOUNTED: Final = "stop"
"""The verb that nobody has to wait for."""
MOST: Final = 8_192
"""Events that are remembered: more than come within the five minutes after which Slack tells of one again."""
LEAVE_S: Final = 5.0
"""How long leaving waits for what is still to be told."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Begun:
    """The run that an event has become, once it has. Bolt answers with what the last acknowledgement carried, so there
    is one.
    """

    run: str = ""
    acknowledged: bool = False


class Intake:
    """One per process. In `turns`, by channel and root, messages are taken in as Slack tells of them."""

    counts: Counts

    def __init__(self, app: App, config: Config, workspaces: Workspaces, people: People) -> None:
        self.app = app
        self.config = config
        self.workspaces = workspaces
        self.people = people
        self._asks, self._looks, self._slips = Cooldowns(ASKS), Cooldowns(LOOKS), Cooldowns(SLIPS)
        self.turns = Turns()
        self._taking = Turns()
        self._became: OrderedDict[str, str] = OrderedDict()
        """What events became, by the id of the run that each would be: "" for none.

        Only what this process has seen; what an earlier one has kept is known to the inbox. Without this a refusal
        would be told twice, and a mention would count for two against whoever asks too much.
        """
        self._going: set[asyncio.Task[Any]] = set()

    async def line(
        self, here: Spot, event: str, text: str, ack: Ack, *, files: tuple[File, ...] = ()
    ) -> None:
        """Do what a line says: a command, also without its slash, or plain text."""

        async def asked() -> Asked:
            parsed = parsed_of(text, files)
            row = parsed.verb or await self._plain(here)
            return Asked(row, parsed.text, parsed.options, files, parsed.verb is None)

        await self._once(here, event, ack, "", asked)

    async def perform(
        self,
        here: Spot,
        event: str,
        row: Verb,
        text: str,
        options: Mapping[str, OptionValue],
        ack: Ack,
        *,
        response_url: str = "",
        answers: str = "",
    ) -> str:
        """Do what a row of the table does: the run's id, "" if it was refused, and told why."""
        asked = Asked(row, text, options, response_url=response_url, answers=answers)
        return await self._once(here, event, ack, response_url, asked)

    async def choose(
        self,
        here: Spot,
        event: str,
        command: str,
        ack: Ack,
        *,
        response_url: str = "",
        private: bool = False,
        answers: str = "",
    ) -> None:
        """Do what a line such as "/rules lookup Grappled" says. `private`: it was offered to one person alone."""

        async def asked() -> Asked:
            row, parsed = line_of(command, private=private)
            return Asked(row, parsed.text, parsed.options, response_url=response_url, answers=answers)

        await self._once(here, event, ack, response_url, asked)

    async def again(self, here: Spot, event: str, run: str, ack: Ack, *, response_url: str = "") -> None:
        """Ask a run's question once more, here, as whoever pressed the button."""

        async def asked() -> Asked:
            past = await self.app.past(here.space, run)
            if past is None:
                raise Sorry("edge.gone")
            return asked_again(past, here, response_url)

        await self._once(here, event, ack, response_url, asked)

    async def hidden(self, here: Spot, run: str) -> bool:
        """Whether what the run was asked, and what came of it, is for somebody else alone. Raises Sorry."""
        past = await self.app.past(here.space, run)
        return past is not None and only_for_another(past, here.user)

    async def hint(self, here: Spot, event: str, key: str, **values: object) -> None:
        """A sentence of the catalogue to the person alone, once, unless they have got many."""

        async def tell() -> None:
            await self.tell(here, (await self.words(here))(key, **values))

        await self.aside(here, event, key, tell)

    async def aside(
        self, here: Spot, event: str, what: str, do: Callable[[], Coroutine[Any, Any, Any]]
    ) -> None:
        """Do what makes no run, once for all that Slack tells of the event, unless the person got much of it."""
        run = event_id(PLATFORM, here.space, f"{what}:{event}")
        async with self._taking.of(run):
            if run not in self._became and not self._slips.take(here.space, here.user):
                self._remember(run, "")
                self.later(do())

    def never(self, here: Spot, event: str) -> None:
        """The event is to become nothing, should Slack tell of it after all, or again."""
        self._remember(event_id(PLATFORM, here.space, event), "")

    def _remember(self, run: str, became: str) -> None:
        self._became[run] = became
        if len(self._became) > MOST:
            self._became.popitem(last=False)

    async def words(self, here: Spot) -> Words:
        """In the language of the person's own Slack."""
        return words((await self.people.of(here)).locale)

    async def tell(self, here: Spot, text: str, response_url: str = "") -> None:
        """Something to the person alone; never raises."""
        await tell(self.workspaces, here, text, response_url)

    def count(self, here: Spot, *, works: bool = False) -> None:
        """Count a request of this person, apart if it `works` long. Raises Sorry for one too many."""
        if seconds := (self._asks if works else self._looks).take(here.space, here.user):
            raise Sorry("edge.slow_down", n=int(seconds) + 1)

    async def bound(self, here: Spot) -> tuple[str, str] | None:
        """The (channel, thread) that the thread is called which the bot opened here; None for all others.

        A message that has just begun one is in none yet. Raises StorageFault.
        """
        if not here.thread:
            return None
        row = await self.app.house.threads.held(here.space, placing.real(here.channel, here.thread))
        return (row.channel, row.thread) if row is not None else None

    async def holds(self, here: Spot) -> bool:
        """Whether the bot is in the conversation of this thread already, or about to be. Raises StorageFault."""
        if not here.thread:
            return False
        if await self.bound(here) is not None:
            return True
        there, house = (here.space, PLATFORM, here.channel, here.thread), self.app.house
        return await house.sessions.active(*there) is not None or await house.inbox.waiting_at(*there)

    @asynccontextmanager
    async def told(self, here: Spot, *, response_url: str = "") -> AsyncGenerator[Begun, None]:
        """Whatever goes wrong inside is told to the person, but not waited for: so is the acknowledgement."""
        begun = Begun()
        try:
            with in_words():
                yield begun
        except Exception as error:
            self.later(self._tell_of(error, here, begun.run, response_url))

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

    async def _once(
        self,
        here: Spot,
        event: str,
        ack: Ack,
        response_url: str,
        asked: Asked | Callable[[], Awaitable[Asked]],
    ) -> str:
        """Take in an event that Slack may tell of more than once, or as two: what it became."""
        run = event_id(PLATFORM, here.space, event)
        acknowledged = False
        async with self._taking.of(run):  # whoever comes meanwhile waits for what comes of it
            if (became := self._became.get(run)) is None:
                async with self.told(here, response_url=response_url) as begun:
                    found = asked if isinstance(asked, Asked) else await asked()
                    await self._take(here, run, found, ack, begun)
                became, acknowledged = begun.run, begun.acknowledged
                # Of what was refused, only a message comes as two events; a window may be sent once more.
                if became or here.message:
                    self._remember(run, became)
        if not acknowledged:
            await ack()
        return became

    async def _take(self, here: Spot, run: str, asked: Asked, ack: Ack, begun: Begun) -> None:
        """From something that says everything to a run; returns once it is kept and acknowledged."""
        row = asked.row
        if row.name != UNCOUNTED:
            self.count(here, works=row.ordered or row.background)
        if row.at_once:
            # Answered on the spot, to the person alone: there is nothing in it to keep or to lose.
            self.later(self._help(here, asked))
            return
        person = await self.people.of(here, fresh=asked.admin)
        if not person.name:
            person = replace(person, name=words(person.locale)("slack.somebody"))
        called_in = bool(row.plain and here.thread and here.message)
        request = request_of(
            asked,
            here,
            run,
            person,
            held=await self.bound(here),
            earlier=called_in and not await self.holds(here),
        )
        kept = asyncio.get_running_loop().create_future()

        async def acknowledge() -> None:
            begun.run, begun.acknowledged = request.id, True
            await ack()
            kept.set_result(None)

        going = self.later(self.app.perform(request, acknowledge))
        await asyncio.wait({going, kept}, return_when=asyncio.FIRST_COMPLETED)
        if going.done():
            begun.run = going.result().run
        else:
            self.later(self._see_through(going, here, request.id, asked.response_url))

    async def _see_through(
        self, going: asyncio.Task[Ticket], here: Spot, run: str, response_url: str
    ) -> None:
        async with self.told(here, response_url=response_url) as begun:
            begun.run = run
            await going

    async def _help(self, here: Spot, asked: Asked) -> None:
        async with self.told(here, response_url=asked.response_url):
            me = await self.workspaces.me(here.team, here.enterprise)
            page = help_page(await self.words(here), asked.text, me.name)
            await show(self.workspaces, here, page, asked.response_url)

    async def _plain(self, here: Spot) -> Verb:
        """What plain text means here; where a conversation only begins, nothing need be asked for that."""
        if here.message and not here.thread:
            return commands.verb(*commands.plain_verb(commands.DEFAULT_WORK))
        held = await self.bound(here)
        goes = placing.home(here, ordered=False)
        return commands.verb(*await self.app.plain(placing.place(here, event="", goes=goes, held=held)))

    async def _tell_of(self, error: Exception, here: Spot, run: str, response_url: str) -> None:
        typed = partial(as_typed, thread=bool(here.thread))
        said = sentences.sentence(await self.words(here), error, run, spoken=typed)
        # Nobody gets the bot to answer each of their messages without end.
        if not (here.message and self._slips.take(here.space, here.user)):
            await self.tell(here, said, response_url)


def line_of(command: str, *, private: bool, asks: bool = False) -> tuple[Verb, Parsed]:
    """What a choice's line says, to one person alone where it was offered so. `asks`: see `parse`. Raises Sorry."""
    parsed = parse(command, asks=asks)
    if parsed.verb is None:
        raise Sorry("edge.gone")
    if private and parsed.verb.option("private") is not None:
        parsed.options["private"] = True
    return parsed.verb, parsed


async def unattended(what: str, doing: Coroutine[Any, Any, None]) -> None:
    """Do what nobody waits for: should it go wrong, the log says so, in a line that begins with `what`."""
    try:
        await doing
    except (SurfaceFault, StorageFault) as fault:
        _log.warning("%s: %s", what, fault)
    except Exception as fault:
        _log.error("%s: %s", what, traced(fault))
