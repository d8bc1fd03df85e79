"""A table with several people on Discord and Slack: a session zero through a kill -9, and a whisper for two."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.fakes.reply import Reply
from tests.wire.conftest import PLATFORMS
from tests.wire.house import House
from tests.wire.stories import ANA, BIA, CHOICES, PREMISE, count

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900), pytest.mark.asyncio(loop_scope="module")]
SECRET = "the lamp is a trapdoor in disguise"


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["discord", "slack"])
async def driver(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Any]:
    house: House[Any] = House(tmp_path_factory.mktemp("house"), *PLATFORMS[request.param], tables=1)
    yield await house.table()
    await house.close()


async def test_a_session_zero_goes_on_after_a_kill(driver: Any) -> None:
    d = driver
    talk = await d.ask(ANA, PREMISE, verb="story zero")
    await d.until(lambda: count(talk.said(), "What tone") == 1 and "eerie" in d.open_buttons(talk))
    await d.choose(BIA, talk, "eerie")
    await d.until(lambda: count(talk.said(), "For whom is it?") == 1 and "teen" in d.open_buttons(talk))
    assert "eerie" not in d.open_buttons(talk), "what was answered cannot be pressed any more"
    await d.choose(ANA, talk, "Back")
    await d.until(lambda: count(talk.said(), "So far: eerie") == 1 and "tender" in d.open_buttons(talk))
    await d.restart()
    await d.choose(BIA, talk, "tender")
    await d.until(lambda: count(talk.said(), "For whom is it?") == 2 and "teen" in d.open_buttons(talk))
    await d.choose(BIA, talk, "teen")
    await d.until(lambda: count(talk.said(), "never come up") == 1)
    await d.mention(ANA, talk, "spiders")
    await d.until(lambda: count(talk.said(), "out of sight") == 1 and "Skip" in d.open_buttons(talk))
    for asked in ("Who is in it?", "How are turns taken?", "Shall it begin?"):
        await d.choose(BIA, talk, "Skip")
        await d.until(lambda asked=asked: count(talk.said(), asked) == 1)
    d.model.queue += [Reply("The sea is flat."), CHOICES]
    await d.choose(ANA, talk, "Begin the story")
    await d.until(lambda: count(talk.said(), "The sea is flat.") == 1 and not d.model.queue)
    assert "lines: spiders" in d.model.prompts[0]
    d.check()


async def test_a_whisper_is_read_by_two_people_alone(driver: Any) -> None:
    d = driver
    await d.restart()  # people's turns are counted anew
    before = len(d.model.prompts)
    d.model.queue += [Reply("The sea is flat again."), CHOICES]
    talk = await d.ask(ANA, PREMISE, verb="story start")
    await d.until(lambda: count(talk.said(), "flat again") == 1 and not d.model.queue)
    await d.command(BIA, "story join", talk=talk)
    await d.until(lambda: count(talk.said(), "is at the table") == 1)
    told = await d.command(ANA, "story whisper", talk=talk, text=f"{BIA}: {SECRET}")
    await d.until(lambda: count(talk.said(), f"A whisper for {BIA}.") == 1)
    assert count(told.said(), "Only") == 1
    read = await d.choose(BIA, talk, "Read my whispers")
    await d.until(lambda: count(read.said(), SECRET) == 1)
    d.model.queue += [Reply("The lamp burns on."), CHOICES]
    await d.mention(BIA, talk, "I look at the lamp.")
    await d.until(lambda: count(talk.said(), "The lamp burns on.") == 1 and not d.model.queue)
    assert not [
        post
        for post in (*talk.posts(), *d.channel().posts())
        if SECRET in post.text and not post.by.startswith(ANA)
    ]
    assert SECRET not in str(d.model.prompts[before:])
    assert "Traceback" not in d.process.log(), d.process.log()
