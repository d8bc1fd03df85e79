"""The outcome of a verb at the table: its answer, and the messages of scenes that it changes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bot.events import Hush, Request, Speaker
from bot.words import Words
from bot.works.story.log.story import Story
from bot.works.story.log.turn import SCENE, Turn
from bot.works.story.world import cast
from bot.works.story.world.to_come import ToCome
from storage.stories import Spot

if TYPE_CHECKING:
    from storage.stories import StoryRow


@dataclass(frozen=True, slots=True)
class ShownScene:
    """A scene and the message that shows it: that of `run` and `stage`, "" for none."""

    run: str
    turn: str
    n: int
    text: str
    choices: list[str] = field(default_factory=list)
    stage: str = SCENE
    speaker: Speaker | None = None


@dataclass(frozen=True, slots=True)
class ChangedTurn:
    """A turn whose scene's message changes; `speaker` is the character under whose name it is shown."""

    turn: str
    speaker: Speaker | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a verb: a key of the catalogue or a text, and the changes to other messages."""

    key: str = ""
    values: dict[str, str | int] = field(default_factory=dict)
    text: str = ""
    title: str = ""
    turns: list[ChangedTurn] = field(default_factory=list)
    choices: list[list[str]] = field(default_factory=list)
    """A label and a command line for each."""
    taken_from: list[Spot] = field(default_factory=list)
    """The threads that played the branch until now, where a scene may still be being written."""
    form: str = ""
    """The command line of a button that opens the form for a new character."""
    hush: Hush | None = None
    """Stops the reading aloud of a version that no longer counts."""
    coming: ToCome = field(default_factory=ToCome)
    posts: bool = False
    """No message shows the present scene yet: a separate run posts it for everybody."""


@dataclass(frozen=True, slots=True)
class Messages:
    """Finds the messages of scenes; `_own_names` says whether characters post under their own names in the request's
    place.
    """

    _own_names: Callable[[Request], Awaitable[bool]]

    async def speaker(self, request: Request, story: Story, turn: Turn) -> Speaker | None:
        speaks = turn.act.speaker
        return cast.speaker(story, speaks, own=bool(speaks) and await self._own_names(request))

    async def changed(self, request: Request, story: Story, *turns: Turn | None) -> list[ChangedTurn]:
        shown = [turn for turn in turns if turn is not None and turn.shown_by]
        return [ChangedTurn(turn.id, await self.speaker(request, story, turn)) for turn in shown]

    async def shown(self, request: Request, story: Story, turn: Turn) -> ShownScene | None:
        """The turn's scene with its message; None for a turn without a scene."""
        if (scene := turn.scene) is None:
            return None
        speaks, number = await self.speaker(request, story, turn), story.path.index(turn.id) + 1
        choices = list(scene.choices)
        return ShownScene(turn.shown_by, turn.id, number, scene.text, choices, turn.stage, speaks)


def title_of(row: StoryRow, say: Words) -> str:
    """A story's title; a placeholder once its author withdrew it."""
    return row.title or say("story.untitled")


def hush_of(turn: Turn) -> Hush | None:
    """The event that stops the reading aloud of the turn's scene; None if no message shows it."""
    return Hush(turn.shown_by, turn.stage) if turn.shown_by else None
