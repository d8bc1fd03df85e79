"""The verbs recall, which shows what a search of the story's past finds and why, and forget, which excludes a match."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bot.events import Choice, Choices, Event, Link, Request, Stage, Text, UserError
from bot.words import words
from bot.work import Run
from bot.works.story import limits
from bot.works.story.memory.pieces import pieces_of
from bot.works.story.memory.ranking import Query
from bot.works.story.memory.recalled import Recalled
from bot.works.story.scene.choices import label
from bot.works.story.world import cast, state
from bot.works.story.world.state import known_name, turns_unknown_to

if TYPE_CHECKING:
    from bot.works.story.config import RecallConfig
    from bot.works.story.log.logs import Logs
    from bot.works.story.log.story import Story
    from bot.works.story.memory.memory import Memory

SHOWN = 5
"""How many turns are shown."""
QUOTED_CHARS = 300
QUERY_CHARS: Final = limits.QUERY_CHARS


@dataclass(frozen=True, slots=True)
class Moment:
    """A match: the number of its turn, the run whose message shows that, the quoted words and the reasons."""

    number: int
    run: str
    node: str
    quote: str
    reasons: tuple[str, ...] = ()
    when: str = ""


@dataclass(frozen=True, slots=True)
class Recall:
    _logs: Logs
    _memory: Memory
    _by: RecallConfig

    async def recall(self, run: Run) -> AsyncGenerator[Event, None]:
        """Show the moments that match best, with links to their messages."""
        request, say = run.request, words(run.request.locale)
        moments = await run.step("moments", lambda: self._moments(request), list[Moment])
        if not moments:
            yield Stage("recall", "")
            yield Text(say("story.nothing_recalled"))
            return
        yield Stage("recall", say("story.recalled", n=len(moments)))
        for number, moment in enumerate(moments, 1):
            why = ", ".join(say(f"story.because_{reason}") for reason in moment.reasons)
            head = say(
                "story.moment", n=moment.number, when=f" · {moment.when}" if moment.when else "", why=why
            )
            quoted = "\n".join(f"> {line}" for line in moment.quote.splitlines())
            yield Text(f"{number}. {head}\n{quoted}\n\n")
        for moment in moments:
            if moment.run:
                yield Link(moment.run, say("story.scene", n=moment.number))
        pins = [
            Choice(
                label(say("story.button_pin", n=number)),
                f"/story remember -- {say('story.scene', n=moment.number)}: {' '.join(moment.quote.split())}",
            )
            for number, moment in enumerate(moments, 1)
        ]
        lost = [
            Choice(say("story.button_forget", n=number), f"/story forget {moment.node}")
            for number, moment in enumerate(moments, 1)
        ]
        yield Choices(say("story.what_to_keep"), (*pins, *lost))

    async def forget(self, run: Run) -> AsyncGenerator[Event, None]:
        """Exclude a match from the memory from now on; the story itself does not change."""
        request, say = run.request, words(run.request.locale)

        async def forgotten() -> bool:
            played = await self._logs.writable(request)
            of = request.text.strip()
            pieces_known = {part for turn in played.story.current_turns for part in pieces_of(turn)}
            if of not in pieces_known:
                raise UserError("story.gone")
            body = {"node": of}
            await self._logs.record(played, request, "forgotten", body)
            return True

        await run.step("forgotten", forgotten, bool)
        yield Stage("forget", "")
        yield Text(say("story.forgotten_piece"))

    async def _moments(self, request: Request) -> list[Moment]:
        """The moments that the request asks for. Raises UserError."""
        played = await self._logs.played(request)
        story, space = played.story, request.place.space
        if story.head is None:
            raise UserError("story.nothing_yet")
        character, text = str(request.options.get("character") or ""), request.text.strip()[:QUERY_CHARS]
        return await moments(
            self._memory, space, played.row.id, played.branch, story, text, character, self._by
        )


async def moments(
    memory: Memory,
    space: str,
    id: str,
    branch: str,
    story: Story,
    text: str,
    character: str,
    by: RecallConfig,
) -> list[Moment]:
    """The moments of the branch that match the text best, or only those at which the `character` was present.

    Raises UserError for an unknown name.
    """
    chapter = state.title_at(state.chapter_titles(story, story.path[: story.length]), story.length)
    unknown: set[str] = set()
    if character:
        if not (name := known_name(story, character)):
            raise UserError("story.no_character", name=character[: cast.NAME_CHARS])
        unknown = turns_unknown_to(story, name)
    query = Query(text, chapter=chapter)
    pieces = await memory.recall(space, id, branch, story, query, by.pieces, unknown)
    best: dict[str, Recalled] = {}
    for piece in pieces:
        best.setdefault(piece.turn, piece)
    return [_moment(story, piece) for piece in list(best.values())[:SHOWN] if piece.turn in story.turns]


def _moment(story: Story, piece: Recalled) -> Moment:
    turn = story.turns[piece.turn]
    parts = pieces_of(turn).get(piece.node, [])
    quote = parts[piece.part].text if piece.part < len(parts) else ""
    if len(quote) > QUOTED_CHARS:
        quote = quote[:QUOTED_CHARS].rsplit(" ", 1)[0] + " …"
    quoted = f"{parts[piece.part].speaker}: {quote}" if parts and parts[piece.part].speaker else quote
    return Moment(piece.number, turn.shown_by, piece.node, quoted, piece.reasons, turn.act.when)
