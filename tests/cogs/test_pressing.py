"""What buttons and messages make of a run: asked again, a choice taken, a line written."""

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
    """A message of the bot's with one button."""
    view = discord.ui.View(timeout=None)
    view.add_item(discord.ui.Button(label="x", custom_id=custom_id))
    view.stop()
    real = table.world.client.get_channel(channel.id)
    assert isinstance(real, discord.TextChannel | discord.Thread)
    with table.env.time_context():
        return await real.send("An answer", view=view)


async def test_a_question_is_asked_again_where_it_was_answered(table: Table) -> None:
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
    assert pressed.response.id == message.id, "acknowledged, and nothing said beside the answer to come"
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


async def test_a_choice_of_doing_nothing_does_nothing_and_says_so_to_who_presses(table: Table) -> None:
    await table.ana.slash(table.general, "rules lookup", name="Grapple")
    run = table.asked.id
    kept = json.dumps({"label": "Leave it", "command": ""})
    await table.world.app.resources.records.offers.keep(table.space, run, "choice", [kept])
    message = await posted(table, table.general, custom_id=f"choice:{run}:0")
    assert said(await table.ana.click(message, label="x")) == "Cancelled."
    assert len(table.requests) == 1


async def test_a_press_that_another_process_has_acknowledged_is_left_to_it(
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
    assert [again.id for again in pressed.followups] == [answer.id], "it is answered once"
    assert "went wrong" not in caplog.text


async def test_another_guild_cannot_ask_a_question_of_this_one_again(table: Table) -> None:
    await table.ana.slash(table.general, "rules ask", question=QUESTION)
    other = Table(table.world)
    message = await posted(other, other.general, custom_id=f"retry:{table.asked.id}")
    pressed = await other.ana.click(message, label="x")
    assert said(pressed)
    assert other.requests == []


async def test_nobody_asks_again_what_somebody_else_asked_in_private(table: Table) -> None:
    await table.ana.slash(table.general, "rules ask", question=QUESTION, private=True)
    message = await posted(table, table.general, custom_id=f"retry:{table.asked.id}")
    pressed = await table.bia.click(message, label="x")
    assert QUESTION not in said(pressed)
    assert len(table.requests) == 1
    await table.ana.click(message, label="x")
    assert [request.text for request in table.requests] == [QUESTION, QUESTION]


async def test_what_was_taken_back_is_not_asked_again(table: Table) -> None:
    await table.ana.slash(table.general, "rules ask", question=QUESTION)
    message = await posted(table, table.general, custom_id=f"retry:{table.asked.id}")
    await table.world.app.forget(table.space, table.asked.id)
    assert said(await table.bia.click(message, label="x"))
    assert len(table.requests) == 1


async def test_a_session_from_the_list_is_taken_up_where_the_list_was_asked_for(table: Table) -> None:
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


async def test_a_message_is_a_question_that_may_lean_on_what_was_said(table: Table) -> None:
    message = await table.say(table.ana, QUESTION)
    request = table.asked
    assert (request.work, request.verb, request.text) == ("rules", "ask", QUESTION)
    assert request.options == {FOLLOW_UP: True}
    assert request.id == event_id("discord", table.space, str(message))
    assert request.place.thread == str(message)  # of the thread that is opened from it
    assert (table.origin.home, table.origin.message, table.origin.token) == ("thread", message, "")


async def test_a_line_with_a_slash_is_its_verb(table: Table) -> None:
    await table.say(table.ana, "/roll 1d1")
    assert (table.asked.verb, table.asked.text, table.asked.options) == ("roll", "1d1", {})


async def test_a_message_delivered_again_does_not_count_again(table: Table) -> None:
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


async def test_a_thread_that_the_client_has_not_seen_is_known_by_what_is_kept_of_it(table: Table) -> None:
    thread = table.thread()
    await table.world.app.resources.records.threads.bind(
        table.space, str(table.general.id), "12345", str(thread.id)
    )
    guild = table.world.client.get_guild(table.guild.id)
    assert guild is not None
    guild._threads.clear()
    await table.say(table.ana, QUESTION, channel=thread)
    assert (table.asked.place.channel, table.asked.place.thread) == (str(table.general.id), "12345")


async def test_a_dm_is_answered_in_the_persons_space(table: Table) -> None:
    carla = table.world.person("Carla")
    await carla.send_dm("/rules ask Who wins a tie? --private")
    assert table.asked.place.space == f"user:{carla.id}"
    assert table.asked.options == {}
    assert table.asked.author.admin


async def test_a_slip_is_answered_under_the_message(table: Table) -> None:
    await table.say(table.ana, "/rules aks @everyone")
    answer = table.general.last_message
    assert answer is not None
    assert "/rules ask" in answer.content
    assert "@everyone" not in answer.content
    assert table.requests == []


@pytest.mark.parametrize("line", ["/rules ask Who wins? --private", "/sessions list", "/usage"])
async def test_what_only_one_person_may_see_is_not_said_to_all(table: Table, line: str) -> None:
    await table.say(table.ana, line)
    answer = table.general.last_message
    assert answer is not None
    assert "Only you should see that" in answer.content
    assert table.requests == []


async def test_attachments_of_a_message_stand_for_the_paths_of_its_line(table: Table) -> None:
    book = ("my book.md", b"# A\n\nText.")
    await table.say(table.bia, "/library add --shelf rules", attachments=[book])
    assert [file.name for file in table.asked.files] == ["my book.md"]
    assert table.asked.options["shelf"] == "rules"


async def test_who_is_not_in_charge_changes_nothing_by_a_message_either(table: Table) -> None:
    await table.say(table.ana, "/library reindex")
    answer = table.general.last_message
    assert answer is not None
    assert "people who manage" in answer.content
    assert table.requests == []


async def test_a_private_conversation_is_gone_on_with_in_a_window(table: Table) -> None:
    await table.ana.slash(table.general, "rules ask", question=QUESTION, private=True)
    asked = table.asked
    message = await posted(table, table.general, custom_id=f"further:{asked.id}")
    assert said(await table.bia.click(message, label="x")), "it is another person's"
    opened = await table.ana.click(message, label="x")
    await table.ana.submit_modal(opened, {"text": "And when prone?"})
    further = table.requests[-1]
    assert (further.text, further.place) == ("And when prone?", asked.place)
    assert (further.options["private"], further.options[FOLLOW_UP]) == (True, True)


async def test_a_table_command_in_a_thread_is_one_message(table: Table) -> None:
    thread = table.thread()
    await table.ana.slash(thread, "party join")
    await table.ana.slash(thread, "story act", what="I dive.")
    await table.ana.slash(thread, "world chapter", title="The stairs", write=3)
    homes = [origin_of(request.origin).home for request in table.requests]
    assert homes == ["response", "here", "here"], "who asked stands above a scene and what a model writes"
