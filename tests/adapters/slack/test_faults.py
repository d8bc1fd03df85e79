"""Slack's errors as the faults that all platforms share, and the forms in which a page is sent."""

from __future__ import annotations

from dataclasses import replace

import pytest
from aiohttp import web

from bot.adapters.slack.installed.clients import Clients
from bot.adapters.slack.installed.faults import Conflict, Unsure, fault_of
from bot.adapters.slack.shown.thread import sent_as
from bot.adapters.slack.text.page import TEXT, Page
from bot.adapters.surface import (
    Gone,
    MessageStyle,
    NotEditable,
    PlaceClosed,
    Refused,
    SurfaceFault,
    Unavailable,
)
from bot.config import SlackConfig

RUN = "c0ffee" + "0" * 26
STOP = {
    "type": "actions",
    "elements": [
        {
            "type": "button",
            "action_id": f"stop:{RUN}",
            "text": {"type": "plain_text", "text": "Stop"},
        }
    ],
}
PAGE = Page(
    "### Answer\nIt is **Ana**.", closing=(STOP,), plain="*Answer*\nIt is *Ana*.", buttons_plain=(STOP,)
)


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (200, "message_not_found", Gone),
        (200, "not_in_channel", PlaceClosed),
        (200, "channel_not_found", PlaceClosed),
        (200, "is_archived", PlaceClosed),
        (200, "restricted_action", PlaceClosed),
        (200, "restricted_action_thread_locked", PlaceClosed),
        (200, "account_inactive", PlaceClosed),
        (200, "thread_not_found", PlaceClosed),
        (200, "missing_scope", PlaceClosed),
        (200, "messages_tab_disabled", PlaceClosed),
        (200, "invalid_blocks", Refused),
        (200, "msg_blocks_too_long", Refused),
        (200, "msg_too_long", Refused),
        (200, "no_text", Refused),
        (200, "an_error_of_tomorrow", Refused),
        (200, "cant_update_message", NotEditable),
        (200, "edit_window_closed", NotEditable),
        (200, "streaming_state_conflict", Conflict),
        (200, "message_not_in_streaming_state", Conflict),
        (200, "stopped_by_user", Conflict),
        (429, "ratelimited", Unavailable),
        (429, "", Unavailable),
        (200, "internal_error", Unsure),
        (200, "fatal_error", Unsure),
        (503, "", Unsure),
        (200, "", Unsure),
    ],
)
def test_each_fault_of_slack_is_a_fault_of_a_surface(status: int, error: str, kind: type[Exception]) -> None:
    assert type(fault_of(status, error)) is kind


@pytest.mark.parametrize(
    ("status", "kind"), [(429, Unavailable), (503, Unsure), (200, Unsure), (403, PlaceClosed)]
)
async def test_an_invalid_json_body_is_judged_by_its_status(status: int, kind: type[Exception]) -> None:
    """A proxy may send such a body, or a connection may break during Slack's answer."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=status, text="<html>busy", content_type="application/json")

    app = web.Application()
    app.router.add_post("/chat.postMessage", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    clients = Clients(SlackConfig(api_base=f"http://127.0.0.1:{runner.addresses[0][1]}/"))
    try:
        with pytest.raises(SurfaceFault) as fault:
            await clients.client("T1", "xoxb-1").chat_postMessage(channel="C1", text="hello")
        assert type(fault.value) is kind
    finally:
        await clients.close()
        await runner.cleanup()


def test_a_layout_is_blocks_with_a_text_beside_them() -> None:
    body = sent_as(replace(PAGE, plain="x" * 9_000), MessageStyle.LAYOUT)
    assert [block["type"] for block in body["blocks"]] == ["markdown", "actions"]
    assert body["text"] == "x" * TEXT


def test_plain_keeps_its_buttons_and_bare_has_no_blocks() -> None:
    plain = sent_as(PAGE, MessageStyle.PLAIN)
    assert [block["type"] for block in plain["blocks"]] == ["section", "actions"]
    assert plain["blocks"][0]["text"]["text"] == plain["text"] == PAGE.plain
    assert sent_as(replace(PAGE, buttons_plain=()), MessageStyle.PLAIN) == {"text": PAGE.plain, "blocks": []}
    assert sent_as(PAGE, MessageStyle.BARE) == {"text": PAGE.plain, "blocks": []}
    assert sent_as(Page(" "), MessageStyle.LAYOUT) == {"text": "…", "blocks": []}
