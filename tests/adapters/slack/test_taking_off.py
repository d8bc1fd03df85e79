"""A button without effect is removed, and nothing else with it."""

from __future__ import annotations

import logging

import pytest

from tests.adapters.slack.pressing import press, shown, told
from tests.adapters.slack.table import Table

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_dead_stop_button_says_so_and_is_removed_without_the_text(at: Table) -> None:
    run = "0" * 32
    answer = await shown(at, f"stop:{run}", f"retry:{run}")
    await press(at, at.ana, answer, "stop")
    assert await told(at, at.ana) == "This has already ended, so there is nothing to stop."
    await at.slack.until(lambda: answer.buttons == ["retry"])
    assert answer.shown.startswith("An answer")


async def test_a_dead_stop_button_alone_in_its_row_is_removed_with_the_row(at: Table) -> None:
    answer = await shown(at, f"stop:{'0' * 32}")
    await press(at, at.ana, answer, "stop")
    await at.slack.until(lambda: len(answer.blocks) == 1)
    assert answer.shown == "An answer"


@pytest.mark.parametrize("method", ["conversations.replies", "chat.update"])
async def test_a_dead_button_stays_if_it_cannot_be_removed(
    at: Table, method: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "bot.adapters.slack")
    at.slack.fail(method, error="missing_scope")
    answer = await shown(at, f"stop:{'0' * 32}")
    await press(at, at.ana, answer, "stop")
    await at.slack.until(lambda: "a button stays that does nothing: code missing_scope" in caplog.text)
    assert answer.buttons == ["stop"]
    assert len(at.whispers(at.ana)) == 1, (
        "the presser learns that the run has ended, and nothing of the failed edit"
    )


async def test_a_dead_button_of_a_deleted_message_is_no_fault(
    at: Table, caplog: pytest.LogCaptureFixture
) -> None:
    root = await at.slack.say(at.ana, at.channel, "A thread")
    answer = await shown(at, f"stop:{'0' * 32}", thread=root)
    at.slack.fail("conversations.replies", delay=0.05)
    await press(at, at.ana, answer, "stop")
    await at.slack.delete(answer)
    await at.slack.until(lambda: not at.bot.intake._background.tasks)
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


async def test_a_message_edited_since_the_press_is_not_reverted(at: Table) -> None:
    answer = await shown(at, f"stop:{'0' * 32}", text="Half of")
    whole = [{"type": "markdown", "text": "Half of it, and the rest."}]
    client = await at.bot.workspaces.client(at.space)
    at.slack.fail("conversations.replies", delay=0.05)
    await press(at, at.ana, answer, "stop")
    await client.chat_update(channel=at.channel.id, ts=answer.ts, text="x", blocks=whole)
    await at.slack.until(lambda: "conversations.replies" in [call.method for call in at.slack.calls[-3:]])
    await press(at, at.ana, await shown(at, f"stop:{'0' * 32}"), "stop")
    await told(at, at.ana, 2)
    assert answer.shown == "Half of it, and the rest."
