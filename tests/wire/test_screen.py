"""The game master's screen on Discord and Slack: nobody else reads its content.

A player uses the verbs that show something; all of them are tried in tests/works/story/test_screen_leaks.py.
"""

from __future__ import annotations

from typing import Any

import pytest

from bot.commands import TABLE
from bot.verb import Verb
from tests.fakes.reply import Reply
from tests.wire.conftest import Take
from tests.wire.stories_played import over
from tests.wire.story import ANA, BIA, CHOICES, PREMISE, count
from tests.wire.test_to_come import read_by_others

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]
UNTOLD, TOLD, ROLLED, TRIED, SCENE = "zanzibar", "quagga", "xylophone", "okapi", "axolotl"
MARKERS = (UNTOLD, TOLD, ROLLED, TRIED, SCENE)
A_START = 12
"""Commands that one person sends before the bot restarts: people are slowed down."""


def writes(asked: dict[str, Any]) -> Reply:
    last = str(asked["messages"][-1]["content"])
    if "offer the players" in last:
        return CHOICES
    return Reply(f"An {SCENE} comes out of the water." if TRIED in last else "The lamp burns on.")


def found(text: str) -> list[str]:
    return [marker for marker in MARKERS if marker in text]


async def behind(d: Any, talk: Any, verb: str, **options: Any) -> Any:
    """Give a command as the game master: in the thread or, on Slack, which has no commands there, in the channel."""
    if not hasattr(d, "slack"):
        return await d.command(ANA, verb, talk=talk, **options)
    row = next(row for row in TABLE if row.path == verb)
    text = str(options.pop(row.argument.name, "")) if row.argument is not None else ""
    mine = d.told(d.people[ANA], d.channels[0])
    await d.typed(d.people[ANA], d.channels[0], verb, text, **options)
    return mine


def given(row: Verb) -> dict[str, str]:
    """The required values of a verb."""
    if row.argument is None or not row.argument.required:
        return {}
    return {row.argument.name: row.sample.partition(" --")[0].replace("'", "") or "bell"}


@pytest.mark.parametrize("platform", ["discord", "slack"])
async def test_only_the_game_master_sees_behind_the_screen(platform: str, take: Take) -> None:
    d = await take(platform)
    d.model.script = writes
    talk = await d.ask(ANA, PREMISE, verb="story start")
    await d.until(lambda: count(talk.said(), "The lamp burns on.") == 1)
    await d.command(BIA, "story join", talk=talk)
    await over(d)
    mine = await behind(d, talk, "story screen")
    await d.until(lambda: count(mine.said(), "There are no plans here") == 1)
    for verb, options, said in (
        ("plan", {"text": f"The word is {UNTOLD}."}, "number 1"),
        ("plan", {"text": f"The keeper is a {TOLD}."}, "number 2"),
        ("plan", {"tell": 2}, "from the next scene on"),
        ("roll", {"expression": "1d20+3", "for": f"a {ROLLED}"}, "number 3"),
        ("try", {"what": f"The {TRIED} calls."}, "number 4"),
    ):
        mine = await behind(d, talk, f"story {verb}", **options)
        await d.until(lambda mine=mine, said=said: count(mine.said(), said) == 1)
    await d.mention(BIA, talk, "I open the door.")
    await d.until(lambda: count(talk.said(), "The lamp burns on.") == 2)
    await over(d)
    assert TOLD in str(d.model.prompts)
    tried, prompts = mine, len(d.model.prompts)
    rows = [row for row in TABLE if row.work == "story" and (row.option("private") or row.secret)]
    for n, row in enumerate(rows, 1):
        answer = await d.command(BIA, row.path, talk=talk, **given(row))
        await over(d)
        assert not found(str(answer.said())), row.path
        if not n % A_START:
            await d.restart()
    assert found(" ".join(read_by_others(d))) == []
    for prompt in d.model.prompts[prompts:]:
        assert not set(found(prompt)) - {TOLD}
        assert TOLD not in prompt or "<turn by=" in prompt.rpartition("</secrets>")[2]
    await d.restart()
    mine = await behind(d, talk, "story reveal", number="3")
    await d.until(lambda: "The game master shows a roll" in " ".join(read_by_others(d)))
    assert found(" ".join(read_by_others(d))) == [ROLLED]
    late = await d.choose(ANA, tried, "Play it")
    await d.until(lambda: count(late.said(), "has moved on") == 1)
    await over(d)
    again = await behind(d, talk, "story try", what=f"The {TRIED} calls.")
    await d.until(lambda: count(again.said(), "Kept as number") == 1)
    asked = len(d.model.prompts)
    await d.choose(ANA, again, "Play it")
    await d.until(lambda: f"An {SCENE} comes" in " ".join(read_by_others(d)))
    await over(d)
    assert len(d.model.prompts) == asked, "the rehearsed scene is played without another call"
    assert found(" ".join(read_by_others(d))) == [ROLLED, SCENE]
    assert "Traceback" not in d.process.log(), d.process.log()
    d.check()
