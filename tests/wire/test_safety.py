"""The stop card on Discord and Slack: usable once, by anybody, during a scene, and across a kill -9."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest
import pytest_asyncio

from tests.fakes.reply import Reply
from tests.kill.instants import ALL
from tests.kill.remains import live
from tests.wire.conftest import PLATFORMS
from tests.wire.shared_bot import SharedBot
from tests.wire.stories_played import over, seen
from tests.wire.story import ANA, BIA, CHOICES, PREMISE, count

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900), pytest.mark.asyncio(loop_scope="module")]
CARD = "✋ Stop card"
GONE = "taken out of the story with the stop card"
KILLS = 12 if ALL else 4


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["discord", "slack"])
async def table(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Any]:
    shared: SharedBot[Any] = SharedBot(tmp_path_factory.mktemp("house"), *PLATFORMS[request.param], tables=1)
    yield await shared.table()
    await shared.close()


@pytest_asyncio.fixture(loop_scope="module")
async def driver(table: Any) -> AsyncIterator[Any]:
    yield table
    await over(table)


def cards(d: Any) -> int:
    return len(live(d.process.data / "sutradhar.db", "SELECT id FROM story_nodes WHERE kind = 'stopcard'"))


async def test_a_stop_card_removes_the_scene_and_names_nobody(driver: Any) -> None:
    d = driver
    d.model.queue += [Reply("The sea is flat."), CHOICES]
    talk = await d.ask(ANA, PREMISE, verb="story start")
    await d.rest(1)
    d.model.queue += [Reply("Spiders come out of the wall."), CHOICES]
    await d.mention(ANA, talk, "I open the door.")
    await d.rest(2)
    before = cards(d)
    answers = await asyncio.gather(*(d.choose(person, talk, CARD) for person in (BIA, ANA, BIA, ANA, BIA)))
    await d.until(lambda: count(talk.said(), GONE) == 1)
    assert count(talk.said(), "Spiders") == 0, talk.said()
    assert cards(d) == before + 1
    assert any("out of the story" in text for event in answers for text in event.said()), (
        "the presser alone gets the note"
    )
    for post in talk.posts():
        assert not (GONE in post.text and (ANA in post.text or BIA in post.text)), post
        assert "Nobody learns who played the card" not in post.text, (
            "the note is where only the presser sees it"
        )
    d.model.queue += [Reply("The lamp burns on."), CHOICES]
    await d.choose(BIA, talk, "Continue")
    await d.until(lambda: count(talk.said(), "The lamp burns on.") == 1 and CARD in d.open_buttons(talk))
    assert "Spiders" not in d.model.prompts[-1]
    await over(d)
    d.check()


async def test_a_stop_card_stops_and_withdraws_an_unfinished_scene(driver: Any) -> None:
    d = driver
    d.model.queue += [Reply("The sea is flat again."), CHOICES]
    talk = await d.ask(ANA, PREMISE, verb="story start")
    await d.until(lambda: count(talk.said(), "flat again") == 1 and CARD in d.open_buttons(talk))
    gate = d.model.hold("Spiders come out of the wall, and of the floor, and of everything at all.", at=6)
    await d.mention(ANA, talk, "I open the door.")
    await d.until(lambda: count(talk.said(), "Spiders") == 1)
    before = cards(d)
    # The last message with the button is the unfinished one.
    await asyncio.gather(*(d.choose(person, talk, CARD) for person in (BIA, ANA) * 5))
    await d.until(lambda: count(talk.said(), GONE) == 1)
    gate.set()
    assert count(talk.said(), "Spiders") == 0
    assert count(talk.said(), "flat again") == 1
    assert cards(d) == before + 1
    assert not [post for post in talk.posts() if "stop" in post.actions]
    d.model.queue += [Reply("The door stays shut."), CHOICES]
    await d.mention(ANA, talk, "I leave it shut.")
    await d.until(lambda: count(talk.said(), "The door stays shut.") == 1 and not d.model.queue)
    assert "Spiders" not in d.model.prompts[-1]


async def test_mature_stories_are_played_only_in_adult_channels(driver: Any) -> None:
    d = driver
    await d.restart()
    before = len(d.model.prompts)
    received = len(d.states())
    await d.ask(ANA, PREMISE, verb="story start", rating="mature")
    await seen(lambda: len(d.states()) > received and d.states()[-1] == "failed")
    assert len(d.model.prompts) == before
    if hasattr(d, "discord"):
        d.channels[0].restrict()
    else:
        await d.command(BIA, "settings set", setting="story.mature", value="on", **{"for": "channel"})
        await d.until(lambda: d.states().count("") == 0)
    d.model.queue += [Reply("The door is of oak."), CHOICES]
    talk = await d.ask(ANA, PREMISE, verb="story start", rating="mature")
    await d.until(lambda: count(talk.said(), "The door is of oak.") == 1 and not d.model.queue)
    d.model.queue += [Reply("It opens in the thread, too."), CHOICES]
    await d.mention(BIA, talk, "I push it.")
    await d.until(lambda: count(talk.said(), "It opens in the thread, too.") == 1)


def writer(asked: dict[str, Any], *, hold: bool = False) -> Reply:
    last = str(asked["messages"][-1]["content"])
    if "offer the players" in last:
        return CHOICES
    match = re.search(r"cellar (\d+)", last)
    if match is None:
        return Reply("The sea is flat once more.")
    scene = f"Spiders of cellar {match[1]} come out. And they stay there for a very long time indeed."
    return Reply(scene, gates={8: asyncio.Event()} if hold else {})


async def test_a_stop_card_survives_a_kill_at_any_moment(driver: Any) -> None:
    d, chance = driver, random.Random("stop card")
    await d.restart()  # the limit on people's turns starts again
    d.model.script = writer
    talk = await d.ask(ANA, PREMISE, verb="story start")
    await d.until(lambda: count(talk.said(), "once more") == 1 and CARD in d.open_buttons(talk))
    for n in range(KILLS):
        scene, before = f"Spiders of cellar {n} come out.", cards(d)
        d.model.script = partial(writer, hold=n % 2 == 1)
        await d.mention(ANA, talk, f"I go into cellar {n}.")
        await d.until(lambda scene=scene: count(talk.said(), scene) == 1)
        if n % 2 == 0:
            await over(d)
        playing = d.choose(BIA, talk, CARD) if n % 2 else d.command(BIA, "story stopcard", talk=talk)
        pressed = asyncio.create_task(playing)
        await seen(lambda before=before: cards(d) == before + 1)  # type: ignore[misc]
        await asyncio.sleep(chance.random() * 0.3)
        await d.restart()
        await asyncio.gather(pressed, return_exceptions=True)
        await d.until(lambda scene=scene: count(talk.said(), scene) == 0)
        await over(d)
        assert count(talk.said(), "Spiders") == 0, talk.said()
        assert cards(d) == before + 1
    assert "Traceback" not in d.process.log(), d.process.log()
