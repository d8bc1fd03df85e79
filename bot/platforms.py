"""The functions that a platform gives to the core, in one object; the core names no platform.

It is attached before the start, so that interrupted runs can be shown.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from bot.events import Failed, File, Notice, Place, Request, Shown, Speak, Speaking, Text
from bot.view import Unseen, View

if TYPE_CHECKING:
    from bot.words import Words
    from storage.outbox import Outbox

_log = logging.getLogger(__name__)

Views: TypeAlias = "Callable[[str, Request, Outbox], View]"
"""Makes the view of a run by its id; called again after a crash."""

Fetch: TypeAlias = Callable[[Request, File, Path, int], Awaitable[None]]
"""Writes a request's file to the path, at most that many bytes. Raises UserError."""

ReadThread: TypeAlias = Callable[[Request], Awaitable[str]]
"""Returns the messages of the request's thread before its own, as lines "Name: words", oldest first; "" if there are
none.
"""


@dataclass(frozen=True, slots=True)
class ThreadMessage:
    """A message of a thread; `author` is the author's id, "" for a program."""

    id: str
    author: str
    name: str
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class WholeThread:
    """A whole thread, without the bot's messages: who began it (by id; "" for the bot itself), and its messages, oldest
    first.
    """

    starter: str
    title: str
    pages: AsyncGenerator[list[ThreadMessage], None]


ReadWholeThread: TypeAlias = Callable[[Request], Awaitable[WholeThread | None]]
"""Returns the thread of the request, up to its message; None if it is in no thread. This call and its pages raise
UserError.
"""


@dataclass(frozen=True, slots=True)
class Transcript:
    """The platform's own transcript of a recording, "" for nothing; `part`: it has only the first words."""

    text: str
    part: bool = False


ReadLast: TypeAlias = Callable[[Request, int], Awaitable[list[ThreadMessage]]]
"""Returns up to that many messages before the request in its channel or thread, oldest first, as far as its author may
read them; without the bot's. Raises UserError if they cannot be read.
"""


@dataclass(frozen=True, slots=True)
class LinkedThread:
    """The newest messages of a thread, oldest first, without the bot's, and how many it has."""

    messages: list[ThreadMessage]
    total: int


ReadLinked: TypeAlias = Callable[[Request, str, int], Awaitable[LinkedThread]]
"""Returns up to that many of the newest messages of a thread that the request links, by `Quoted.thread`. Raises
UserError, also if the request's author may not read it.
"""


ReadPins: TypeAlias = Callable[[Request], Awaitable[list[ThreadMessage]]]
"""Returns the pinned messages of the request's channel or thread, the newest first. Raises UserError."""


ReadTranscript: TypeAlias = Callable[[Request, str], Awaitable[Transcript | None]]
"""Returns the platform's transcript of a request's recording, by the file's id there; None while it is being made."""


class Reader(Protocol):
    """Controls what is being read aloud, and waits to be, in a request's place. Both methods raise UserError."""

    async def stop(self, request: Request) -> int:
        """Skip everything; returns how many stages that were."""

    async def skip(self, request: Request) -> bool:
        """Continue with the next stage; returns whether there was one to skip."""


@runtime_checkable
class VoiceChannels(Reader, Protocol):
    """The voice channels of a platform's spaces; the bot is in one of each at most. All raise UserError."""

    async def join(self, request: Request, name: str) -> str:
        """Enter the channel of this name, or with "" the asker's. Returns the sentence to show."""

    async def leave(self, request: Request) -> str:
        """Leave the channel; returns its name."""

    def pause(self, request: Request) -> bool:
        """Pause; returns whether anything was playing."""

    def resume(self, request: Request) -> bool:
        """Resume; returns whether it was paused."""

    def where(self, request: Request) -> str | None:
        """The name of the channel that the bot is in, "" for none; None if there can be none."""

    def state(self, request: Request, say: Words) -> list[str]:
        """The state of voice for the doctor, as lines."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A person's standing in a space: which of the groups in question they belong to (ids), and whether they are an
    admin."""

    groups: tuple[str, ...]
    admin: bool = False


@dataclass(frozen=True, slots=True)
class Platform:
    """The functions of one platform; None for what it cannot do."""

    name: str
    """The platform of its places."""
    views: Views
    fetch: Fetch | None = None
    """Downloads a request's files."""
    read_thread: ReadThread | None = None
    """Reads the messages of a thread before the bot was called into it."""
    origin: Callable[[Place], str] | None = None
    """Returns the origin (`Request.origin`) for a run in a place without a message, so that a schedule can begin one
    there.
    """
    new_thread: Callable[[Request, str, str], tuple[Place, str] | None] | None = None
    """Returns the place and the origin of a new conversation, by its id and title, in the channel of a request; None if
    there can be none.
    """
    reopen: Callable[[Request, Place, str], Awaitable[bool | None]] | None = None
    """Opens a new thread for a conversation of the request's space, by its place and title, if its thread was deleted.
    Returns None if it was not, False if no thread can be opened.
    """
    speak: Callable[[Request, Speak], Awaitable[None]] | None = None
    """Reads words aloud in the request's place, if the place `narrates`.

    After a crash it is called again only if the platform `speaks_again`, and then skips what was read.
    """
    speaks_again: bool = False
    speak_along: Callable[[Request, Speaking, AsyncGenerator[str, None]], Awaitable[None]] | None = None
    """Reads words aloud while they are written, and returns before their end. `speak` is not called for the same key.

    The pieces end with the stage's text, even if that is cut off. After a crash it is called again with the text from
    its beginning, and must skip what was heard.
    """
    hush: Callable[[Request, str], Awaitable[None]] | None = None
    """Stops the reading of a run, given its request, and takes back what was read: of one stage by its key, "" for all.
    It may be called again.
    """
    narrates: Callable[[Request], Awaitable[bool]] | None = None
    """Whether `speak` reads aloud in the request's place; None for every place."""
    read_whole_thread: ReadWholeThread | None = None
    """Reads all messages of a thread, one by one."""
    read_last: ReadLast | None = None
    """Reads the newest messages of a place."""
    read_linked: ReadLinked | None = None
    """Reads the newest messages of a thread that a request links."""
    read_pins: ReadPins | None = None
    """Reads the pinned messages of a request's channel."""
    read_transcript: ReadTranscript | None = None
    reader: Reader | VoiceChannels | None = None
    """Stops and skips readings."""
    private_place: Callable[[Place, str], Place] | None = None
    """Returns the place of a person's private conversation with the bot, in the space of a place."""
    adults: Callable[[Place], Awaitable[bool]] | None = None
    """Whether only adults are admitted to the place."""
    category: Callable[[Place], str] | None = None
    """Returns the id of the category that a place's channel is in; "" for none."""
    channel_name: Callable[[Place], Awaitable[str]] | None = None
    """Returns the name of the place's channel, or of the category with this id; "" if unknown."""
    person_name: Callable[[Place, str], Awaitable[str]] | None = None
    """Returns the name of the person with this id in the place's space; "" if unknown."""
    standing: Callable[[Place, str, Collection[str]], Awaitable[Standing]] | None = None
    """Returns which of these groups a person belongs to. Raises UserError if the platform does not answer."""
    knows: Callable[[Place, str, str], Awaitable[bool]] | None = None
    """Whether the place's space has this "channel", "category", "person" or "group", by its id. Without it that is
    unknown.
    """
    find: Callable[[Place, str, str], Awaitable[tuple[str, str] | None]] | None = None
    """Returns the id and the name of a "person" or a "group" of the place's space for what somebody typed, None for
    nobody. Without it there are no groups, and people are identified by their ids.
    """
    without_words: Callable[[str], str] | None = None
    """Returns an origin without the person's words, so that the messages of a withdrawn request can be found."""
    take_back: Callable[[Request, Collection[str] | None], Awaitable[None]] | None = None
    """Removes the messages of a withdrawn run, given its request without words, except stages whose keys have one of
    these prefixes; for None it removes only those that quote the request. It may be called again.
    """
    guest: Callable[[Request], bool] | None = None
    """Whether the bot can only respond in the request's place; what it posts later goes to the author's direct
    messages.
    """
    check_may_post: Callable[[Request], Awaitable[None]] | None = None
    """Raises UserError if the bot can post nothing later in the request's place."""
    for_one: Callable[[str], bool] | None = None
    """Whether only the asker reads the answer to a request with this origin; None if that is always so."""
    hides: bool = False
    """Whether it shows a Spoiler hidden until a reader opens it."""
    part: Callable[[str, int], int] | None = None
    """Returns the number of the space's part, given the number of parts: of several processes that share a database,
    only the one that receives the events of a space executes its runs. See `Processes`.
    """
    parts: Callable[[], int] | None = None
    """Returns how many parts there should be."""


class LogView(Unseen):
    """The view of a job that nobody watches: its result is written to the log."""

    def __init__(self, run: str, request: Request, outbox: Outbox) -> None:
        self._folder = request.place.thread

    async def show(self, event: Shown) -> None:
        if isinstance(event, Text | Notice | Failed):
            level = logging.WARNING if isinstance(event, Failed) else logging.INFO
            _log.log(level, "%s: %s", self._folder, " ".join(event.text.split()))
