"""A person's own conversations, shown to nobody else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.kind import Kind, Runs, Typed
from bot.verb import Argument, Option, Verb

if TYPE_CHECKING:
    from bot.events import Work
    from bot.resources import Resources


VERBS: tuple[Verb, ...] = (
    Verb("sessions", "list", "verbs.sessions_list", "/sessions list", personal=True),
    Verb(
        "sessions",
        "resume",
        "verbs.sessions_resume",
        "/sessions resume 4f6a1c",
        personal=True,
        argument=Argument("session", "verbs.arg_session", completes="session"),
    ),
    Verb(
        "sessions",
        "rename",
        "verbs.sessions_rename",
        "/sessions rename The siege of the mill",
        personal=True,
        argument=Argument("title", "verbs.arg_title"),
        options=(Option("session", "verbs.option_session", completes="session"),),
    ),
    Verb(
        "sessions",
        "archive",
        "verbs.sessions_archive",
        "/sessions archive 4f6a1c",
        personal=True,
        argument=Argument("session", "verbs.arg_session", required=False, completes="session"),
    ),
    Verb(
        "sessions",
        "delete",
        "verbs.sessions_delete",
        "/sessions delete 4f6a1c",
        personal=True,
        argument=Argument("session", "verbs.arg_session", completes="session"),
    ),
)


def make(resources: Resources, runs: Runs) -> Work:
    from bot.works.sessions.work import SessionsWork

    return SessionsWork(
        resources.records.sessions, resources.records.owned, runs.forget, runs.reword, resources.settings.zone
    )


async def _session(resources: Resources, typed: Typed) -> list[str]:
    from bot.works.sessions.work import names

    return names(await resources.records.owned.all(typed.space, typed.author), typed.prefix)


KIND = Kind("sessions", VERBS, make, completes={"session": _session})
