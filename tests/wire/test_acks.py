"""However many people ask at once, and whatever else the machine does: each is acknowledged in time."""

from __future__ import annotations

import asyncio
import statistics
import time
from typing import Any

import pytest

from tests.kill import books
from tests.kill.instants import ALL
from tests.wire.conftest import Opened
from tests.wire.on_discord import OnDiscord
from tests.wire.stories import ANA, QUESTION

pytestmark = [pytest.mark.timeout(240), pytest.mark.asyncio(loop_scope="module")]

AT_ONCE = 100
LIMIT_S = 3.0
"""As long as Discord waits. `make bench ARGS=discord` holds the bot to 0.3 on a machine that does nothing else."""
COMPLETED_S = 0.1


async def rolls(d: OnDiscord, people: list[Any]) -> list[float]:
    """Seconds until the acknowledgement of the commands that these people give at the same moment."""
    asked = await asyncio.gather(
        *(d.discord.slash(one, d.channels[0], "rules roll", expression="1d1") for one in people)
    )
    await d.until(lambda: all("1" in one.text for one in asked))
    return [one.acked for one in asked if one.acked is not None]


async def test_a_hundred_at_once(driver: OnDiscord) -> None:
    people = driver.crowd(AT_ONCE)
    await rolls(driver, people[:1])
    took = [one for _ in range(3) for one in await rolls(driver, people)]
    assert len(took) == 3 * AT_ONCE
    assert statistics.quantiles(took, n=100)[-1] < LIMIT_S
    driver.check()


@pytest.mark.skipif(not ALL, reason="make test-kill has it")
async def test_questions_are_acknowledged_while_others_are_being_answered(driver: OnDiscord) -> None:
    d = driver
    d.model.usual.delay_s = 0.05
    people = d.crowd(20)
    channels = [d.guilds[0].text(f"table-{n}") for n in range(len(people))]
    asked = await asyncio.gather(
        *(
            d.discord.slash(who, place, "rules ask", question=QUESTION)
            for who, place in zip(people, channels, strict=True)
        )
    )
    more = await rolls(d, people)
    took = [one.acked for one in asked] + more
    assert all(one is not None and one < LIMIT_S for one in took), took
    await d.rest(40)
    d.check()


async def test_completion_with_ten_thousand_sections(opened: Opened, tmp_path: Any) -> None:
    book = books.write(tmp_path / "long.md", 10_000)
    d = await opened(prepare=lambda d: {str(d.guilds[1].id): [book]})
    took = []
    for prefix in ("", "l", "la", "lantern 1", "wolf", "river 99", "bell 12", "nothing like it") * 15:
        began = time.monotonic()
        found = await d.discord.autocomplete(
            d.people[ANA], d.channels[1], "rules lookup", focused="name", name=prefix
        )
        took.append(time.monotonic() - began)
        assert len(found) <= 25
        if prefix in ("wolf", "lantern 1"):
            assert found, prefix
    assert statistics.quantiles(took[1:], n=20)[-1] < COMPLETED_S, took
    other = await d.discord.autocomplete(
        d.people[ANA], d.channels[0], "rules lookup", focused="name", name="river 99"
    )
    assert not [one for one in other if "99" in one["name"]], "another guild's names are nobody's business"
    d.check()
