"""Votes on choices: the buttons show the counts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.adapters import footer
from bot.adapters.stage_content import StageContent
from bot.adapters.stored_choices import VoteCounts
from bot.adapters.writer import Pace, Writers
from bot.events import Choice, Choices
from tests.adapters.choices import (
    Play,
    asked,
    ended,
    labels,
    lines,
    offered,
    offered_on_slack,
    on_discord,
    on_slack,
    presses_anyway,
)
from tests.adapters.discord.line import Line
from tests.adapters.slack.table import Table
from tests.fakes.scripted_app import Recorder, open_scripted


@pytest.fixture
async def on(tmp_path: Path) -> AsyncIterator[Line]:
    async with on_discord(tmp_path) as made:
        yield made


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Table]:
    async with on_slack(tmp_path) as made:
        yield made


async def test_on_discord_each_person_has_one_vote_and_buttons_count_them(on: Line) -> None:
    message = await offered(on, "vote", "Left")
    (run,) = await ended(on.app, 1)
    told = await on.discord.press(on.bia, message, "Left")
    await on.discord.until(lambda: "Left · 1" in labels(message))
    (noted,) = told.followups
    assert noted.text.startswith("You voted for “Left”.")
    assert noted.only_for is on.bia
    await on.discord.press(on.ana, message, "Right")
    await on.discord.press(on.bia, message, "Left · 1")
    await on.discord.until(lambda: "Right · 1" in labels(message))
    await on.discord.press(on.bia, message, "Right · 1")
    await on.discord.until(lambda: labels(message)[:4] == ["Go", "Left", "Right · 2", "Ask on"])
    assert await on.app.resources.records.votes.counts(str(on.guild.id), run.id, 1) == {2: 2}
    assert len(await asked(on.app)) == 1, "a vote starts no run"


async def test_on_discord_every_vote_of_a_crowd_counts_with_few_edits(on: Line) -> None:
    people = [on.discord.user(f"Person {n}") for n in range(25)]
    for person in people:
        on.guild.join(person)
    message = await offered(on, "vote", "Left")
    await ended(on.app, 1)
    on.client.counts = VoteCounts(Writers(Pace(edit_every_s=0.3, posts=50, posts_in_s=1.0)))
    before = len(message.edits)
    left = next(button.custom_id for button in message.buttons if button.label == "Left")
    await asyncio.gather(*(on.discord.press(person, message, str(left)) for person in people))
    await on.discord.until(lambda: "Left · 25" in labels(message))
    assert len(message.edits) - before < 15


async def test_on_discord_a_vote_with_a_command_runs_as_the_voter(on: Line) -> None:
    message = await offered(on, "vote", "Left")
    await on.discord.press(on.ana, message, "Ask on")
    first, second = await ended(on.app, 2)
    assert (second.text, second.author.id, second.answers) == ("why", str(on.ana.id), first.id)
    await on.discord.until(lambda: "Ask on · 1" in labels(message))


async def test_on_discord_a_closed_vote_keeps_its_counts_and_accepts_no_more(on: Line) -> None:
    message = await offered(on, "vote", "Left")
    await on.discord.press(on.ana, message, "Right")
    await on.discord.press(on.bia, message, "Right")
    (run,) = await ended(on.app, 1)
    await on.discord.say(on.bia, message.channel, f"close {run.id}", mention=True)
    await on.discord.until(lambda: "✓ Right · 2" in labels(message))
    (right,) = [button for button in message.buttons if "Right" in button.label]
    assert await presses_anyway(on, message, str(right.custom_id)) == "This has already been chosen."


async def test_on_discord_a_vote_on_an_ephemeral_message_counts(on: Line) -> None:
    told = await on.discord.slash(on.bia, on.channel, "rules ask", question="vote", private=True)
    message = await on.discord.until(
        lambda: told.response if told.response and "Left" in labels(told.response) else None
    )
    assert message is not None
    await on.discord.press(on.bia, message, "Left")
    await on.discord.until(lambda: "Left · 1" in labels(message))


async def test_on_discord_a_vote_that_is_shown_again_keeps_its_counts(on: Line) -> None:
    message = await offered(on, "vote", "Left")
    await on.discord.press(on.bia, message, "Left")
    (run,) = await ended(on.app, 1)
    await on.discord.say(on.bia, message.channel, f"again {run.id}", mention=True)
    await on.discord.until(lambda: "Three doors." in message.text)
    assert "Left · 1" in labels(message)


async def test_on_slack_each_person_has_one_vote_and_buttons_count_them(at: Table) -> None:
    message = await offered_on_slack(at, "vote")
    (run,) = await ended(at.app, 1)
    await at.slack.press(at.ana, message, "Left")
    await at.slack.until(lambda: "Left · 1" in message.shown)
    assert "You voted for “Left”" in (await at.whispered(at.ana)).shown
    await at.slack.press(at.bia, message, "Right")
    await at.slack.until(lambda: "Right · 1" in message.shown)
    await at.slack.press(at.ana, message, "Right · 1")
    await at.slack.until(lambda: "Right · 2" in message.shown)
    assert "Left ·" not in message.shown
    assert await at.app.resources.records.votes.counts(at.space, run.id, 1) == {2: 2}
    assert len(await asked(at.app)) == 1
    await at.slack.press(at.bia, message, "Ask on")
    await at.slack.until(lambda: "Ask on · 1" in message.shown)
    assert [(one.text, one.author.id) for one in await ended(at.app, 2)][1] == ("why", at.bia.id)
    await at.slack.say(at.bia, at.channel, f"{at.team.bot.mention} close {run.id}")
    await at.slack.until(lambda: "✓ Right · 1" in message.shown)


async def test_on_slack_every_vote_of_a_crowd_counts_with_few_edits(at: Table) -> None:
    people = [at.team.user(f"Person {n}") for n in range(25)]
    message = await offered_on_slack(at, "vote")
    await ended(at.app, 1)
    at.bot.intake.counts = VoteCounts(Writers(Pace(edit_every_s=0.3, posts=50, posts_in_s=1.0)))
    before = len(message.edits)
    await asyncio.gather(*(at.slack.press(person, message, "Left") for person in people))
    await at.slack.until(lambda: "Left · 25" in message.shown)
    assert len(message.edits) - before < 15


async def test_in_a_terminal_a_vote_is_shown_as_choices(tmp_path: Path) -> None:
    events = await lines(await open_scripted(tmp_path, Play(), Recorder()), "vote", "/rules ask why")
    shown = [event for event in events if event["event"] == "choices"][1]
    assert (shown["votes"], shown["taken"], len(shown["choices"])) == (True, None, 3)
    assert "Did why" in [event.get("text") for event in events]


@pytest.mark.parametrize("most", [75, 80])
def test_a_choice_too_long_for_its_button_is_listed_in_full(
    most: int,
) -> None:
    long = "Row back to the lighthouse before the storm and ask the keeper why the lamp was dark all night."
    group = Choices("What next?", (Choice(long, "/x"), Choice("Wait", "/x")), votes=True)
    stage = StageContent("s", "", choices=[group], counts={0: 2}, growing=False)
    (offer,) = footer.offers(stage, "0" * 32, most)
    assert offer.listed == (long, "Wait")
    assert [button.label for button in offer.buttons] == ["1. Row back to the… · 2", "2. Wait"]
    assert footer.button_labels([long, "Wait"], [2, 0], most) == [button.label for button in offer.buttons]
    (over,) = footer.offers(replace(stage, choices=[replace(group, taken=0)]), "0" * 32, most)
    assert over.taken == f"✓ {long}"
