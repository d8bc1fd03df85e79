"""Requests by buttons and messages: asking again, taking a choice, writing a line."""

from __future__ import annotations

import json

import discord
import pytest
from simcord.builders import ChannelHandle

from bot.adapters.discord.received.placing import origin_of
from bot.commands import FOLLOW_UP
from bot.config import LimitsConfig
from bot.runs.requests import event_id
from tests.cogs.table import Table, said

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUESTION = "Can a grappled creature cast spells?"


async def posted(table: Table, channel: ChannelHandle, *, custom_id: str) -> discord.Message:
    """A message of the bot with one button."""
    view = discord.ui.View(timeout=None)
    view.add_item(discord.ui.Button(label="x", custom_id=custom_id))
    view.stop()
    real = table.world.client.get_channel(channel.id)
    assert isinstance(real, discord.TextChannel | discord.Thread)
    with table.env.time_context():
        return await real.send("An answer", view=view)


async def test_a_retry_is_answered_in_the_same_place(table: Table) -> None:
    thread = table.thread()
    await table.ana.slash(thread, "rules ask", question=QUESTION, k=2)
    message = await posted(table, thread, custom_id=f"retry:{table.asked.id}")
    pressed = await table.bia.click(message, label="x")
    again = table.requests[1]
    assert again.id != table.requests[0].id
    options = {"k": 2, "repeats": table.requests[0].id}
    assert (again.text, again.options, again.place) == (QUESTION, options, table.requests[0].place)
    assert again.author.id == str(table.bia.id)
    assert pressed.response is not None
    assert pressed.response.id == message.id, "the press is acknowledged without an extra message"
    origin = origin_of(again.origin)
    assert (origin.home, origin.pressed) == ("here", True)


async def test_a_choice_sends_its_line(table: Table) -> None:
    await table.ana.slash(table.general, "rules lookup", name="Grapple")
    run = table.asked.id
    kept = json.dumps({"label": "Grappled", "command": "/rules lookup Grappled --shelf rules"})
    await table.world.app.resources.records.offers.keep(table.space, run, "choice", [kept])
    message = await posted(table, table.general, custom_id=f"choice:{run}:0")
    pressed = await table.bia.click(message, label="x")
    chosen = table.requests[1]
    assert (chosen.verb, chosen.text, chosen.options) == ("lookup", "Grappled", {"shelf": "rules"})
    assert origin_of(chosen.origin).home == "response"
    assert pressed.deferred


async def test_a_choice_without_a_command_says_so_to_the_presser(table: Table) -> None:
    await table.ana.slash(table.general, "rules lookup", name="Grapple")
    run = table.asked.id
    kept = json.dumps({"label": "Leave it", "command": ""})
    await table.world.app.resources.records.offers.keep(table.space, run, "choice", [kept])
    message = await posted(table, table.general, custom_id=f"choice:{run}:0")
    assert said(await table.ana.click(message, label="x")) == "Cancelled."
    assert len(table.requests) == 1


async def test_a_press_acknowledged_by_another_process_is_ignored(
    table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    await table.ana.slash(table.general, "rules lookup", name="Grapple")
    message = await posted(table, table.general, custom_id=f"stop:{table.asked.id}")
    pressed = await table.ana.click(message, label="x")
    (answer,) = pressed.followups
    payload = next(
        entry[2] for entry in reversed(table.env.backend.transcript) if entry[1] == "INTERACTION_CREATE"
    )
    await table.redeliver(payload, pressed)
    assert [again.id for again in pressed.followups] == [answer.id], "the press is answered once"
    assert "went wrong" not in caplog.text


async def test_another_guild_cannot_retry_a_question_of_this_one(table: Table) -> None:
    await table.ana.slash(table.general, "rules ask", question=QUESTION)
    other = Table(table.world)
    message = await posted(other, other.general, custom_id=f"retry:{table.asked.id}")
    pressed = await other.ana.click(message, label="x")
    assert said(pressed)
    assert other.requests == []


async def test_nobody_else_can_retry_a_private_question(table: Table) -> None:
    await table.ana.slash(table.general, "rules ask", question=QUESTION, private=True)
    message = await posted(table, table.general, custom_id=f"retry:{table.asked.id}")
    pressed = await table.bia.click(message, label="x")
    assert QUESTION not in said(pressed)
    assert len(table.requests) == 1
    await table.ana.click(message, label="x")
    assert [request.text for request in table.requests] == [QUESTION, QUESTION]


async def test_a_withdrawn_question_cannot_be_retried(table: Table) -> None:
    await table.ana.slash(table.general, "rules ask", question=QUESTION)
    message = await posted(table, table.general, custom_id=f"retry:{table.asked.id}")
    await table.world.app.forget(table.space, table.asked.id)
    assert said(await table.bia.click(message, label="x"))
    assert len(table.requests) == 1


async def test_a_listed_session_is_resumed_where_the_list_was_requested(table: Table) -> None:
    await table.ana.slash(table.general, "sessions list")
    run = table.asked.id
    kept = json.dumps({"label": "The siege", "command": "/sessions resume 4f6a1c"})
    await table.world.app.resources.records.offers.keep(table.space, run, "choice", [kept])
    view = discord.ui.View(timeout=None)
    view.add_item(discord.ui.Button(label="x", custom_id=f"choice:{run}:0"))
    view.stop()

    async def shown(interaction: discord.Interaction) -> None:
        await interaction.response.send_message("Sessions", view=view, ephemeral=True)

    table.world.client.tree.command(name="shown", description="x")(shown)
    await table.world.client.tree.sync()
    try:
        answer = (await table.ana.slash(table.general, "shown")).response
    finally:
        table.world.client.tree.remove_command("shown")
    assert answer is not None
    await table.ana.click(answer, label="x")
    resumed = table.requests[1]
    assert resumed.place == table.requests[0].place
    assert origin_of(resumed.origin).private


async def test_a_message_is_a_question_that_may_be_a_follow_up(table: Table) -> None:
    message = await table.say(table.ana, QUESTION)
    request = table.asked
    assert (request.work, request.verb, request.text) == ("rules", "ask", QUESTION)
    assert request.options == {FOLLOW_UP: True}
    assert request.id == event_id("discord", table.space, str(message))
    assert request.place.thread == str(message)  # the key of the thread opened from it
    assert (table.origin.home, table.origin.message, table.origin.token) == ("thread", message, "")


async def test_a_line_with_a_slash_is_a_command(table: Table) -> None:
    await table.say(table.ana, "/roll 1d1")
    assert (table.asked.verb, table.asked.text, table.asked.options) == ("roll", "1d1", {})


async def test_a_redelivered_message_does_not_count_again(table: Table) -> None:
    await table.say(table.ana, "/roll 1d6")
    payload = next(
        entry[2] for entry in reversed(table.env.backend.transcript) if entry[1] == "MESSAGE_CREATE"
    )
    for _ in range(LimitsConfig().commands):
        table.env.backend.emit("MESSAGE_CREATE", payload)
    await table.env.settle()
    await table.say(table.ana, "/roll 1d8")
    assert [request.text for request in table.requests] == ["1d6", "1d8"]
    assert len(table.general.history()) == 2, "Ana's own"


async def test_a_message_in_a_thread_belongs_to_its_conversation(table: Table) -> None:
    thread = table.thread()
    await table.world.app.resources.records.threads.bind(
        table.space, str(table.general.id), "12345", str(thread.id)
    )
    await table.say(table.ana, QUESTION, channel=thread)
    assert (table.asked.place.channel, table.asked.place.thread) == (str(table.general.id), "12345")


async def test_a_thread_that_the_client_has_not_seen_is_known_from_the_database(table: Table) -> None:
    thread = table.thread()
    await table.world.app.resources.records.threads.bind(
        table.space, str(table.general.id), "12345", str(thread.id)
    )
    guild = table.world.client.get_guild(table.guild.id)
    assert guild is not None
    guild._threads.clear()
    await table.say(table.ana, QUESTION, channel=thread)
    assert (table.asked.place.channel, table.asked.place.thread) == (str(table.general.id), "12345")


async def test_a_dm_belongs_to_the_persons_space(table: Table) -> None:
    carla = table.world.person("Carla")
    await carla.send_dm("/rules ask Who wins a tie? --private")
    assert table.asked.place.space == f"user:{carla.id}"
    assert table.asked.options == {}
    assert table.asked.author.admin


async def test_a_mistyped_command_gets_a_reply(table: Table) -> None:
    await table.say(table.ana, "/rules aks @everyone")
    answer = table.general.last_message
    assert answer is not None
    assert "/rules ask" in answer.content
    assert "@everyone" not in answer.content
    assert table.requests == []


@pytest.mark.parametrize("line", ["/rules ask Who wins? --private", "/sessions list", "/usage"])
async def test_private_results_are_not_posted_for_everybody(table: Table, line: str) -> None:
    await table.say(table.ana, line)
    answer = table.general.last_message
    assert answer is not None
    assert "Only you should see that" in answer.content
    assert table.requests == []


async def test_a_messages_attachments_replace_the_paths_of_its_line(table: Table) -> None:
    book = ("my book.md", b"# A\n\nText.")
    await table.say(table.bia, "/library add --shelf rules", attachments=[book])
    assert [file.name for file in table.asked.files] == ["my book.md"]
    assert table.asked.options["shelf"] == "rules"


async def test_only_an_admin_can_change_settings_by_message(table: Table) -> None:
    await table.say(table.ana, "/library reindex")
    answer = table.general.last_message
    assert answer is not None
    assert "people who manage" in answer.content
    assert table.requests == []


async def test_a_private_conversation_continues_through_a_window(table: Table) -> None:
    await table.ana.slash(table.general, "rules ask", question=QUESTION, private=True)
    asked = table.asked
    message = await posted(table, table.general, custom_id=f"further:{asked.id}")
    assert said(await table.bia.click(message, label="x")), "the conversation is another person's"
    opened = await table.ana.click(message, label="x")
    await table.ana.submit_modal(opened, {"text": "And when prone?"})
    further = table.requests[-1]
    assert (further.text, further.place) == ("And when prone?", asked.place)
    assert (further.options["private"], further.options[FOLLOW_UP]) == (True, True)


async def test_a_story_command_in_a_thread_is_one_message(table: Table) -> None:
    thread = table.thread()
    await table.ana.slash(thread, "party join")
    await table.ana.slash(thread, "story act", what="I dive.")
    await table.ana.slash(thread, "world chapter", title="The stairs", write=3)
    homes = [origin_of(request.origin).home for request in table.requests]
    assert homes == ["response", "here", "here"], "a line above the scene names the person"
