"""Choices of a scripted work, from press to run: on Discord and Slack over loopback, and in a terminal."""

from __future__ import annotations

import asyncio
import copy
import io
import json
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from bot import commands
from bot.adapters import footer
from bot.adapters.invocation import choice_form
from bot.adapters.stage_content import StageContent
from bot.adapters.stored_choices import VoteCounts, from_json, of_group
from bot.adapters.terminal.conversation import Conversation
from bot.adapters.terminal.feed import Feed
from bot.adapters.terminal.markdown import Ink
from bot.adapters.terminal.outputs import JsonLines, PlainOutput, PlainScreen
from bot.adapters.writer import Pace, Writers
from bot.app import Acknowledge, App, Ticket
from bot.commands import UNDER
from bot.events import (
    Author,
    Changed,
    Choice,
    Choices,
    Event,
    Link,
    OptionValue,
    Place,
    Request,
    Run,
    Stage,
    Text,
    UserError,
)
from bot.runs.execution import offer_correction
from bot.runs.requests import request_from_json
from tests.adapters.discord.line import Line, line
from tests.adapters.slack.table import Scripts, Table, table
from tests.fakes.discord import Message
from tests.fakes.discord.messages import walk
from tests.fakes.scripted_app import Recorder, Script, open_scripted
from tests.fakes.slack import Message as SlackMessage
from tests.fakes.slack import View

QUICK = Pace(edit_every_s=0.01, posts=50, posts_in_s=1.0)
HOSTILE = "--private /library remove x"
LONG_REQUESTS = Choice("Do something else", "/rules ask --k 3 scene 7:", "What do you do?")


async def echo(run: Run) -> AsyncGenerator[Event, None]:
    yield Stage("answer", "Answer")
    yield Text(f"Did {run.request.text}")


async def offers(run: Run) -> AsyncGenerator[Event, None]:
    yield Stage("scene", "Scene")
    yield Text("It is dark.")
    yield Choices("What now?", (Choice("Left", "/rules ask left"), LONG_REQUESTS))


QUESTION = Choices("Is it worth that?", (Choice("Go on", "/rules ask go on"), Choice("Leave it", "")))


async def asks_first(run: Run) -> AsyncGenerator[Event, None]:
    yield Stage("cost", "Cost")
    yield Text("Much.")
    yield QUESTION


async def goes_on(run: Run) -> AsyncGenerator[Event, None]:
    yield Stage("answer", "Answer")
    contents = (Text("Much."), replace(QUESTION, taken=0))
    yield Changed(run.request.answers, "cost", "Cost", contents)
    yield Text("It went on.")


async def asked(app: App) -> list[Request]:
    """Everything that has been asked, in its order."""
    from storage.tables import inbox

    async with app.resources.records.database.read() as connection:
        rows = await connection.execute(inbox.select().order_by(inbox.c.seq))
        return [request_from_json(row.payload) for row in rows]


async def ended(app: App, n: int) -> list[Request]:
    """Everything that has been asked, once it is so much and has ended."""
    async with asyncio.timeout(60):
        while len(requests := await asked(app)) < n:
            pass
        for request in requests:
            await app.ended(request.id)
    return requests


@pytest.fixture
async def on(tmp_path: Path) -> AsyncIterator[Line]:
    async with line(tmp_path, Play()) as made:
        made.client.writers = Writers(QUICK)
        made.client.counts = VoteCounts(made.client.writers)
        yield made


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Table]:
    async with table(tmp_path, Play(), pace=QUICK) as made:
        yield made


async def offered(on: Line, what: str = "offers", label: str = "Left") -> Message:
    """A message of the bot's with choices, in a thread."""
    await on.discord.say(on.bia, on.channel, what, mention=True)

    def found() -> list[Message]:
        posts = [message for thread in on.channel.threads for message in thread.messages]
        return [post for post in posts if any(label in button.label for button in post.buttons)]

    return (await on.discord.until(found))[-1]


async def test_on_discord_a_choice_asks_for_words_that_nothing_looks_into(on: Line) -> None:
    message = await offered(on)
    pressed = await on.discord.press(on.bia, message, LONG_REQUESTS.label)
    assert pressed.modal is not None
    assert pressed.modal["title"] == LONG_REQUESTS.label
    (label,) = pressed.modal["components"]
    assert label["label"] == LONG_REQUESTS.asks
    await on.discord.submit(on.bia, pressed, {"text": HOSTILE})
    first, second = await ended(on.app, 2)
    assert (second.text, second.options) == (f"scene 7: {HOSTILE}", {"k": 3})
    assert (second.author.id, second.answers) == (str(on.bia.id), first.id)
    assert second.place == first.place


async def test_on_discord_a_window_that_is_sent_twice_counts_once(on: Line) -> None:
    message = await offered(on)
    pressed = await on.discord.press(on.bia, message, LONG_REQUESTS.label)
    await on.discord.submit(on.bia, pressed, {"text": "run"})
    await ended(on.app, 2)
    again = await on.discord.submit(on.bia, pressed, {"text": "hide"})
    assert "I already have this" in again.text
    assert [one.text for one in await asked(on.app)] == ["offers", "scene 7: run"]


async def test_on_discord_a_long_question_stands_below_its_beginning() -> None:
    from discord import ui

    from bot.adapters.discord.received.intake import labelled

    question = "What do you do now that the mill is burning and nobody listens to you?"
    field: ui.TextInput[ui.Modal] = ui.TextInput(custom_id="text")
    made = labelled(question, field).to_component_dict()
    assert len(made["label"]) <= 45
    assert made["description"] == question


async def offered_on_slack(at: Table, what: str = "offers", label: str = "Left") -> SlackMessage:
    await at.slack.say(at.ana, at.channel, f"{at.team.bot.mention} {what}")

    def found() -> list[SlackMessage]:
        return [message for message in at.channel.everything if label in json.dumps(message.blocks)]

    return (await at.slack.until(found))[-1]


async def window(at: Table) -> View:
    return (await at.slack.until(lambda: [view for view in at.slack.views if view.open]))[-1]


async def test_on_slack_a_choice_asks_for_words_that_nothing_looks_into(at: Table) -> None:
    message = await offered_on_slack(at)
    await at.slack.press(at.ana, message, LONG_REQUESTS.label)
    view = await window(at)
    (field,) = view.blocks
    assert field["label"]["text"] == LONG_REQUESTS.asks
    sent = await at.slack.submit(at.ana, view, {"text:0": {"text": HOSTILE}})
    first, second = await ended(at.app, 2)
    assert (second.text, second.options) == (f"scene 7: {HOSTILE}", {"k": 3})
    assert (second.author.id, second.answers, second.place) == (at.ana.id, first.id, first.place)
    at.slack.redeliver(sent)
    await at.slack.until(lambda: len(sent.tries) > 1)
    assert len(await asked(at.app)) == 2


async def test_on_discord_what_was_taken_is_greyed_out(on: Line) -> None:
    message = await offered(on, "asks first", "Go on")
    await on.discord.press(on.bia, message, "Go on")
    taken = [("✓ Go on", True), ("Leave it", True)]
    await on.discord.until(lambda: [(button.label, button.disabled) for button in message.buttons] == taken)
    assert "Much." in message.text
    assert await on.app.resources.records.offers.get(
        str(on.guild.id), (await ended(on.app, 2))[0].id, "choice", 0
    )
    (pressed,) = [button for button in message.buttons if button.label == "✓ Go on"]
    late = await presses_anyway(on, message, str(pressed.custom_id))
    assert late == "This has already been chosen."
    assert len(await asked(on.app)) == 2


async def presses_anyway(on: Line, message: Message, custom_id: str) -> str:
    """As somebody does whose client has not heard of the change yet: what they are told."""
    for node in walk(message.components):
        node.pop("disabled", None)
    return (await on.discord.press(on.bia, message, custom_id)).text


async def test_on_slack_what_was_taken_is_a_line(at: Table) -> None:
    message = await offered_on_slack(at, "asks first", "Go on")
    before = copy.deepcopy(message.blocks)
    await at.slack.press(at.ana, message, "Go on")
    await at.slack.until(lambda: "✓ Go on" in message.shown)
    assert "Much." in message.shown
    assert "Leave it" not in message.shown
    await ended(at.app, 2)
    message.blocks = before
    await at.slack.press(at.bia, message, "Go on")
    assert (await at.whispered(at.bia)).shown == "This has already been chosen."
    assert len(await asked(at.app)) == 2


async def test_in_a_terminal_what_was_taken_is_shown_once_more(tmp_path: Path) -> None:
    conversation, out = Conversation("en", None), io.StringIO()
    app = await open_scripted(tmp_path, Play(), Recorder())
    output = PlainOutput(PlainScreen(out, Ink(False, 10**6), None), tmp_path / "files")

    async def opened() -> App:
        return app

    async def given() -> AsyncIterator[str]:
        for one in ("asks first", "/rules ask go on"):
            yield one

    await Feed(conversation, output, overtake=False).run(opened(), given())
    shown = [line for line in out.getvalue().splitlines() if line]
    assert "  Go on  /rules ask go on" in shown
    changed = shown.index("▍ Cost  (changed: this is the new text)")
    assert shown[changed + 1 : changed + 5] == ["Much.", "Is it worth that?", "✓ Go on", "  Leave it"]


VOTE = Choices(
    "Where to?",
    (Choice("Left", ""), Choice("Right", ""), Choice("Ask on", "/rules ask why")),
    votes=True,
)


async def votes(run: Run) -> AsyncGenerator[Event, None]:
    yield Stage("scene", "Scene")
    yield Text("Two doors.")
    yield Choices("First", (Choice("Go", "/rules ask go"),))
    yield VOTE


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
    assert len(await asked(on.app)) == 1, "a vote begins nothing"


async def test_on_discord_a_crowd_is_counted_whole_in_few_edits(on: Line) -> None:
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


async def test_on_discord_a_vote_with_a_command_is_done_as_the_voters(on: Line) -> None:
    message = await offered(on, "vote", "Left")
    await on.discord.press(on.ana, message, "Ask on")
    first, second = await ended(on.app, 2)
    assert (second.text, second.author.id, second.answers) == ("why", str(on.ana.id), first.id)
    await on.discord.until(lambda: "Ask on · 1" in labels(message))


async def test_on_discord_a_closed_vote_keeps_its_counts_and_takes_no_more(on: Line) -> None:
    message = await offered(on, "vote", "Left")
    await on.discord.press(on.ana, message, "Right")
    await on.discord.press(on.bia, message, "Right")
    (run,) = await ended(on.app, 1)
    await on.discord.say(on.bia, message.channel, f"close {run.id}", mention=True)
    await on.discord.until(lambda: "✓ Right · 2" in labels(message))
    (right,) = [button for button in message.buttons if "Right" in button.label]
    assert await presses_anyway(on, message, str(right.custom_id)) == "This has already been chosen."


def labels(message: Message) -> list[str]:
    return [button.label for button in message.buttons if button.label]


async def test_on_discord_what_one_person_alone_sees_counts_too(on: Line) -> None:
    told = await on.discord.slash(on.bia, on.channel, "rules ask", question="vote", private=True)
    message = await on.discord.until(
        lambda: told.response if told.response and "Left" in labels(told.response) else None
    )
    assert message is not None
    await on.discord.press(on.bia, message, "Left")
    await on.discord.until(lambda: "Left · 1" in labels(message))


async def test_on_discord_a_vote_that_is_shown_again_still_says_its_counts(on: Line) -> None:
    message = await offered(on, "vote", "Left")
    await on.discord.press(on.bia, message, "Left")
    (run,) = await ended(on.app, 1)
    await on.discord.say(on.bia, message.channel, f"again {run.id}", mention=True)
    await on.discord.until(lambda: "Three doors." in message.text)
    assert "Left · 1" in labels(message)


async def again(run: Run) -> AsyncGenerator[Event, None]:
    """The vote of the run that its text names goes on, under other words."""
    yield Changed(run.request.text.split()[-1], "scene", "Scene", (Text("Three doors."), VOTE))
    yield Text("Said.")


async def closes(run: Run) -> AsyncGenerator[Event, None]:
    """The vote of the run that its text names."""
    earlier = run.request.text.split()[-1]
    contents = (Text("Two doors."), replace(VOTE, taken=1))
    yield Changed(earlier, "scene", "Scene", contents)
    yield Text("Closed.")


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


async def test_on_slack_a_crowd_is_counted_whole_in_few_edits(at: Table) -> None:
    people = [at.team.user(f"Person {n}") for n in range(25)]
    message = await offered_on_slack(at, "vote")
    await ended(at.app, 1)
    at.bot.intake.counts = VoteCounts(Writers(Pace(edit_every_s=0.3, posts=50, posts_in_s=1.0)))
    before = len(message.edits)
    await asyncio.gather(*(at.slack.press(person, message, "Left") for person in people))
    await at.slack.until(lambda: "Left · 25" in message.shown)
    assert len(message.edits) - before < 15


async def test_in_a_terminal_a_vote_is_choices(tmp_path: Path) -> None:
    events = await lines(await open_scripted(tmp_path, Play(), Recorder()), "vote", "/rules ask why")
    shown = [event for event in events if event["event"] == "choices"][1]
    assert (shown["votes"], shown["taken"], len(shown["choices"])) == (True, None, 3)
    assert "Did why" in [event.get("text") for event in events]


async def leads(run: Run) -> AsyncGenerator[Event, None]:
    """To every run that its text names."""
    yield Stage("links", "Links")
    for part in run.request.text.split()[1:]:
        yield Link(part, f"<@1> *{part[:4]}* https://evil.example")


async def opens(run: Run) -> AsyncGenerator[Event, None]:
    yield Stage("window", "Window")
    yield Choices("What now?", (Choice("Say it", "/rules ask --k 3", "What do you say?"),))


async def refuses(run: Run) -> AsyncGenerator[Event, None]:
    yield Stage("answer", "Answer")
    raise UserError("rules.no_such_source", n=7)


async def test_on_discord_what_a_run_refuses_is_kept_for_its_author_to_change(on: Line) -> None:
    await on.discord.say(on.bia, on.channel, "refuse in a message", mention=True)
    pressed = await on.discord.press(on.bia, await offered(on, "opens", "Say it"), "Say it")
    await on.discord.submit(on.bia, pressed, {"text": "refuse this"})
    message = (await on.discord.until(lambda: correctable(on)))[0]
    assert len(correctable(on)) == 1, "a message is there to be read and edited"
    assert "quem enviou a mensagem" in (await on.discord.press(on.ana, message, "Change it…")).text
    pressed = await on.discord.press(on.bia, message, "Change it…")
    assert pressed.modal is not None
    (label,) = pressed.modal["components"]
    assert label["component"]["value"] == "refuse this"
    await on.discord.submit(on.bia, pressed, {"text": "now"})
    requests = await ended(on.app, 4)
    assert (requests[3].text, requests[3].options, requests[3].answers) == ("now", {"k": 3}, requests[1].id)


def correctable(on: Line) -> list[Message]:
    posts = [message for thread in on.channel.threads for message in thread.messages]
    return [post for post in posts if "Change it…" in labels(post)]


async def test_on_slack_what_a_run_refuses_is_kept_for_its_author_to_change(at: Table) -> None:
    await at.slack.press(at.ana, await offered_on_slack(at, "opens", "Say it"), "Say it")
    await at.slack.submit(at.ana, await window(at), {"text:0": {"text": "refuse this"}})
    message = (
        await at.slack.until(
            lambda: [
                one
                for one in at.channel.everything
                if "Change it…" in json.dumps(one.blocks, ensure_ascii=False)
            ]
        )
    )[-1]
    await at.slack.press(at.ana, message, "Change it…")
    view = await window(at)
    assert view.blocks[0]["element"]["initial_value"] == "refuse this"
    await at.slack.submit(at.ana, view, {"text:0": {"text": "now"}})
    requests = await ended(at.app, 3)
    assert (requests[2].text, requests[2].options, requests[2].answers) == ("now", {"k": 3}, requests[0].id)


def test_the_window_of_every_verb_opens_again_with_what_was_refused() -> None:
    text, walked = 'rag "one" --two\nand three', 0
    for row in commands.TABLE:
        if row.argument is None or row.argument.many:
            continue
        walked += 1
        by_kind: dict[str, OptionValue] = {"number": 1, "flag": True, "link": "https://example.org/a.png"}
        options: dict[str, OptionValue] = {UNDER: "scene"}
        for option in row.options:
            options[option.name] = (
                option.choices[0] if option.choices else by_kind.get(option.kind, 'a "b" --c')
            )
        request = Request(
            "two", Place("slack", "s", "c", "t"), Author("ana", "Ana"), row.work, row.name, options, text,
            answers="one", window=True,
        )  # fmt: skip
        (group,) = offer_correction(request)
        (stored,) = of_group(group, 0, "answer")
        form = choice_form(from_json(stored.to_json()), "two")
        again = form.asked(stored.filled)
        assert (again.row, again.text, again.answers) == (row, text, "one"), row.path
        assert group.only == "ana"
        assert {**again.options, UNDER: "scene"} == options, row.path
    assert walked > 50


SCRIPTS: dict[str, Script] = {
    "opens": opens,
    "refuse": refuses,
    "offers": offers,
    "asks first": asks_first,
    "go on": goes_on,
    "vote": votes,
    "close": closes,
    "again": again,
    "leads": leads,
}


class Play(Scripts):
    """By all of a text, or by its first word; what is in no script is echoed."""

    def __missing__(self, text: str) -> Script:
        return SCRIPTS.get(text) or SCRIPTS.get(text.split()[0], echo)


async def test_on_discord_a_link_leads_to_a_runs_first_message_of_this_space(tmp_path: Path) -> None:
    async with line(tmp_path, Play()) as on:
        await on.discord.say(on.bia, on.channel, "one", mention=True)
        (one,) = await ended(on.app, 1)
        message = await posted(on, "Did one")
        other = on.discord.guild("Other")
        other.join(on.bia)
        far = other.text("far")
        await on.discord.say(on.bia, far, "two", mention=True)
        two = (await ended(on.app, 2))[1]
        await on.discord.say(on.bia, on.channel, f"leads {one.id} {two.id} {'0' * 32}", mention=True)
        links = (await posted(on, "Links")).text
        url = f"https://discord.com/channels/{on.guild.id}/{message.channel.id}/{message.id}"
        assert f"]({url})" in links
        assert links.count("](") == 1
        assert "https://evil" not in links
        assert "<@1>" not in links


async def posted(on: Line, text: str) -> Message:
    def found() -> list[Message]:
        places = [thread for guild in on.discord.world.guilds.values() for thread in guild.threads]
        posts = [message for thread in places for message in thread.messages]
        return [
            post for post in posts if text in post.text and not any("stop" in str(b) for b in post.buttons)
        ]

    return (await on.discord.until(found))[-1]


async def test_on_slack_a_link_leads_to_a_runs_first_message_of_this_space(tmp_path: Path) -> None:
    async with table(tmp_path, Play(), pace=QUICK) as at:
        await at.slack.say(at.ana, at.channel, f"{at.team.bot.mention} one")
        (one,) = await ended(at.app, 1)
        await at.slack.say(at.ana, at.channel, f"{at.team.bot.mention} leads {one.id} {'0' * 32}")
        await ended(at.app, 2)
        answers = [post for root in at.channel.messages for post in root.thread if post.user is at.team.bot]
        first, links = answers
        assert f"/archives/{at.channel.id}/p{first.ts.replace('.', '')}" in links.shown
        assert links.shown.count("slack.com/archives") == 1
        assert links.mentions == []


async def test_in_a_terminal_a_link_is_its_title(tmp_path: Path) -> None:
    events = await lines(await open_scripted(tmp_path, Play(), Recorder()), "leads 1234")
    (link,) = [event for event in events if event["event"] == "link"]
    assert (link["run"], link["title"]) == ("1234", "<@1> *1234* https://evil.example")


async def lines(app: App, *typed: str, conversation: Conversation | None = None) -> list[dict[str, Any]]:
    """What `chat --json` answers."""

    async def opened() -> App:
        return app

    async def given() -> AsyncIterator[str]:
        for typed_line in typed:
            yield typed_line

    out = io.BytesIO()
    feed = Feed(conversation or Conversation("en", None), JsonLines(out), overtake=False)
    await feed.run(opened(), given())
    return [json.loads(line) for line in out.getvalue().decode().splitlines()]


async def in_terminal(data: Path, *typed: str) -> tuple[list[dict[str, Any]], list[Request]]:
    """What lines are answered with, and what they asked for."""
    recorder = Recorder()
    app = await open_scripted(data, Play(), recorder)
    seen: list[Request] = []
    perform = app.perform

    async def noted(request: Request, acknowledge: Acknowledge | None = None) -> Ticket:
        seen.append(request)
        return await perform(request, acknowledge)

    app.perform = noted  # type: ignore[method-assign]
    return await lines(app, *typed), seen


async def test_in_a_terminal_the_next_line_is_the_words(tmp_path: Path) -> None:
    events, (first, second, third) = await in_terminal(
        tmp_path, "offers", LONG_REQUESTS.command, "--private is a word", "and this a question"
    )
    assert (second.text, second.options) == ("scene 7: --private is a word", {"k": 3})
    assert second.answers == first.id
    assert (third.text, third.answers) == ("and this a question", "")
    (question,) = [event for event in events if event["event"] == "notice"]
    assert question["text"] == "What do you do? (type the answer; / cancels)"
    (choices,) = [event for event in events if event["event"] == "choices"]
    assert choices["choices"][1] == asdict(LONG_REQUESTS)
    assert [event["status"] for event in events if event["event"] == "done"] == ["done"] * 4


async def test_in_a_terminal_a_slash_leaves_the_question(tmp_path: Path) -> None:
    events, requests = await in_terminal(
        tmp_path, "offers", LONG_REQUESTS.command, "/", LONG_REQUESTS.command, "/rules ask left", "right"
    )
    assert [request.text for request in requests] == ["offers", "left", "right"]
    assert [request.answers != "" for request in requests] == [False, True, False]
    assert "Cancelled." in [event.get("text") for event in events]


async def test_who_types_the_words_with_the_command_is_asked_nothing(tmp_path: Path) -> None:
    events, requests = await in_terminal(tmp_path, "offers", f"{LONG_REQUESTS.command} -- --private")
    assert [request.text for request in requests] == ["offers", "scene 7: --private"]
    assert not [event for event in events if event["event"] == "notice"]


@pytest.mark.parametrize("most", [75, 80])
def test_a_choice_that_is_too_long_for_a_button_is_listed_in_full_with_its_votes_on_the_button(
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
