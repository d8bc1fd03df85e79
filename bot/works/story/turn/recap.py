"""Verbs that say what was played: a recap since a scene or somebody's last turn, and a reminder for an idle party."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, tzinfo
from functools import partial
from typing import TYPE_CHECKING, Final

from bot import untrusted
from bot.budget import text_tokens
from bot.dates import read_date
from bot.events import Choice, Choices, Event, Notice, Request, Stage, Text, UserError
from bot.llm.base import Message, Prompt, room
from bot.words import words
from bot.work import Run
from bot.works.story.turn.turn_plan import TurnPlan
from bot.works.story.world.order import next_in_order
from bot.works.story.world.so_far import LATEST, STRETCH, Tiers, most_chars, size

if TYPE_CHECKING:
    from bot.words import Words
    from bot.works.story.log.logs import Logs
    from bot.works.story.log.story import Story
    from bot.works.story.log.turn import Turn
    from bot.works.story.turn.scene_verbs import SceneVerbs

LAST_CHARS: Final = 300
"""The maximum length of the last scene's text that a reminder quotes."""
SHOWN_TIME = "%Y-%m-%d %H:%M"
OWN_TURN = re.compile(
    r"(?:(?:since|desde) )?(?:me|mine|mim|eu|(?:(?:the|my|o|meu|last|[úu]ltimo) )*(?:turn|turno))"
)
"""The asker's last turn as a starting point: "my turn", "desde o meu último turno"."""
BEFORE_A_NUMBER = frozenset(("since", "from", "scene", "desde", "cena", "a", "da"))
RECAP_WORDS = 200
IDLE_DAYS = 2
"""Days without a turn after which a party is reminded, for schedules of earlier releases that name no number."""
LONGEST_RECAP = 2_000
BRIEF_CHARS = 320
"""The maximum length of a scene in a recap's prompt where the full scene does not fit."""
_SINCE: Final = re.compile(
    r"(?:since|from|for|desde|há|ha|faz|(?:in |over )?the (?:last|past)|(?:[oa]s )?últim[oa]s)\s+"
    r"|[oa]\s+(?=\w+ passad)",
    re.IGNORECASE,
)
_OF_A_DAY: Final = re.compile(r"\d:\d\d|\b(?:hours?|horas?|minutes?|minutos?)\b", re.IGNORECASE)
_MONTHS_AGO: Final = re.compile(r"\b(?:months?|m[êe]s|meses)\b", re.IGNORECASE)
_NUMBERS: Final = re.compile(r"-?\d+(?:\s*[-–]\s*\d+)?")
"""A scene's number, or a range of them: "3", "2-3"."""
TIERS: Final = 8
"""The tiers of the story so far that people may correct: no story has enough scenes for a higher one."""
_CORRECTION: Final = re.compile(r"\s*(\d{1,6})(?:\s*[-–]\s*(\d{1,6}))?\s*:\s+(\S.*)", re.DOTALL)
POINT_CHARS: Final = 100
"""The maximum length of a text that may be a point in time."""


@dataclass(frozen=True, slots=True)
class RecapRange:
    """The range of a recap: the turns from the number `first` on; `taken` is the plan of the story's last turn."""

    taken: TurnPlan = field(default_factory=TurnPlan)
    first: int = 1


@dataclass(frozen=True, slots=True)
class Recap:
    _logs: Logs
    _scene_verbs: SceneVerbs
    _zone: Callable[[Request], Awaitable[tzinfo]]

    async def recap(self, run: Run) -> AsyncGenerator[Event, None]:
        """Tell what has happened since a scene or the asker's last turn, in the requested length."""
        request, say = run.request, words(run.request.locale)
        if correction := _CORRECTION.fullmatch(request.text):
            corrected = partial(self._correct, request, *correction.groups(""))
            first, last = await run.step("corrected", corrected, list[int])
            yield Stage("recap", _scenes(say, first, last))
            yield Text(say("story.recap_corrected"))
            return
        whole = request.verb == "recap" and not request.text.strip() and not request.options.get("words")
        if whole and (summary := await run.step("so_far", lambda: self._so_far(request), list[str])):
            yield Stage("recap", summary[0])
            yield Text("\n\n".join(summary[1:]))
            yield Notice(say("story.recap_ways"))
            return
        since = await run.step("since", lambda: self._since(request), RecapRange)
        plan = since.taken
        yield Stage("recap", _scenes(say, since.first, plan.n))
        if plan.writer is None or plan.demo:
            yield Notice(say("story.no_recap"))
            return
        story = await self._logs.story(request.place.space, plan.story, plan.branch, plan.at)
        prompt = recap_prompt(story, since, _length(request))
        models = self._scene_verbs.models.with_roles(plan.roles)
        async with aclosing(models.stream(run, "writer", "recap", prompt)) as pieces:
            async for piece in pieces:
                if isinstance(piece, str):
                    yield Text(piece)
                elif piece.finish in ("length", "refusal", "cut"):
                    yield Notice(say(f"rules.finish_{piece.finish}"), retry=piece.finish == "cut")

    async def _so_far(self, request: Request) -> list[str]:
        """The title of the kept summary of the story so far, and its parts; no parts before its first stretch."""
        say, story = words(request.locale), (await self._logs.played(request)).story
        if story.length < STRETCH + LATEST:
            return []
        parts = [part for part in Tiers(story, story.current_turns).cover(story.length) if part.text]
        lines = [
            say(
                "story.recap_quoted" if part.quoted else "story.recap_part",
                scenes=_range(part.first + 1, part.first + part.turns),
                text=part.text,
            )
            for part in parts
        ]
        return [_scenes(say, 1, story.length), *lines]

    async def _correct(self, request: Request, first: str, last: str, text: str) -> list[int]:
        """Replace a part of the story so far by a person's text. Raises UserError."""
        played = await self._logs.writable(request)
        story, begins, ends = played.story, int(first), int(last or first)
        tier = next((tier for tier in range(TIERS) if size(tier) == ends - begins + 1), None)
        if tier is None or not 0 < begins <= ends <= story.length or (begins - 1) % size(tier):
            raise UserError("story.recap_no_part", scenes=_range(begins, ends))
        if len(text) > (most := 2 * most_chars(tier)):
            raise UserError("story.recap_long", length=len(text), limit=most)
        part = Tiers(story, story.current_turns).part(tier, begins - 1)
        if not part.sources:
            raise UserError("story.recap_no_part", scenes=_range(begins, ends))
        body = {"of": part.sources, "text": " ".join(text.split())}
        await self._logs.record(played, request, "summed", body, turn=story.path[ends - 1])
        return [begins, ends]

    async def nudge(self, run: Run) -> AsyncGenerator[Event, None]:
        """Remind a party that has not played for a given number of days, on that day only."""
        request, say = run.request, words(run.request.locale)
        days = int(str(request.options.get("idle") or IDLE_DAYS))

        async def idle() -> list[str]:
            played = await self._logs.played_in(request.place)
            if played is None or (datetime.now(UTC) - played.row.updated_at).days != days:
                return []
            head, following = played.story.head, next_in_order(played.story)
            last = head.scene.text if head is not None and head.scene is not None else ""
            return [played.row.title, last[-LAST_CHARS:], following[1] if following is not None else ""]

        if not (idle_story := await run.step("idle", idle, list[str])):
            return
        title, last, name = idle_story
        yield Stage("nudge", say("story.nudge", title=title))
        yield Text(say("story.nudged", n=days))
        if last:
            yield Text("\n\n> … " + " ".join(last.split()))
        if name:
            yield Text("\n\n" + say("story.nudge_whose", name=name))
        buttons = (
            Choice(say("story.button_continue"), "/story continue"),
            Choice(say("story.button_recap"), "/story recap"),
        )
        yield Choices("", buttons)

    async def _since(self, request: Request) -> RecapRange:
        """The range that the request asks for. Raises UserError."""
        played = await self._logs.played(request)
        story = played.story
        if story.head is None:
            raise UserError("story.nothing_yet")
        plan = await self._scene_verbs.plan(request, played, story.head.id, story.seq)
        plain = " ".join(request.text.casefold().split())
        match [part for part in plain.replace("#", " ").split() if part not in BEFORE_A_NUMBER]:
            case [digits] if digits.isdecimal():
                number = int(digits[:9])
                if not 1 <= number <= story.length:
                    raise UserError("story.no_scene", n=number, count=story.length)
                return RecapRange(plan, number)
        if request.verb == "missed" or OWN_TURN.fullmatch(plain):
            own_turns = [
                at for at, turn in enumerate(story.current_turns, 1) if turn.act.author == request.author.id
            ]
            if request.verb == "missed" and own_turns and own_turns[-1] == story.length:
                raise UserError("story.nothing_missed")
            # For the player of the last turn, everything new came before it.
            return RecapRange(plan, min(own_turns[-1] + 1, story.length) if own_turns else 1)
        if not plain:
            return RecapRange(plan)
        zone = await self._zone(request)
        since = await asyncio.to_thread(point_in_time, plain, datetime.now(zone), request.locale)
        if since is None:
            raise UserError("story.recap_since")
        turns = enumerate(story.current_turns, 1)
        if (first := next((n for n, turn in turns if _played_at(turn, zone) >= since), 0)) == 0:
            last = _played_at(story.head, zone)
            raise UserError("story.nothing_since", when=f"{since:{SHOWN_TIME}}", last=f"{last:{SHOWN_TIME}}")
        return RecapRange(plan, first)


def _played_at(turn: Turn, zone: tzinfo) -> datetime:
    """When a turn was played; for a line of a chat log, when it was said if the log has an ISO time."""
    try:
        played = datetime.fromisoformat(turn.act.when)
    except ValueError:
        played = turn.created_at
    return played.astimezone(zone) if played.tzinfo else played.replace(tzinfo=zone)


def _range(first: int, last: int) -> str:
    return f"{first}-{last}" if last > first else str(first)


def _length(request: Request) -> int:
    words_asked = request.options.get("words")
    return min(max(words_asked, 30), LONGEST_RECAP) if isinstance(words_asked, int) else RECAP_WORDS


def recap_prompt(story: Story, since: RecapRange, count: int) -> Prompt:
    """The prompt of a recap: the range's scenes, in short, and the last ones in full as far as there is room."""
    plan, turns = since.taken, list(enumerate(story.current_turns, 1))[since.first - 1 :]
    for chars in (BRIEF_CHARS, BRIEF_CHARS // 4):
        parts = {number: _tagged(number, _short_text(turn, chars)) for number, turn in turns}
        cost = sum(map(text_tokens, parts.values()))
        if cost <= plan.tokens // 2:
            break
    else:  # if not even their beginnings fit, take every second scene, third, …
        step = -(-cost // (plan.tokens // 2))
        parts = {number: parts[number] for number, _ in turns[::step]}
        cost = sum(map(text_tokens, parts.values()))
    for number, turn in reversed(turns):
        in_full = _tagged(number, _full_text(turn))
        cost += text_tokens(in_full) - text_tokens(parts.get(number, ""))
        if cost > plan.tokens:
            break
        parts[number] = in_full
    system, task = plan.prompts["story_recap"].fill(words=str(count))
    scenes = "\n".join(["<story>", *(parts[number] for number in sorted(parts)), "</story>"])
    answer = min(room(count, None), plan.answer * 4)
    return Prompt(system, (Message("user", f"{scenes}\n{task.strip()}"),), max_tokens=answer)


def _tagged(number: int, text: str) -> str:
    return f'<scene n="{number}">\n{untrusted.data(text)}\n</scene>'


def _full_text(turn: Turn) -> str:
    speaker, scene = turn.act.character or turn.act.name, turn.scene.text if turn.scene is not None else ""
    return "\n".join(part for part in (f"{speaker}: {turn.act.text}" if turn.act.text else "", scene) if part)


def _short_text(turn: Turn, chars: int) -> str:
    """The extracted summary of a turn, or else its beginning."""
    extracted = turn.extracted
    text = extracted.summary if extracted is not None and extracted.summary else _full_text(turn)
    return text if len(text) <= chars else text[:chars].rsplit(" ", 1)[0] + " …"


def _scenes(say: Words, first: int, last: int) -> str:
    return say("story.scene", n=first) if first == last else say("story.recap", first=first, last=last)


def point_in_time(point: str, now: datetime, locale: str) -> datetime | None:
    """The point in time that a text names, in the time zone of `now`: for a day or a month its beginning, and without a
    year the most recent one.

    None for text that names none, or a time in the future. The first call takes tens of milliseconds.
    """
    text = _SINCE.sub("", " ".join(point[: 2 * POINT_CHARS].split()), count=1).strip(" .")
    now_local = now.replace(tzinfo=None)
    if len(text) > POINT_CHARS or _NUMBERS.fullmatch(text):
        return None
    day = "current" if _MONTHS_AGO.search(text) else "first"
    date = read_date(text, locale, now_local, PREFER_DATES_FROM="past", PREFER_DAY_OF_MONTH=day)
    if date is None:
        return None
    date = date.replace(tzinfo=None) if _OF_A_DAY.search(text) else datetime.combine(date, time())
    return date.replace(tzinfo=now.tzinfo) if date <= now_local else None
