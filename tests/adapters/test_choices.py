"""Choices of a scripted work, from the press to the run, on Discord and Slack over loopback and in a terminal."""

from __future__ import annotations

import copy
import io
import json
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from bot import commands
from bot.adapters.invocation import choice_form
from bot.adapters.stored_choices import from_json, of_group
from bot.adapters.terminal.conversation import Conversation
from bot.adapters.terminal.feed import Feed
from bot.adapters.terminal.markdown import Ink
from bot.adapters.terminal.outputs import PlainOutput, PlainScreen
from bot.app import App
from bot.commands import UNDER
from bot.events import Author, OptionValue, Place, Request
from bot.runs.dispatcher import Acknowledge, Ticket
from bot.runs.forms import offer_correction
from tests.adapters.choices import (
    LONG_REQUESTS,
    QUICK,
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
from tests.adapters.discord.line import Line, line
from tests.adapters.slack.table import Table, table
from tests.fakes.discord import Message
from tests.fakes.scripted_app import Recorder, open_scripted
from tests.fakes.slack import View

HOSTILE = "--private /library remove x"


@pytest.fixture
async def on(tmp_path: Path) -> AsyncIterator[Line]:
    async with on_discord(tmp_path) as made:
        yield made


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Table]:
    async with on_slack(tmp_path) as made:
        yield made


async def test_on_discord_a_choice_passes_words_on_as_typed(on: Line) -> None:
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


async def test_on_discord_a_window_submitted_twice_counts_once(on: Line) -> None:
    message = await offered(on)
    pressed = await on.discord.press(on.bia, message, LONG_REQUESTS.label)
    await on.discord.submit(on.bia, pressed, {"text": "run"})
    await ended(on.app, 2)
    again = await on.discord.submit(on.bia, pressed, {"text": "hide"})
    assert "I already have this" in again.text
    assert [one.text for one in await asked(on.app)] == ["offers", "scene 7: run"]


async def test_on_discord_a_window_shows_a_long_question_in_full_below_its_label() -> None:
    from discord import ui

    from bot.adapters.discord.received.intake import labelled

    question = "What do you do now that the mill is burning and nobody listens to you?"
    field: ui.TextInput[ui.Modal] = ui.TextInput(custom_id="text")
    made = labelled(question, field).to_component_dict()
    assert len(made["label"]) <= 45
    assert made["description"] == question


async def window(at: Table) -> View:
    return (await at.slack.until(lambda: [view for view in at.slack.views if view.open]))[-1]


async def test_on_slack_a_choice_passes_words_on_as_typed(at: Table) -> None:
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


async def test_on_discord_a_taken_choice_is_greyed_out(on: Line) -> None:
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


async def test_on_slack_a_taken_choice_becomes_a_line_of_text(at: Table) -> None:
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


async def test_in_a_terminal_a_taken_choice_is_shown_once_more(tmp_path: Path) -> None:
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


async def test_on_discord_the_author_can_correct_refused_input(on: Line) -> None:
    await on.discord.say(on.bia, on.channel, "refuse in a message", mention=True)
    pressed = await on.discord.press(on.bia, await offered(on, "opens", "Say it"), "Say it")
    await on.discord.submit(on.bia, pressed, {"text": "refuse this"})
    message = (await on.discord.until(lambda: correctable(on)))[0]
    assert len(correctable(on)) == 1, "a message can be read and edited"
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


async def test_on_slack_the_author_can_correct_refused_input(at: Table) -> None:
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


def test_the_window_of_every_verb_reopens_with_the_refused_input() -> None:
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


async def in_terminal(data: Path, *typed: str) -> tuple[list[dict[str, Any]], list[Request]]:
    """The output of typed lines, and the requests that they became."""
    recorder = Recorder()
    app = await open_scripted(data, Play(), recorder)
    seen: list[Request] = []
    perform = app.perform

    async def noted(request: Request, acknowledge: Acknowledge | None = None) -> Ticket:
        seen.append(request)
        return await perform(request, acknowledge)

    app.perform = noted
    return await lines(app, *typed), seen


async def test_in_a_terminal_the_next_line_supplies_the_words(tmp_path: Path) -> None:
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


async def test_in_a_terminal_a_slash_command_cancels_the_question(tmp_path: Path) -> None:
    events, requests = await in_terminal(
        tmp_path, "offers", LONG_REQUESTS.command, "/", LONG_REQUESTS.command, "/rules ask left", "right"
    )
    assert [request.text for request in requests] == ["offers", "left", "right"]
    assert [request.answers != "" for request in requests] == [False, True, False]
    assert "Cancelled." in [event.get("text") for event in events]


async def test_a_command_typed_with_its_words_asks_for_nothing(tmp_path: Path) -> None:
    events, requests = await in_terminal(tmp_path, "offers", f"{LONG_REQUESTS.command} -- --private")
    assert [request.text for request in requests] == ["offers", "scene 7: --private"]
    assert not [event for event in events if event["event"] == "notice"]
