"""Two people press buttons under a scene at once: the later one gets a private note and can fork (Discord, Slack)."""

from __future__ import annotations

import asyncio

import pytest

from tests.fakes.reply import Reply
from tests.wire.conftest import Take
from tests.wire.stories_played import over
from tests.wire.story import ANA, BIA, CHOICES, PREMISE, count

pytestmark = [pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]
TAKEN_BACK = "taken back · Bia"


@pytest.mark.parametrize("platform", ["discord", pytest.param("slack", marks=pytest.mark.slow)])
async def test_the_later_of_two_presses_gets_a_private_note(platform: str, take: Take) -> None:
    d = await take(platform)
    d.model.queue += [Reply("The lamp goes out at dusk."), CHOICES]
    talk = await d.ask(ANA, PREMISE, verb="story start")
    await d.until(lambda: "Call into the dark." in d.open_buttons(talk))
    d.model.queue += [Reply("Something stirs below."), CHOICES]
    private = await asyncio.gather(
        d.choose(ANA, talk, "Open the door."), d.choose(BIA, talk, "Call into the dark.")
    )
    await d.until(lambda: sum(count(one.said(), "pressed first") for one in private) == 1)
    await d.until(lambda: count(talk.said(), "Something stirs below.") == 1)
    assert count(talk.said(), "pressed first") == 0, "nobody else reads it"
    ((loser, told),) = [
        (who, one) for who, one in zip((ANA, BIA), private, strict=True) if count(one.said(), "pressed first")
    ]
    winner = BIA if loser == ANA else ANA
    assert count(told.said(), f"{winner} pressed first") == 1
    assert not [label for label in d.open_buttons(told) if "hare" in label], "the note has no share button"
    await over(d)
    buttons = [button for message in talk.messages() for button in getattr(message, "buttons", ())]
    shown = [*talk.said(), *(str(getattr(button, "label", "")) for button in buttons)]
    assert any(f"· {winner}" in text for text in shown), "everybody sees who pressed"
    await d.choose(BIA, talk, "Take it back")
    await d.until(lambda: count(talk.said(), TAKEN_BACK) == 1)
    await d.until(lambda: d.open_buttons(talk).count("Take it back") == 1)
    await d.choose(ANA, talk, "Bring it back")
    await d.until(lambda: count(talk.said(), TAKEN_BACK) == 0)
    await over(d)
    await d.choose(loser, told, "Fork there")
    await d.until(lambda: count(talk.said(), "This is now the branch") == 1)
    d.check()
