"""The verbs of the party, and the deadline of the turn that the story waits for."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from bot.events import Choice, Choices, Event, Request, Stage, Text, UserError
from bot.markdown import harmless, harmless_values
from bot.runs.requests import child_id
from bot.words import Words, words
from bot.work import Run
from bot.works.story.log.logs import Logs, PlayedStory, node
from bot.works.story.table.party_verbs import Outcome, PartyVerbs
from bot.works.story.world.order import (
    awaited_person,
    last_player_turn,
    mode_of,
    next_in_order,
    skip_body,
    skipped_turns,
)
from storage.schedules import ScheduleRow

if TYPE_CHECKING:
    from bot.works.story.config import StoryConfig
    from storage.schedules import Schedules

DEADLINE: Final = "deadline"
"""The kind of the schedule that runs OVERDUE when a turn's time is over."""
OVERDUE: Final = "overdue"
"""The verb that ends the waiting for a turn."""


@dataclass(frozen=True, slots=True)
class Party:
    """Runs the verbs of the party; `_count_votes` plays the choice with the most votes, and raises UserError if there
    are none.
    """

    _logs: Logs
    _verbs: PartyVerbs
    _schedules: Schedules
    _settings: StoryConfig
    _count_votes: Callable[[Run], AsyncGenerator[Event, None]]

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        outcome = await run.step("told", lambda: self._verbs.outcome(request), Outcome)
        yield Stage(request.verb, "")
        yield Text(outcome.text or say(outcome.key, **harmless_values(outcome.values)))
        if outcome.to:  # announce the whisper to all, by a run that contains none of its words
            about = {"name": outcome.to}
            await run.begin("whispered", "whispered", options=about, for_all=True, there=outcome.there)
        elif request.verb == "whisper":
            yield Choices("", (_write_whisper(say),))
        if outcome.choices:
            options = (Choice(label, f"/story as {name}") for label, name in outcome.choices)
            yield Choices(say("story.speak_as"), tuple(options))
        if request.verb in ("join", "leave", "gm", DEADLINE):
            await self.wait(run)

    async def whispered(self, run: Run) -> AsyncGenerator[Event, None]:
        say = words(run.request.locale)
        yield Stage("whispered", "")
        yield Text(say("story.has_whisper", name=harmless(str(run.request.options.get("name")))))
        yield Choices("", (Choice(say("story.button_whisper"), "/story whisper"), _write_whisper(say)))

    async def wait(self, run: Run) -> None:
        """Schedule the deadline of the present turn, if the story has one."""
        request = run.request

        async def scheduled() -> bool:
            place, turn, minutes = request.place, await self._awaited_turn(request), 0
            if turn and (played := await self._logs.played_in(place)) is not None:
                minutes = int(played.story.settings.get("deadline") or 0)
            schedules = await self._schedules.at_place(*place.key)
            # The deadline belongs to the table: it stays if the last player withdraws their words.
            id = child_id(request, DEADLINE)
            old = [row for row in schedules if row.kind == DEADLINE and row.id != id]
            if minutes and request.verb != DEADLINE and any(json.loads(row.options) == turn for row in old):
                return True  # the time counts from when the waiting began
            await self._schedules.remove(place.space, *(row.id for row in old))
            if not minutes:
                return False
            now = datetime.now(UTC)
            due = now + timedelta(minutes=minutes)
            rule = {"zone": "UTC", "first": f"{due:%Y-%m-%dT%H:%M:%S}", "every": ""}
            row = ScheduleRow(
                id, *place.key, "", request.locale, DEADLINE,
                "", json.dumps(turn), json.dumps(rule), "once", due, now,
            )  # fmt: skip
            await self._schedules.add(row)
            return True

        await run.step("deadline", scheduled, bool)

    async def _awaited_turn(self, request: Request, before: str = "") -> dict[str, str | int]:
        """The turn that the story played here waits for, as it was `before` a run; {} for none."""
        played = await self._logs.played_in(request.place, before)
        if played is None or (played.place is not None and played.place.away):
            return {}
        if played.story.head is not None and played.story.head.act.mode == "end":
            return {}
        expected = awaited_person(played.story, self._settings)
        after, count = last_player_turn(played.story), skipped_turns(played.story)
        if expected is None:
            return {}
        # A hash, since the person's id would remain in the schedule after their data is deleted.
        person_hash = sha256(expected[0].encode()).hexdigest()[:8] if expected[0] else ""
        return {"after": after, "passed": count, "waited": person_hash}

    async def overdue(self, run: Run) -> AsyncGenerator[Event, None]:
        """End the waiting at a deadline, unless something has happened since.

        Votes are counted, or the turn is skipped; if it was the game master's, anybody may play the next one.
        """
        request, say = run.request, words(run.request.locale)

        async def skip() -> list[str]:
            turn = await self._awaited_turn(request, run.id)
            if not turn or turn != {name: request.options.get(name) for name in turn}:
                return []
            played = await self._logs.played_in(request.place, run.id)
            assert played is not None, "somebody is waited for"
            mode = mode_of(played.story, self._settings)
            if mode == "vote":
                return [mode]
            expected = awaited_person(played.story, self._settings)
            assert expected is not None
            following = await self._skip(run, played)
            return [mode, expected[1], following[1] if following is not None else "?"]

        async def skip_votes() -> bool:
            played = await self._logs.played_in(request.place, run.id)
            return played is not None and await self._skip(run, played) is None

        names = await run.step("passing", skip, list[str])
        match names:
            case ["vote"]:
                try:
                    async with aclosing(self._count_votes(run)) as events:
                        async for event in events:
                            yield event
                except UserError as error:
                    if error.key != "story.no_votes":
                        raise
                    await run.step("unvoted", skip_votes, bool)
                    yield Stage(OVERDUE, "")
                    yield Text(say("story.overdue_votes"))
            case ["gm", name, _]:
                yield Stage(OVERDUE, "")
                yield Text(say("story.overdue_gm", name=name))
            case [_, name, following]:
                yield Stage(OVERDUE, "")
                yield Text(say("story.overdue", name=name, next=following))
        if names:
            await self.wait(run)

    async def _skip(self, run: Run, played: PlayedStory) -> tuple[str, str] | None:
        """Store that the awaited player is skipped; returns whose turn it is then."""
        await self._logs.append(played, node(run.id, "set", "set", skip_body(played.story)))
        now = await self._logs.played_in(run.request.place)
        return next_in_order(now.story) if now is not None else None


def _write_whisper(say: Words) -> Choice:
    return Choice(say("story.button_whisper_write"), "/story whisper", asks=say("story.whisper_words"))
