"""A scene that contradicts what is noted is flagged under it, with buttons that settle it, on Discord and Slack."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.fakes.reply import Reply
from tests.wire.conftest import PLATFORMS
from tests.wire.shared_bot import SharedBot
from tests.wire.stories_played import over
from tests.wire.story import ANA, BIA, CHOICES, PREMISE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]
FLAG = "Bo is dead, and acts here"


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["discord", "slack"])
async def driver(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Any]:
    shared: SharedBot[Any] = SharedBot(
        tmp_path_factory.mktemp("house"), *PLATFORMS[request.param], tables=1, extract=True
    )
    yield await shared.table()
    await shared.close()


def standing(name: str, **fields: Any) -> dict[str, Any]:
    return {"character": name, **fields}


async def test_a_flagged_contradiction_is_kept_corrected_or_rewritten(driver: Any) -> None:
    d = driver
    d.model.findings += [{"characters": [standing("Bo", dead=True)]}]
    d.model.queue += [Reply("Bo sinks, and does not come up."), CHOICES]
    talk = await d.ask(ANA, PREMISE, verb="story start")
    await d.until(lambda: not d.model.findings)

    async def plays(scene: str) -> None:
        await over(d)
        d.model.findings.append({"characters": [standing("Bo", where="the deck", present=True)]})
        d.model.queue += [Reply(scene), CHOICES]
        await d.mention(ANA, talk, "I wait.")
        await d.until(lambda: any(scene in post.text and FLAG in post.text for post in talk.posts()))

    def scene(text: str) -> str:
        texts = [str(post.text) for post in talk.posts() if text in post.text]
        return "\n".join(texts)

    await plays("Bo stands on the deck once more.")
    await d.choose(BIA, talk, "Keep the scene")
    await d.until(lambda: FLAG not in scene("once more"))
    assert "Keep the scene" not in labels(d, talk)

    await plays("Bo hums by the rail.")
    window = await d.choose(BIA, talk, "Correct the notes")
    await d.fill(BIA, talk, window, "Bo dead: no")
    await d.until(lambda: FLAG not in scene("by the rail"))

    d.model.findings.append({"characters": [standing("Bo", dead=True)]})
    d.model.queue += [Reply("The sea takes Bo for good."), CHOICES]
    await d.mention(ANA, talk, "I watch.")
    await d.until(lambda: not d.model.findings)
    await plays("Bo lights a pipe.")
    await over(d)
    d.model.queue += [Reply("The pipe lies there, cold."), CHOICES]
    await d.choose(ANA, talk, "Write it another way")
    await d.until(lambda: any("cold." in post.text for post in talk.posts()))
    await d.until(lambda: FLAG not in scene("lights a pipe"))
    d.check()


def labels(d: Any, talk: Any) -> str:
    return "\n".join(post.text for post in talk.posts()) + str(d.open_buttons(talk))
