"""A place's conversation: its session and title, the stored questions and answers, and earlier messages of its thread.

Knows no platform: adapters read the threads. A run's snapshot decides whether to read one and stores the result, so
that a replay does not read it again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bot.events import Notice, UserError
from bot.verb import LAST
from bot.waiting import wait_at_most

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from bot.events import Quoted, Request
    from bot.platforms import Platform, ThreadMessage
    from bot.words import Words
    from bot.work import Run
    from storage.sessions import SessionRow, Sessions

TITLE_CHARS = 100
"""The longest title: the most that a platform gives a thread's name (Discord's documentation, "Channel")."""

MOST_CHARS = 6_000
"""The most characters that are read of a thread, the newest first: about 1,500 tokens, as much as a few passages."""

LINKED = 200
"""How many of a linked thread's newest messages are read; their text is cut to the room that a question has."""

NAMES_CHARS = 200
"""The most characters of the names of those whose messages were read."""

READ_S = 5.0
"""How many seconds a question waits for its thread; then it is answered without."""

QUESTION_CHARS = 4_000
"""The most characters of a question. Longer ones are refused: such a text is a document, and belongs in the library."""


@dataclass(frozen=True, slots=True)
class Note:
    """A message of the catalogue, by its key and values."""

    key: str
    values: dict[str, str | int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Conversation:
    """The context of a question. `session` is the id of its session, None in another work's thread.

    `exchanges` are its last questions and answers, oldest first. `has_answers` says whether it has been answered
    before. `earlier` are messages from the thread before the first question, or messages that the question links;
    `notes` say which.
    """

    session: str | None
    exchanges: list[tuple[str, str]]
    has_answers: bool = False
    earlier: str = ""
    notes: list[Note] = field(default_factory=list)


class Conversations:
    """The conversations of places. `platforms` are by name; reading a thread is given up after `read_s` seconds."""

    def __init__(
        self, sessions: Sessions, platforms: Mapping[str, Platform], *, read_s: float = READ_S
    ) -> None:
        self._sessions = sessions
        self._platforms = platforms
        self._read_s = read_s

    async def of(self, request: Request, question: str, most: int, *, follows: bool) -> Conversation:
        """The conversation of the question, with at most `most` exchanges; opened if there is none.

        `follows`: whether the question may refer to what was said before.
        """
        session = await session_for(self._sessions, request, question)
        asks_messages = request.quoted or LAST.name in request.options
        requested, notes = await self.requested_messages(request) if asks_messages else ("", [])
        if session is None:
            return Conversation(None, [], earlier=requested, notes=notes)
        # Of a stopped council only the question is kept.
        rows = await self._sessions.last_exchanges(session.space, session.id, max(2 * most, 1))
        answered = [(row.question, row.answer) for row in rows if row.answer.strip()]
        first = follows and not answered and await self._sessions.first_here(session)
        earlier = requested or (await self.earlier(request) if first else "")
        return Conversation(
            session.id,
            answered[-most:] if most else [],
            has_answers=bool(answered),
            earlier=earlier,
            notes=notes,
        )

    async def requested_messages(self, request: Request) -> tuple[str, list[Note]]:
        """The text of the threads that the request links and of the newest messages that it asks for, with notes about
        what was read. Raises UserError if there are no newest messages.
        """
        last = request.options.get(LAST.name)
        threads = [quoted for quoted in request.quoted if quoted.thread]
        room = MOST_CHARS // max(1, len(threads) + isinstance(last, int))
        read = await asyncio.gather(*(self._linked(request, quoted, room) for quoted in threads))
        if isinstance(last, int):
            read.append(await self._last(request, last, room))
        return "\n\n".join(text for text, _ in read if text), [note for _, note in read]

    async def _last(self, request: Request, most: int, room: int) -> tuple[str, Note]:
        """The text of the newest messages of the request's channel, and a note about them. Raises UserError."""
        platform = self._platforms.get(request.place.platform)
        if platform is None or platform.read_last is None:
            raise UserError("thread.no_messages_here")
        messages = await platform.read_last(request, most)
        if not messages:
            raise UserError("thread.no_messages")
        text, n = _lines(messages, room)
        return text, Note("thread.read_along", {"n": n, **_names_and_time(messages[-n:])})

    async def _linked(self, request: Request, quoted: Quoted, room: int) -> tuple[str, Note]:
        """The text of a linked thread. If it cannot be read, the question continues without it."""
        platform = self._platforms.get(request.place.platform)
        unread = "", Note("thread.link_late", {"n": 1})
        if platform is None or platform.read_linked is None:
            return unread
        try:
            async with asyncio.timeout(self._read_s):
                thread = await platform.read_linked(request, quoted.thread, LINKED)
        except TimeoutError:
            return unread
        except UserError as error:
            return "", Note(error.key, {name: str(value) for name, value in error.values.items()} | {"n": 1})
        if not thread.messages:
            return "", Note("thread.empty_thread")
        text, n = _lines(thread.messages, room)
        where = f" ({quoted.where})" if quoted.where else ""
        values = {
            "n": n,
            "total": max(thread.total, n),
            "where": where,
            **_names_and_time(thread.messages[-n:]),
        }
        return f"A thread that the question links:\n{text}", Note("thread.read_thread", values)

    async def earlier(self, request: Request) -> str:
        """What people said in the request's thread before it; "" also if it cannot be read."""
        platform = self._platforms.get(request.place.platform)
        if platform is None or (read := platform.read_thread) is None:
            return ""
        texts: list[str] = []

        async def reading() -> None:
            texts.append(await read(request))

        failed = f"what was said in the thread before run {request.id} was not read"
        return newest(texts[0]) if await wait_at_most(reading(), self._read_s, failed) else ""

    async def keep(
        self, run: Run, session: str | None, question: str, answer: str, citations: str = "[]"
    ) -> None:
        """Store a run's question and answer in its session; an empty answer is not stored.

        The question is stored as it is now, because its author may have edited it before the run was continued after a
        crash.
        """
        if session is not None and answer.strip():
            space, text = run.request.place.space, " ".join(run.request.text.split()) or question
            await self._sessions.add_exchange(space, session, run.id, text, answer, citations)


async def session_for(
    sessions: Sessions,
    request: Request,
    question: str,
    *,
    over: bool | Callable[[SessionRow], Awaitable[bool]] = False,
) -> SessionRow | None:
    """The place's session, opened if there is none and titled after the question.

    None in another work's thread, where the request is answered without a session. With `over`, or if it returns True
    for the other work's session, that is closed and a new one opened.
    """
    place = request.place
    session = await sessions.active(*place.key)
    if session is not None and session.work != request.work and callable(over):
        over = await over(session)
    if session is None or (over and session.work != request.work):
        session = await sessions.open(
            *place.key,
            request.work,
            author_id=request.author.id,
            title=title_of(question),
        )
    return session if session.work == request.work else None


def read_along(request: Request, notes: Sequence[Note], say: Words) -> list[Notice]:
    """The notices of which messages were read together with a question, and of which linked ones were not."""
    if not (notes or request.quoted):
        return []
    notices = [say(note.key, **note.values) for note in notes]
    messages = [quoted for quoted in request.quoted if not (quoted.refused or quoted.thread)]
    if sources := [_source(quoted, say) for quoted in messages]:
        notices.append(say("thread.quoted", sources="; ".join(sources)))
    refused = Counter(quoted.refused for quoted in request.quoted if quoted.refused)
    return list(map(Notice, [*notices, *(say(key, n=n) for key, n in refused.items())]))


def _lines(messages: Sequence[ThreadMessage], room: int) -> tuple[str, int]:
    """The newest messages that fit into `room` characters, each as a line "Name, 14:02: words", and how many
    they are.
    """
    text = newest(
        "\n".join(
            f"{message.name}, {message.at:%H:%M}: {' '.join(message.text.split())}" for message in messages
        ),
        room,
    )
    return text, text.count("\n") + 1


def _names_and_time(messages: Sequence[ThreadMessage]) -> dict[str, str | int]:
    """The values of a note: who wrote the messages, and the time of the first."""
    names = ", ".join(dict.fromkeys(message.name for message in messages))
    return {"names": names[:NAMES_CHARS], "since": f"{messages[0].at:%H:%M}"}


def _source(quoted: Quoted, say: Words) -> str:
    """The source of a quoted message, such as "from #rules, Ana, 14:02 UTC"."""
    at = f"{quoted.at} UTC" if quoted.at else ""
    return ", ".join(filter(None, (quoted.where, quoted.name or say("thread.forwarded"), at)))


def newest(text: str, most: int = MOST_CHARS) -> str:
    """The last whole lines of `text`, at most `most` characters; if the last line is longer, its end."""
    text = text.encode(errors="ignore").decode().strip()  # half an emoji cannot be stored
    if len(text) <= most:
        return text
    cut = text[-most:]
    starts_with_line = text[-most - 1] == "\n"
    _, newline, whole_lines = cut.partition("\n")
    return cut if starts_with_line or not newline else whole_lines


def question_of(text: str) -> str:
    """The question on one line. Raises UserError if it is empty or longer than QUESTION_CHARS."""
    question = " ".join(text.split())
    if not question:
        raise UserError("rules.no_question")
    if len(question) > QUESTION_CHARS:
        raise UserError("rules.long_question", length=len(question), limit=QUESTION_CHARS)
    return question


def title_of(text: str) -> str:
    """A title from typed text: one line, at most TITLE_CHARS. Stored titles are compared with it, so its form stays
    (`PastRequests.withdraw`).
    """
    line = " ".join(text.split())
    return line if len(line) <= TITLE_CHARS else line[: TITLE_CHARS - 1].rstrip() + "…"
