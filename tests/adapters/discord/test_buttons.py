"""Presses: in time, after a restart, too late, and from other spaces."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import asdict, replace
from pathlib import Path

import discord
import pytest
import simcord

from bot.adapters.discord.received.placing import Origin
from bot.adapters.discord.received.presses import message_text
from bot.adapters.home import ANSWERS
from bot.events import Author, Choice, Citation, Event, Place, Request, Text
from bot.runs.requests import event_id
from bot.work import Run
from storage.faults import StorageFault
from tests.adapters.discord.table import Table, labels, table, told


async def hello(run: Run) -> AsyncGenerator[Event, None]:
    yield Text("hello")


async def endless(run: Run) -> AsyncGenerator[Event, None]:
    yield Text("begun")
    await asyncio.Event().wait()


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Table]:
    async with table(tmp_path, {"hello": hello, "endless": endless, "Grappled": hello}) as made:
        yield made


def asked(space: str, text: str) -> Request:
    """A stored question in a channel of this space."""
    run = event_id("discord", space, text)
    return Request(run, Place("discord", space, "1", ""), Author("1", "Ana"), "rules", "ask", {}, text)


async def live(at: Table, space: str) -> Request:
    """A question whose run never ends."""
    request = asked(space, "endless")
    await at.app.perform(request)
    await at.recorder.until(request.id, Text("begun"))
    return request


async def test_stop_cancels_the_run_and_says_who_stopped_it(at: Table) -> None:
    bia = at.guild.add_member(at.env.create_user("Bia"))
    run = (await live(at, at.space)).id
    answer = await at.shown(f"stop:{run}")
    pressed = await bia.click(answer, label="stop")
    assert await at.app.ended(run) == "stopped"
    assert told(pressed) == "Bia stopped this."
    assert not pressed.followups[0].ephemeral


async def test_a_run_from_before_a_restart_of_the_client_can_be_stopped(at: Table) -> None:
    run = (await live(at, at.space)).id
    answer = await at.shown(f"stop:{run}")
    await at.restart()
    await at.ana.click(answer, label="stop")
    assert await at.app.ended(run) == "stopped"


async def test_an_answer_can_be_stopped_during_a_database_outage(
    at: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object) -> None:
        raise StorageFault("other")

    run = (await live(at, at.space)).id
    answer = await at.shown(f"stop:{run}")
    monkeypatch.setattr(at.app._past, "request", away)
    pressed = await at.ana.click(answer, label="stop")
    assert await at.app.ended(run) == "stopped"
    assert told(pressed) == "Ana stopped this."


async def test_a_dead_stop_button_says_so_and_is_removed_without_the_text(at: Table) -> None:
    run = "0" * 32
    answer = await at.shown(f"stop:{run}", f"retry:{run}")
    pressed = await at.ana.click(answer, label="stop")
    assert told(pressed) == "This has already ended, so there is nothing to stop."
    assert pressed.followups[0].ephemeral
    assert labels(answer.message) == ["retry"]
    assert "An answer" in message_text(answer.message)


async def test_a_dead_stop_button_alone_in_its_row_is_removed_with_the_row(at: Table) -> None:
    answer = await at.shown(f"stop:{'0' * 32}")
    await at.ana.click(answer, label="stop")
    assert labels(answer.message) == []
    assert message_text(answer.message) == "An answer"


async def test_a_run_of_another_server_cannot_be_stopped_by_a_copied_button(at: Table) -> None:
    run = (await live(at, "another server")).id
    answer = await at.shown(f"stop:{run}")
    await at.ana.click(answer, label="stop")
    assert at.app.runs.of("another server", run)


@pytest.mark.parametrize(
    "id",
    [
        lambda run: f"stop:{run}",
        lambda run: f"sources:{run}",
        lambda run: f"share:{run}",
        lambda run: f"choice:{run}:0",
    ],
)
async def test_nobody_else_can_press_buttons_of_a_private_answer(at: Table, id: Callable[[str], str]) -> None:
    origin = Origin("response", at.channel.id, 1, user=at.ana.id, private=True)
    request = replace(
        asked(at.space, "endless"), author=Author(str(at.ana.id), "Ana"), origin=origin.to_json()
    )
    await at.app.perform(request)
    await at.recorder.until(request.id, Text("begun"))
    source = Citation(1, "Handbook", "Combat", "A secret of Ana's.")
    await at.app.resources.records.offers.keep(at.space, request.id, "source", [json.dumps(asdict(source))])
    offered = Choice("Grappled", "/rules lookup Grappled")
    await at.app.resources.records.offers.keep(at.space, request.id, "choice", [json.dumps(asdict(offered))])
    copied = await at.shown(id(request.id))
    bia = at.guild.add_member(at.env.create_user("Bia"))
    pressed = await bia.click(copied, label=id(request.id).split(":")[0])
    assert "secret" not in told(pressed)
    assert "no longer kept" in told(pressed)
    assert at.app.runs.of(at.space, request.id)
    assert list(at.recorder.events) == [request.id]
    assert len(at.said()) == 1


async def test_retry_asks_the_edited_words(at: Table) -> None:
    past = asked(at.space, "endless")
    await at.app.perform(past)
    await at.app.stop_run(at.space, past.id)
    await at.app.ended(past.id)
    await at.app.reword(at.space, past.id, "hello")
    answer = await at.shown(f"retry:{past.id}")
    await at.ana.click(answer, label="retry")
    (retried,) = set(at.recorder.events) - {past.id}
    await at.recorder.until(retried, Text("hello"))
    request = await at.app.request_of(at.space, retried)
    assert request is not None
    assert (request.text, request.author.id) == ("hello", str(at.ana.id))


async def test_a_choice_runs_its_line_as_the_presser(at: Table) -> None:
    space, run = at.space, "a" * 32
    offered = Choice("Grappled", "/rules lookup Grappled")
    await at.app.resources.records.offers.keep(space, run, "choice", [json.dumps(asdict(offered))])
    answer = await at.shown(f"choice:{run}:0")
    await at.restart()
    await at.ana.click(answer, label="choice")
    (made,) = at.recorder.events
    request = await at.app.request_of(space, made)
    assert request is not None
    assert (request.work, request.verb, request.text, request.author.id) == (
        "rules",
        "lookup",
        "Grappled",
        str(at.ana.id),
    )


async def test_sources_are_shown_in_full_to_the_presser_alone_after_a_restart_too(at: Table) -> None:
    run = "a" * 32
    cited = [
        Citation(1, "Handbook", "Combat › Grappling", "A grappled creature's speed becomes 0.", 195),
        Citation(2, "Monsters", "", "@everyone flees."),
    ]
    kept = [json.dumps(asdict(source)) for source in cited]
    await at.app.resources.records.offers.keep(at.space, run, "source", kept)
    answer = await at.shown(f"sources:{run}")
    await at.restart()
    pressed = await at.ana.click(answer, label="sources")
    assert pressed.ephemeral
    assert told(pressed) == (
        "**[1]** Handbook › Combat › Grappling, p. 195\n> A grappled creature's speed becomes 0.\n\n"
        "**[2]** Monsters\n> @\u200beveryone flees."
    )


async def test_many_sources_have_pages(at: Table) -> None:
    run = "a" * 32
    cited = [Citation(n, f"Book {n}", "A section", f"Sentence {n}. " * 60) for n in range(1, 13)]
    kept = [json.dumps(asdict(source)) for source in cited]
    await at.app.resources.records.offers.keep(at.space, run, "source", kept)
    answer = await at.shown(f"sources:{run}")
    opened = await at.ana.click(answer, label="sources")
    page, seen = opened.response, told(opened)
    assert page is not None
    assert "**[1]** Book 1" in seen
    with pytest.raises(simcord.SetupError):  # there is nothing before the first page
        await at.ana.click(page, label="Back")
    assert "**[12]**" not in seen
    while "Book 12" not in message_text(page.message):
        await at.ana.click(page, label="Next")
        seen += message_text(page.message)
    assert all(f"**[{n}]** Book {n} › A section" in seen for n in range(1, 13))
    await at.ana.click(page, label="Back")
    assert "Book 12" not in message_text(page.message)


async def test_a_private_answer_is_shared_once_word_for_word(at: Table) -> None:
    past = asked(at.space, "hello")
    await (await at.app.perform(past)).wait()
    answer = await at.shown(f"share:{past.id}", text="Only Ana sees this.", private=True)
    pressed = await at.ana.click(answer, label="share")
    assert told(pressed) == "Shared here."
    assert at.said() == ["-# shared by Ana\n\nOnly Ana sees this."]
    assert labels(answer.message) == []


async def test_all_of_a_long_answer_is_shared_and_each_message_is_stored(at: Table) -> None:
    past = asked(at.space, "hello")
    await (await at.app.perform(past)).wait()
    sentences = [f"Sentence number {n} of the long answer." for n in range(168)]
    stored = json.dumps(["Answer", " ".join(sentences)])
    await at.app.records.offers.keep(at.space, past.id, ANSWERS, [stored])
    answer = await at.shown(f"share:{past.id}", text=sentences[-1], private=True)
    await at.ana.click(answer, label="share")
    said = " ".join(at.said())
    assert [sentence for sentence in sentences if said.count(sentence) != 1] == []
    assert said.count("shared by Ana") == 1
    rows = await at.app.records.outbox.all(at.space, past.id)
    assert sum(row.stage.startswith("share:") for row in rows) == len(at.said()) > 1, (
        "so that it can be withdrawn"
    )


async def test_pressing_share_twice_in_a_row_posts_once(at: Table) -> None:
    past = asked(at.space, "hello")
    await (await at.app.perform(past)).wait()
    answer = await at.shown(f"share:{past.id}", text="Mine.", private=True)
    # As if the button's removal had not arrived yet.
    at.env.inject_error("PATCH", "/webhooks/*/*/messages/@original", status=500)
    await at.ana.click(answer, label="share")
    again = await at.ana.click(answer, label="share")
    assert told(again) == "This has already been shared here."
    assert at.said() == ["-# shared by Ana\n\nMine."]


@pytest.mark.parametrize("silent", ["the bot", "Ana"])
async def test_sharing_where_the_bot_or_the_presser_may_not_write_is_refused_with_the_reason(
    at: Table, silent: str
) -> None:
    muted = at.guild.default_role if silent == "the bot" else at.ana
    channel = at.guild.create_text_channel(
        "news", overwrites={muted: discord.PermissionOverwrite(send_messages=False)}
    )
    past = asked(at.space, "hello")
    await (await at.app.perform(past)).wait()
    answer = await at.shown(f"share:{past.id}", text="Mine.", private=True, where=channel)
    pressed = await at.ana.click(answer, label="share")
    assert told(pressed).startswith("I may not write" if silent == "the bot" else "You may not write")
    assert at.said(channel) == []


async def test_a_persons_last_thumb_counts(at: Table) -> None:
    past = asked(at.space, "hello")
    await (await at.app.perform(past)).wait()
    up, down = (f"feedback:{past.id}:{verdict}" for verdict in ("up", "down"))
    answer = await at.shown(up, down)
    await at.ana.click(answer, custom_id=up)
    assert await at.app.resources.records.feedback.count(at.space) == {"up": 1, "down": 0}
    pressed = await at.ana.click(answer, custom_id=down)
    assert await at.app.resources.records.feedback.count(at.space) == {"up": 0, "down": 1}
    assert pressed.ephemeral
    assert told(pressed).startswith("Thank you")


@pytest.mark.parametrize(
    "id",
    [
        f"retry:{'0' * 32}",
        f"choice:{'0' * 32}:3",
        f"sources:{'0' * 32}",
        f"sources:{'0' * 32}:1",
        f"share:{'0' * 32}",
        f"feedback:{'0' * 32}:up",
        "retry:not-a-run",
        "choice:" + "0" * 32,
        "stop:" + "0" * 33,
        "feedback:" + "0" * 32 + ":sideways",
    ],
)
async def test_a_stale_or_malformed_press_gets_a_polite_ephemeral_answer(at: Table, id: str) -> None:
    answer = await at.shown(id)
    pressed = await at.ana.click(answer, custom_id=id)
    assert pressed.acknowledged
    assert told(pressed)
    assert all(message.ephemeral for message in pressed.followups)
    assert pressed.ephemeral or pressed.followups
    assert at.recorder.events == {}


async def test_a_press_cannot_reach_another_servers_runs(at: Table) -> None:
    past = asked("another server", "hello")
    await (await at.app.perform(past)).wait()
    secret = json.dumps(asdict(Citation(1, "Secret book", "", "Nobody here may read this.")))
    await at.app.resources.records.offers.keep("another server", past.id, "source", [secret])
    run = past.id
    ids = [
        f"sources:{run}",
        f"retry:{run}",
        f"feedback:{run}:up",
        f"share:{run}",
    ]
    answer = await at.shown(*ids)
    for id in ids:
        pressed = await at.ana.click(answer, custom_id=id)
        assert "Secret" not in told(pressed)
    assert set(at.recorder.events) == {run}
    assert await at.app.resources.records.feedback.count("another server") == {"up": 0, "down": 0}
    assert not any("shared by" in text for text in at.said())
