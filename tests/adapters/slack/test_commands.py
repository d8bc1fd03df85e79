"""Slash commands on Slack: the text after them becomes a run, a window or a sentence."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from slack_bolt.async_app import AsyncBoltContext

from bot.adapters.slack.manifest import COMMANDS
from bot.adapters.slack.received.commands import Invoked, line_of
from bot.command_line import parse
from bot.commands import BARE, ROWS, TABLE
from bot.config import LimitsConfig
from bot.events import Attachment, Choice, Choices, Citation, Event, Text
from bot.verb import Verb
from bot.work import Run
from tests.adapters.slack.desk import QUICK
from tests.adapters.slack.table import ANSWER, Table, table
from tests.fakes.slack import Channel, View
from tests.fakes.slack.delivery import COMMAND

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_works_command_is_answered_in_a_new_thread(at: Table) -> None:
    sent = await at.slack.command(at.ana, at.channel, "/rules", "ask Who cast <it> & why? —shelf rules")
    await at.ended()
    asked = at.asked
    assert (asked.work, asked.verb, asked.text) == ("rules", "ask", "Who cast <it> & why?")
    assert asked.options == {"shelf": "rules"}
    assert (asked.author.id, asked.author.name, asked.author.admin) == (at.ana.id, "Ana", False)
    assert (asked.place.space, asked.place.channel, asked.place.thread) == (at.space, at.channel.id, asked.id)
    assert (at.origin.home, at.origin.thread, at.origin.asked) == ("thread", "", "Who cast <it> & why?")
    assert at.origin.response_url == sent.payload["response_url"]


async def test_the_bots_own_command_accepts_every_verb() -> None:
    for row in TABLE:
        assert parse(line_of("/sutradhar", row.example.removeprefix("/"))).verb is row
        assert row.bare or f"/{row.work}" in COMMANDS


async def test_short_results_go_to_the_channel_and_private_ones_to_the_asker(at: Table) -> None:
    asked = [
        (at.channel, "/rules roll 2d6"),
        (at.channel, "rules roll 2d6 --private"),
        (at.channel, "rules ask Who? --private"),
        (at.team.dm(at.ana), "rules ask Who? --private"),
    ]
    for n, (channel, text) in enumerate(asked):
        await at.slack.command(at.ana, channel, "/sutradhar", text)
        await at.ended(n + 1)
    assert [(origin.home, origin.private) for origin in at.origins] == [
        ("channel", False),
        ("alone", True),
        ("direct", True),
        ("thread", False),
    ]
    assert [request.place.channel for request in at.requests[2:]] == [f"@{at.ana.id}", at.team.dm(at.ana).id]


async def test_a_command_that_comes_twice_is_one_run(at: Table) -> None:
    sent = await at.slack.command(at.ana, at.channel, "/rules", "roll 3d6")
    again = await at.slack.send_envelope(at.team, COMMAND, sent.payload)
    await at.ended()
    assert again.acked is not None
    assert at.asked.text == "3d6"


@pytest.mark.parametrize(
    ("command", "text"), [("/rules", "ask"), ("/council", "ask --level full"), ("/rules", "lookup")]
)
async def test_a_command_without_its_text_opens_a_window(at: Table, command: str, text: str) -> None:
    before = len(at.slack.views)
    sent = await at.slack.command(at.ana, at.channel, command, text)
    await at.slack.until(lambda: at.slack.views[before:])
    assert sent.acked is not None
    assert at.slack.views[-1].user is at.ana
    assert at.whispers(at.ana) == []


async def test_a_prompt_is_changed_in_a_window_with_its_text(at: Table) -> None:
    before = len(at.slack.views)
    await at.slack.command(at.bia, at.channel, "/prompts", "edit rag")
    view = (await at.slack.until(lambda: at.slack.views[before:]))[0]
    assert "{question}" in str(view.blocks)


def _by(row: Verb) -> str:
    """The words before a verb's path: files need a mention, since a command cannot have any."""
    if row.argument is not None and row.argument.many:
        return "@sutradhar "
    return "/sutradhar " if row.bare else "/"


async def test_help_is_answered_at_once_without_a_run(at: Table) -> None:
    await at.slack.command(at.ana, at.channel, "/sutradhar")
    await at.slack.until(lambda: at.whispers(at.ana))
    (shown,) = at.whispers(at.ana)
    assert all(f"`/sutradhar {row.path}" in shown for row in BARE.values())
    assert all(f"`{row.name}`" in shown for row in TABLE if not row.bare)
    assert "`/sutradhar setup`" in shown
    assert "without a slash is" not in shown, "in threads a line without a slash may be a command"
    assert "@sutradhar rules lookup Grappled" in shown
    assert at.requests == []


async def test_setup_is_shown_to_admins_alone(at: Table) -> None:
    for who, said in ((at.bia, "What is set up here"), (at.ana, "Only admins of this workspace")):
        await at.slack.command(who, at.channel, "/sutradhar", "setup")
        await at.slack.until(lambda who=who: at.whispers(who))  # type: ignore[misc]
        assert said in at.whispers(who)[0]
    assert at.requests == []


@pytest.mark.parametrize(
    ("command", "text", "has", "has_not"),
    [
        ("/rules", "", "/rules ask QUESTION", "/library add"),
        ("/library", "help", "@sutradhar library add [--shelf SHELF]", "/rules ask"),
        ("/rules", "help ask", "--strategy", "/rules roll"),
        ("/sutradhar", "help rules roll", "/rules roll EXPRESSION", "--strategy"),
    ],
)
async def test_help_answers_for_one_work_or_verb(
    at: Table, command: str, text: str, has: str, has_not: str
) -> None:
    await at.slack.command(at.ana, at.channel, command, text)
    await at.slack.until(lambda: at.whispers(at.ana))
    (shown,) = at.whispers(at.ana)
    assert has in shown
    assert has_not not in shown


@pytest.mark.parametrize(
    ("command", "text", "sentence"),
    [
        ("/rules", "aks Who?", "Did you mean /rules ask?"),
        ("/sutradhar", "rulez roll 2d6", "/sutradhar help lists all commands."),
        ("/rules", "ask Who? --stratgy single", "Did you mean --strategy?"),
        (
            "/library",
            "add --shelf rules",
            "Attach them to a message that mentions me and says library add",
        ),
        ("/library", "add handbook.md --shelf rules", "A slash command can't have files."),
        ("/story", "import", "says story import."),
        ("/sutradhar", "setup", "Only admins of this workspace may use /sutradhar setup"),
        ("/library", "remove handbook.md", "Only people who manage this place may use /library remove"),
        ("/prompts", "reset rag", "Only people who manage this place may use /prompts reset"),
    ],
)
async def test_refusals_are_ephemeral(at: Table, command: str, text: str, sentence: str) -> None:
    sent = await at.slack.command(at.ana, at.channel, command, text)
    assert sent.acked is not None
    await at.slack.until(lambda: at.whispers(at.ana))
    (whisper,) = at.whispers(at.ana)
    assert sentence in whisper.replace("`", "")
    assert at.requests == []


@pytest.mark.parametrize(("command", "text"), [("/sutradhar", "usage --days 7"), ("/sessions", "list")])
async def test_personal_results_are_shown_to_nobody_else(at: Table, command: str, text: str) -> None:
    await at.slack.command(at.ana, at.channel, command, text)
    await at.ended()
    assert at.origin.home == "alone"


async def test_a_command_is_acknowledged_in_time_even_where_the_database_is_slow(at: Table) -> None:
    acknowledged = asyncio.Event()

    async def ack() -> None:
        acknowledged.set()

    body = {
        "command": "/rules",
        "text": "roll 2d6",
        "user_id": at.ana.id,
        "channel_id": at.channel.id,
        "trigger_id": f"slow {at.channel.id}",
    }
    context: Any = AsyncBoltContext({"team_id": at.space})
    database = at.app.resources.config.data_dir / "sutradhar.db"
    with closing(sqlite3.connect(database, isolation_level=None, check_same_thread=False)) as other:
        await asyncio.to_thread(other.execute, "BEGIN IMMEDIATE")
        await Invoked(at.bot.intake, ack_s=0.1).on_command(body, context, ack)  # type: ignore[arg-type]
        assert acknowledged.is_set()
        assert at.requests == []
        # A request that is stored soon enough is acknowledged only after that.
        usual = asyncio.create_task(at.slack.command(at.ana, at.channel, "/rules", "roll 3d6"))
        await asyncio.wait({usual}, timeout=0.3)
        assert not usual.done()
        other.execute("ROLLBACK")
    assert (await usual).acked is not None
    assert {one.text for one in await at.ended(2)} == {"2d6", "3d6"}


async def test_setup_is_rate_limited(at: Table) -> None:
    for _ in range(LimitsConfig().commands + 1):
        await at.slack.command(at.ana, at.channel, "/sutradhar", "setup")
    await at.slack.until(lambda: len(at.whispers(at.ana)) == LimitsConfig().commands + 1)
    assert sum("Ask again in" in whisper for whisper in at.whispers(at.ana)) == 1


async def test_an_admin_window_opens_for_a_new_admin(at: Table) -> None:
    await at.slack.command(at.ana, at.channel, "/prompts", "edit rag")
    await at.slack.until(lambda: at.whispers(at.ana))
    assert "manage this place" in at.whispers(at.ana)[0]
    at.ana.admin = True
    await at.slack.command(at.ana, at.channel, "/prompts", "edit rag")
    await at.slack.until(lambda: [view for view in at.slack.views if view.user is at.ana])


async def test_only_admins_change_settings_of_a_channel_or_a_space() -> None:
    row = ROWS["settings", "set"]
    assert not row.for_admins("language en", {"for": "me"})
    for options in ({}, {"for": "channel"}, {"for": "everyone"}):
        assert row.for_admins("language en", options)
    assert not ROWS["settings", "show"].for_admins("language", {})


async def test_in_messages_between_other_people_answers_come_through_the_commands_own_address(
    tmp_path: Path,
) -> None:
    """The bot is not a member there, and ephemeral answers stay ephemeral."""
    async with table(tmp_path, pace=QUICK) as at:
        theirs, ours = at.team.dm_of(at.ana, at.bia), at.team.dm(at.ana)
        for line in ("/rules roll 2d6", "/rules roll 3d6 --private", "/settings show", "/rules ask Who?"):
            command, _, text = line.partition(" ")
            await at.slack.command(at.ana, theirs, command, text)
        await at.slack.until(lambda: [message for message in ours.everything if ANSWER in message.shown])
        await at.slack.until(lambda: len(theirs.everything) == 4)
        public = [message for message in theirs.everything if message.ephemeral_to is None]
        assert [message.shown for message in public] == [ANSWER]
        assert [message.ephemeral_to for message in theirs.everything].count(at.ana) == 3
        assert "I am not in the direct conversation" in "".join(message.shown for message in ours.everything)
        at.bot.scripts["Chart"] = with_file
        await at.slack.command(at.ana, theirs, "/rules", "lookup Chart")
        await at.slack.until(lambda: [message for message in ours.everything if message.files])
        assert "`/invite`" not in "".join(message.shown for message in ours.everything), (
            "nobody can see the thread"
        )
        view = await opened(at, theirs)
        await at.slack.submit(at.ana, view, {"text:0": {"text": "language pt-BR"}})
        await at.ended(6)
        assert (at.origins[-1].home, at.origins[-1].channel) == ("alone", theirs.id)
        asked = [call for call in at.slack.calls if call.method == "conversations.info"]
        assert len(asked) == 1, "the bot asks Slack once whose conversation it is"


async def test_in_messages_between_other_people_both_press_the_buttons_of_an_answer(tmp_path: Path) -> None:
    async with table(tmp_path, pace=QUICK) as at:
        theirs = at.team.dm_of(at.ana, at.bia)
        at.bot.scripts["Candles"] = cited
        await at.slack.command(at.ana, theirs, "/rules", "lookup Candles")
        (answer,) = await at.slack.until(lambda: theirs.everything)
        for person in (at.ana, at.bia):
            await at.slack.press(person, answer, "📖 Sources")
            (view,) = await at.slack.until(
                lambda person=person: [view for view in at.slack.views if view.user is person]  # type: ignore[misc]
            )
            assert "A candle burns for four hours." in view.shown
        await at.slack.press(at.bia, answer, "Dawn")
        requests = await at.ended(2)
        assert (requests[-1].author.id, requests[-1].place.channel) == (at.bia.id, f"@{at.bia.id}")
        await at.slack.until(lambda: len(theirs.everything) == 2)
        assert theirs.everything[1].shown == ANSWER


async def cited(run: Run) -> AsyncGenerator[Event, None]:
    yield Text("Four hours [1].")
    yield Citation(1, "lanterns.md", "Candles", "A candle burns for four hours.")
    yield Choices("Read next", (Choice("Dawn", "/rules lookup Dawn"),))


async def with_file(run: Run) -> AsyncGenerator[Event, None]:
    yield Attachment("chart.md", "text/markdown", b"# Chart")


async def opened(at: Table, channel: Channel) -> View:
    await at.slack.command(at.ana, channel, "/settings", "set")
    return (await at.slack.until(lambda: [view for view in at.slack.views if view.open]))[-1]
