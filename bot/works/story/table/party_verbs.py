"""Verbs at the table without a scene: join and leave, play a character, name the game master, limit a turn's time,
whisper.

A whisper is between the game master and a player. It is kept only in the log: no prompt, recall, recap, state or export
includes it, and others see that there is a whisper, but not what it says.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from bot import mention
from bot.events import Author, Place, Request, UserError
from bot.verb import TYPED
from bot.words import Words, meant, words
from bot.works.story.log.logs import Logs, PlayedStory, node
from bot.works.story.log.story import Story
from bot.works.story.world import cast
from bot.works.story.world.order import game_master, leader, may_lead, members, mode_of, names_of
from bot.works.story.world.selves import selves

if TYPE_CHECKING:
    from bot.works.story.config import StoryConfig
    from storage.stories import Node

WHISPER_CHARS: Final = 1_000
TABLES: Final = 20
"""Among how many stories a person's table is looked for."""
SHOWN: Final = 20
"""How many of the last whispers are shown."""
LONGEST: Final = timedelta(days=60)
_SPAN = re.compile(r"(\d{1,5})\s*(min|minutes?|minutos?|h|hours?|horas?|d|days?|dias?)", re.IGNORECASE)
_MINUTES: Final = {"m": 1, "h": 60, "d": 24 * 60}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer, as a key of the catalogue or as a text.

    `to` is the name of a whisper's recipient, who is notified in the place `there`. `choices` are labels and names of
    the characters as whom the person may speak.
    """

    key: str = ""
    values: dict[str, str | int] | None = None
    text: str = ""
    to: str = ""
    there: Place | None = None
    choices: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PartyVerbs:
    _logs: Logs
    _settings: StoryConfig

    async def outcome(self, request: Request) -> Outcome:
        """Carry out the request. Raises UserError."""
        verbs: dict[str, Callable[[Request, PlayedStory, Words], Awaitable[Outcome]]] = {
            "join": self._join,
            "leave": self._leave,
            "play": self._play,
            "as": self._as,
            "gm": self._gm,
            "deadline": self._deadline,
            "whisper": self._whisper,
        }
        if request.verb == "whisper":
            played = await self._story_of_table(request)
        else:
            played = await self._logs.writable(request, asks=False)
        return await verbs[request.verb](request, played, words(request.locale))

    async def _story_of_table(self, request: Request) -> PlayedStory:
        """The story that is played here, or else the last one at whose table the person is. Raises UserError."""
        if await self._logs.played_in(request.place) is not None:
            return await self._logs.writable(request, asks=False)
        space, person = request.place.space, request.author.id
        for row, place in await self._logs.stories.seated(space, person, TABLES):
            story = await self._logs.story(space, row.id, place.branch_id)
            if place.platform == request.place.platform and person in (game_master(story), *members(story)):
                return PlayedStory(row, place.branch_id, story, place)
        raise UserError("story.none_here")

    async def _join(self, request: Request, played: PlayedStory, say: Words) -> Outcome:
        if request.text.strip():
            return await self._play(request, played, say)
        await self._logs.append(played, party_node(request, played.story, here=True))
        return Outcome("story.party_joined", {"name": request.author.name})

    async def _leave(self, request: Request, played: PlayedStory, say: Words) -> Outcome:
        """Leave the table; the game master may remove somebody who is absent."""
        story, leaver = played.story, request.author
        if name_typed := request.text.strip():
            id, name = find_person(story, name_typed)
            if id != leaver.id and not may_lead(story, leaver):
                raise UserError("story.only_gm")
            leaver = Author(id, name)
        names = members(story)
        if leaver.id not in names:
            raise UserError("story.not_at_table", name=leaver.name)
        own_characters = selves(story, leaver)
        nodes = [party_node(replace(request, author=Author(leaver.id, names[leaver.id])), story, here=False)]
        for n, (character, sheet) in enumerate(story.cast.items()):
            if character in own_characters:
                remaining = {key: value for key, value in sheet.items() if key != "player"}
                body = {"name": character, "sheet": remaining}
                nodes.append(node(request.id, f"cast-{n}", "cast", body, author=request.author.id))
        await self._logs.append(played, *nodes)
        return Outcome("story.party_left", {"name": names[leaver.id]})

    async def _play(self, request: Request, played: PlayedStory, say: Words) -> Outcome:
        story, name = played.story, " ".join(request.text.split())[: cast.NAME_CHARS]
        if not story.cast:
            raise UserError("story.no_cast")
        if not (character := cast.find(story, name)):
            raise UserError("story.no_character_of", name=name, names=", ".join(story.cast))
        player = str(story.cast[character].get("player") or "")
        if player and character not in selves(story, request.author):
            raise UserError("story.played_by_other", name=character, player=player)
        sheet = {**story.cast[character], "player": request.author.name}
        await self._logs.append(
            played,
            party_node(request, story, here=True, plays=character),
            node(request.id, "cast", "cast", {"name": character, "sheet": sheet}, author=request.author.id),
        )
        return Outcome("story.party_plays", {"name": request.author.name, "character": character})

    async def _as(self, request: Request, played: PlayedStory, say: Words) -> Outcome:
        """Speak as another of one's own characters from now on; without a name, list them."""
        story, name = played.story, " ".join(request.text.split())[: cast.NAME_CHARS]
        if not (own_characters := selves(story, request.author)):
            raise UserError("story.no_selves")
        if not name:
            text = say("story.selves", names=", ".join(own_characters), name=own_characters[0])
            buttons = [(character, character) for character in own_characters[1:9]]
            return Outcome(text=text, choices=buttons)
        if (character := cast.find(story, name)) not in own_characters:
            raise UserError("story.not_your_self", name=name, names=", ".join(own_characters))
        await self._logs.append(played, party_node(request, story, here=True, plays=character))
        return Outcome("story.speaks_as", {"name": request.author.name, "character": character})

    async def _gm(self, request: Request, played: PlayedStory, say: Words) -> Outcome:
        story, text = played.story, request.text.strip()
        if not text:
            name = names_of(story).get(leader(story), "")
            return Outcome("story.gm_is", {"name": name}) if name else Outcome("story.gm_nobody")
        if not may_lead(story, request.author):
            raise UserError("story.only_gm")
        if meant(text, "nobody", "none"):
            await self._logs.record(played, request, "set", {"gm": ""})
            return Outcome("story.gm_none")
        id, name = find_person(story, text)
        await self._logs.record(played, request, "set", {"gm": id})
        return Outcome("story.gm_now", {"name": name})

    async def _deadline(self, request: Request, played: PlayedStory, say: Words) -> Outcome:
        story, text = played.story, request.text.strip()
        minutes_now = int(story.settings.get("deadline") or 0)
        if not text:
            return (
                Outcome("story.deadline_is", {"span": _span(minutes_now, say)})
                if minutes_now
                else Outcome("story.no_deadline")
            )
        if not may_lead(story, request.author):
            raise UserError("story.only_gm")
        match = _SPAN.fullmatch(text)
        minutes = int(match[1]) * _MINUTES[match[2][0].casefold()] if match else 0
        if not meant(text, "none", "no") and not 0 < minutes <= LONGEST.total_seconds() // 60:
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
            to, name = find_person(story, recipient.strip())
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
        return Outcome("story.whispered", {"name": name}, to=name, there=played.table)


def find_person(story: Story, typed: str) -> tuple[str, str]:
    """The id and name of a person; for a character's name, of its player. Raises UserError for an unknown name."""
    chosen, typed = mention.chosen(typed)
    key = " ".join(typed.removeprefix("@").split()).casefold()
    names = names_of(story)
    if chosen in names:
        return chosen, names[chosen]
    for id, name in names.items() if not chosen else ():
        member = story.party.get(id)
        if key == name.casefold() or (member is not None and key in map(str.casefold, member.selves)):
            return id, name
    raise UserError("story.nobody_called", name=typed[: cast.NAME_CHARS], names=", ".join(names.values()))


def _span(minutes: int, say: Words) -> str:
    unit, size = (
        ("days", 1440) if minutes % 1440 == 0 else ("hours", 60) if minutes % 60 == 0 else ("minutes", 1)
    )
    return say(f"story.span_{unit}", n=minutes // size)


def party_node(request: Request, story: Story, *, here: bool, plays: str = "") -> Node:
    """The node that records that the author is `here` at the table from now on, playing this character, or has left."""
    member = story.party.get(request.author.id) if here else None
    plays = plays or (member.plays if member is not None else "")
    own = dict.fromkeys([*(member.selves if member is not None else ()), *([plays] if plays else [])])
    body: dict[str, Any] = {"person": request.author.id, "name": request.author.name, "here": here}
    body |= {"plays": plays, "selves": list(own)} if plays else {}
    return node(request.id, "party", "party", body, author=request.author.id)


def release_nodes(request: Request, story: Story, character: str) -> list[Node]:
    """The nodes that take a character away from those who have chosen it."""
    nodes: list[Node] = []
    for id, member in story.party.items():
        if character in member.selves:
            own = [name for name in member.selves if name != character]
            plays = member.plays if member.plays != character else next(iter(own), "")
            body = {"person": id, "name": member.name, "here": member.at_table, "plays": plays, "selves": own}
            key = f"party-{len(nodes)}"
            nodes.append(node(request.id, key, "party", body, author=request.author.id))
    return nodes
