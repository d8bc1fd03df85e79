"""Scheduled posts: reminders, recaps, a nudge for an idle party, the lesson of the day."""

from __future__ import annotations

import asyncio
import re
from functools import partial
from typing import TYPE_CHECKING

from bot.kind import Kind, Runs, Typed
from bot.verb import Argument, Option, Verb

if TYPE_CHECKING:
    from bot.events import Request
    from bot.kind import Service
    from bot.resources import Resources
    from bot.work import Work

WHEN = Option("when", "verbs.option_when", required=True, most=100)
EVERY = Option("every", "verbs.option_every", choices=("day", "weekday", "week", "fortnight", "month"))
MISSED = Option("missed", "verbs.option_missed", choices=("once", "drop"))
_CODE = Argument("code", "verbs.arg_schedule", completes="schedule")

VERBS: tuple[Verb, ...] = (
    Verb(
        "schedule",
        "reminder",
        '"Session in an hour: bring your sheets" --when "fri 19:00" --every week',
        Argument("text", "verbs.arg_reminder", most=1_500),
        (WHEN, EVERY, MISSED),
        form=("when", "every", "missed"),
    ),
    Verb(
        "schedule",
        "recap",
        '--when "fri 18:30" --every week',
        options=(WHEN, EVERY, MISSED),
        form=("when", "every", "missed"),
    ),
    Verb(
        "schedule",
        "nudge",
        '--when "19:00" --idle 3',
        options=(WHEN, Option("idle", "verbs.option_idle", "number", most=365)),
        form=("when", "idle"),
    ),
    Verb(
        "schedule",
        "lesson",
        'Keeping Bees --when "mon 9:00" --every weekday',
        Argument("course", "verbs.arg_course", completes="course"),
        (WHEN, EVERY, MISSED),
        form=("when", "every", "missed"),
    ),
    Verb("schedule", "list"),
    Verb("schedule", "remove", "4f09ac", _CODE),
    Verb("schedule", "follow", "4f09ac", _CODE, personal=True),
    Verb("schedule", "unfollow", "4f09ac", _CODE, personal=True),
    Verb("schedule", "remind", inner=True),
    Verb("schedule", "offer", argument=Argument("text", "verbs.arg_reminder"), inner=True),
)


def make(resources: Resources, runs: Runs) -> Work:
    from bot.works.schedule.work import Scheduling

    async def zone(request: Request) -> str:
        return str(await resources.settings.zone(request))

    def guest(request: Request) -> bool:
        platform = resources.platforms.get(request.place.platform)
        return platform is not None and platform.guest is not None and platform.guest(request)

    async def check_may_post(request: Request) -> None:
        platform = resources.platforms.get(request.place.platform)
        if platform is not None and platform.check_may_post is not None:
            await platform.check_may_post(request)

    return Scheduling(
        resources.records.schedules, zone, guest, partial(_check_course, resources), check_may_post
    )


async def _check_course(resources: Resources, request: Request) -> None:
    """Raise UserError if a lesson's course does not exist."""
    if request.verb == "lesson":
        from bot.works.course.catalogue import Catalogues
        from bot.works.course.course_names import CourseNames, course_named

        catalogue = await Catalogues(resources.outlines, resources.shelves).of(request.place.space)
        await course_named(CourseNames(resources.embedding), catalogue, request.text)


def _service(resources: Resources, runs: Runs, work: Work | None) -> Service:
    from bot.works.schedule.calendar import Calendar

    return Calendar(resources.records.schedules, runs)


async def _schedule(resources: Resources, typed: Typed) -> list[str]:
    """A person's own schedules."""
    from bot.works.schedule.work import code

    own_schedules = await resources.records.schedules.by_author(typed.space, typed.author)
    return [code(row) for row in own_schedules if code(row).startswith(typed.prefix.casefold())]


async def _checks(resources: Resources, request: Request) -> None:
    from bot.works.schedule.work import rule_of

    if request.verb in ("reminder", "recap", "nudge", "lesson"):
        await rule_of(request, str(await resources.settings.zone(request)))
        await _check_course(resources, request)


async def _claims(text: str) -> str:
    if re.search("remind|lembr", text, re.IGNORECASE) is None:  # which is nearly always so
        return ""
    from bot.works.schedule.typed_reminder import reminder_in

    return "offer" if await asyncio.to_thread(reminder_in, text) else ""


KIND = Kind(
    "schedule",
    VERBS,
    make,
    completes={"schedule": _schedule},
    service=_service,
    checks=_checks,
    claims=_claims,
)
