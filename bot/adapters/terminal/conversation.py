"""Turns a typed line into a request; shared by the prompt, pipes and JSON.

Handles the verbs of the conversation itself (help, stop, new) and uses the app; independent of how anything is shown.
"""

from __future__ import annotations

import asyncio
import getpass
import re
import sys
from collections import OrderedDict
from collections.abc import Awaitable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Protocol

from bot.adapters.markdown import clean
from bot.adapters.terminal.paths import absolute, absolutes
from bot.adapters.terminal.view import typable
from bot.command_line import Parsed, lacking_text, parse, with_words
from bot.commands import FOLLOW_UP, ROWS
from bot.events import (
    Author,
    Changed,
    Choice,
    Choices,
    Ended,
    OptionValue,
    Place,
    Request,
    Shown,
    Stage,
    UserError,
)
from bot.kind import Typed
from bot.manual import help_text
from bot.view import Closing, Unseen, View
from bot.words import Words, words
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.llm.local_servers import LocalServer
    from bot.platforms import Platform
    from bot.speech.clips import Clips, Post


class Ticket(Protocol):
    run: str

    async def wait(self) -> str: ...


class Application(Protocol):
    """The part of bot.app.App that the terminal's adapters use."""

    def attach(self, platform: Platform) -> None: ...

    async def start(self) -> list[Request]: ...

    async def perform(self, request: Request) -> Ticket: ...

    async def plain(self, place: Place, author: str, text: str) -> tuple[str, str]: ...

    async def stop(self, place: Place) -> int: ...

    async def stop_run(self, space: str, run: str) -> int: ...

    async def idle(self) -> None: ...

    async def locale(self, place: Place, person: str, otherwise: str) -> str: ...

    async def answering(self, place: Place, person: str) -> tuple[str, str]: ...

    async def complete(self, kind: str, typed: Typed) -> list[str]: ...

    async def local_server(self, space: str = "") -> LocalServer | None: ...

    def clips(self, post: Post, *, suffix: str = "mp3") -> Clips: ...

    async def close(self) -> None: ...


async def only_adults(place: Place) -> bool:
    """Whether only adults use the place; in a terminal the answer is always the same."""
    return True


LEAVING = frozenset(("exit", "quit", "sair"))
"""Words that leave when they are typed alone."""
HELPING = frozenset(("help", "ajuda", "?"))
THREAD_CHARS = 40
MOST_OFFERED = 200
"""The most choices of a conversation that are recognized when typed; the oldest are dropped first."""


@dataclass(frozen=True, slots=True)
class Line:
    """A parsed line. `answers` is the run whose choice it is, "" for none."""

    parsed: Parsed
    answers: str = ""


@dataclass(frozen=True, slots=True)
class LocalVerb:
    """A verb that the adapter answers itself: "help", which needs no app, or "stop", which is handled before waiting
    lines.
    """

    verb: str
    text: str = ""


def new_id() -> str:
    """A request's id in the terminal, made when the line is read: sortable by time."""
    from uuid_utils import uuid7

    return str(uuid7())


def new_thread(request: Request, id: str, title: str) -> tuple[Place, str]:
    """A new thread with a name that a person can type; it shows nothing until they open it."""
    name = "-".join(re.findall(r"\w+", title.casefold()))[:THREAD_CHARS].strip("-")
    return replace(request.place, thread=f"{name}-{id[-4:]}".lstrip("-")), ""


def author() -> Author:
    """The user of the operating system, who is an admin in their own terminal."""
    try:
        name = getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container's user may have no name
        name = "local"
    return Author(name, name, admin=True)


class Conversation:
    """One thread of one terminal.

    It also shows what a crash cut off in another thread. A `person` who has named no thread continues that thread here,
    as long as nothing else was asked; otherwise, and in a `pipe`, the output names the thread that it belongs to.
    """

    def __init__(
        self,
        locale: str,
        thread: str | None,
        space: str = "local",
        *,
        reader: Literal["person", "pipe", "program"] = "program",
    ) -> None:
        self.reader = reader
        self._settled = thread is not None or reader != "person"
        self.locale = locale
        self.say: Words = words(locale)
        """The words in the language that the person has set; see `follow_language`."""
        self.place = Place("terminal", space, "terminal", thread or new_id())
        self.author = author()
        self._offered: OrderedDict[str, tuple[str, Choice]] = OrderedDict()
        self._asking: Line | None = None
        self._reported = False

    async def follow_language(self, app: Application) -> None:
        """Use the present language for what no run says."""
        self.say = words(await app.locale(self.place, self.author.id, self.locale))

    def watched(self, view: View, request: Request) -> View:
        """The run's view, wrapped so that this conversation learns its choices."""
        if request.place == self.place:
            return _Watched(view, request.id, self)
        if request.parent:
            return Unseen()
        if (
            self.reader == "program"
            or request.place.platform != self.place.platform
            or ROWS[request.work, request.verb].background
        ):
            return _Reported(view, self)
        return _Resumed(view, request, self)

    def takes_up(self, place: Place) -> str:
        """The text after the first title of what was cut off in that place. If possible, that place's thread continues
        here.
        """
        if self._settled and place != self.place:
            return self.say("terminal.of_thread", thread=place.thread)
        self.place, self._settled = place, True
        return self.say("terminal.goes_on")

    def offer(self, run: str, choices: Choices) -> None:
        """Recognize these commands as choices when they are typed, until one of them is chosen."""
        for choice in typable(choices.choices):
            if choices.taken is not None:
                self._offered.pop(choice.command.strip(), None)
            elif choice.command:
                self._offered[choice.command.strip()] = run, choice
                self._offered.move_to_end(choice.command.strip())
        while len(self._offered) > MOST_OFFERED:
            self._offered.popitem(last=False)

    def leaves(self, line: str) -> bool:
        """Whether the line is a word that leaves, and not the answer to a question."""
        return self._asking is None and line.strip().lstrip("/").casefold() in LEAVING

    def read(self, line: str) -> Line | str:
        """The parsed line, or a text to print: the question of a choice, which the next line answers.

        A line that begins with a slash is no answer; "/" alone only cancels the question. Raises UserError.
        """
        line = line.strip()
        asking, self._asking = self._asking, None
        if asking is None and line.casefold() in HELPING:
            line = "/help"
        if asking is not None:
            if not line.startswith("/"):
                return Line(with_words(asking.parsed, line), asking.answers)
            if line == "/":
                return self.say("terminal.left")
        run, choice = self._offered.get(line, ("", None))
        lacking = lacking_text(line)
        if lacking is not None and lacking.verb is not None and lacking.verb.missing(lacking.options):
            lacking = None  # a terminal asks for the text alone
        # The command of a choice with a form may already be complete; then it is performed unchanged.
        if lacking is None and (choice is None or not choice.asks or choice.form):
            return Line(parse(line), run)
        self._asking = Line(lacking or parse(line, asks=True), run)
        asks = choice.asks if choice is not None and choice.asks else self._label(self._asking.parsed)
        return f"{asks} ({self.say('terminal.asks')})"

    def _label(self, parsed: Parsed) -> str:
        """The label of a verb's text."""
        argument = parsed.verb.argument if parsed.verb is not None else None
        label = self.say(argument.summary) if argument is not None else "…"
        return f"{label[:1].upper()}{label[1:]}:"

    def help(self, topic: str) -> str:
        return help_text(self.say, topic)

    async def request(self, run: str, line: Line, app: Application) -> Request | LocalVerb:
        """The request for a line; plain text goes to the session's work."""
        parsed, self._settled = line.parsed, True
        if parsed.verb is None:
            work, name = await app.plain(self.place, self.author.id, parsed.text)
        elif parsed.verb.at_once or parsed.verb.stops:
            return LocalVerb(parsed.verb.name, parsed.text)
        else:
            work, name = parsed.verb.work, parsed.verb.name
        options = dict(parsed.options)
        if parsed.verb is None:
            options[FOLLOW_UP] = True
        if isinstance(paths := options.get("paths"), list):
            options["paths"] = await asyncio.to_thread(absolutes, paths)
        if isinstance(file := options.get("file"), str):
            options["file"] = absolute(file)
        return replace(self.asks(run, work, name, options, parsed.text), answers=line.answers)

    def asks(
        self, run: str, work: str, name: str, options: dict[str, OptionValue], text: str = ""
    ) -> Request:
        return Request(
            run, self.place, self.author, work, name, options, text, locale=self.locale, adults=True
        )

    def stopped(self, n: int) -> str:
        """The answer to /stop after stopping `n` runs."""
        return self.say("desk.stopped", n=n) if n else self.say("desk.nothing_to_stop")

    def sentence(self, error: UserError) -> str:
        return self.say(error.key, **error.values)

    def report(self, fault: Exception) -> None:
        """Print once on standard error that answers cannot be shown, unless the reader has closed the pipe."""
        if not (self._reported or isinstance(fault, BrokenPipeError)):
            self._reported = True
            print(clean(self.say("terminal.unshown", reason=fault)), file=sys.stderr)


class _Reported:
    """A view whose faults are reported to the person in addition to the run's end."""

    def __init__(self, view: View, conversation: Conversation) -> None:
        self._view = view
        self._conversation = conversation

    async def show(self, event: Shown) -> None:
        await self._attempt(self._view.show(event))

    async def change(self, changed: Changed) -> None:
        await self._attempt(self._view.change(changed))

    async def flush(self, status: Ended) -> None:
        await self._attempt(self._view.flush(status))

    async def close(self, status: Ended) -> None:
        if isinstance(self._view, Closing):
            await self._attempt(self._view.close(status))

    async def _attempt(self, showing: Awaitable[None]) -> None:
        try:
            await showing
        except (UserError, StorageFault):  # the run itself reports these
            raise
        except Exception as fault:
            self._conversation.report(fault)
            raise


class _Watched(_Reported):
    """A view of a run of this conversation."""

    def __init__(self, view: View, run: str, conversation: Conversation) -> None:
        super().__init__(view, conversation)
        self._run = run

    async def show(self, event: Shown) -> None:
        self._hear(event)
        await super().show(event)

    async def change(self, changed: Changed) -> None:
        for event in changed.contents:
            self._hear(event)
        await super().change(changed)

    def _hear(self, event: Shown) -> None:
        if isinstance(event, Choices):
            self._conversation.offer(self._run, event)


class _Resumed(_Watched):
    """A view of a run that was cut off in another thread; its first line says so.

    If the run does not continue here, it is shown in one block when it ends, not between the lines of runs that do.
    """

    def __init__(self, view: View, request: Request, conversation: Conversation) -> None:
        super().__init__(view, request.id, conversation)
        self._place = request.place
        self._told = ""
        self._begun = False
        self._held: list[Shown] = []

    async def show(self, event: Shown) -> None:
        if not self._told:
            self._told = self._conversation.takes_up(self._place)
        if isinstance(event, Stage) and not self._begun:  # a status may precede it
            # No brackets, because the view adds its own after what it shows again.
            title = " · ".join(filter(None, (event.title, self._told)))
            event, self._begun = replace(event, title=title), True
        if self._conversation.place == self._place:
            await super().show(event)
        else:
            self._held.append(event)

    async def flush(self, status: Ended) -> None:
        events, self._held = self._held, []
        for event in events:
            await self._attempt(self._view.show(event))
        await super().flush(status)
