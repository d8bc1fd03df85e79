"""A typed line to what the application does: the same for the prompt, for pipes and for JSON.

Knows the house's own verbs (help, stop, new) and the app, but not how anything is shown.
"""

from __future__ import annotations

import getpass
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from bot.command_line import Parsed
from bot.commands import FOLLOW_UP
from bot.events import Author, OptionValue, Place, Request, Sorry
from bot.manual import help_text
from bot.words import Words, words

if TYPE_CHECKING:
    from bot.platforms import Platform


class Ticket(Protocol):
    run: str

    async def wait(self) -> str: ...


class Application(Protocol):
    """What an adapter of the terminal asks of bot.app.App."""

    def attach(self, platform: Platform) -> None: ...

    async def start(self) -> list[Request]: ...

    async def perform(self, request: Request) -> Ticket: ...

    async def plain(self, place: Place) -> tuple[str, str]: ...

    async def stop(self, place: Place) -> int: ...

    async def complete(
        self, space: str, kind: str, prefix: str, shelf: str | None = None, author: str = ""
    ) -> list[str]: ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class House:
    """A verb that the adapter answers itself: "help", which needs no app, or "stop", which overtakes."""

    verb: str
    text: str = ""


def new_id() -> str:
    """A request's id in the terminal, made when the line is read: sortable by time."""
    from uuid_utils import uuid7

    return str(uuid7())


def absolute(path: str) -> str:
    """A path that means the same after a restart in another folder. Links stay links: readers refuse them."""
    # Not Path.resolve, which follows links, nor Path.absolute, which keeps "..".
    return os.path.abspath(os.path.expanduser(path))  # noqa: PTH100, PTH111


def author() -> Author:
    """Whoever the operating system says is typing; at their own terminal they may do everything."""
    try:
        name = getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container's user need not have a name
        name = "local"
    return Author(name, name, admin=True)


class Conversation:
    """One thread of one terminal."""

    def __init__(self, locale: str, thread: str | None, space: str = "local") -> None:
        self.locale = locale
        self.say: Words = words(locale)
        self.place = Place("terminal", space, "terminal", thread or new_id())
        self.author = author()

    def help(self, topic: str) -> str:
        return help_text(self.say, topic)

    async def request(self, run: str, parsed: Parsed, app: Application) -> Request | House:
        """The request that a parsed line makes here; plain text goes to the session's work."""
        if parsed.verb is None:
            work, name = await app.plain(self.place)
        elif parsed.verb.at_once or parsed.verb.stops:
            return House(parsed.verb.name, parsed.text)
        else:
            work, name = parsed.verb.work, parsed.verb.name
        options = dict(parsed.options)
        if parsed.verb is None:
            options[FOLLOW_UP] = True
        if isinstance(paths := options.get("paths"), list):
            options["paths"] = [absolute(path) for path in paths]
        if isinstance(file := options.get("file"), str):
            options["file"] = absolute(file)
        return self.asks(run, work, name, options, parsed.text)

    def asks(
        self, run: str, work: str, name: str, options: dict[str, OptionValue], text: str = ""
    ) -> Request:
        return Request(run, self.place, self.author, work, name, options, text, locale=self.locale)

    def stopped(self, n: int) -> str:
        """What /stop answers when it has stopped `n` runs."""
        return self.say("desk.stopped", n=n) if n else self.say("desk.nothing_to_stop")

    def sentence(self, sorry: Sorry) -> str:
        return self.say(sorry.key, **sorry.values)
