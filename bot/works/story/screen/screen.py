"""The verbs of the game master's screen: show it, bind it to a private place, keep plans, roll in secret, reveal."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from bot.events import Attachment, Choice, Choices, Event, OptionValue, Place, Request, Stage, Text, UserError
from bot.verb import TYPED
from bot.words import Words, words
from bot.work import Run
from bot.works.story.log.logs import Logs, PlayedStory, node
from bot.works.story.screen.entries import (
    TOLD_CHARS,
    Entry,
    bound_place,
    check_master,
    entries,
    entry_of,
    for_writer,
    is_master,
    lines,
    next_number,
    one_line,
    writer_secrets,
)
from storage.name_keys import name_key

if TYPE_CHECKING:
    from storage.stories import Node

TABLES: Final = 20
"""Among how many stories those of a game master are searched."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A text for the game master, and buttons as (label, command line, question).

    `reveals` is the number of a roll that is now shown in the place `there`, where the `story` is played; 0 for none.
    """

    text: str
    title: str = ""
    buttons: list[tuple[str, str, str]] = field(default_factory=list)
    file: str = ""
    reveals: int = 0
    story: str = ""
    there: Place | None = None


class Screen:
    def __init__(self, logs: Logs, thrown: Callable[[str, Words], tuple[str, str]]) -> None:
        """`thrown` rolls dice and returns a line for people and one for the writer."""
        self._logs = logs
        self._thrown = thrown

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        yield Stage(request.verb, "")
        if seen_by_others(run):
            yield Text(say("story.screen_public"))
            return
        verbs: dict[str, Callable[[Request, Words], Awaitable[Shown]]] = {
            "screen": self._screen,
            "plan": self._plan,
            "roll": self._roll,
            "reveal": self._reveal,
        }
        shown = await run.step("done", lambda: verbs[request.verb](request, say), Shown)
        if shown.title:
            yield Stage(request.verb, shown.title)
        if shown.reveals:
            about: dict[str, OptionValue] = {"n": shown.reveals, "story": shown.story}
            await run.begin("revealed", "revealed", options=about, for_all=True, there=shown.there)
        yield Text(shown.text)
        if shown.file:
            yield Attachment("screen.md", "text/markdown", shown.file.encode())
        if shown.buttons:
            yield Choices("", tuple(Choice(label, line, asks) for label, line, asks in shown.buttons))

    async def _screen(self, request: Request, say: Words) -> Shown:
        """Show the screen; if no story is played here and none is bound yet, bind this place to one first."""
        place, key = request.place, name_key(request.text)
        playing = await self._logs.played_in(place) is not None
        if not playing and (key or await self._bound_story(request) is None):
            led = await self._led_stories(request)
            if key:
                led = [played for played in led if key in (played.row.alias, played.row.title.casefold())]
            if not led:
                raise UserError("story.no_screen")
            if len(led) > 1:
                buttons = [(played.row.title, f"/story screen {played.row.alias}", "") for played in led]
                return Shown(say("story.screen_which"), buttons=buttons)
            body = {"kind": "place", "platform": place.platform, "channel": place.channel}
            await self._logs.append(led[0], screen_node(request, "place", body))
        played = await self.played(request)
        story, title = played.story, say("story.screen_of", title=played.row.title or say("story.untitled"))
        listed = "\n".join(lines(story, say)) or say("story.screen_empty")
        if request.options.get("download"):
            return Shown(
                say("story.screen_file"), title, file=self._file(title, story_lines=listed, played=played)
            )
        return Shown(listed, title, self._buttons(say))

    def _file(self, title: str, *, story_lines: str, played: PlayedStory) -> str:
        tried = [entry for entry in entries(played.story).values() if entry.kind == "trial"]
        scenes = [f"## {entry.n}. {entry.text}\n\n{entry.body['scene']}" for entry in tried]
        return "\n\n".join((f"# {title}", story_lines, *scenes)) + "\n"

    def _buttons(self, say: Words) -> list[tuple[str, str, str]]:
        return [
            (say("story.button_plan"), "/story plan", say("story.plan_words")),
            (say("story.button_roll"), "/story roll", say("story.roll_words")),
            (say("story.button_try"), "/story try", say("story.try_words")),
        ]

    async def _roll(self, request: Request, say: Words) -> Shown:
        """Roll dice that the table does not see."""
        played = await self.played(request)
        for_people, for_writer = self._thrown(request.text, say)
        n, about = next_number(played.story), str(request.options.get("for") or "").strip()
        body = {"kind": "roll", "n": n, "text": for_people, "rolled": for_writer, "for": about}
        await self._logs.append(played, screen_node(request, "roll", body))
        line = one_line(Entry(n, "roll", request.author.id, body))
        return Shown(
            f"{line}\n\n{say('story.roll_kept', n=n)}",
            buttons=[
                (say("story.button_reveal"), f"/story reveal {n}", ""),
                (say("story.button_tell"), f"/story plan --tell {n}", ""),
            ],
        )

    async def _reveal(self, request: Request, say: Words) -> Shown:
        """Show a hidden roll to the table."""
        played, typed = await self.played(request), request.text.strip()
        entry = entry_of(played.story, int(typed) if typed.isdecimal() else typed, "roll")
        await self.change(played, request, entry.n, shown=True)
        text = say("story.roll_shown", n=entry.n)
        return Shown(text, reveals=entry.n, story=played.row.id, there=played.table)

    async def revealed(self, run: Run) -> AsyncGenerator[Event, None]:
        """Show a formerly hidden roll in the table's place."""
        request, say = run.request, words(run.request.locale)
        id, n = str(request.options["story"]), int(str(request.options["n"]))
        story = await self._logs.story(request.place.space, id, id)
        entry = entries(story).get(n)
        if entry is not None and entry.kind == "roll" and entry.shown:
            yield Stage("revealed", "")
            yield Text(f"{say('story.revealed')}\n\n{one_line(entry)}")

    async def _plan(self, request: Request, say: Words) -> Shown:
        """Keep a plan, or change one by its number."""
        played, text = await self.played(request), request.text.strip()
        story = played.story
        if (n := request.options.get("remove")) is not None:
            entry = entry_of(story, n)
            await self.change(played, request, entry.n, removed=True)
            return Shown(say("story.entry_removed_told" if entry.told else "story.entry_removed", n=entry.n))
        if (n := request.options.get("tell")) is not None:
            entry = entry_of(story, n, "plan", "roll")
            if sum(map(len, (*writer_secrets(story), for_writer(entry)))) > TOLD_CHARS:
                raise UserError("story.told_much", limit=TOLD_CHARS)
            await self.change(played, request, entry.n, told=True)
            return Shown(say("story.entry_tells", n=entry.n))
        if not text:
            return Shown(
                "\n".join(lines(story, say)) or say("story.screen_empty"), buttons=self._buttons(say)
            )
        n = next_number(story)
        await self._logs.append(played, screen_node(request, "plan", {"kind": "plan", "n": n, "text": text}))
        return Shown(
            say("story.plan_kept", n=n),
            buttons=[
                (say("story.button_tell"), f"/story plan --tell {n}", ""),
                (say("story.button_screen"), "/story screen", ""),
            ],
        )

    async def change(self, played: PlayedStory, request: Request, n: int, **what: bool) -> None:
        """Append a change of the entry `n`: told, shown or removed."""
        await self._logs.append(played, screen_node(request, "change", {"kind": "change", "n": n, **what}))

    async def played(self, request: Request) -> PlayedStory:
        """The story that is played here, or whose screen is here. Raises UserError for all but its game master."""
        played = await self._logs.played_in(request.place, request.id)
        if played is None:
            played = await self._bound_story(request)
        if played is None:
            raise UserError("story.no_screen")
        check_master(played.story, request.author)
        return played

    async def _bound_story(self, request: Request) -> PlayedStory | None:
        here = (request.place.platform, request.place.channel)
        return next(
            (played for played in await self._led_stories(request) if bound_place(played.story) == here), None
        )

    async def _led_stories(self, request: Request) -> list[PlayedStory]:
        """The stories of which the author is the game master, the last played first."""
        space, person = request.place.space, request.author.id
        by_id: dict[str, PlayedStory] = {}
        for row, place in await self._logs.stories.seated(space, person, TABLES):
            story = await self._logs.story(space, row.id, place.branch_id)
            if place.platform == request.place.platform and is_master(story, request.author):
                by_id.setdefault(row.id, PlayedStory(row, place.branch_id, story, place))
        return list(by_id.values())


def seen_by_others(run: Run) -> bool:
    """Whether others can read the run's answer, or could read what was typed."""
    return not run.alone or bool(run.request.options.get(TYPED))


def screen_node(request: Request, key: str, body: dict[str, Any]) -> Node:
    """The node of a new entry; a request has one for each key."""
    return node(request.id, f"screen-{key}", "screen", body, author=request.author.id)
