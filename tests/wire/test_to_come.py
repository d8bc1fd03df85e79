"""Coming events of a story on Discord and Slack: in no message that others read, and shown only after a press."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.fakes.reply import Reply
from tests.wire.conftest import Take
from tests.wire.stories_played import over
from tests.wire.story import ANA, CHOICES, PREMISE, count

pytestmark = [pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]
CAI = "Cai"
OUTLINE = "title: The lower stairs\nevent: The bell is a mimic.\nclimax: The keeper is the mimic's twin."
IDEAS = Reply(pieces=["- The gull is a mimic.\n- The sea is a mimic, too."])
SHOW = "Show what is to come"


def read_by_others(d: Any) -> list[str]:
    """The bot's public texts, without spoilers."""
    if hasattr(d, "slack"):
        public = [m for m in d.everything() if m.user.bot and m.ephemeral_to is None]
        texts = [f"{message.shown} {message.blocks}" for message in public]
    else:
        texts = [message.text for message in d.everything() if message.author.bot and not message.deleted]
    return [re.sub(r"\|\|.*?\|\|", "", text) for text in texts]


@pytest.mark.parametrize("platform", ["discord", pytest.param("slack", marks=pytest.mark.slow)])
async def test_only_one_person_can_read_coming_events(platform: str, take: Take) -> None:
    d = await take(platform)
    d.model.queue += [Reply("The lamp goes out at dusk."), CHOICES]
    talk = await d.ask(ANA, PREMISE, verb="story start")
    await d.until(lambda: count(talk.said(), "The lamp goes out at dusk.") == 1)
    await over(d)
    d.model.queue += [Reply(pieces=[OUTLINE])]
    await d.command(ANA, "story chapter", talk=talk, write=2)
    await d.until(lambda: count(talk.said(), "Only Ana, the game master") == 1)
    d.model.queue += [IDEAS]
    await d.command(CAI, "story ideas", talk=talk)
    await d.until(lambda: count(talk.said(), "Only Ana, the game master") == 2)
    for n, verb in enumerate(("chapter", "plot", "show"), 3):
        await d.command(CAI, f"story {verb}", talk=talk)
        await d.until(lambda n=n: count(talk.said(), "Only Ana, the game master") == n)
    told = await d.choose(CAI, talk, SHOW)
    await d.until(lambda: count(told.said(), "Only Ana, the game master") == 1)
    assert count(told.said(), "mimic") == 0
    told = await d.choose(ANA, talk, SHOW)
    await d.until(lambda: count(told.said(), "a mimic") > 0)
    assert SHOW not in d.open_buttons(told)
    assert not [label for label in d.open_buttons(told) if "hare" in label], "there is no button to share it"
    told = await d.command(ANA, "story plot", talk=talk, private=True)
    await d.until(lambda: count(told.said(), "a mimic") > 0)
    assert count(read_by_others(d), "mimic") == 0
    await d.mention(ANA, talk, "/story gm nobody")
    await d.until(lambda: count(talk.said(), "without a game master") == 1)
    await d.command(CAI, "story plot", talk=talk)
    await d.until(lambda: count(talk.said(), "Spoiler: what is to come") == 1)
    if platform == "discord":
        await d.until(lambda: count(talk.said(), "||1. ☐ The bell is a mimic.||") == 1)
    else:
        told = await d.choose(CAI, talk, SHOW)
        await d.until(lambda: count(told.said(), "The bell is a mimic.") == 1)
    await over(d)
    assert count(read_by_others(d), "mimic") == 0
    d.check()
