"""Requests on Slack: each is stored once, acknowledged only then, or refused with one sentence."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from bot import commands
from bot.adapters.intake import HINTS, Recent
from bot.adapters.invocation import Invocation, choice_invocation
from bot.adapters.slack.placing import Location, origin_of
from bot.adapters.slack.received.intake import request_of
from bot.adapters.slack.received.people import Person
from bot.adapters.stored_choices import StoredChoice
from bot.config import LimitsConfig
from bot.events import UserError
from bot.words import words
from tests.adapters.slack.table import Table

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROLL = commands.ROWS["rules", "roll"]


class Acks:
    """Counts calls of the acknowledgement that Bolt passes to its listeners."""

    def __init__(self) -> None:
        self.given = 0

    async def __call__(self, **_: Any) -> None:
        self.given += 1


def spot(at: Table, **more: Any) -> Location:
    return Location(at.ana.id, at.space, at.channel.id, **more)


def press(at: Table, name: str) -> str:
    """An event id of this table."""
    return f"action:{at.channel.id}:{name}"


async def again(at: Table, here: Location, event: str, run: str, ack: Acks) -> None:
    """Press the button that asks the same question again."""
    intake = at.bot.intake
    await intake.perform(here, event, partial(intake.repetition, here, run), ack)


async def test_a_request_is_stored_before_it_is_acknowledged(at: Table) -> None:
    kept: list[bool] = []

    async def ack() -> None:
        run = (await at.app.resources.records.inbox.unfinished())[-1]
        kept.append(run.channel == at.channel.id)

    run = await at.bot.intake.perform(spot(at), press(at, "1"), Invocation(ROLL, "2d6"), ack)
    assert kept == [True]
    assert await at.app.ended(run) == "done"


async def test_an_event_delivered_repeatedly_is_one_run(at: Table) -> None:
    event, acks = f"message:{at.channel.id}:1.1", [Acks() for _ in range(5)]
    take = at.bot.intake.perform
    runs = await asyncio.gather(
        *(take(spot(at, message="1.1"), event, Invocation(ROLL, "2d6"), ack) for ack in acks)
    )
    assert len(set(runs)) == 1
    assert [ack.given for ack in acks] == [1] * 5
    await at.ended()
    assert at.asked.id == runs[0]


async def test_a_request_stored_by_an_earlier_process_is_acknowledged_and_not_repeated(at: Table) -> None:
    message = await at.slack.say(at.ana, at.channel, "Who?", mention=True)
    await at.ended()
    at.bot.intake._runs_of_events = Recent(100, 60)
    at.slack.redeliver(message)
    await at.slack.until(
        lambda: all(len(delivery.tries) == 2 and delivery.tries[1].acked for delivery in message.sent)
    )
    assert at.asked.text == "Who?"


async def test_equal_event_ids_of_two_workspaces_are_two_requests(at: Table) -> None:
    other = Location(at.ana.id, "T_OTHER", at.channel.id)
    one = await at.bot.intake.perform(spot(at), press(at, "same"), Invocation(ROLL, "2d6"), Acks())
    two = await at.bot.intake.perform(other, press(at, "same"), Invocation(ROLL, "2d6"), Acks())
    assert one
    assert two
    assert one != two


async def test_a_rate_limited_person_is_told_when_to_continue(at: Table) -> None:
    for n in range(LimitsConfig().questions + 1):
        await at.slack.command(at.ana, at.channel, "/rules", f"ask {n}?")
    await at.slack.until(lambda: at.whispers(at.ana))
    (whisper,) = at.whispers(at.ana)
    assert "Ask again in" in whisper
    await at.slack.command(at.ana, at.channel, "/rules", "roll 2d6")
    await at.slack.command(at.ana, at.channel, "/sutradhar", "stop")
    await at.slack.command(at.bia, at.channel, "/rules", "ask And I?")
    await at.ended(LimitsConfig().questions + 3)
    assert LimitsConfig().commands > LimitsConfig().questions


async def test_the_two_events_of_a_mention_count_once(at: Table) -> None:
    for n in range(LimitsConfig().questions):
        await at.slack.say(at.ana, at.channel, f"{n}?", mention=True)
    await at.ended(LimitsConfig().questions)
    assert at.whispers(at.ana) == []


async def test_replies_to_mistyped_commands_are_limited(at: Table) -> None:
    for n in range(HINTS + 2):
        await at.slack.say(at.ana, at.channel, f"/rulez {n}", mention=True)
    await at.slack.say(at.bia, at.channel, "/rulez", mention=True)
    await at.slack.until(lambda: at.whispers(at.bia))
    assert len(at.whispers(at.ana)) == HINTS


async def test_commands_that_change_a_space_are_for_its_admins(at: Table) -> None:
    await at.slack.command(at.ana, at.channel, "/library", "reindex")
    await at.slack.until(lambda: at.whispers(at.ana))
    assert "manage this place" in at.whispers(at.ana)[0]
    await at.slack.say(at.bia, at.channel, "library reindex", mention=True)
    await at.ended()
    assert at.asked.author.admin
    at.bia.admin = False  # and is no admin from now on
    await at.slack.say(at.bia, at.channel, "library reindex", mention=True)
    await at.slack.until(lambda: at.whispers(at.bia))
    assert len(at.requests) == 1


async def test_nobody_is_an_admin_if_slack_does_not_say_so(at: Table) -> None:
    at.slack.fail("users.info", error="internal_error")
    await at.slack.command(at.bia, at.channel, "/library", "reindex")
    await at.slack.until(lambda: at.whispers(at.bia))
    assert "could not find out" in at.whispers(at.bia)[0]
    assert at.requests == []


async def test_people_get_answers_in_their_own_language(at: Table) -> None:
    at.ana.locale = "pt-BR"
    await at.slack.command(at.ana, at.channel, "/rules", "aks Who?")
    await at.slack.until(lambda: at.whispers(at.ana))
    assert "Você quis dizer" in at.whispers(at.ana)[0]
    await at.slack.say(at.ana, at.channel, "Quem?", mention=True)
    await at.ended()
    assert at.asked.locale == "pt-BR"


async def test_asking_again_repeats_the_question_here_as_the_presser(at: Table) -> None:
    message = await at.slack.say(at.ana, at.channel, "Who?", mention=True)
    (first,) = await at.ended()
    here = Location(at.bia.id, at.space, at.channel.id, thread=message.ts)
    await again(at, here, press(at, "1"), first.id, Acks())
    _, second = await at.ended(2)
    assert (second.text, second.place, second.author.name) == ("Who?", first.place, "Bia")


async def test_nobody_else_can_repeat_a_private_question(at: Table) -> None:
    await at.slack.command(at.ana, at.channel, "/rules", "ask Who? --private")
    (first,) = await at.ended()
    intake = at.bot.intake
    bia, ana = (Location(person.id, at.space, at.channel.id) for person in (at.bia, at.ana))
    assert await intake.hidden(bia, first.id)
    assert not await intake.hidden(ana, first.id)
    acks = Acks()
    await again(at, bia, press(at, "1"), first.id, acks)
    await at.slack.until(lambda: at.whispers(at.bia))
    assert acks.given == 1
    assert words("en")("edge.gone") in at.whispers(at.bia)[0]
    await again(at, ana, press(at, "2"), first.id, Acks())
    _, second = await at.ended(2)
    assert second.options == {"private": True, "repeats": first.id}
    elsewhere = Location(at.ana.id, "T_OTHER", at.channel.id)
    assert await at.app.request_of(elsewhere.space, first.id) is None


async def test_a_choice_sends_its_line(at: Table) -> None:
    intake = at.bot.intake
    for private in (False, True):
        chosen = choice_invocation(StoredChoice("Roll", "/rules roll 2d6"), "", private=private)
        await intake.perform(spot(at), press(at, f"{private}"), chosen, Acks())
    with pytest.raises(UserError):
        choice_invocation(StoredChoice("Roll", "no command"), "")
    await at.ended(2)
    assert sorted(origin.private for origin in at.origins) == [False, True]


async def test_a_refused_window_can_be_submitted_again(at: Table) -> None:
    reindex, here = commands.ROWS["library", "reindex"], spot(at)
    assert await at.bot.intake.perform(here, press(at, "1"), Invocation(reindex), Acks()) == ""
    at.ana.admin = True
    run = await at.bot.intake.perform(here, press(at, "1"), Invocation(reindex), Acks())
    assert await at.app.ended(run) == "done"


async def test_a_former_admin_cannot_change_the_councils_settings(at: Table) -> None:
    await at.slack.command(at.bia, at.channel, "/council", "criteria Is it true?")
    await at.ended()
    assert at.asked.author.admin
    at.bia.admin = False
    await at.slack.command(at.bia, at.channel, "/council", "criteria")
    _, shown = await at.ended(2)
    assert shown.author.admin  # everybody may look, and Slack is not asked
    await at.slack.command(at.bia, at.channel, "/council", "criteria Is it short?")
    *_, changed = await at.ended(3)
    assert not changed.author.admin


async def test_nobody_else_can_repeat_a_question_from_direct_messages(at: Table) -> None:
    await at.slack.say(at.ana, at.team.dm(at.ana), "Who?")
    (first,) = await at.ended()
    bia = Location(at.bia.id, at.space, at.channel.id)
    assert await at.bot.intake.hidden(bia, first.id)
    assert not await at.bot.intake.hidden(spot(at), first.id)
    await again(at, bia, press(at, "1"), first.id, Acks())
    await at.slack.until(lambda: at.whispers(at.bia))
    assert at.requests == [first]


async def test_the_response_url_is_never_shown(at: Table) -> None:
    asked, ana = Invocation(ROLL, "2d6"), Person("Ana")
    request = request_of(asked, spot(at), "1", ana, response_url="https://hooks.example/secret")
    assert "secret" in request.origin
    assert "secret" not in repr(request)
    assert "secret" not in repr(origin_of(request.origin))


async def test_help_and_stop_do_not_count_towards_the_limit(at: Table) -> None:
    for _ in range(LimitsConfig().commands):
        await at.slack.command(at.ana, at.channel, "/rules", "roll 2d6")
    await at.ended(LimitsConfig().commands)
    await at.slack.command(at.ana, at.channel, "/sutradhar", "help")
    assert "/sutradhar help" in (await at.whispered(at.ana)).shown
