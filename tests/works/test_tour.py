"""/tour has five steps, each with a button for the next, and every command that it names can be typed."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bot.events import Choices, Event, Stage, Text
from bot.words import words
from bot.works.house.work import TOUR, ConversationWork
from scripts.documented_commands import fault
from tests.fakes.scripted_app import asked


async def step(text: str, locale: str = "en") -> list[Event]:
    work = ConversationWork(cast(Any, None), cast(Any, None), cast(Any, None), cast(Any, None))
    request = asked("r1", text, work="house", verb="tour")
    run = SimpleNamespace(request=SimpleNamespace(verb="tour", text=text, place=request.place, locale=locale))
    return [event async for event in work.run(cast(Any, run))]


@pytest.mark.parametrize("locale", ["en", "pt-BR"])
async def test_the_tour_leads_through_five_steps_and_ends(locale: str) -> None:
    say, text, titles = words(locale), "", []
    while True:
        stage, told, *rest = await step(text, locale)
        assert isinstance(stage, Stage)
        assert isinstance(told, Text)
        titles.append(stage.title)
        commands = re.findall(r"`(/[^`]+)`", told.text)
        assert len(commands) >= 2
        assert [(command, reason) for command in commands if (reason := fault(command))] == []
        if not rest:
            break
        (choices,) = rest
        assert isinstance(choices, Choices)
        (choice,) = choices.choices
        assert choice.label == say("tour.next")
        text = choice.command.removeprefix("/tour ")
    assert titles == [say("tour.title", step=n, steps=5) for n in range(1, 6)]


@pytest.mark.parametrize(("typed", "n"), [("0", 1), ("9", 5), ("begin", 1), ("3", 3)])
async def test_an_unknown_step_shows_the_nearest_one(typed: str, n: int) -> None:
    assert (await step(typed))[1] == Text(words("en")(TOUR[n - 1]))
