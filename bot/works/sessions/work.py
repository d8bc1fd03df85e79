"""`sessions list|resume|rename|archive|delete`: a person's own conversations, found again by name.

Knows no platform: only the place of a conversation decides whether it continues there or here.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import tzinfo
from typing import TYPE_CHECKING

from bot.commands import TABLE
from bot.conversation import TITLE_CHARS, title_of
from bot.events import Choice, Choices, Elsewhere, Event, Place, Request, Stage, Text, UserError
from bot.words import Words, words
from bot.work import Run

if TYPE_CHECKING:
    from storage.own_sessions import OwnSessions
    from storage.sessions import SessionRow, Sessions

SHOWN = 25
"""The maximum number of sessions in a list; the others are found by autocomplete."""

OFFERED = 5
"""How many sessions of a list have a button to resume them."""

CONVERSATION_WORKS = tuple(row.work for row in TABLE if row.plain)
"""The works whose requests are part of a conversation, even if they were not answered."""

LOCAL = "terminal"
"""The platform whose threads are only names: no thread can be opened there."""


@dataclass(frozen=True, slots=True)
class ChosenSession:
    """A session as a step stores it."""

    id: str
    title: str
    place: dict[str, str]
    state: str

    @property
    def at(self) -> Place:
        return Place(**self.place)


@dataclass(frozen=True, slots=True)
class Listed:
    """A session as the list shows it. `here`: it is the active one of the place where the list was asked for."""

    line: str
    title: str
    code: str
    here: bool


@dataclass(frozen=True, slots=True)
class SessionsWork:
    """Handles only sessions that the person has begun, in their own space.

    `_forget` deletes everything about runs except their ids, `_reword` stores a request in other words (App's).
    `_reopen`: see `Platform.reopen`.
    """

    _sessions: Sessions
    _owned: OwnSessions
    _forget: Callable[..., Awaitable[bool]]
    _reword: Callable[[str, str, str], Awaitable[bool]]
    _reopen: Callable[[Request, Place, str], Awaitable[bool | None]]
    _zone: Callable[[Request], Awaitable[tzinfo]]
    _keep_days: int = 0

    def run(self, run: Run) -> AsyncGenerator[Event, None]:
        verbs = {
            "list": self._list,
            "resume": self._resume,
            "rename": self._rename,
            "archive": self._archive,
            "delete": self._delete,
        }
        return verbs[run.request.verb](run)

    async def _list(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)

        async def list_sessions() -> list[Listed]:
            rows = await self._owned.all(request.place.space, request.author.id)
            zone = await self._zone(request)
            return [_list_entry(row, request.place, zone, say) for row in rows]

        sessions = await run.step("list", list_sessions, list[Listed])
        yield Stage("sessions", say("sessions.list", n=len(sessions)))
        if not sessions:
            yield Text(say("sessions.none"))
            return
        more = [say("sessions.more", n=len(sessions) - SHOWN)] if len(sessions) > SHOWN else []
        yield Text("\n".join([*(session.line for session in sessions[:SHOWN]), *more]))
        if others := [session for session in sessions if not session.here][:OFFERED]:
            choices = [Choice(session.title, f"/sessions resume {session.code}") for session in others]
            yield Choices(say("sessions.offer"), tuple(choices))

    async def _resume(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        chosen = await self._chosen(run, request.text)
        place, session_place = request.place, chosen.at

        async def resume() -> str:
            """Make it active; returns the key of the sentence that says where."""
            to, key = session_place, "resumed_private"
            if _continues_here(session_place):
                to, key = place, "resumed"
            elif _is_thread(session_place):
                opened = await self._reopen(request, session_place, chosen.title)
                key = "resumed_there" if opened is None else "reopened"
                if opened is False:
                    if not _is_thread(place):
                        return "nowhere"
                    to, key = place, "moved"
            await self._owned.resume(place.space, request.author.id, chosen.id, to.channel, to.thread)
            return key

        key = await run.step("resume", resume, object)
        if not isinstance(key, str):  # an earlier release stored True
            key = "resumed"
        yield Stage("sessions", "")
        yield Text(say(f"sessions.{key}", title=chosen.title, code=chosen.id[-6:]))
        if key in ("resumed_there", "reopened"):
            yield Elsewhere(session_place, chosen.title)
        # Anybody who could not see it in the other place finds it here.
        if last := await run.step("last", lambda: self._last(place.space, chosen.id), str):
            yield Text(f"\n\n{last}")
        elif chosen.state == "archived" and self._keep_days:
            yield Text(f"\n\n{say('sessions.words_gone', n=self._keep_days)}")

    async def _last(self, space: str, session: str) -> str:
        """The last question of a session and its answer, as Markdown; "" for an empty session."""
        past = await self._sessions.last_exchanges(space, session, 1)
        return "".join(f"> {title_of(exchange.question)}\n\n{exchange.answer}" for exchange in past)

    async def _rename(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        title = title_of(request.text)
        if not title:
            raise UserError("sessions.no_title")
        chosen = await self._chosen(run, str(request.options.get("session") or ""))
        await run.step(
            "rename",
            lambda: self._owned.rename(request.place.space, request.author.id, chosen.id, title),
            bool,
        )
        yield Stage("sessions", "")
        yield Text(say("sessions.renamed", old=chosen.title, title=title))
        if _is_thread(chosen.at):
            yield Elsewhere(chosen.at, title, archived=chosen.state == "archived")

    async def _archive(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        chosen = await self._chosen(run, request.text)
        await run.step(
            "archive", lambda: self._owned.archive(request.place.space, request.author.id, chosen.id), bool
        )
        yield Stage("sessions", "")
        yield Text(say("sessions.archived", title=chosen.title, code=chosen.id[-6:]))
        if _is_thread(chosen.at):
            yield Elsewhere(chosen.at, chosen.title, archived=True)

    async def _delete(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        space, person = request.place.space, request.author.id

        # Neither step may store a name: a conversation is named after its first question.
        async def target() -> str:
            return (await self._find(request, request.text)).id

        id = await run.step("session", target, str)

        async def runs_of_session() -> list[str]:
            naming = run.request.work
            runs = self._owned.runs(space, person, id, works=CONVERSATION_WORKS, naming=naming, before=run.id)
            return list(await runs)

        runs = await run.step("runs", runs_of_session, list[str])

        async def delete() -> bool:
            await self._owned.delete(space, person, id)
            await self._reword(space, run.id, "")
            return await self._forget(space, *runs)

        await run.step("delete", delete, bool)
        yield Stage("sessions", "")
        yield Text(say("sessions.deleted", code=id[-6:]))

    async def _chosen(self, run: Run, name: str) -> ChosenSession:
        """The session that the person means: by code or title, or the one that is active here. Raises UserError."""
        request = run.request

        # The choice comes first and is stored: after a crash the name may mean no session, or another one.
        async def choose() -> ChosenSession:
            say = words(request.locale)
            row = await self._find(request, name)
            place = Place(row.platform, row.space, row.channel, row.thread)
            return ChosenSession(row.id, row.title or say("sessions.untitled"), asdict(place), row.state)

        return await run.step("session", choose, ChosenSession)

    async def _find(self, request: Request, name: str) -> SessionRow:
        place = request.place
        rows = await self._owned.all(place.space, request.author.id)
        if not name.strip():
            current = await self._sessions.active(*place.key)
            matches = [row for row in rows if current is not None and row.id == current.id]
            if not matches:
                raise UserError("sessions.none_here")
            return matches[0]
        matches = sessions_named(rows, name)
        if not matches:
            raise UserError("sessions.unknown", name=name)
        if len(matches) > 1:
            raise UserError(
                "sessions.which", name=name, names=", ".join(session_name(row) for row in matches[:5])
            )
        return matches[0]


def session_name(row: SessionRow) -> str:
    """A session's name for completion and typing: its title and its code, at most TITLE_CHARS."""
    room = TITLE_CHARS - len(row.alias) - 3
    title = row.title if len(row.title) <= room else row.title[: room - 1].rstrip() + "…"
    return f"{title} ({row.alias})".strip()


def sessions_named(rows: Sequence[SessionRow], name: str) -> list[SessionRow]:
    """The sessions that a code, a title, or both in the form of `session_name`, may mean."""
    typed = " ".join(name.split()).casefold()
    code = re.search(r"\(([0-9a-f]{6})\)$|^([0-9a-f]{6})$", typed)
    if code and (matches := [row for row in rows if row.alias == (code[1] or code[2])]):
        return matches
    return [row for row in rows if typed in (row.title.casefold(), row.id)]


def completions(rows: Sequence[SessionRow], prefix: str) -> list[str]:
    """Sessions to choose from: those whose title, a word of it, or code begins with `prefix`."""
    typed = " ".join(prefix.split()).casefold()

    def fits(row: SessionRow) -> bool:
        name = session_name(row).casefold()
        return name.startswith(typed) or f" {typed}" in name or row.alias.startswith(typed)

    return [session_name(row) for row in rows if fits(row)][:SHOWN]


def _is_thread(place: Place) -> bool:
    """Whether the place is a thread that can be opened on its platform."""
    return place.platform != LOCAL and place.thread != "" and not _is_private(place)


def _is_private(place: Place) -> bool:
    return place.thread.startswith("private:")


def _continues_here(place: Place) -> bool:
    """Whether a conversation of this place continues where its person is: not one in a thread, nor a private one."""
    return not _is_thread(place) and not _is_private(place)


def _list_entry(row: SessionRow, place: Place, zone: tzinfo, say: Words) -> Listed:
    title = re.sub(r"[*_`~|\\\[\]<>]", "", row.title).strip() or say("sessions.untitled")
    is_here = row.state == "active" and (row.platform, row.channel, row.thread) == (
        place.platform,
        place.channel,
        place.thread,
    )
    state = say(f"sessions.state_{'here' if is_here else row.state}")
    line = f"- **{title}** ({row.alias}) · {state} · {row.updated_at.astimezone(zone):%Y-%m-%d %H:%M}"
    return Listed(line, title, row.alias, is_here)
