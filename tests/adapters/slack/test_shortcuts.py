"""Shortcuts: the message shortcut asks about a message, and the global one works anywhere."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from bot.adapters.slack.manifest import ASK, ASK_ABOUT
from bot.adapters.slack.received import commands, windows
from bot.words import LOCALES, words
from storage.document_rows import NewDocument
from tests.adapters.slack.table import Table
from tests.fakes.slack import Message
from tests.fakes.slack.block_rules import MODAL, wrong
from tests.fakes.slack.views import View

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUESTION = "What does that mean?"


def typed(text: str, **chosen: str) -> dict[str, dict[str, Any]]:
    return {windows.block_id(0): {windows.TYPED: text}} | {name: {name: one} for name, one in chosen.items()}


async def about(at: Table, message: Message) -> View:
    sent = await at.slack.shortcut(at.ana, ASK_ABOUT, message)
    assert sent.acked is not None
    return await _window(at)


async def _window(at: Table) -> View:
    return (
        await at.slack.until(lambda: [view for view in at.slack.views if view.user is at.ana and view.open])
    )[-1]


async def test_a_question_about_a_message_is_answered_in_its_thread(at: Table) -> None:
    message = await at.slack.say(at.bia, at.channel, "A <grappled> creature can't move & so on.", wait=False)
    view = await about(at, message)
    assert "> A <grappled> creature can't move & so on." in view.shown
    await at.slack.submit(at.ana, view, typed(QUESTION))
    await at.begun()
    asked = at.asked
    assert asked.text == f"{QUESTION}\n\n> A <grappled> creature can't move & so on."
    assert (asked.place.channel, asked.place.thread) == (at.channel.id, message.ts)
    assert [(source.where, source.name) for source in asked.quoted] == [("", "Bia")]
    assert (at.origin.home, at.origin.thread) == ("here", message.ts)


async def test_a_question_about_a_reply_is_answered_in_the_same_thread(at: Table) -> None:
    root = await at.slack.say(at.bia, at.channel, "A thread")
    message = await at.slack.say(at.bia, at.channel, "A reply", thread=root)
    await at.slack.submit(at.ana, await about(at, message), typed(""))
    await at.begun()
    assert (at.asked.text, at.origin.thread) == ("> A reply", root.ts)


async def test_mentions_in_the_message_become_names(at: Table) -> None:
    message = await at.slack.say(at.bia, at.channel, f"{at.ana.mention} is grappled <!channel>", wait=False)
    view = await about(at, message)
    assert "> @Ana is grappled" in view.shown
    assert view.mentions == []


async def test_a_message_without_words_and_files_cannot_be_asked_about(at: Table) -> None:
    nothing = await at.slack.say(at.bia, at.channel, "", wait=False)
    await at.slack.shortcut(at.ana, ASK_ABOUT, nothing)
    assert (await at.whispered(at.ana)).shown == words("en")("edge.no_text")


async def test_the_files_of_a_message_and_of_a_shared_one_can_be_asked_about(at: Table) -> None:
    notes = await at.slack.say(at.bia, at.channel, "", files=[("notes.md", b"# Notes")], wait=False)
    view = await about(at, notes)
    assert "notes.md" in view.shown
    assert not view.blocks[-1]["optional"], "the message has no words to use as a question"
    await at.slack.submit(at.ana, view, typed(QUESTION))
    await at.begun()
    sharing = await at.slack.say(at.bia, at.channel, "See this", shares=notes, wait=False)
    await at.slack.submit(at.ana, await about(at, sharing), typed(QUESTION))
    await at.begun(2)
    assert [[file.name for file in request.files] for request in at.requests] == [["notes.md"], ["notes.md"]]
    assert at.requests[0].text == QUESTION


async def test_attachments_of_a_program_can_be_asked_about(at: Table) -> None:
    report = await at.slack.say(at.bia, at.channel, "", wait=False)
    report.attachments = [{"title": "Build 7", "text": "The gate <closes> at &lt;dusk&gt;"}]
    view = await about(at, report)
    assert "> Build 7" in view.shown
    await at.slack.submit(at.ana, view, typed(""))
    await at.begun()
    assert "at <dusk>" in at.asked.text


async def test_a_message_in_a_channel_without_the_bot_is_answered_in_direct_messages(at: Table) -> None:
    channel = at.team.channel("secret", private=True, bot=False)
    message = await at.slack.say(at.bia, channel, "Among us", files=[("map.md", b"# Map")], wait=False)
    await at.slack.submit(at.ana, await about(at, message), typed(QUESTION))
    await at.begun()
    assert (at.origin.channel, at.origin.home) == (at.team.dm(at.ana).id, "thread")
    assert at.asked.files == (), "Slack does not let the bot read the files"
    assert [(source.where, source.name) for source in at.asked.quoted] == [("", "Bia")], (
        "a private channel is not named"
    )


async def test_an_answer_elsewhere_names_the_messages_channel(at: Table) -> None:
    channel = at.team.channel("tactics", bot=False)
    message = await at.slack.say(at.bia, channel, "Flank first", wait=False)
    await at.slack.submit(at.ana, await about(at, message), typed(QUESTION))
    await at.begun()
    (source,) = at.asked.quoted
    assert (source.where, source.name) == ("#tactics", "Bia")
    assert source.at == f"{datetime.fromtimestamp(float(message.ts), UTC):%H:%M}"


async def ask(at: Table) -> View:
    sent = await at.slack.global_shortcut(at.ana, ASK)
    assert sent.acked is not None
    return await _window(at)


async def test_a_question_from_the_global_shortcut_is_answered_in_direct_messages(at: Table) -> None:
    view = await ask(at)
    sent = await at.slack.submit(at.ana, view, typed(QUESTION))
    assert sent.acked is not None
    await at.begun()
    assert not view.open
    assert (at.asked.work, at.asked.verb, at.asked.text, at.asked.options) == ("rules", "ask", QUESTION, {})
    assert (at.origin.home, at.origin.channel) == ("thread", at.team.dm(at.ana).id)


async def test_the_window_has_menus_for_work_and_shelf(at: Table) -> None:
    await shelved(at, "fate")
    view = await ask(at)
    await at.slack.submit(at.ana, view, typed(QUESTION, work="rules", shelf="fate"))
    await at.begun()
    assert at.asked.options == {"shelf": "fate"}


async def shelved(at: Table, shelf: str) -> None:
    """Put a book on this shelf."""
    new = NewDocument(
        id=f"{shelf}-{at.ana.id}",
        space=at.space,
        shelf=shelf,
        source="fate.md",
        title="Fate",
        language="en",
        sha256="0" * 64,
        size=1,
        text="x",
        sections=[],
        chunks=[],
        links=[],
        segment=b"",
    )
    await at.app.resources.records.documents.add(new)


async def test_an_error_is_shown_in_the_window_which_stays_open(at: Table) -> None:
    await shelved(at, "fate")
    view = await ask(at)
    await at.slack.submit(at.ana, view, typed(QUESTION, work="council", shelf="fate"))
    assert "can use a shelf" in view.errors["shelf"]
    await at.slack.submit(at.ana, view, typed("   ", work="rules"))
    assert "Write something" in view.errors[windows.block_id(0)]
    at.slack.fail("conversations.open", error="internal_error", times=9)
    other = at.another()
    blank = await ask(other)
    await at.slack.submit(other.ana, blank, typed(QUESTION))
    assert "direct conversation" in blank.errors[windows.block_id(0)]
    at.slack.faults.waiting.clear()
    assert at.requests == []
    await at.slack.submit(other.ana, blank, typed(QUESTION))
    await other.begun()


async def test_a_forged_menu_choice_is_ignored(at: Table) -> None:
    view = await ask(at)
    view.values[commands.WORK] = {
        commands.WORK: {"type": "static_select", "selected_option": {"value": "library"}}
    }
    await at.slack.submit(at.ana, view, typed(QUESTION))
    await at.begun()
    assert (at.asked.work, at.asked.verb) == ("rules", "ask")


@pytest.mark.parametrize("locale", LOCALES)
async def test_slack_accepts_the_window_in_every_language(locale: str) -> None:
    shelves = [
        "x" * 200,
        *(f"shelf {n} with a name that is long enough to be cut, {'x' * 40}" for n in range(150)),
    ]
    view = commands.ask_window(words(locale), shelves)
    assert wrong(view["blocks"], MODAL) == []
    assert len(view["title"]["text"]) <= windows.TITLE_CHARS
    works = set(commands.asking_works())
    shown = str(view["blocks"])
    assert not any(f"slack_window.work_{work}" in shown for work in works), "each option has a name"


@pytest.mark.parametrize("locale", LOCALES)
async def test_titles_and_buttons_of_windows_are_not_cut(locale: str) -> None:
    say = words(locale)
    for key in ("send", "close", "about", "ask"):
        assert len(say(f"slack_window.{key}")) <= windows.TITLE_CHARS
