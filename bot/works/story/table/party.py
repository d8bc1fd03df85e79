"""The party: who is at the table and plays whom, its game master, how long a turn may take, and whispers.

A whisper is between the game master and a player. It is kept in the log and nowhere else: no prompt, recall, recap,
state or export has it, and who reads along learns that there is one, and not what it says.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from bot import mention
from bot.events import Author, Choice, Choices, Event, Request, Run, Stage, Text, UserError
from bot.runs.requests import child_id
from bot.verb import TYPED
from bot.words import Words, words
from bot.works.story.log.logs import Logs, PlayedStory, node
from bot.works.story.log.story import Story
from bot.works.story.world import cast
from bot.works.story.world.order import (
    game_master,
    last_taken,
    leader,
    masters,
    members,
    mode_of,
    names_of,
    passed,
    waited_for,
    whose,
)
from storage.schedules import ScheduleRow

if TYPE_CHECKING:
    from bot.works.story.config import StoryConfig
    from storage.schedules import Schedules
    from storage.stories import Node

DEADLINE: Final = "deadline"
"""The kind of a schedule that ends a turn's time."""
OVERDUE: Final = "overdue"
"""The verb that it runs."""
WHISPER_CHARS: Final = 1_000
TABLES: Final = 20
"""Stories among which a person's table is looked for."""
SHOWN: Final = 20
"""How many of the last whispers are shown."""
LONGEST: Final = timedelta(days=60)
_SPAN = re.compile(r"(\d{1,5})\s*(min|minutes?|minutos?|h|hours?|horas?|d|days?|dias?)", re.IGNORECASE)
_MINUTES: Final = {"m": 1, "h": 60, "d": 24 * 60}
NOBODY: Final = ("nobody", "none", "-", "ninguém", "ninguem")
_NONE: Final = ("off", "none", "-", "0", "nada", "não", "nao")


@dataclass(frozen=True, slots=True)
class Outcome:
    """A key of the catalogue, or a text; `to`: the name of the whisper's recipient."""

    key: str = ""
    values: dict[str, str | int] | None = None
    text: str = ""
    to: str = ""


@dataclass(frozen=True, slots=True)
class Party:
    """`_count_votes` plays the choice with the most votes; it raises UserError without any vote."""

    _logs: Logs
    _schedules: Schedules
    _settings: StoryConfig
    _count_votes: Callable[[Run], AsyncGenerator[Event, None]]

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        verbs: dict[str, Callable[[Request, PlayedStory, Words], Awaitable[Outcome]]] = {
            "join": self._join,
            "leave": self._leave,
            "play": self._play,
            "gm": self._gm,
            "deadline": self._deadline,
            "whisper": self._whisper,
        }

        async def doing() -> Outcome:
            if request.verb == "whisper":
                played = await self._table_of(request)
            else:
                played = await self._logs.writable(request, asks=False)
            return await verbs[request.verb](request, played, say)

        outcome = await run.step("told", doing, Outcome)
        yield Stage(request.verb, "")
        yield Text(outcome.text or say(outcome.key, **(outcome.values or {})))
        if outcome.to:  # that there is a whisper, where all can see it, by a run that has none of its words
            await run.begin("whispered", "whispered", options={"name": outcome.to}, for_all=True)
        elif request.verb == "whisper":
            yield Choices("", (_write_whisper(say),))
        if request.verb in ("join", "leave", "gm", DEADLINE):
            await self.wait(run)

    async def _table_of(self, request: Request) -> PlayedStory:
        """The story that is played here, or else the last one at whose table the person sits. Raises UserError."""
        if await self._logs.here(request.place) is not None:
            return await self._logs.writable(request, asks=False)
        space, person = request.place.space, request.author.id
        for row, branch in await self._logs.stories.seated(space, person, TABLES):
            story = await self._logs.story(space, row.id, branch)
            if person in (game_master(story), *members(story)):
                return PlayedStory(row, branch, story)
        raise UserError("story.none_here")

    async def _join(self, request: Request, played: PlayedStory, say: Words) -> Outcome:
        if request.text.strip():
            return await self._play(request, played, say)
        await self._logs.append(played, self._here(request, played.story, here=True))
        return Outcome("story.party_joined", {"name": request.author.name})

    def _here(self, request: Request, story: Story, *, here: bool, plays: str = "") -> Node:
        member = story.party.get(request.author.id)
        plays = plays or (member.plays if member is not None and here else "")
        body: dict[str, Any] = {"person": request.author.id, "name": request.author.name, "here": here}
        body |= {"plays": plays} if plays else {}
        return node(request.id, "party", "party", body, author=request.author.id)

    async def _leave(self, request: Request, played: PlayedStory, say: Words) -> Outcome:
        """Leave the table; the game master may remove somebody who is absent."""
        story, leaver = played.story, request.author
        if name_typed := request.text.strip():
            id, name = self._named(story, name_typed)
            if id != leaver.id and not masters(story, leaver):
                raise UserError("story.only_gm")
            leaver = Author(id, name)
        names = members(story)
        if leaver.id not in names:
            raise UserError("story.not_at_table", name=leaver.name)
        nodes = [self._here(replace(request, author=Author(leaver.id, names[leaver.id])), story, here=False)]
        for n, (character, sheet) in enumerate(story.cast.items()):
            if self._is_played_by(story, character, leaver):
                remaining = {key: value for key, value in sheet.items() if key != "player"}
                body = {"name": character, "sheet": remaining}
                nodes.append(node(request.id, f"cast-{n}", "cast", body, author=request.author.id))
        await self._logs.append(played, *nodes)
        return Outcome("story.party_left", {"name": names[leaver.id]})

    def _is_played_by(self, story: Story, character: str, author: Author) -> bool:
        member = story.party.get(author.id)
        player = str(story.cast[character].get("player") or "")
        return player.casefold() == author.name.casefold() or (
            member is not None and member.plays == character
        )

    async def _play(self, request: Request, played: PlayedStory, say: Words) -> Outcome:
        story, name = played.story, " ".join(request.text.split())[: cast.NAME_CHARS]
        if not (character := cast.called(story, name)):
            raise UserError("story.no_character_of", name=name, names=", ".join(story.cast) or "…")
        player = str(story.cast[character].get("player") or "")
        if player and not self._is_played_by(story, character, request.author):
            raise UserError("story.played_by_other", name=character, player=player)
        sheet = {**story.cast[character], "player": request.author.name}
        await self._logs.append(
            played,
            self._here(request, story, here=True, plays=character),
            node(request.id, "cast", "cast", {"name": character, "sheet": sheet}, author=request.author.id),
        )
        return Outcome("story.party_plays", {"name": request.author.name, "character": character})

    async def _gm(self, request: Request, played: PlayedStory, say: Words) -> Outcome:
        story, text = played.story, request.text.strip()
        if not text:
            name = names_of(story).get(leader(story), "")
            return Outcome("story.gm_is", {"name": name}) if name else Outcome("story.gm_nobody")
        if not masters(story, request.author):
            raise UserError("story.only_gm")
        if text.casefold() in NOBODY:
            await self._logs.record(played, request, "set", {"gm": ""})
            return Outcome("story.gm_none")
        id, name = self._named(story, text)
        await self._logs.record(played, request, "set", {"gm": id})
        return Outcome("story.gm_now", {"name": name})

    async def _deadline(self, request: Request, played: PlayedStory, say: Words) -> Outcome:
        story, text = played.story, request.text.strip()
        now = int(story.settings.get("deadline") or 0)
        if not text:
            return (
                Outcome("story.deadline_is", {"span": _span(now, say)})
                if now
                else Outcome("story.no_deadline")
            )
        if not masters(story, request.author):
            raise UserError("story.only_gm")
        match = _SPAN.fullmatch(text)
        minutes = int(match[1]) * _MINUTES[match[2][0].casefold()] if match else 0
        if text.casefold() not in _NONE and not 0 < minutes <= LONGEST.total_seconds() // 60:
            raise UserError("story.deadline_how")
        body = {"deadline": minutes}
        await self._logs.record(played, request, "set", body)
        if not minutes:
            return Outcome("story.deadline_off")
        mode = mode_of(story, self._settings).replace("-", "_")
        return Outcome(f"story.deadline_{mode}", {"span": _span(minutes, say)})

    async def _whisper(self, request: Request, played: PlayedStory, say: Words) -> Outcome:
        story, me, master = played.story, request.author.id, game_master(played.story)
        text = request.text.strip()
        if request.options.get(TYPED):
            return Outcome("story.whisper_public")
        if not text:
            mine = [whisper for whisper in story.whispers if me in (whisper.by, whisper.to)][-SHOWN:]
            names = names_of(story)
            lines = [
                f"- **{whisper.name} → {names.get(whisper.to, '?')}:** {' '.join(whisper.text.split())}"
                for whisper in mine
            ]
            return Outcome(text="\n".join(lines)) if lines else Outcome("story.no_whispers")
        if len(text) > WHISPER_CHARS:
            raise UserError("story.long_whisper", length=len(text), limit=WHISPER_CHARS)
        if me == master:
            recipient, colon, text = text.partition(":")
            if not colon or not text.strip():
                raise UserError("story.whisper_whom")
            to, name = self._named(story, recipient.strip())
        else:
            to, name = master, names_of(story).get(master, "")
            if not name:
                raise UserError("story.gm_nobody")
            if me not in members(story):
                raise UserError("story.not_at_table", name=request.author.name)
        if to != master and to not in members(story):
            raise UserError("story.whisper_left", name=name)
        body = {"to": to, "name": request.author.name, "text": text.strip()}
        await self._logs.record(played, request, "whisper", body)
        return Outcome("story.whispered", {"name": name}, to=name)

    async def whispered(self, run: Run) -> AsyncGenerator[Event, None]:
        say = words(run.request.locale)
        yield Stage("whispered", "")
        yield Text(say("story.has_whisper", name=str(run.request.options.get("name"))))
        yield Choices("", (Choice(say("story.button_whisper"), "/story whisper"), _write_whisper(say)))

    async def wait(self, run: Run) -> None:
        """Schedule the deadline of the present turn, if the story has one."""
        request = run.request

        async def begun() -> bool:
            place, turn, minutes = request.place, await self._waiting(request), 0
            if turn and (played := await self._logs.here(place)) is not None:
                minutes = int(played.story.settings.get("deadline") or 0)
            schedules = await self._schedules.here(place.space, place.platform, place.channel, place.thread)
            # It is the table's: it stays when whoever played last takes their words back.
            id = child_id(request, DEADLINE)
            old = [row for row in schedules if row.kind == DEADLINE and row.id != id]
            if minutes and request.verb != DEADLINE and any(json.loads(row.options) == turn for row in old):
                return True  # it counts from when the waiting began
            await self._schedules.remove(place.space, *(row.id for row in old))
            if not minutes:
                return False
            now = datetime.now(UTC)
            due = now + timedelta(minutes=minutes)
            rule = {"zone": "UTC", "first": f"{due:%Y-%m-%dT%H:%M:%S}", "every": ""}
            row = ScheduleRow(
                id, place.space, place.platform, place.channel, place.thread, "", request.locale, DEADLINE,
                "", json.dumps(turn), json.dumps(rule), "once", due, now,
            )  # fmt: skip
            await self._schedules.add(row)
            return True

        await run.step("deadline", begun, bool)

    async def _waiting(self, request: Request, before: str = "") -> dict[str, str | int]:
        """For what the story waits that is played here, as it stood `before` a run; {} for nothing."""
        played = await self._logs.here(request.place, before)
        if played is None or (played.place is not None and played.place.away):
            return {}
        expected = waited_for(played.story, self._settings)
        after, count = last_taken(played.story), passed(played.story)
        if expected is None:
            return {}
        # Not the person's id, which would stay there after they have their data deleted.
        person_hash = sha256(expected[0].encode()).hexdigest()[:8] if expected[0] else ""
        return {"after": after, "passed": count, "waited": person_hash}

    async def overdue(self, run: Run) -> AsyncGenerator[Event, None]:
        """What the calendar begins: nobody waits any longer, unless something has happened since.

        A turn is passed on; votes are counted; the next turn of anybody is one for the game master's.
        """
        request, say = run.request, words(run.request.locale)

        async def passing() -> list[str]:
            turn = await self._waiting(request, run.id)
            if not turn or turn != {name: request.options.get(name) for name in turn}:
                return []
            played = await self._logs.here(request.place, run.id)
            assert played is not None, "somebody is waited for"
            mode = mode_of(played.story, self._settings)
            if mode == "vote":
                return [mode]
            expected = waited_for(played.story, self._settings)
            assert expected is not None
            following = await self._passed_over(run, played)
            return [mode, expected[1], following[1] if following is not None else "?"]

        async def unvoted() -> bool:
            played = await self._logs.here(request.place, run.id)
            return played is not None and await self._passed_over(run, played) is None

        names = await run.step("passing", passing, list[str])
        match names:
            case ["vote"]:
                try:
                    async with aclosing(self._count_votes(run)) as events:
                        async for event in events:
                            yield event
                except UserError as error:
                    if error.key != "story.no_votes":
                        raise
                    await run.step("unvoted", unvoted, bool)
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

    async def _passed_over(self, run: Run, played: PlayedStory) -> tuple[str, str] | None:
        """Store that the awaited player is passed over; returns whose turn it is then."""
        body = {"passed": {"after": last_taken(played.story), "count": passed(played.story) + 1}}
        await self._logs.append(played, node(run.id, "set", "set", body))
        now = await self._logs.here(run.request.place)
        return whose(now.story) if now is not None else None

    def _named(self, story: Story, typed: str) -> tuple[str, str]:
        """Raises UserError for nobody's name; a character's name is that of who plays it."""
        chosen, typed = mention.chosen(typed)
        key = " ".join(typed.removeprefix("@").split()).casefold()
        names = names_of(story)
        if chosen in names:
            return chosen, names[chosen]
        for id, name in names.items() if not chosen else ():
            member = story.party.get(id)
            if key == name.casefold() or (member is not None and key == member.plays.casefold() != ""):
                return id, name
        raise UserError("story.nobody_called", name=typed[: cast.NAME_CHARS], names=", ".join(names.values()))


def plays(story: Story, author: Author) -> str:
    """The character whom this person plays, "" for none."""
    member = story.party.get(author.id)
    if member is not None and member.plays in story.cast:
        return member.plays
    name = author.name.casefold()
    sheets = story.cast.items()
    return next(
        (character for character, sheet in sheets if str(sheet.get("player", "")).casefold() == name), ""
    )


def _span(minutes: int, say: Words) -> str:
    unit, of = (
        ("days", 1440) if minutes % 1440 == 0 else ("hours", 60) if minutes % 60 == 0 else ("minutes", 1)
    )
    return say(f"story.span_{unit}", n=minutes // of)


def _write_whisper(say: Words) -> Choice:
    return Choice(say("story.button_whisper_write"), "/story whisper", asks=say("story.whisper_words"))
