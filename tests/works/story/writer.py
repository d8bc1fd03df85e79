"""A scripted writer of scenes, and a story played with it through the real application."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

from bot.events import Author, Place, Request
from tests.fakes.reply import Body, Reply
from tests.fakes.wires import WIRES
from tests.promises.talk import Events, Talk, settings, talking

CHOICES = "- Open the door.\n- Call into the dark.\n- Walk away."
START = '/story start A lighthouse keeper finds a door in the sea --title "The door"'


def last(asked: Body) -> str:
    """The last message that the writer got."""
    return str(asked["messages"][-1]["content"])


class Writer:
    """Writes scene after scene, and choices on request; `next` replaces the next scenes."""

    def __init__(self) -> None:
        self.asked: list[Body] = []
        self.numbers: Iterator[int] = count(1)
        self.next: list[Reply] = []
        self.choices = CHOICES

    def __call__(self, asked: Body) -> Reply:
        self.asked.append(asked)
        if "offer the players" in last(asked):
            return Reply(pieces=[self.choices])
        if self.next:
            return self.next.pop(0)
        return Reply(f"This is what was written as number {next(self.numbers)}.")

    @property
    def scenes(self) -> list[Body]:
        return [asked for asked in self.asked if "next scene" in last(asked) or "first scene" in last(asked)]


@asynccontextmanager
async def playing(
    tmp_path: Path, writer: Writer, *, wire: str = "chat", toml: str = ""
) -> AsyncIterator[Talk]:
    async with WIRES[wire].service(writer) as service:
        config = settings(tmp_path / "data", service, toml=toml)
        async with talking(config) as talk:
            yield talk


def texts(events: Events) -> str:
    return "".join(str(event.get("text", "")) for event in events if event["event"] == "text")


def choices(events: Events) -> list[Any]:
    return [choice for event in events if event["event"] == "choices" for choice in event["choices"]]


def request(id: str, text: str, *, who: str = "Ana", verb: str = "act", answers: str = "") -> Request:
    place = Place("terminal", "local", "terminal", "t")
    return Request(id, place, Author(who.lower(), who), "story", verb, text=text, answers=answers)


async def ended(talk: Talk, asked: Request) -> Events:
    assert talk.app is not None
    await (await talk.app.perform(asked)).wait()
    return [event for event in talk.events if event["run"] == asked.id]
