"""The work "schedule": creates, lists, follows and removes scheduled posts. `calendar` starts them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from bot.events import Choice, Choices, Event, Notice, Request, Stage, Text, UserError
from bot.markdown import harmless
from bot.settings import zone_of
from bot.words import Words, words
from bot.work import Run
from bot.works.schedule.calendar import SCHEDULED
from bot.works.schedule.times import LAST_OF_EVERY_MONTH, Rule, read, without_repetition
from bot.works.schedule.typed_reminder import reminder_in
from storage.schedules import ScheduleRow

if TYPE_CHECKING:
    from storage.schedules import Schedules

MOST: Final = 20
"""The maximum number of schedules in one conversation."""
CODE_CHARS: Final = 6
"""How many last characters of a schedule's id name it for people."""
LINE_CHARS: Final = 80
"""The maximum length of a reminder in the list."""
REMINDER_CHARS: Final = 1_500
"""The maximum length of a reminder."""
RECAP_RANGE: Final = {
    "day": "1 day",
    "weekday": "3 days",
    "week": "7 days",
    "fortnight": "14 days",
    "month": "31 days",
}
"""The range of a repeated recap, as `/story recap` accepts it: what has happened since the previous one."""
IDLE_DAYS: Final = 2
"""The default number of days without a turn after which a party is nudged."""


async def rule_of(request: Request, zone: str) -> Rule:
    """The rule of a request that makes a schedule, in this time zone. Raises UserError."""
    typed, repetition = without_repetition(str(request.options.get("when") or ""))
    first = await asyncio.to_thread(read, typed, request.locale, zone, datetime.now(UTC))
    every = "day" if request.verb == "nudge" else str(request.options.get("every") or repetition)
    return Rule(zone, first.isoformat(timespec="minutes"), every)


@dataclass(frozen=True, slots=True)
class Scheduling:
    """The work. `_zone` returns the asker's time zone, `_guest` whether posts go to their direct messages.

    `_check_course` raises UserError if a lesson's course does not exist, `_check_may_post` if the bot can post nothing
    later.
    """

    _schedules: Schedules
    _zone: Callable[[Request], Awaitable[str]]
    _guest: Callable[[Request], bool]
    _check_course: Callable[[Request], Awaitable[None]]
    _check_may_post: Callable[[Request], Awaitable[None]]

    def run(self, run: Run) -> AsyncGenerator[Event, None]:
        verbs = {
            "list": self._list,
            "remove": self._remove,
            "follow": self._follow,
            "unfollow": self._follow,
            "remind": self._remind,
            "offer": self._offer,
        }
        return verbs.get(run.request.verb, self._add)(run)

    async def _add(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say, space = run.request, words(run.request.locale), run.request.place.space
        options = request.options
        idle = int(str(options.get("idle") or IDLE_DAYS))
        if len(request.text) > REMINDER_CHARS:
            raise UserError("schedule.too_long", most=REMINDER_CHARS)

        async def make_rule() -> Rule:
            await self._check_course(request)
            await self._check_may_post(request)
            return await rule_of(request, await self._zone(request))

        async def add_row() -> bool:
            schedules = await self._here(request)
            if len(schedules) >= MOST and run.id not in [row.id for row in schedules]:
                return False
            next_at = rule.following(datetime.min.replace(tzinfo=UTC))
            assert next_at is not None, "its first time is still to come"
            place, kind = request.place, request.verb
            row = ScheduleRow(
                run.id,
                space,
                place.platform,
                place.channel,
                place.thread,
                request.author.id,
                request.locale,
                kind,
                request.text.strip() or RECAP_RANGE.get(rule.every, "") * (kind == "recap"),
                json.dumps({"idle": idle} if kind == "nudge" else {}),
                json.dumps(asdict(rule)),
                str(options.get("missed") or SCHEDULED[kind].missed),
                next_at,
                datetime.now(UTC),
            )
            await self._schedules.add(row)
            return True

        rule = await run.step("rule", make_rule, Rule)
        if not await run.step("add", add_row, bool):
            raise UserError("schedule.most", most=MOST)
        first = datetime.fromisoformat(rule.first)
        begins = rule.begins()
        yield Stage("schedule", say(f"schedule.is_{request.verb}"))
        if request.verb == "nudge":
            yield Text(say("schedule.comes_idle", hour=f"{first:%H:%M}", zone=rule.zone, n=idle))
        else:
            key = "schedule.direct" if self._guest(request) else "schedule.comes"
            key += "_again" if rule.every else ""
            how_often = repetition_in_words(rule, say) if rule.every else ""
            yield Text(say(key, when=time_in_words(begins, rule.zone, say), again=how_often))
            if begins.replace(tzinfo=None) != first:
                yield Notice(say("schedule.skipped", typed=f"{first:%H:%M}", comes=f"{begins:%H:%M}"))
        if rule.zone == "UTC":
            yield Notice(say("schedule.utc"))
        remove_button = Choice(say("schedule.button_remove"), f"/schedule remove {run.id[-CODE_CHARS:]}")
        follow_button = Choice(say("schedule.button_follow"), f"/schedule follow {run.id[-CODE_CHARS:]}")
        yield Choices("", (follow_button, remove_button) if request.verb == "reminder" else (remove_button,))

    async def _offer(self, run: Run) -> AsyncGenerator[Event, None]:
        """Offer the command of a reminder that was asked for in plain text."""
        say = words(run.request.locale)

        async def read_reminder() -> tuple[str, str]:
            return await asyncio.to_thread(reminder_in, run.request.text) or (run.request.text, "")

        what, when = await run.step("asked", read_reminder, tuple[str, str])
        yield Stage("schedule", say("schedule.is_reminder"))
        yield Text(say("schedule.offer", when=harmless(when)) + f"\n\n> {harmless(what)}")
        line = f'/schedule reminder --when "{when}" -- {what}'
        yield Choices("", (Choice(say("schedule.button_set"), line),))

    async def _list(self, run: Run) -> AsyncGenerator[Event, None]:
        say = words(run.request.locale)

        async def list_rows() -> list[list[str]]:
            return [[code(row), self._line(row, say)] for row in await self._here(run.request)]

        schedules = await run.step("list", list_rows, list[list[str]])
        yield Stage("schedules", say("schedule.list", n=len(schedules)))
        if not schedules:
            yield Text(say("schedule.none"))
            return
        yield Text("\n".join(line for _, line in schedules))
        removing = [
            Choice(say("schedule.button_remove_one", code=row_code), f"/schedule remove {row_code}")
            for row_code, _ in schedules
        ]
        yield Choices("", tuple(removing[:5]))

    def _line(self, row: ScheduleRow, say: Words) -> str:
        rule = Rule(**json.loads(row.rule))
        name, text = say(f"schedule.is_{row.kind}"), " ".join(row.text.split())
        parts = [f"**{name}** ({code(row)})", time_in_words(_local(row.next_at, rule.zone), rule.zone, say)]
        parts += [repetition_in_words(rule, say)] if rule.every else []
        # The text of a recap is a span for /story recap, which the repetition already says.
        if text and row.kind != "recap":
            parts.append(text if len(text) <= LINE_CHARS else f"{text[:LINE_CHARS]}…")
        return "- " + " · ".join(parts)

    async def _remove(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)

        async def removable() -> str:
            own_schedules = await self._schedules.by_author(request.place.space, request.author.id)
            schedule = by_code([*await self._here(request), *own_schedules], request.text)
            if schedule.author_id != request.author.id and not request.author.admin:
                raise UserError("schedule.not_yours", code=code(schedule))
            return schedule.id

        async def removed() -> bool:
            await self._schedules.remove(request.place.space, schedule_id)
            return True

        schedule_id = await run.step("which", removable, str)
        await run.step("remove", removed, bool)
        yield Stage("schedule", "")
        yield Text(say("schedule.removed", code=schedule_id[-CODE_CHARS:]))

    async def _follow(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        space, person, follows = request.place.space, request.author.id, request.verb == "follow"

        async def followed() -> str:
            row = by_code(await self._here(request), request.text)
            if row.kind != "reminder":
                raise UserError("schedule.no_following")
            await (self._schedules.follow if follows else self._schedules.unfollow)(space, row.id, person)
            return code(row)

        name = await run.step("follow", followed, str)
        yield Stage("schedule", "")
        yield Text(say(f"schedule.{request.verb}ed", code=name))

    async def _remind(self, run: Run) -> AsyncGenerator[Event, None]:
        """Post a reminder; the calendar starts this run when its time has come."""
        request, say, space = run.request, words(run.request.locale), run.request.place.space
        id, last = request.answers, bool(request.options.get("last"))

        async def followers() -> list[str]:
            return list(await self._schedules.followers(space, id))

        # The present followers: a step would cost more than everything else. For the last time they are stored in a
        # step, since they are deleted at its end, and needed again after a crash.
        calls = await run.step("followers", followers, list[str]) if last else await followers()
        yield Stage("reminder", f"⏰ {say('schedule.is_reminder')}", calls=tuple(calls))
        yield Text(request.text)
        if due := str(request.options.get("due") or ""):
            at, zone = datetime.fromisoformat(due), await self._zone(request)
            yield Notice(say("schedule.late", when=time_in_words(_local(at, zone), zone, say)))
        if last:
            await self._schedules.remove(space, id)
        else:
            follow = Choice(say("schedule.button_follow"), f"/schedule follow {id[-CODE_CHARS:]}")
            unfollow = Choice(say("schedule.button_unfollow"), f"/schedule unfollow {id[-CODE_CHARS:]}")
            yield Choices("", (follow, unfollow))

    async def _here(self, request: Request) -> Sequence[ScheduleRow]:
        place = request.place
        return await self._schedules.at_place(*place.key)


def by_code(rows: Sequence[ScheduleRow], name: str) -> ScheduleRow:
    """The schedule with this code. Raises UserError."""
    typed = name.strip().casefold()
    for row in rows:
        if code(row) == typed:
            return row
    raise UserError("schedule.unknown", name=name.strip()[:40])


def code(row: ScheduleRow) -> str:
    """The end of a schedule's id, which names it for people."""
    return row.id[-CODE_CHARS:]


def repetition_in_words(rule: Rule, say: Words) -> str:
    """How often a rule repeats, in words."""
    first = datetime.fromisoformat(rule.first)
    if rule.every == "month" and first.day > LAST_OF_EVERY_MONTH:
        return say("schedule.every_month_end")
    return say(f"schedule.every_{rule.every}", day=say(f"schedule.day_{first.weekday()}"), n=first.day)


def time_in_words(at: datetime, zone: str, say: Words) -> str:
    """A time as a clock in its zone shows it, with the day of the week."""
    day, date = say(f"schedule.day_{at.weekday()}"), at.strftime(say("schedule.date"))
    return say("schedule.at", day=day, date=date, hour=f"{at:%H:%M}", zone=zone)


def _local(at: datetime, zone: str) -> datetime:
    return at.astimezone(zone_of(zone))
