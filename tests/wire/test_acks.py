"""Every request is acknowledged, however many people ask at once and however busy the machine is.

`make bench ARGS=discord` measures how soon: 0.3 s on a machine that does nothing else, where Discord waits 3.
"""

from __future__ import annotations

import asyncio
from typing import Any

import psutil
import pytest

from tests.kill import books
from tests.kill.instants import ALL
from tests.wire.conftest import Opened
from tests.wire.on_discord import OnDiscord
from tests.wire.story import ANA, QUESTION

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]

AT_ONCE = 100
COMPLETED_S = 0.1
"""Of the processor, for what a person has typed so far."""


async def roll(d: OnDiscord, people: list[Any]) -> None:
    """These people give a command at the same moment; each is acknowledged and answered."""
    asked = await asyncio.gather(
        *(d.discord.slash(person, d.channels[0], "rules roll", expression="1d1") for person in people)
    )
    await d.until(lambda: all("1" in command.text for command in asked))
    assert not [command for command in asked if command.acked is None]


async def test_a_hundred_commands_at_once_are_acknowledged_in_time(driver: OnDiscord) -> None:
    people = driver.crowd(AT_ONCE)
    for _ in range(3):
        await roll(driver, people)
    driver.check()


@pytest.mark.skipif(not ALL, reason="make test-kill has it")
async def test_questions_are_acknowledged_while_others_are_being_answered(driver: OnDiscord) -> None:
    d = driver
    d.model.usual.delay_s = 0.05
    people = d.crowd(20)
    channels = [d.guilds[0].text(f"table-{n}") for n in range(len(people))]
    asked = await asyncio.gather(
        *(
            d.discord.slash(person, place, "rules ask", question=QUESTION)
            for person, place in zip(people, channels, strict=True)
        )
    )
    assert not [command for command in asked if command.acked is None]
    await roll(d, people)
    await d.rest(40)
    d.check()


async def test_completion_with_ten_thousand_sections(opened: Opened, tmp_path: Any) -> None:
    book = books.write(tmp_path / "long.md", 10_000)
    d = await opened(prepare=lambda d: {str(d.guilds[1].id): [book]})
    typed = ("", "l", "la", "lantern 1", "wolf", "river 99", "bell 12", "nothing like it") * 15
    before = processor_s(d)
    for prefix in typed:
        choices = await d.discord.autocomplete(
            d.people[ANA], d.channels[1], "rules lookup", focused="name", name=prefix
        )
        assert len(choices) <= 25
        if prefix in ("wolf", "lantern 1"):
            assert choices, prefix
    assert (processor_s(d) - before) / len(typed) < COMPLETED_S
    other_choices = await d.discord.autocomplete(
        d.people[ANA], d.channels[0], "rules lookup", focused="name", name="river 99"
    )
    assert not [choice for choice in other_choices if "99" in choice["name"]], (
        "another guild's names are nobody's business"
    )
    d.check()


def processor_s(d: OnDiscord) -> float:
    """The processor seconds that the bot's process has used so far."""
    spent = psutil.Process(d.process.pid).cpu_times()
    return float(spent.user + spent.system)
