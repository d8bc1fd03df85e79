"""A person's own conversations, shown to nobody else."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bot.kind import Kind, Runs, Typed
from bot.verb import Argument, Option, Verb

if TYPE_CHECKING:
    from bot.events import Place, Request
    from bot.resources import Resources
    from bot.work import Work


_verb = partial(Verb, "sessions", personal=True)

VERBS: tuple[Verb, ...] = (
    _verb("list"),
    _verb("resume", "4f6a1c", Argument("session", "verbs.arg_session", completes="session")),
    _verb(
        "rename",
        "The siege of the mill",
        Argument("title", "verbs.arg_title", most=200),
        (Option("session", "verbs.option_session", completes="session"),),
    ),
    _verb("archive", "4f6a1c", Argument("session", "verbs.arg_session", required=False, completes="session")),
    _verb("delete", "4f6a1c", Argument("session", "verbs.arg_session", completes="session")),
)


def make(resources: Resources, runs: Runs) -> Work:
    from bot.works.sessions.work import SessionsWork

    async def reopen(request: Request, place: Place, title: str) -> bool | None:
        platform = resources.platforms.get(place.platform)
        opens = platform.reopen if platform is not None else None
        return await opens(request, place, title) if opens is not None else None

    return SessionsWork(
        resources.records.sessions,
        resources.records.own_sessions,
        runs.forget,
        runs.reword,
        reopen,
        resources.settings.zone,
        resources.config.storage.keep_days,
    )


async def _session(resources: Resources, typed: Typed) -> list[str]:
    from bot.works.sessions.work import completions

    return completions(await resources.records.own_sessions.all(typed.space, typed.author), typed.prefix)


KIND = Kind("sessions", VERBS, make, completes={"session": _session})
