"""Taking in requests on Slack: once each, kept before they are acknowledged, and refused in one sentence."""

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
    """Counts acknowledgements, as Bolt's own would be called."""

    def __init__(self) -> None:
        self.given = 0

    async def __call__(self, **_: Any) -> None:
        self.given += 1


def spot(at: Table, **more: Any) -> Location:
    return Location(at.ana.id, at.space, at.channel.id, **more)


def press(at: Table, name: str) -> str:
    """An event of this table's own."""
    return f"action:{at.channel.id}:{name}"


async def again(at: Table, here: Location, event: str, run: str, ack: Acks) -> None:
    """Press the button that asks the same again."""
    intake = at.bot.intake
    await intake.perform(here, event, partial(intake.repetition, here, run), ack)


async def test_a_request_is_kept_before_anybody_is_told_so(at: Table) -> None:
    kept: list[bool] = []

    async def ack() -> None:
        run = (await at.app.resources.records.inbox.unfinished())[-1]
        kept.append(run.channel == at.channel.id)

    run = await at.bot.intake.perform(spot(at), press(at, "1"), Invocation(ROLL, "2d6"), ack)
    assert kept == [True]
    assert await at.app.ended(run) == "done"


async def test_the_same_event_is_one_run_however_often_it_comes(at: Table) -> None:
    event, acks = f"message:{at.channel.id}:1.1", [Acks() for _ in range(5)]
    take = at.bot.intake.perform
    runs = await asyncio.gather(
        *(take(spot(at, message="1.1"), event, Invocation(ROLL, "2d6"), ack) for ack in acks)
    )
    assert len(set(runs)) == 1
    assert [ack.given for ack in acks] == [1] * 5
    await at.ended()
    assert at.asked.id == runs[0]


async def test_what_an_earlier_process_has_kept_is_acknowledged_and_not_done_again(at: Table) -> None:
    message = await at.slack.say(at.ana, at.channel, "Who?", mention=True)
    await at.ended()
    at.bot.intake._runs_of_events = Recent(100, 60)
    at.slack.redeliver(message)
    await at.slack.until(
        lambda: all(len(delivery.tries) == 2 and delivery.tries[1].acked for delivery in message.sent)
    )
    assert at.asked.text == "Who?"


async def test_two_workspaces_that_call_an_event_the_same_are_two(at: Table) -> None:
    other = Location(at.ana.id, "T_OTHER", at.channel.id)
    one = await at.bot.intake.perform(spot(at), press(at, "same"), Invocation(ROLL, "2d6"), Acks())
    two = await at.bot.intake.perform(other, press(at, "same"), Invocation(ROLL, "2d6"), Acks())
    assert one
    assert two
    assert one != two


async def test_who_asks_too_much_is_told_when_to_go_on(at: Table) -> None:
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


async def test_a_mention_counts_once_though_it_comes_as_two_events(at: Table) -> None:
    for n in range(LimitsConfig().questions):
        await at.slack.say(at.ana, at.channel, f"{n}?", mention=True)
    await at.ended(LimitsConfig().questions)
    assert at.whispers(at.ana) == []


async def test_nobody_gets_the_bot_to_answer_their_slips_without_end(at: Table) -> None:
    for n in range(HINTS + 2):
        await at.slack.say(at.ana, at.channel, f"/rulez {n}", mention=True)
    await at.slack.say(at.bia, at.channel, "/rulez", mention=True)
    await at.slack.until(lambda: at.whispers(at.bia))
    assert len(at.whispers(at.ana)) == HINTS


async def test_what_changes_the_whole_space_is_for_its_admins(at: Table) -> None:
    await at.slack.command(at.ana, at.channel, "/library", "reindex")
    await at.slack.until(lambda: at.whispers(at.ana))
    assert "manage this place" in at.whispers(at.ana)[0]
    await at.slack.say(at.bia, at.channel, "library reindex", mention=True)
    await at.ended()
    assert at.asked.author.admin
    at.bia.admin = False  # and from now on is none
    await at.slack.say(at.bia, at.channel, "library reindex", mention=True)
    await at.slack.until(lambda: at.whispers(at.bia))
    assert len(at.requests) == 1


async def test_where_slack_does_not_say_who_is_an_admin_nobody_is(at: Table) -> None:
    at.slack.fail("users.info", error="internal_error")
    await at.slack.command(at.bia, at.channel, "/library", "reindex")
    await at.slack.until(lambda: at.whispers(at.bia))
    assert "could not find out" in at.whispers(at.bia)[0]
    assert at.requests == []


async def test_people_are_spoken_to_in_their_own_language(at: Table) -> None:
    at.ana.locale = "pt-BR"
    await at.slack.command(at.ana, at.channel, "/rules", "aks Who?")
    await at.slack.until(lambda: at.whispers(at.ana))
    assert "Você quis dizer" in at.whispers(at.ana)[0]
    await at.slack.say(at.ana, at.channel, "Quem?", mention=True)
    await at.ended()
    assert at.asked.locale == "pt-BR"


async def test_asking_again_asks_the_same_here_and_as_who_pressed(at: Table) -> None:
    message = await at.slack.say(at.ana, at.channel, "Who?", mention=True)
    (first,) = await at.ended()
    here = Location(at.bia.id, at.space, at.channel.id, thread=message.ts)
    await again(at, here, press(at, "1"), first.id, Acks())
    _, second = await at.ended(2)
    assert (second.text, second.place, second.author.name) == ("Who?", first.place, "Bia")


async def test_what_was_asked_in_private_is_nobody_elses_to_ask_again(at: Table) -> None:
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


async def test_a_choice_is_the_line_that_it_stands_for(at: Table) -> None:
    intake = at.bot.intake
    for private in (False, True):
        chosen = choice_invocation(StoredChoice("Roll", "/rules roll 2d6"), "", private=private)
        await intake.perform(spot(at), press(at, f"{private}"), chosen, Acks())
    with pytest.raises(UserError):
        choice_invocation(StoredChoice("Roll", "no command"), "")
    await at.ended(2)
    assert sorted(origin.private for origin in at.origins) == [False, True]


async def test_a_window_that_was_refused_may_be_sent_once_more(at: Table) -> None:
    reindex, here = commands.ROWS["library", "reindex"], spot(at)
    assert await at.bot.intake.perform(here, press(at, "1"), Invocation(reindex), Acks()) == ""
    at.ana.admin = True
    run = await at.bot.intake.perform(here, press(at, "1"), Invocation(reindex), Acks())
    assert await at.app.ended(run) == "done"


async def test_who_is_an_admin_no_more_changes_no_setting_of_the_council(at: Table) -> None:
    await at.slack.command(at.bia, at.channel, "/council", "criteria Is it true?")
    await at.ended()
    assert at.asked.author.admin
    at.bia.admin = False
    await at.slack.command(at.bia, at.channel, "/council", "criteria")
    _, shown = await at.ended(2)
    assert shown.author.admin  # to look is for everybody, and asks nobody
    await at.slack.command(at.bia, at.channel, "/council", "criteria Is it short?")
    *_, changed = await at.ended(3)
    assert not changed.author.admin


async def test_what_was_asked_in_a_direct_conversation_is_nobody_elses_either(at: Table) -> None:
    await at.slack.say(at.ana, at.team.dm(at.ana), "Who?")
    (first,) = await at.ended()
    bia = Location(at.bia.id, at.space, at.channel.id)
    assert await at.bot.intake.hidden(bia, first.id)
    assert not await at.bot.intake.hidden(spot(at), first.id)
    await again(at, bia, press(at, "1"), first.id, Acks())
    await at.slack.until(lambda: at.whispers(at.bia))
    assert at.requests == [first]


async def test_the_address_of_an_answer_is_not_shown(at: Table) -> None:
    asked, ana = Invocation(ROLL, "2d6"), Person("Ana")
    request = request_of(asked, spot(at), "1", ana, response_url="https://hooks.example/secret")
    assert "secret" in request.origin
    assert "secret" not in repr(request)
    assert "secret" not in repr(origin_of(request.origin))


async def test_help_counts_as_little_as_what_stops(at: Table) -> None:
    for _ in range(LimitsConfig().commands):
        await at.slack.command(at.ana, at.channel, "/rules", "roll 2d6")
    await at.ended(LimitsConfig().commands)
    await at.slack.command(at.ana, at.channel, "/sutradhar", "help")
    assert "/sutradhar help" in (await at.whispered(at.ana)).shown
