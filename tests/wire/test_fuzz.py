"""Payloads that no sane client sends: the bot keeps running, pings nobody, shows no traceback, and continues to
answer.
"""

from __future__ import annotations

import asyncio

import pytest

from tests.fakes.discord import fuzz
from tests.kill.instants import ALL
from tests.wire.on_discord import OnDiscord
from tests.wire.story import ANA, QUESTION, count

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]

PEOPLE, EACH = 40, 5
"""A person's requests are counted, so that one alone would soon be asked to wait, and nothing tried."""


@pytest.mark.parametrize("seed", range(5 if ALL else 1))
async def test_the_bot_answers_after_two_hundred_hostile_payloads(seed: int, driver: OnDiscord) -> None:
    d, discord = driver, driver.discord
    resumed = discord.gateway.resumed
    before = await d.ask(ANA, QUESTION)  # prepare buttons to press and a thread to write in
    await d.rest(1)
    for number, person in enumerate(d.crowd(PEOPLE)):
        place = before.home() if number % 2 else d.channels[0]
        for event, data in fuzz.payloads(seed * PEOPLE + number, EACH, (discord, person, place)):
            await discord.send_raw(event, data)
        await asyncio.sleep(0)
    after = await d.ask(ANA, QUESTION, table=1)
    assert after.asked.acked is not None, "a valid question among them is answered"
    await d.until(lambda: count(after.said(), "the Night takes the next turn") == 1)
    await d.rest(2)
    everything = [
        *d.everything(),
        *(followup for asked in discord.asked.values() for followup in asked.followups),
    ]
    everything += [asked.response for asked in discord.asked.values() if asked.response]
    posts = [message for message in everything if message.author.bot]
    assert not [post.text for post in posts if "Traceback" in post.text or 'File "' in post.text]
    assert not [post.text for post in posts if post.mentions]
    assert d.process.alive
    log = d.process.log()
    assert "Traceback" not in log, log
    assert discord.gateway.resumed == resumed, "the client's own parser did not break"
