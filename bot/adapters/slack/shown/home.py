"""The home of a run on Slack (a new thread, an existing thread, the channel, or the DM) and its view.

If one of them closes, the run continues in another, with a sentence that says so. Independent of events.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from bot import commands
from bot.adapters.composer import Composer
from bot.adapters.home import NAMED, first_message, leave_place
from bot.adapters.slack import placing
from bot.adapters.slack.installed.faults import LOST, NOT_IN_CHANNEL, NOWHERE
from bot.adapters.slack.installed.workspaces import Workspace, Workspaces
from bot.adapters.slack.manifest import CUSTOMIZE
from bot.adapters.slack.shown.ephemeral import EphemeralReply, Response, tell, usable
from bot.adapters.slack.shown.plan import ASKED, PLAN, Plan, Planned
from bot.adapters.slack.shown.stream import WAITS, WORKS, Session, Streams, rename, say_status
from bot.adapters.slack.shown.thread import Thread
from bot.adapters.slack.text.escaping import literal
from bot.adapters.slack.text.render import as_typed, pages, root_page
from bot.adapters.stage_messages import FIRST, Dialect
from bot.adapters.surface import (
    Gone,
    MessageRef,
    MessageStyle,
    NotEditable,
    PlaceClosed,
    Refused,
    Surface,
    SurfaceFault,
    Unavailable,
)
from bot.adapters.writer import Rank, SideTasks, until_available
from bot.conversation import title_of
from bot.words import words
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.adapters.slack.placing import Origin
    from bot.adapters.slack.text.page import Page
    from bot.adapters.writer import Writers
    from bot.events import Elsewhere, Link, Place, Request
    from bot.view import View
    from bot.words import Words
    from storage.outbox import Outbox
    from storage.records import Records

POINTER = "pointer"
"""The outbox key of the pointer: a sentence in the place of the question with a link to the answer."""
SPOKEN = "spoken"
"""The outbox key of a stage's audio, which is no stage itself; each clip is a part of it."""
OWN_KEYS = (ASKED, PLAN, POINTER)
"""The outbox keys of messages that are no stage."""
ROLL_AFTER_S = 210.0
"""Seconds after which a growing text continues in another message; Slack ends a stream after some five minutes."""
WAITS_S = 5.0
"""Seconds without a message after which people are shown that they wait."""
TITLE = 100
"""The most characters of another conversation's title in a link to it."""
_PROMPTS = ("slack_thread.prompt_help", "slack_thread.prompt_books")

_log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class RootMessage:
    """One run's root message. `recalled`: it is from before a crash, and the outbox does not know on which surface."""

    request: Request
    origin: Origin
    outbox: Outbox
    writers: Writers
    say: Words
    recalled: bool = False
    exists: bool = False
    """Always False, so that the writer treats each write as a post."""
    _dropped: bool = False
    _surface: Thread = field(init=False)
    _message: str = ""
    _fault: Exception | None = None

    async def post(self, surface: Thread) -> str:
        """Have the writer post it on this surface. Returns its ts. Raises the faults of a surface."""
        self._surface, self._message, self._fault = surface, "", None
        writer = self.writers.at(surface.key)
        try:
            while not self._message:
                writer.put(self)
                await writer.settled(self)
                if self._fault is not None:
                    raise self._fault
        except asyncio.CancelledError:
            self._dropped = True
            raise
        return self._message

    async def write(self) -> bool:
        """Write the message when the writer calls this. Every step can be repeated after a crash. Raises
        Unavailable.
        """
        surface, space, run = self._surface, self.request.place.space, self.request.id
        if self._dropped:
            return False
        try:
            row = await self.outbox.claim(space, run, ASKED)
            if row.message_id is not None:
                self.recalled, self._message = True, row.message_id
                return True
            page = root_page(self.origin.asked, self.request.author.name, self.say)
            ref = MessageRef(run, ASKED)
            message = None if row.fresh else await surface.find(ref, row.created_at, ())
            try:
                message = message or await surface.post(page, ref, MessageStyle.LAYOUT)
            except Refused:
                message = await surface.post(page, ref, MessageStyle.BARE)
            await self.outbox.mark_sent(space, run, ASKED, message, page.shown)
            self._message = message
        except (Gone, NotEditable, Refused, PlaceClosed, StorageFault) as fault:
            self._fault = fault
        except Unavailable:
            raise
        except Exception:  # our own fault, which a retry would only repeat
            self._fault = Refused("a fault of our own")
            raise
        return True


class SlackHome:
    """Slack's `home.Home`. `opened` is called once the home is open."""

    further = False
    tell: Callable[[str], None]
    opened: Callable[[], None] | None

    def __init__(self, workspaces: Workspaces, request: Request, records: Records, writers: Writers) -> None:
        origin = placing.origin_of(request.origin)
        self._records = records
        self._run = request.id
        self._place = request.place
        self._origin = origin
        self._say = words(request.locale)
        self._named = title_of(request.text)
        self._ordered = commands.ROWS[request.work, request.verb].ordered
        self._workspace = Workspace(workspaces, origin.team, origin.enterprise)
        self._direct = partial(self._workspace.direct, origin.user)
        self._clock = writers.clock
        self._side_tasks = SideTasks(request.id, Rank.PASSING, writers.side_tasks)
        self._session = Session(self._workspace, self._side_tasks, origin.user, origin.title)
        self._at: tuple[str, str] | None = None
        self._told = False
        """Whether the asker is notified if there is no answer."""
        self._moving = asyncio.Lock()
        self.lost: list[Surface[Page]] = []
        self._aside = EphemeralReply(self._workspace, origin, records.offers)
        # In their direct conversation with the bot only the asker reads anyway; a schedule has no asker.
        with_bot = origin.channel.startswith("D") and origin.home != "alone"
        nobody = with_bot or not (origin.channel and origin.user)
        self.response = None if nobody else self._aside
        makes_its_own = origin.home in ("thread", "direct")
        self.root_message = (
            RootMessage(request, origin, records.outbox, writers, self._say) if makes_its_own else None
        )
        # The surface if nothing can be opened. For private runs it is the person's direct conversation.
        inside = origin.thread if origin.home in ("here", "there") else ""
        self.surface: Surface[Page] = (
            Thread(self._workspace, origin.user) if origin.private else self._thread(origin.channel, inside)
        )
        # Between other people nobody can invite the bot.
        away = "not_in_direct" if origin.channel.startswith("D") else "not_in_channel"
        self._why = self._away = self._say(f"slack_thread.{away}")
        self.opened = None
        self.style = MessageStyle.LAYOUT
        self.messages: set[str] = set()
        self.hint = ""
        self.over = False
        self.no_files = ""
        self.private = origin.private
        self.ephemeral = origin.home == "alone"
        self.share = "page.share_there" if origin.home == "direct" else "page.share"

    async def open(self) -> None:
        await self.find()
        origin, surface = self._origin, self.surface
        if isinstance(surface, Thread) and surface.thread and self._ordered and origin.user:
            fresh = self.root_message is not None or (origin.thread == origin.message and not origin.earlier)
            if fresh:
                self.hint = self._say("slack_thread.hint")
            if not self.over:
                channel, thread = self._at = (surface.channel, surface.thread)
                self._session.want(channel, thread, WORKS)
                status = self._say("slack_thread.status")
                self._side_tasks.do(say_status(self._workspace, channel, thread, status))
                if fresh and channel.startswith("D"):
                    prompts = [
                        {"title": self._say(key), "message": self._say(f"{key}_typed")} for key in _PROMPTS
                    ]
                    self._side_tasks.do(self._session.suggest(channel, prompts))
        if self.opened is not None:
            self.opened()

    async def find(self) -> None:
        """Find or create the place, without showing anything else there."""
        origin = self._origin
        try:
            if self.root_message is not None:
                await self._open_thread(self.root_message)
            elif origin.home == "alone":
                self.surface = Thread(self._workspace, await until_available(self._direct))
                self._side_tasks.do(self._point("in_direct"))
            elif origin.home == "there":  # private runs never use a place that others can read
                if (thread := await self._real(self._place)) is not None:
                    self.surface = self._thread(*thread)
                elif origin.private:
                    self.surface = Thread(self._workspace, await until_available(self._direct))
        except SurfaceFault as fault:
            _log.warning("run %s: no thread was opened: %s", self._run, fault)
            if origin.private and self.response is not None:
                self._told = True
                self._side_tasks.do(self._aside.say(self._sentence("no_direct")))

    async def _open_thread(self, root_message: RootMessage) -> None:
        """Post the root message where possible, and use the thread under it."""
        origin, place = self._origin, self._place
        bound = await self._records.threads.real_thread(place.space, place.channel, place.thread)
        if bound is not None:  # before a crash
            channel, thread = placing.parted(bound)
        else:
            channel, thread = await self._post_root(root_message)
            await self._records.threads.bind(place.space, place.channel, place.thread, f"{channel}:{thread}")
        self.surface = self._thread(channel, thread)
        self.messages.add(thread)
        if channel != origin.channel:
            if not origin.private:
                self.tell(self._why)
            self._side_tasks.do(self._point("pointer", channel, thread))

    async def _post_root(self, root_message: RootMessage) -> tuple[str, str]:
        """Post the root message. Returns its channel and ts."""
        origin = self._origin
        if not origin.private:
            try:
                parent = Thread(self._workspace, origin.channel)
                posted = asyncio.Event()
                self._side_tasks.do(self._say_that_it_waits(posted))
                try:
                    root = await root_message.post(parent)
                finally:
                    posted.set()
                if not root_message.recalled or await self._workspace.permalink(origin.channel, root):
                    return origin.channel, root
            except PlaceClosed as closed:
                if closed.code in NOWHERE:
                    raise
                _log.info("run %s: its channel is shut: %s", self._run, closed)
                self._why = self._sentence_of(closed)
        dm = await until_available(self._direct)
        return dm, await root_message.post(Thread(self._workspace, dm))

    async def _say_that_it_waits(self, posted: asyncio.Event) -> None:
        """Show the asker, who sees nothing yet, that they wait if the channel's other messages delay the first one."""
        await self._clock.wait(posted, WAITS_S)
        if not posted.is_set() and self.response is not None:
            await self._aside.say(self._sentence("waits"))

    def _thread(self, channel: str, thread: str) -> Thread:
        """The surface of a thread. Streams need a thread and the asker's workspace."""
        origin = self._origin
        streams = None
        if thread and self._ordered and origin.team and origin.user:
            streams = Streams(
                self._workspace,
                channel,
                thread,
                (origin.team, origin.user),
                self._say("page.working"),
                self._say("slack_thread.held"),
                clock=self._clock,
            )
        return Thread(
            self._workspace,
            channel,
            thread,
            streams=streams,
            never_streamed=(ASKED, PLAN, FIRST, SPOKEN),
            of_others=partial(self._records.outbox.of_others, self._place.space, self._run),
            without_file=self._without_file,
            without_name=self._without_name,
        )

    def _without_file(self, name: str, fault: Exception) -> None:
        _log.warning("run %s: a file was not sent: %s", self._run, fault)
        self.tell(self._say("slack_thread.no_file", name=name))

    def _without_name(self) -> None:
        """Say why a speaker's name is only in bold, once per workspace."""
        if self._workspace.workspaces.nameless(self._workspace.space):
            self.tell(self._say("own_name.no_scope", scope=CUSTOMIZE))

    async def _point(self, key: str, channel: str = "", thread: str = "") -> None:
        """Post the pointer once, to the asker alone, in the place of the question."""
        row = await self._records.outbox.claim(self._place.space, self._run, POINTER)
        if row.fresh:
            link = await self._workspace.permalink(channel, thread) if thread else ""
            where = f"<{link}|{self._say('slack_thread.here')}>"
            content = self._sentence(key, where=where) if link else self._sentence("in_direct")
            message = await self._aside.say(content)
            await self._records.outbox.mark_sent(self._place.space, self._run, POINTER, message, "")

    def _sentence(self, key: str, **values: object) -> dict[str, object]:
        return {"text": self._say(f"slack_thread.{key}", **values), "blocks": []}

    async def overflow(self, *_: object, **__: object) -> None:
        """Tell the asker. Files that Slack has refused have already been named."""
        origin = self._origin
        if self.style is MessageStyle.BARE or self._told or not origin.user:
            return
        url = origin.response_url if usable(origin) else ""
        await tell(self._workspace.workspaces, origin.location, self._say("slack_thread.lost"), url)

    def ending(self) -> None:
        # From now on the end of a stream also ends the session's work: the process may die before `ended`.
        for surface in (self.surface, *self.lost):
            if isinstance(surface, Thread) and surface.streams is not None:
                surface.streams.session = "active"

    async def ended(self) -> None:
        self.ending()  # also where the answer has moved meanwhile
        if self._at is not None:
            self._session.want(*self._at, WAITS)
            await self._session.settled()  # a process that dies before has not shown the end

    def recall(self, message: str) -> None:
        self.messages.add(message)

    async def move(self, surface: Surface[Page], closed: PlaceClosed) -> bool:
        async with self._moving:
            if surface is not self.surface:  # another message of the run has moved it already
                return True
            next_surface = await self._elsewhere(surface, closed)
            if next_surface is None:
                return False
            self.lost.append(surface)
            self.surface, why = next_surface
            if why:
                self.tell(why)
            return True

    async def _elsewhere(
        self, surface: Surface[Page], closed: PlaceClosed
    ) -> tuple[Surface[Page], str] | None:
        """The next surface and the sentence about it. Raises Gone if a user has deleted the thread."""
        origin = self._origin
        root_deleted = closed.code == "thread_not_found"  # deleted by a user: do not repost
        if not origin.user and (root_deleted or closed.code in LOST):  # lost while the bot was off
            place = self._place if root_deleted else replace(self._place, thread="")
            self._side_tasks.do(leave_place(self._records.schedules, place))
        if root_deleted:
            raise Gone
        if closed.code in NOWHERE or origin.private or not origin.user:
            return None
        if origin.home == "channel" and isinstance(surface, Thread) and usable(origin):
            return Response(self._workspace.space, origin), ""
        if isinstance(surface, Thread) and surface.channel.startswith("D"):
            return None
        try:
            dm = await self._direct()
        except (PlaceClosed, Refused, Gone, NotEditable):
            return None
        sentence = self._why if isinstance(surface, Response) else self._sentence_of(closed)
        return Thread(self._workspace, dm), sentence

    def _sentence_of(self, closed: PlaceClosed) -> str:
        """The sentence that says why the answer is in the direct conversation."""
        return self._away if closed.code in NOT_IN_CHANNEL else self._say("thread.closed")

    async def end_messages(self, messages: Sequence[str], note: str) -> None:
        await self.find()
        if isinstance(self.surface, Thread):
            for message in messages:
                with suppress(SurfaceFault):
                    await until_available(
                        partial(self.surface.end_message, message, self._run, f"⏹ {literal(note)}")
                    )
            if self.surface.thread and self._ordered and self._origin.user:
                self._session.want(self.surface.channel, self.surface.thread, WAITS)
                await self._session.settled()

    async def line(self, elsewhere: Elsewhere) -> str:
        """The link to another conversation of this space, whose thread is renamed to the title.

        Slack's threads have no name except their session's title, and are never archived.
        """
        title = literal(elsewhere.title, TITLE) or "…"
        thread = await self._real(elsewhere.place)
        link = await self._workspace.permalink(*thread) if thread is not None else ""
        if thread is None or not link:
            return f"*{title}*"
        self._side_tasks.do(rename(self._workspace, *thread, elsewhere.title))
        if elsewhere.title == self._named:
            space, real = self._place.space, ":".join(thread)
            await self._records.outbox.claim(space, self._run, f"{NAMED}{real}")
            await self._records.outbox.mark_sent(space, self._run, f"{NAMED}{real}", real, "")
        return f"<{link}|{title}>"

    async def link(self, link: Link) -> str:
        title = literal(link.title, TITLE) or "…"
        first = await self._first_message(link.run)
        url = await self._workspace.permalink(*first) if first is not None else ""
        return f"→ <{url}|{title}>" if url else f"→ *{title}*"

    async def _first_message(self, run: str) -> tuple[str, str] | None:
        """The channel and the ts of a run's first message, if the asker can see it."""
        records = self._records
        try:
            first = await first_message(records.inbox, records.outbox, self._place, run, OWN_KEYS)
            if first is None:
                return None
            request, message = first
            place, origin = request.place, placing.origin_of(request.origin)
            bound = await self._records.threads.real_thread(place.space, place.channel, place.thread)
        except StorageFault as fault:
            _log.info("run %s: a link was left out: %s", self._run, fault)
            return None
        channel = placing.parted(bound)[0] if bound is not None else origin.channel
        theirs = origin.private or channel.startswith("D")
        if origin.home == "alone" or (theirs and origin.user != self._origin.user):
            return None
        return channel, message

    async def _real(self, place: Place) -> tuple[str, str] | None:
        """The channel and the root of the thread of a conversation of the same space."""
        if (place.platform, place.space) != (self._place.platform, self._place.space):
            return None
        bound = await self._records.threads.real_thread(place.space, place.channel, place.thread)
        if bound is not None:
            return placing.parted(bound)
        is_ts = place.thread.replace(".", "", 1).isdecimal()
        return (place.channel, place.thread) if is_ts else None


def view_of(
    records: Records, workspaces: Workspaces, writers: Writers, _run: str, request: Request, outbox: Outbox
) -> View:
    """The view of a run, with a plan if its verb is `planned`. After a crash it is made again from the
    stored request.
    """
    origin = placing.origin_of(request.origin)
    home = SlackHome(workspaces, request, records, writers)
    inside = origin.thread != "" and (origin.earlier or origin.thread != origin.message)
    tells_alone = home.response is not None and (home.ephemeral or not home.private)
    typed = partial(as_typed, files=words(request.locale)("slack.with_files"))
    adapt_alone = partial(typed, thread=inside) if tells_alone else None
    adapt = partial(typed, thread=inside if origin.home == "alone" else origin.home != "channel")
    dialect = Dialect(
        pages,
        adapt=adapt,
        adapt_alone=adapt_alone,
        roll_after_s=ROLL_AFTER_S,
        own_keys=OWN_KEYS,
    )
    view = Composer(request, outbox, records.offers, home, writers, dialect, records.votes)
    if not commands.ROWS[request.work, request.verb].planned:
        return view
    asked = origin.asked if home.root_message is not None else None
    plan = Plan(request, outbox, home, writers, asked, words(request.locale))
    home.opened = plan.opened
    return Planned(view, plan, home.find)
