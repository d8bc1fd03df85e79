"""A window asks for the missing text of a command, and survives the process that opened it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import discord
import pytest
from simcord.enums import InteractionType

from bot.adapters.intake import WINDOW
from bot.adapters.invocation import QUOTED_CHARS, quotation
from bot.config import LimitsConfig
from bot.events import Choices
from bot.prompts import as_yaml
from tests.cogs.table import Client, Table, command, said

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUESTION = "Can a grappled creature cast spells?"
ABOUT = "Ask about this message"


def field(modal: dict[str, Any] | None) -> dict[str, Any]:
    """The only text field of a window."""
    assert modal is not None
    (label,) = modal["components"]
    typed: dict[str, Any] = label["component"]
    return typed


async def test_a_window_asks_for_a_missing_question(table: Table) -> None:
    opened = await table.ana.slash(table.general, "rules ask", shelf="rules", private=True)
    assert field(opened.modal)["max_length"] == 4000
    assert table.requests == []
    asked = await table.ana.submit_modal(opened, {"text": QUESTION})
    assert table.asked.text == QUESTION
    assert table.asked.options == {"shelf": "rules", "private": True}
    assert asked.ephemeral


async def test_a_file_is_kept_for_the_question_about_it(table: Table) -> None:
    opened = await table.ana.slash(table.general, "rules ask", file=("a.md", b"# A"))
    await table.ana.submit_modal(opened, {"text": QUESTION})
    assert [(file.name, file.size) for file in table.asked.files] == [("a.md", 3)]


async def test_a_window_that_cannot_be_stored_is_not_opened(table: Table) -> None:
    with closing(sqlite3.connect(table.world.config.data_dir / "sutradhar.db")) as other:
        other.execute("BEGIN IMMEDIATE")
        refused = await table.ana.slash(table.general, "rules ask")
        other.rollback()
    assert refused.modal is None
    assert "using the database" in said(refused)


async def test_dice_have_a_field_of_one_line_and_questions_of_several(table: Table) -> None:
    dice = await table.ana.slash(table.general, "rules roll")
    question = await table.ana.slash(table.general, "rules ask")
    assert (field(dice.modal)["style"], field(question.modal)["style"]) == (1, 2)


async def test_a_window_can_be_submitted_after_a_restart(table: Table) -> None:
    opened = await table.ana.slash(table.general, "rules ask", k=2)
    world = table.world
    world.client = Client(world.app, world.config)
    await table.env.restart_bot(world.client)
    await table.ana.submit_modal(opened, {"text": QUESTION})
    assert (table.asked.text, table.asked.options) == (QUESTION, {"k": 2})


async def test_nobody_can_submit_another_persons_window(table: Table) -> None:
    opened = await table.ana.slash(table.general, "rules ask")
    assert opened.modal is not None
    refused = await table.deliver(
        InteractionType.MODAL_SUBMIT, submitted(opened.modal["custom_id"], QUESTION), by=table.bia.id
    )
    assert "no longer" in said(refused)
    assert table.requests == []


async def test_a_forgotten_window_gets_a_sentence(table: Table) -> None:
    window = submitted(f"modal:{'0' * 32}", QUESTION)
    refused = await table.deliver(InteractionType.MODAL_SUBMIT, window)
    assert "no longer" in said(refused)


async def test_a_prompts_window_has_its_current_text(table: Table) -> None:
    opened = await table.bia.slash(table.general, "prompts edit", name="rag")
    prompts = table.world.app.resources.prompts
    today = as_yaml((await prompts.wording(table.space, "rag")).text)
    assert field(opened.modal)["value"] == today
    await table.bia.submit_modal(opened, {"text": today})
    assert table.asked.text == f"rag {today}".strip()


async def test_a_prompts_new_text_applies_to_this_space_alone(table: Table) -> None:
    prompts = table.world.app.resources.prompts
    today = (await prompts.wording(table.space, "rag")).text
    opened = await table.bia.slash(table.general, "prompts edit", name="rag")
    new = as_yaml(today).replace(today.user.splitlines()[0], f"{today.user.splitlines()[0]} Kindly.", 1)
    await table.bia.submit_modal(opened, {"text": new})
    await table.ended()
    assert "Kindly." in (await prompts.wording(table.space, "rag")).text.user
    assert "Kindly." not in (await prompts.wording("another", "rag")).text.user


async def test_a_prompt_can_be_sent_as_a_file_without_a_window(table: Table) -> None:
    asked = await table.bia.slash(table.general, "prompts edit", name="rag", file=("rag.yml", b"user: x"))
    assert asked.modal is None
    assert (table.asked.text, [file.name for file in table.asked.files]) == ("rag", ["rag.yml"])


async def test_only_an_admin_can_edit_a_prompt(table: Table) -> None:
    refused = await table.deliver(InteractionType.APPLICATION_COMMAND, command("prompts edit", name="rag"))
    assert "people who manage" in said(refused)
    assert refused.modal is None


async def test_an_unknown_prompt_opens_no_window(table: Table) -> None:
    refused = await table.bia.slash(table.general, "prompts edit", name="@everyone")
    assert "There is no prompt" in said(refused)
    assert "@everyone" not in said(refused), "and the sentence pings nobody"


PREMISE = "A lighthouse keeper finds a door in the sea"


async def test_a_form_asks_for_the_verbs_missing_values(table: Table) -> None:
    opened = await table.ana.slash(table.general, "story start", tone="eerie")
    assert opened.modal is not None
    shown = [
        (component["label"], component["component"]["custom_id"]) for component in opened.modal["components"]
    ]
    assert shown == [
        ("What the story is about", "text"),
        ("Cast", "option:cast"),
        ("Genre", "option:genre"),
        ("View", "option:view"),
        ("Length", "option:length"),
    ]
    filled: dict[str, Any] = {"text": PREMISE, "option:cast": "Mira: a diver", "option:view": ["third"]}
    asked = await table.ana.submit_modal(opened, filled)
    assert table.asked.text == PREMISE
    assert table.asked.options == {"tone": "eerie", "cast": "Mira: a diver", "view": "third"}
    assert asked.modal is None


async def test_a_form_for_a_message_is_opened_by_a_button(table: Table) -> None:
    await table.say(table.ana, "/story start --tone eerie")
    await table.ended()
    assert (table.asked.text, table.origin.home) == ("", "here"), "no thread is opened for the button"
    shown = table.world.record.events[table.asked.id]
    (choices,) = [one for one in shown if isinstance(one, Choices)]
    (way,) = choices.choices
    assert (way.command, way.form) == ("/story start --tone eerie", True)


async def test_a_message_can_be_asked_about_with_a_typed_question(table: Table) -> None:
    message = await table.bia.send(table.general, "You can't cast while grappled.\nTrust me.")
    before = len(table.requests)
    opened = await table.ana.context_menu(table.general, ABOUT, message)
    assert not field(opened.modal)["required"]
    await table.ana.submit_modal(opened, {"text": "Is that so?"})
    request = table.requests[before]
    assert (request.work, request.verb) == ("rules", "ask")
    assert request.text == "Is that so?\n\n> You can't cast while grappled.\n> Trust me."
    (source,) = request.quoted
    assert (source.where, source.name) == ("", "Bia")
    assert source.at == f"{message.created_at:%H:%M}"


async def test_a_message_alone_can_be_the_question(table: Table) -> None:
    message = await table.bia.send(table.general, "Who wins a tie?")
    before = len(table.requests)
    opened = await table.ana.context_menu(table.general, ABOUT, message)
    await table.ana.submit_modal(opened, {"text": ""})
    assert table.requests[before].text == "> Who wins a tie?"


async def test_a_picture_needs_a_typed_question(table: Table) -> None:
    message = await table.bia.send(table.general, "", attachments=[("map.png", b"PNG")])
    before = len(table.requests)
    opened = await table.ana.context_menu(table.general, ABOUT, message)
    assert field(opened.modal)["required"]
    await table.ana.submit_modal(opened, {"text": "Where is north?"})
    request = table.requests[before]
    assert (request.text, [file.name for file in request.files]) == ("Where is north?", ["map.png"])


async def test_a_message_without_words_or_files_cannot_be_asked_about(table: Table) -> None:
    channel = table.world.client.get_channel(table.general.id)
    assert isinstance(channel, discord.TextChannel)
    view = discord.ui.LayoutView()
    view.add_item(discord.ui.Separator())
    refused = await table.ana.context_menu(table.general, ABOUT, await channel.send(view=view))
    assert "no text and no file" in said(refused)


async def test_a_long_message_is_quoted_in_part() -> None:
    quoted = quotation("word " * 1000)
    assert len(quoted) <= QUOTED_CHARS + 2
    assert quoted.startswith("> word")
    assert quoted.endswith("…")


async def test_opening_windows_is_rate_limited(table: Table) -> None:
    opened = [await table.ana.slash(table.general, "rules ask") for _ in range(LimitsConfig().commands + 1)]
    assert all(one.modal for one in opened[:-1])
    assert "seconds" in said(opened[-1])


async def test_a_submitted_window_is_forgotten(table: Table) -> None:
    opened = await table.ana.slash(table.general, "rules ask")
    assert opened.modal is not None
    run = opened.modal["custom_id"].partition(":")[2]
    offers = table.world.app.resources.records.offers
    assert await offers.all(table.space, run, WINDOW)
    await table.ana.submit_modal(opened, {"text": QUESTION})
    assert await offers.all(table.space, run, WINDOW) == []


def submitted(custom_id: str, text: str) -> dict[str, Any]:
    """A submission by an older Discord client, which sends rows instead of labels."""
    typed = {"type": 4, "custom_id": "text", "value": text}
    return {"custom_id": custom_id, "components": [{"type": 1, "components": [typed]}]}
