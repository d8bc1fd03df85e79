"""Reminders on Discord and Slack: posted once despite kills, in the same place, pinging only their author."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.kill.instants import ALL
from tests.wire.conftest import Take
from tests.wire.on_discord import OnDiscord
from tests.wire.stories_played import over
from tests.wire.story import ANA, BIA

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]

KILLS = 6


def due_now(d: Any, minutes: int = 1) -> None:
    """Make the scheduled posts due some minutes ago."""
    past = (datetime.now(UTC) - timedelta(minutes=minutes)).strftime("%Y-%m-%d %H:%M:%S.%f")
    with closing(sqlite3.connect(d.process.data / "sutradhar.db", timeout=60)) as database, database:
        database.execute("UPDATE schedules SET next_at = ?", [past])


def left(d: Any) -> int:
    """The number of schedules that are still due."""
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
    with closing(sqlite3.connect(d.process.data / "sutradhar.db", timeout=60)) as database:
        (count,) = database.execute("SELECT count(*) FROM schedules WHERE next_at <= ?", [now]).fetchone()
        return int(count)


def reminders(d: Any) -> list[str]:
    return [text for text in d.channel().said() if "⏰" in text and "Bring dice" in text]


@pytest.mark.parametrize("platform", ["discord", "slack"])
async def test_a_reminder_pings_only_its_author(platform: str, take: Take) -> None:
    d = await take(platform)
    before = len(reminders(d))
    bia, cai = d.people[BIA], d.people[ANA]
    text = f"Bring dice, <@{getattr(cai, 'id', cai)}> and @everyone"
    asked = await d.command(ANA, "schedule reminder", text=text, when="in 300 days", every="week")
    followed = await d.choose(BIA, asked, "🔔 Notify me too")
    await d.until(lambda: any("will mention you" in line for line in followed.said()))
    await over(d)
    due_now(d)
    await d.until(lambda: len(reminders(d)) == before + 1)
    await d.until(lambda: all(d.states()))
    [posted] = [message for message in d.everything() if message.mentions]
    if platform == "discord":
        assert posted.mentions == [bia]
        posted.mentions.clear()
        d.check()
    else:  # in its blocks and in its text
        assert set(posted.mentions) == {f"<@{bia.id}>"}
        assert "Traceback" not in d.process.log()


async def test_a_guest_says_that_a_reminder_comes_as_a_direct_message(driver: OnDiscord) -> None:
    d, ana = driver, driver.people[ANA]
    group = d.discord.private(ana, d.people[BIA])
    asked = await d.discord.slash(ana, group, "schedule reminder", text="Bring dice", when="in 300 days")
    await d.until(lambda: "I'll post it in our direct messages on" in asked.text)
    due_now(d)
    await d.until(lambda: any("Bring dice" in message.text for message in d.discord.dm(ana).messages))
    await over(d)
    d.check()


async def test_a_reminder_between_other_people_on_slack_comes_as_a_direct_message(take: Take) -> None:
    d = await take("slack")
    ana, bia = d.people[ANA], d.people[BIA]
    theirs, ours = d.teams[0].dm_of(ana, bia), d.teams[0].dm(ana)
    await d.slack.command(ana, theirs, "/schedule", 'reminder Bring dice --when "in 300 days"')
    await d.until(lambda: any("in our direct messages on" in message.shown for message in theirs.everything))
    due_now(d)
    await d.until(lambda: any("Bring dice" in message.shown for message in ours.everything))
    await over(d)


async def test_nothing_is_promised_for_a_channel_on_slack_where_the_bot_is_not(take: Take) -> None:
    d = await take("slack")
    ana, channel = d.people[ANA], d.teams[0].channel("elsewhere", bot=False)
    await d.slack.command(ana, channel, "/schedule", 'reminder Bring dice --when "in 300 days"')
    await d.until(lambda: any("type `/invite` here" in message.shown for message in channel.everything))
    assert not any("I'll post it" in message.shown for message in channel.everything)
    await d.slack.invite(ana, channel)
    refused = channel.everything[-1]
    await d.slack.press(ana, refused, refused.buttons[0])
    await d.until(lambda: any("I'll post it" in message.shown for message in channel.everything))


async def test_nothing_is_promised_for_a_channel_on_discord_where_the_bot_may_not_write(
    driver: OnDiscord,
) -> None:
    d, ana = driver, driver.people[ANA]
    d.guilds[0].forbid("SEND_MESSAGES")
    options: dict[str, Any] = {"text": "Bring dice", "when": "in 300 days"}
    asked = await d.discord.slash(ana, d.channels[0], "schedule reminder", **options)
    lacks = "I lack the permission “Send Messages”"
    await d.until(lambda: any(lacks in message.text for message in asked.followups))
    d.check()


@pytest.mark.skipif(not ALL, reason="make test-kill has it")
@pytest.mark.parametrize("platform", ["discord", "slack"])
async def test_a_reminder_is_posted_once_whenever_the_bot_is_killed(platform: str, take: Take) -> None:
    d = await take(platform)
    before = len(reminders(d))
    await d.command(ANA, "schedule reminder", text="Bring dice", when="in 300 days", every="week")
    await d.until(lambda: len(d.states()) == 1 and all(d.states()))
    for n in range(KILLS):
        due_now(d, 2 * (KILLS - n))  # more than a minute apart, so that no two times are equal
        await asyncio.sleep(n * 0.4)  # the calendar checks at its start and every five seconds
        await d.restart()
        await d.until(lambda: not left(d))
        await d.until(lambda: all(d.states()))
        await d.until(lambda count=n + 1: len(reminders(d)) >= before + count)
        assert len(reminders(d)) == before + n + 1
    d.check()
