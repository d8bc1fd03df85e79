"""Any fault, in a payload or in the bot, ends with one sentence to the person, or with none."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from simcord.enums import InteractionType
from simcord.interactions import base_payload

from bot.adapters.discord.installed.traffic import well_formed
from bot.events import Request, UserError
from bot.runs.dispatcher import Acknowledge, Ticket
from storage.faults import StorageFault
from tests.cogs.table import Table, command, said

pytestmark = pytest.mark.asyncio(loop_scope="module")

ASK = InteractionType.APPLICATION_COMMAND
TRACE = "Traceback"
ODD: tuple[Any, ...] = (..., None, "zzz", [], -1)
"""In place of a field; the first one stands for its absence."""


class Failing:
    """An application that stores a request, acknowledges it, and fails."""

    def __init__(self, table: Table, fault: Exception, *, acknowledged: bool) -> None:
        self.resources = table.world.app.resources
        self.records = table.world.app.records
        self.complete = table.world.app.complete
        self.settings = table.world.app.settings
        self.channel_rules = table.world.app.channel_rules
        self._fault = fault
        self._acknowledged = acknowledged

    async def perform(self, request: Request, acknowledge: Acknowledge) -> Ticket:
        if self._acknowledged:
            await acknowledge()
        raise self._fault


@pytest.fixture
def failing(table: Table) -> Iterator[Any]:
    """Replace the real application by a failing one."""
    usual, world = table.world.client.intake, table.world

    def put(fault: Exception, *, acknowledged: bool) -> None:
        app: Any = Failing(table, fault, acknowledged=acknowledged)
        usual.app = app

    yield put
    usual.app = world.app


async def test_an_unexpected_fault_becomes_a_sentence_and_is_logged_with_its_traceback(
    table: Table, failing: Any, caplog: pytest.LogCaptureFixture
) -> None:
    failing(RuntimeError("the secret of the house"), acknowledged=False)
    answered = await table.ana.slash(table.general, "rules roll", expression="1d1")
    assert "went wrong" in said(answered)
    assert "secret" not in said(answered)
    assert "the secret of the house" in caplog.text


@pytest.mark.parametrize("fault", [UserError("storage.full"), StorageFault("full")])
async def test_a_fault_after_the_acknowledgement_names_the_run(
    table: Table, failing: Any, fault: Exception
) -> None:
    failing(fault, acknowledged=True)
    answered = await table.ana.slash(table.general, "rules roll", expression="1d1", private=True)
    assert "disk is full" in said(answered)
    assert "(run " in said(answered)


async def test_a_command_of_an_older_release_explains_what_to_do(table: Table) -> None:
    answered = await table.deliver(ASK, command("rules fathom", question="What?"))
    assert "Restart Discord" in said(answered)
    wrong = await table.deliver(ASK, command("rules ask", question="What?", k="many"))
    assert "Restart Discord" in said(wrong)


async def test_an_interaction_with_any_missing_or_odd_field_is_answered_or_dropped(
    table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    """Each field of a real interaction is removed, and replaced by a value of another type."""
    for path in paths(payload(table)):
        for odd in ODD:
            if path in (("guild_id",), ("data",)) and odd not in (..., None):
                continue  # without it the simulation itself could not find the connection
            changed = payload(table)
            inner: Any = changed
            for key in path[:-1]:
                inner = inner[key]
            if odd is ...:
                del inner[path[-1]]
            else:
                inner[path[-1]] = odd
            table.world.client.intake._asks._counts.clear()
            table.world.client.intake._looks._counts.clear()
            table.env.backend.emit("INTERACTION_CREATE", changed)
    await table.env.settle()
    assert TRACE not in "\n".join(
        record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING
    )
    assert not table.env.errors
    asked = await table.bia.slash(table.general, "rules roll", expression="1d1")
    assert asked.acknowledged


def payload(table: Table) -> dict[str, Any]:
    data = command("rules ask", question="What?", k=2)
    _, made = base_payload(
        table.env.backend,
        type=ASK,
        channel_id=table.general.id,
        guild_id=table.guild.id,
        user_id=table.ana.id,
        data=data,
    )
    return made


def paths(node: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The path to every field of a JSON value."""
    inside = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in inside:
        yield (*at, key)
        yield from paths(value, (*at, key))


@pytest.mark.parametrize("event", ["INTERACTION_CREATE", "MESSAGE_CREATE", "THREAD_DELETE", "GUILD_CREATE"])
async def test_an_unreadable_event_does_not_end_the_connection(
    table: Table, event: str, caplog: pytest.LogCaptureFixture
) -> None:
    parse = table.world.client._connection.parsers[event]
    payloads: tuple[Any, ...] = ({}, {"token": "hush"}, [], None, "zzz")
    for odd in payloads:
        parse(odd)
    assert f"a malformed {event} was dropped" in caplog.text
    assert "hush" not in caplog.text


@pytest.mark.parametrize("event", ["MESSAGE_CREATE", "MESSAGE_UPDATE"])
async def test_messages_of_programs_are_ignored(
    table: Table, event: str, caplog: pytest.LogCaptureFixture
) -> None:
    client = table.world.client
    parse, program = client._connection.parsers[event], {"author": {"bot": True}}
    parse(program)
    parse(program | {"webhook_id": "1", "application_id": str(client.application_id)})
    assert "malformed" not in caplog.text
    parse(program | {"webhook_id": "1", "application_id": "2"})  # it may be a proxy of a person
    assert f"a malformed {event} was dropped" in caplog.text


async def test_a_connection_that_starts_badly_is_not_accepted(table: Table) -> None:
    with pytest.raises(KeyError):
        table.world.client._connection.parsers["READY"]({})


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"name": 7},
        {"name": "rules", "type": 9},
        {"name": "rules", "options": None},
        {"name": "rules", "options": [{"name": "ask"}]},
        {"name": "rules", "options": [{"name": "ask", "type": 1, "options": [{"name": "k", "type": 4}]}]},
        {"name": "rules", "resolved": []},
        {"name": "rules", "options": [{"name": "file", "type": 11, "value": "no number"}]},
    ],
)
async def test_data_of_another_shape_is_not_a_command(data: object) -> None:
    assert not well_formed(data)


async def test_the_data_of_a_command_is_a_command() -> None:
    assert well_formed(command("rules ask", question="What?", k=2, private=True))
    assert well_formed(command("stop"))
