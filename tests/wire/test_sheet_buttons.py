"""The buttons of sheets and of the game master's screen, pressed on Discord and Slack."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.fakes.reply import Reply
from tests.wire.conftest import PLATFORMS
from tests.wire.shared_bot import SharedBot
from tests.wire.stories_played import CAI, over
from tests.wire.story import ANA, CHOICES, PREMISE, count
from tests.wire.test_screen import behind
from tests.wire.test_to_come import read_by_others

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]
LESS, MORE, CHANGE = "Hit points −1", "Hit points +1", "Change…"
APPLY, IGNORE = "Apply: Mira, Hit points −4", "Ignore"
PLAN, TRIED = "The word is zanzibar.", "The okapi calls."


@pytest_asyncio.fixture(loop_scope="module", params=["discord", "slack"])
async def d(request: pytest.FixtureRequest, tmp_path: Any) -> AsyncIterator[Any]:
    """A table where the extractor reads the scenes."""
    shared: SharedBot[Any] = SharedBot(tmp_path, *PLATFORMS[request.param], tables=1, extract=True)
    driver = await shared.table()
    yield driver
    print(driver.story())
    await shared.close()


async def begun(d: Any) -> Any:
    d.model.queue += [Reply("The lamp burns on."), CHOICES]
    talk = await d.ask(ANA, PREMISE, verb="story start", cast="Mira: a diver")
    await d.until(lambda: count(talk.said(), "The lamp burns on.") == 1)
    await over(d)
    return talk


async def test_a_sheets_buttons_change_it_in_its_own_message(d: Any) -> None:
    talk = await begun(d)
    for options in ({"template": "5e"}, {"character": "Mira", "change": "hp 12/12"}):
        await d.command(ANA, "story sheet", talk=talk, **options)
        await over(d)
    sheet = await d.command(ANA, "story sheet", talk=talk, character="Mira")
    await d.until(lambda: count(sheet.said(), "12/12") == 1)
    await over(d)
    assert [label for label in d.open_buttons(sheet) if label in (LESS, MORE, CHANGE)] == [LESS, MORE, CHANGE]
    for label, now in ((LESS, "11/12"), (LESS, "10/12"), (MORE, "11/12")):
        await d.choose(ANA, sheet, label)
        await d.until(lambda now=now: any("Attribute" in text and now in text for text in sheet.said()))
        await over(d)
    refused = await d.choose(CAI, sheet, LESS)
    await d.until(lambda: count([*refused.said(), *talk.said()], "may change this sheet") == 1)
    window = await d.choose(ANA, sheet, CHANGE)
    await d.fill(ANA, talk, window, "hp -1; +wet")
    await d.until(lambda: any("10/12" in text and "Conditions" in text for text in sheet.said()))
    await over(d)
    assert count(sheet.said(), "Attribute") == 1, "the stored sheet has changed"
    d.check()


async def test_a_press_applies_or_ignores_a_scenes_changes(d: Any) -> None:
    talk = await begun(d)
    for options in ({"template": "5e"}, {"character": "Mira", "change": "hp 12/12"}):
        await d.command(ANA, "story sheet", talk=talk, **options)
        await over(d)

    async def plays(scene: str) -> None:
        d.model.findings.append({"changes": [{"character": "Mira", "change": "hp -4"}]})
        d.model.queue += [Reply(scene), CHOICES]
        await d.mention(ANA, talk, "I wait.")
        await d.until(lambda: APPLY in d.open_buttons(talk))
        await over(d)

    await plays("The wave takes her breath.")
    refused = await d.choose(CAI, talk, APPLY)
    await d.until(lambda: count([*refused.said(), *talk.said()], "may change this sheet") == 1)
    assert {APPLY, IGNORE} <= {*d.open_buttons(talk)}
    applied = await d.choose(ANA, talk, APPLY)
    await d.until(lambda: count([*applied.said(), *talk.said()], "Hit points 8/12") >= 1)
    await d.until(lambda: not {APPLY, IGNORE} & {*d.open_buttons(talk)})
    await over(d)
    await plays("The next one takes it, too.")
    ignored = await d.choose(ANA, talk, IGNORE)
    await d.until(lambda: count([*ignored.said(), *talk.said()], "The sheets stay as they are.") >= 1)
    await d.until(lambda: not {APPLY, IGNORE} & {*d.open_buttons(talk)})
    await over(d)
    sheet = await d.command(ANA, "story sheet", talk=talk, character="Mira")
    await d.until(lambda: count(sheet.said(), "8/12") >= 1)
    d.check()


async def filled(d: Any, window: Any, text: str) -> Any:
    """Submit a window of the screen; returns what Ana alone sees."""
    if not hasattr(d, "slack"):
        return await d.fill(ANA, None, window, text)
    mine = d.told(d.people[ANA], d.channels[0])
    await d.fill(ANA, window, window, text)
    return mine


async def test_only_the_game_master_can_press_the_screens_buttons(d: Any) -> None:
    talk = await begun(d)
    screen = await behind(d, talk, "story screen")

    async def pressed(on: Any, label: str, said: str, text: str = "") -> Any:
        opened = await d.choose(ANA, on, label)
        mine = await filled(d, opened, text) if text else opened
        await d.until(lambda: count(mine.said(), said) == 1)
        await over(d)
        return mine

    plan = await pressed(screen, "Write a plan", "Kept as number 1", PLAN)
    await pressed(plan, "Tell the writer", "from the next scene on")
    shown = await pressed(plan, "Show the screen", PLAN)
    roll = await pressed(shown, "Roll in secret", "number 2", "1d20+3")
    await pressed(roll, "Tell the writer", "from the next scene on")
    d.model.queue += [Reply("An axolotl looks up."), Reply("An axolotl sleeps.")]
    tried = await pressed(shown, "Try a scene", "Kept as number 3", TRIED)
    again = await pressed(tried, "Try again", "Kept as number 4")
    await pressed(again, "Delete it", "is removed")
    hidden = ("zanzibar", "okapi", "axolotl", "1d20")
    assert not [word for word in hidden if word in " ".join(read_by_others(d))]
    d.model.queue += [Reply("The lamp goes out."), CHOICES]
    await d.mention(CAI, talk, "I open the door.")
    await d.until(lambda: count(talk.said(), "The lamp goes out.") == 1)
    await over(d)
    told = next(prompt for prompt in d.model.prompts if "I open the door." in prompt)
    assert PLAN in told
    assert "roll: 1d20 + 3" in told
    d.check()
