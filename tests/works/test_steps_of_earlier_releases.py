"""A run that an earlier release left between two steps ends in this one, although it stored other values."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import asdict, replace
from typing import Any, cast

import pytest

from bot.events import Event, Text
from bot.words import words
from bot.works.house.work import ConversationWork
from bot.works.sessions.work import ChosenSession, SessionsWork
from tests.fakes.run import MemoryRun

ABSENT = cast(Any, None)


class StoredRun(MemoryRun):
    """A run whose steps are all stored. Checks their types, as the engine does."""

    async def step(self, name: str, call: Any, of: type[Any]) -> Any:
        assert isinstance(self.kept[name], of)
        return self.kept[name]


def conversation(run: StoredRun) -> AsyncGenerator[Event, None]:
    return ConversationWork(ABSENT, ABSENT, ABSENT, ABSENT).run(run)


def sessions(run: StoredRun) -> AsyncGenerator[Event, None]:
    run.kept["session"] = ChosenSession("s1", "The siege", asdict(run.request.place), "open")
    return SessionsWork(ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT).run(run)


@pytest.mark.parametrize(
    ("work", "verb", "steps", "said"),
    [
        (conversation, "new", {"close": True}, words("en")("desk.new")),
        (
            sessions,
            "resume",
            {"resume": True, "last": ""},
            words("en")("sessions.resumed", title="The siege"),
        ),
    ],
)
async def test_a_stored_truth_value_is_enough(
    work: Callable[[StoredRun], AsyncGenerator[Event, None]], verb: str, steps: dict[str, Any], said: str
) -> None:
    run = StoredRun(steps=steps)
    run.request = replace(run.request, verb=verb)
    assert [event async for event in work(run)][1:] == [Text(said)]
