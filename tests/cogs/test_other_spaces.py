"""Forged interactions: presses and windows with the ids of another server."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from simcord.enums import InteractionType

from bot.adapters.intake import WINDOW
from bot.adapters.invocation import PendingForm
from bot.events import Citation
from bot.runs.requests import event_id
from tests.cogs.table import Table, said
from tests.cogs.test_pressing import posted
from tests.cogs.test_windows import submitted

pytestmark = pytest.mark.asyncio(loop_scope="module")

BUTTONS = (
    "stop:{run}",
    "retry:{run}",
    "choice:{run}:0",
    "choice:{run}:1",
    "meanwhile:{run}:0",
    "sources:{run}",
    "sources:{run}:0",
    "share:{run}",
    "further:{run}",
    "feedback:{run}:up",
)
COMMANDS = ("/settings deny story", "/rules house The secret gate is shut.")


async def secret(table: Table) -> str:
    """A run of the table with buttons, sources and a settings file."""
    await table.bia.slash(table.general, "rules lookup", name="Secret")
    run = table.asked.id
    await table.ended()
    keep = table.world.app.resources.records.offers.keep
    source = Citation(1, "Handbook", "Combat", "A secret of this server.")
    await keep(table.space, run, "source", [json.dumps(asdict(source))])
    kept = [json.dumps({"label": "Apply", "command": command}) for command in COMMANDS]
    await keep(table.space, run, "choice", kept)
    await keep(table.space, run, "meanwhile", kept)
    return run


@pytest.mark.parametrize("button", BUTTONS)
@pytest.mark.parametrize("who", ["ana", "bia"], ids=["member", "admin"])
async def test_a_button_of_another_server_does_nothing(table: Table, button: str, who: str) -> None:
    run, other = await secret(table), Table(table.world)
    before = len(table.requests)
    message = await posted(other, other.general, custom_id=button.format(run=run))
    pressed = await getattr(other, who).click(message, label="x")
    told = [message for message in (pressed.response, *pressed.followups) if message is not None]
    assert not any("ecret" in one.content for one in told)
    assert any("no longer" in one.content or "already" in one.content for one in told if one.id != message.id)
    assert (other.requests, len(table.requests)) == ([], before)
    settings = table.world.app.settings.store
    for space in (table.space, other.space):
        assert await settings.changes(space, 9) == []
        assert (await table.world.app.resources.records.feedback.count(space))["up"] == 0


@pytest.mark.parametrize("command", COMMANDS)
async def test_a_window_of_another_server_cannot_be_submitted_here(table: Table, command: str) -> None:
    """Not even by the person who opened it there, who is an admin there."""
    other = Table(table.world)
    window = event_id("discord", table.space, command)
    work, verb = command.removeprefix("/").split()[:2]
    form = PendingForm(work, verb, str(other.bia.id), before="A secret: ")
    await table.world.app.resources.records.offers.keep(table.space, window, WINDOW, [form.to_json()])
    refused = await other.deliver(
        InteractionType.MODAL_SUBMIT, submitted(f"modal:{window}", "x"), by=other.bia.id
    )
    assert "no longer" in said(refused)
    assert "ecret" not in said(refused)
    assert (table.requests, other.requests) == ([], [])


async def test_completions_come_from_this_server_alone(table: Table) -> None:
    other = Table(table.world)
    await table.bia.slash(table.general, "rules house", rule="The secret gate is shut.")
    await table.ended()
    for path, option in (
        ("sessions resume", "session"),
        ("library show", "name"),
        ("settings allow", "right"),
    ):
        offered = await other.bia.autocomplete(other.general, path, option, "")
        assert not any("ecret" in str(choice) for choice in offered), path
