"""kill -9 while a hidden roll is revealed, and while a rehearsed scene is played: people see each once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from tests.fakes.reply import Reply
from tests.kill.instants import ALL
from tests.kill.remains import live
from tests.wire.conftest import Take
from tests.wire.stories_played import kept, over, seen
from tests.wire.story import ANA, CHOICES, PREMISE, count
from tests.wire.test_screen import behind

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]
SCREEN = "SELECT 1 FROM story_nodes WHERE kind = 'screen'"
Sizes = dict[str, int]


def sizes(d: Any, talk: Any, words: str) -> Sizes:
    """The counts of everything that a press adds."""
    return {
        "requests": len(d.runs()),
        "screen": len(live(d.process.data / "sutradhar.db", SCREEN)),
        "acts": len(kept(d, "act")),
        "scenes": len(kept(d, "scene")),
        "seen": count(talk.said(), words),
    }


REVEALED: Mapping[str, Sizes] = {
    "taken": {"requests": 1},
    "kept": {"screen": 1},
    "begun": {"requests": 2},
    "seen": {"seen": 1},
}
PLAYED: Mapping[str, Sizes] = {
    "taken": {"requests": 1},
    "begun": {"requests": 2},
    "the turn": {"acts": 1},
    "the scene": {"scenes": 1},
    "kept": {"screen": 1},
    "seen": {"seen": 1},
}
"""Instants, by what there is more of than before the press."""
FEW = 2


def instants(of: Mapping[str, Sizes], platform: str) -> list[str]:
    """The names of the instants: all with SUTRADHAR_KILLS=all, otherwise a few, different on each platform."""
    names = list(of)
    return names if ALL else names[platform == "slack" :: len(names) // FEW][:FEW]


async def struck(d: Any, talk: Any, private: Any, label: str, words: str, grown: Sizes) -> Sizes:
    """Press, kill the bot once the counts have grown by `grown`, restart it and wait; returns the final growth."""
    before = sizes(d, talk, words)

    def reached() -> bool:
        now = sizes(d, talk, words)
        return all(now[name] - before[name] >= more for name, more in grown.items())

    pressing = asyncio.create_task(d.choose(ANA, private, label))
    await seen(reached)
    await d.kill()
    await pressing
    await d.begin(d.process)
    await over(d)
    now = sizes(d, talk, words)
    return {name: now[name] - before[name] for name in now}


async def begun(d: Any) -> Any:
    d.model.queue += [Reply("The lamp burns on."), CHOICES]
    talk = await d.ask(ANA, PREMISE, verb="story start")
    await d.until(lambda: count(talk.said(), "The lamp burns on.") == 1)
    await over(d)
    await behind(d, talk, "story screen")
    await over(d)
    return talk


async def shown(d: Any, private: Any, label: str) -> None:
    await d.until(lambda: label in d.open_buttons(private))
    await over(d)


@pytest.mark.parametrize("platform", ["discord", "slack"])
async def test_a_hidden_roll_is_revealed_once(platform: str, take: Take) -> None:
    d = await take(platform)
    talk = await begun(d)
    for instant in instants(REVEALED, platform):
        words = f"for the {instant} bell"
        private = await behind(d, talk, "story roll", expression="1d20+3", **{"for": words})
        await shown(d, private, "Show the table")
        assert count(talk.said(), words) == 0
        more = await struck(d, talk, private, "Show the table", words, REVEALED[instant])
        assert more == {"requests": 2, "screen": 1, "acts": 0, "scenes": 0, "seen": 1}, instant
    assert "Traceback" not in d.process.log(), d.process.log()
    d.check()


@pytest.mark.parametrize("platform", ["discord", "slack"])
async def test_a_rehearsed_scene_is_played_once(platform: str, take: Take) -> None:
    d = await take(platform)
    talk = await begun(d)
    for instant in instants(PLAYED, platform):
        words = f"The {instant} bell rings."
        d.model.queue += [Reply(words)]
        private = await behind(d, talk, "story try", what="The bell.")
        await shown(d, private, "Play it")
        assert count(talk.said(), words) == 0
        asked = len(d.model.prompts)
        more = await struck(d, talk, private, "Play it", words, PLAYED[instant])
        assert more == {"requests": 2, "screen": 1, "acts": 1, "scenes": 1, "seen": 1}, instant
        assert len(d.model.prompts) == asked, "the rehearsed scene is played without another call"
        again = await d.choose(ANA, private, "Play it")
        await d.until(lambda: count(again.said(), "already been played") == 1)  # noqa: B023
    assert "Traceback" not in d.process.log(), d.process.log()
    d.check()
