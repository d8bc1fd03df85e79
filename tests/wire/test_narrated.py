"""The stories of a table with everything read aloud: they run as without a voice, and each scene is heard once."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest
import pytest_asyncio
import soundfile

from tests.fakes.reply import Reply
from tests.kill.instants import ALL
from tests.kill.remains import live
from tests.wire.conftest import PLATFORMS
from tests.wire.shared_bot import SharedBot
from tests.wire.stories import STORIES
from tests.wire.story import ANA, CHOICES, PREMISE, count

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]
TOLD = {"a scene that a kill 9 cuts off": 2} | ({"a table plays a story": 3} if ALL else {})
"""How many scenes each has in the end."""


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["discord", "slack", "terminal"])
async def shared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[SharedBot[Any]]:
    made = PLATFORMS[f"{request.param}, narrated"]
    shared: SharedBot[Any] = SharedBot(tmp_path_factory.mktemp("house"), *made, tables=len(TOLD) + 1)
    yield shared
    await shared.close()


@pytest.mark.parametrize("name", TOLD)
async def test_a_story_is_shown_and_heard(name: str, shared: SharedBot[Any]) -> None:
    d = await shared.table()
    await STORIES[name](d)
    if d.listener is not None:
        await d.until(lambda: len(d.listener.spoken) > 100)
    elif hasattr(d, "slack"):

        def clips() -> list[Any]:
            files = [file for file in d.slack.files.all.values() if file.shared == [d.channels[0]]]
            return [file for file in files if file.name.endswith(".mp3") and not file.deleted]

        await d.until(lambda: len(clips()) == TOLD[name])
        assert all(len(soundfile.read(io.BytesIO(file.data))[0]) > 20_000 for file in clips())
    else:
        spoken_events = [event for run in d.runs() for event in d._events(run) if event["event"] == "speak"]
        assert len(spoken_events) == TOLD[name]
    d.check()


@pytest.mark.parametrize("shared", ["discord"], indirect=True)
async def test_the_first_sentence_is_heard_before_the_rest_is_written(shared: SharedBot[Any]) -> None:
    d = await shared.table()
    listener = d.listener
    unheard = partial(
        live, d.process.data / "sutradhar.db", "SELECT seq FROM voice_readings WHERE text != ''"
    )
    d.model.queue += [Reply("The sea is flat."), CHOICES]
    talk = await d.ask(ANA, PREMISE, verb="story start")
    await d.rest(1)
    await d.until(lambda: listener.spoken and not unheard())
    before = len(listener.spoken)
    gate = d.model.hold(
        "The hinges give at once, and it is dark. Behind them there is nothing but the sea.", at=12
    )
    await d.mention(ANA, talk, "I open the door.")
    await d.until(lambda: len(listener.spoken) > before + 50)
    assert count(talk.said(), "nothing but the sea") == 0
    d.model.queue.append(CHOICES)
    gate.set()
    await d.rest(2)
    d.check()
