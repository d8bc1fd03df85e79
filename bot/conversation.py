"""A place's conversation: its session and title, the questions and answers that are kept in it, and what people said
in its thread before.

Knows no platform: adapters read the threads. A run's snapshot decides whether to read one, and stores the result, so
that a replay does not read again.
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
    from collections.abc import Mapping, Sequence

    from bot.events import Quoted, Request, Run
    from bot.platforms import Platform, ThreadMessage
    from bot.words import Words
    from storage.sessions import SessionRow, Sessions

TITLE_CHARS = 100
"""The longest title: the most that a platform gives a thread's name (Discord's documentation, "Channel")."""

MOST_CHARS = 6_000
"""Of longer threads the newest part is used: about 1,500 tokens, as much as a few passages."""

LINKED = 200
"""The newest messages of a linked thread; their text is cut to what a question has room for."""

NAMES_CHARS = 200
"""Of the names of those whose messages were read."""

READ_S = 5.0
"""A question waits no longer than this for its thread; it is then answered without."""

QUESTION_CHARS = 4_000
"""Longer questions are refused: a question that long is a document, and belongs in the library."""


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence of the catalogue, by its key and values."""

    key: str
    values: dict[str, str | int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Conversation:
    """What a question is read with. `session` is the id of its session, None in another work's thread.

    `exchanges` are its last questions and answers, oldest first, and `begun` whether there are any. `earlier` is what
    people said in the thread before the first question, or what the question brings along; `notes` say what that is.
    """

    session: str | None
    exchanges: list[tuple[str, str]]
    begun: bool = False
    earlier: str = ""
    notes: list[Note] = field(default_factory=list)


class Conversations:
    """The conversations of the places of these `platforms`, by their names. A thread is read in `read_s`, or not."""

    def __init__(
        self, sessions: Sessions, platforms: Mapping[str, Platform], *, read_s: float = READ_S
    ) -> None:
        self._sessions = sessions
        self._platforms = platforms
        self._read_s = read_s

    async def of(self, request: Request, question: str, most: int, *, follows: bool) -> Conversation:
        """The conversation that the question belongs to, with at most so many exchanges; opened if there is none.

        `follows`: whether the question may refer to what was said before.
        """
        session = await session_for(self._sessions, request, question)
        along, notes = await self.along(request)
        if session is None:
            return Conversation(None, [], earlier=along, notes=notes)
        # Of a council that was stopped the question is kept alone.
        rows = await self._sessions.last_exchanges(session.space, session.id, max(2 * most, 1))
        answered = [(row.question, row.answer) for row in rows if row.answer.strip()]
        first = follows and not answered and await self._sessions.first_here(session)
        earlier = along or (await self.earlier(request) if first else "")
        return Conversation(
            session.id, answered[-most:] if most else [], begun=bool(answered), earlier=earlier, notes=notes
        )

    async def along(self, request: Request) -> tuple[str, list[Note]]:
        """The threads that the request links and the newest messages that it asks for, and what of them was read.
        Raises UserError where there are no newest messages.
        """
        wanted = request.options.get(LAST.name)
        threads = [quoted for quoted in request.quoted if quoted.thread]
        room = MOST_CHARS // max(1, len(threads) + isinstance(wanted, int))
        read = await asyncio.gather(*(self._linked(request, quoted, room) for quoted in threads))
        if isinstance(wanted, int):
            read.append(await self._last(request, wanted, room))
        return "\n\n".join(text for text, _ in read if text), [note for _, note in read]

    async def _last(self, request: Request, most: int, room: int) -> tuple[str, Note]:
        platform = self._platforms.get(request.place.platform)
        if platform is None or platform.read_last is None:
            raise UserError("thread.no_messages_here")
        said = await platform.read_last(request, most)
        if not said:
            raise UserError("thread.no_messages")
        text, n = _lines(said, room)
        return text, Note("thread.read_along", {"n": n, **_whose(said[-n:])})

    async def _linked(self, request: Request, quoted: Quoted, room: int) -> tuple[str, Note]:
        """Also where it cannot be read: the question goes on without it."""
        platform = self._platforms.get(request.place.platform)
        late = "", Note("thread.link_late", {"n": 1})
        if platform is None or platform.read_linked is None:
            return late
        try:
            async with asyncio.timeout(self._read_s):
                thread = await platform.read_linked(request, quoted.thread, LINKED)
        except TimeoutError:
            return late
        except UserError as error:
            return "", Note(error.key, {name: str(value) for name, value in error.values.items()} | {"n": 1})
        if not thread.messages:
            return "", Note("thread.empty_thread")
        text, n = _lines(thread.messages, room)
        where = f" ({quoted.where})" if quoted.where else ""
        values = {"n": n, "total": max(thread.total, n), "where": where, **_whose(thread.messages[-n:])}
        return f"A thread that the question links:\n{text}", Note("thread.read_thread", values)

    async def earlier(self, request: Request) -> str:
        """What people said in the request's thread before it; "" also where it cannot be read."""
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
        """Keep a run's question and answer in its session; an answer without words is not kept.

        The question is kept as it reads now: whoever asked may have changed it while a crash had cut the run off.
        """
        if session is not None and answer.strip():
            space, asked = run.request.place.space, " ".join(run.request.text.split()) or question
            await self._sessions.add_exchange(space, session, run.id, asked, answer, citations)


async def session_for(
    sessions: Sessions, request: Request, question: str, *, over: bool = False
) -> SessionRow | None:
    """The place's session, opened if there is none and titled after the question.

    None in another work's thread, where the request is answered without a session. With `over` it closes the other
    work's session and opens one of its own.
    """
    place = request.place
    session = await sessions.active(place.space, place.platform, place.channel, place.thread)
    if session is None or (over and session.work != request.work):
        session = await sessions.open(
            place.space,
            place.platform,
            place.channel,
            place.thread,
            request.work,
            author_id=request.author.id,
            title=title_of(question),
        )
    return session if session.work == request.work else None


def read_along(request: Request, notes: Sequence[Note], say: Words) -> list[Notice]:
    """The notices of which messages were read together with a question, and of which linked ones were not."""
    notices = [say(note.key, **note.values) for note in notes]
    messages = [quoted for quoted in request.quoted if not (quoted.refused or quoted.thread)]
    if sources := [_source(quoted, say) for quoted in messages]:
        notices.append(say("thread.quoted", sources="; ".join(sources)))
    refused = Counter(quoted.refused for quoted in request.quoted if quoted.refused)
    return list(map(Notice, [*notices, *(say(key, n=n) for key, n in refused.items())]))


def _lines(said: Sequence[ThreadMessage], room: int) -> tuple[str, int]:
    """The newest messages for which there are `room` characters, a "Name, 14:02: words" a line, and how many."""
    text = newest(
        "\n".join(f"{each.name}, {each.at:%H:%M}: {' '.join(each.text.split())}" for each in said), room
    )
    return text, text.count("\n") + 1


def _whose(said: Sequence[ThreadMessage]) -> dict[str, str | int]:
    names = ", ".join(dict.fromkeys(each.name for each in said))
    return {"names": names[:NAMES_CHARS], "since": f"{said[0].at:%H:%M}"}


def _source(quoted: Quoted, say: Words) -> str:
    """Such as "from #rules, Ana, 14:02 UTC"."""
    at = f"{quoted.at} UTC" if quoted.at else ""
    return ", ".join(filter(None, (quoted.where, quoted.name or say("thread.forwarded"), at)))


def newest(text: str, most: int = MOST_CHARS) -> str:
    """The last whole lines of `text`, at most `most` characters; of one longer line its end."""
    text = text.encode(errors="ignore").decode().strip()  # half an emoji cannot be stored
    if len(text) <= most:
        return text
    cut = text[-most:]
    begun = text[-most - 1] == "\n"
    _, parted, whole = cut.partition("\n")
    return cut if begun or not parted else whole


def question_of(text: str) -> str:
    """The question in one line. Raises UserError for none, and for one of more than QUESTION_CHARS."""
    question = " ".join(text.split())
    if not question:
        raise UserError("rules.no_question")
    if len(question) > QUESTION_CHARS:
        raise UserError("rules.long_question", length=len(question), limit=QUESTION_CHARS)
    return question


def title_of(text: str) -> str:
    """A title of what somebody typed: one line, at most TITLE_CHARS."""
    line = " ".join(text.split())
    return line if len(line) <= TITLE_CHARS else line[: TITLE_CHARS - 1].rstrip() + "…"
