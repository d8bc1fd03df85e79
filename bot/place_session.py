"""The session of a place: the active one, or a new one of the requested work; and its title."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.events import Request
    from storage.sessions import SessionRow, Sessions

TITLE_CHARS = 100
"""The longest title: the most that a platform gives a thread's name (Discord's documentation, "Channel")."""


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


def title_of(text: str) -> str:
    """A title of what somebody typed: one line, at most TITLE_CHARS."""
    line = " ".join(text.split())
    return line if len(line) <= TITLE_CHARS else line[: TITLE_CHARS - 1].rstrip() + "…"
