"""Blocks that the fake Slack refuses, each with a pointer to the place, as on the service."""

from __future__ import annotations

from typing import Any

import pytest
from slack_sdk.errors import SlackApiError

from tests.fakes.slack.block_rules import HOME, MESSAGE, MODAL, wrong
from tests.fakes.slack.small_app import table

Block = dict[str, Any]


def plain(text: str = "x") -> Block:
    return {"type": "plain_text", "text": text}


def marked(text: str = "x") -> Block:
    return {"type": "mrkdwn", "text": text}


def section(**more: Any) -> Block:
    return {"type": "section", "text": marked()} | more


def button(**more: Any) -> Block:
    return {"type": "button", "action_id": "go", "text": plain()} | more


def actions(*elements: Block) -> Block:
    return {"type": "actions", "elements": list(elements)}


def menu(count: int) -> Block:
    options = [{"text": plain(str(number)), "value": str(number)} for number in range(count)]
    return {"type": "static_select", "action_id": "menu", "options": options}


def field(**more: Any) -> Block:
    return {
        "type": "input",
        "label": plain(),
        "element": {"type": "plain_text_input", "action_id": "t"},
    } | more


GOOD_HALF = {"text": plain(), "value": "1"}
CELL = {"type": "raw_text", "text": "x"}
GOOD = [
    section(),
    section(fields=[plain(), marked()]),
    section(accessory=button(url="https://example.org", style="primary")),
    {"type": "header", "text": plain("x" * 150)},
    {"type": "divider"},
    {"type": "markdown", "text": "x" * 12_000},
    {"type": "image", "image_url": "https://example.org/a.png", "alt_text": "a"},
    {"type": "context", "elements": [marked(), plain()]},
    actions(button(), menu(100)),
    {"type": "rich_text", "elements": []},
    {"type": "table", "rows": [[CELL] * 20] * 100},
    {"type": "task_card", "task_id": "1", "title": "Look", "status": "complete"},
    {"type": "plan", "title": "Plan", "tasks": [{"type": "task_card", "task_id": "1", "title": "Look"}]},
    field(),
]


@pytest.mark.parametrize("block", GOOD, ids=lambda block: str(block["type"]))
def test_blocks_that_slack_allows_are_accepted(block: Block) -> None:
    assert wrong([block], MESSAGE) == []


ASK = {"title": plain(), "text": plain(), "confirm": plain(), "deny": plain("x" * 31)}
BAD: list[tuple[Block, str]] = [
    ({"type": "markdown", "text": 7}, "must provide a string [json-pointer:/blocks/0/text]"),
    ({"type": "actions"}, "missing required field: elements [json-pointer:/blocks/0]"),
    ({"type": "actions", "elements": {}}, "must provide an array [json-pointer:/blocks/0/elements]"),
    ({"type": "actions", "elements": [7]}, "must provide an object [json-pointer:/blocks/0/elements/0]"),
    (
        actions(button(confirm=ASK)),
        "must be less than 31 characters [json-pointer:/blocks/0/elements/0/confirm/deny/text]",
    ),
    (
        actions({"type": "static_select", "option_groups": [{"options": menu(1)["options"]}]}),
        "missing required field: label [json-pointer:/blocks/0/elements/0/option_groups/0]",
    ),
    ({"type": "input", "label": plain()}, "missing required field: element [json-pointer:/blocks/0]"),
    (
        field(element={"type": "plain_text_input", "max_length": 3001}),
        "must be between 1 and 3000 [json-pointer:/blocks/0/element/max_length]",
    ),
    (
        {"type": "context", "elements": [{"type": "image", "image_url": "https://a.b"}]},
        "missing required field: alt_text [json-pointer:/blocks/0/elements/0]",
    ),
    (
        {"type": "context_actions", "elements": [{"type": "icon_button", "text": plain()}]},
        "missing required field: icon [json-pointer:/blocks/0/elements/0]",
    ),
    ({"type": "table", "rows": [[{"type": "text"}]]}, "unsupported type [json-pointer:/blocks/0/rows/0]"),
    ({"type": "carousel"}, "unsupported type: carousel [json-pointer:/blocks/0/type]"),
    ({}, "unsupported type: None [json-pointer:/blocks/0/type]"),
    ({"type": "section"}, "missing required field: text [json-pointer:/blocks/0]"),
    (
        section(text=marked("x" * 3001)),
        "must be less than 3001 characters [json-pointer:/blocks/0/text/text]",
    ),
    (section(text=marked("")), "must be more than 0 characters [json-pointer:/blocks/0/text/text]"),
    (section(text="x"), "must provide an object [json-pointer:/blocks/0/text]"),
    (
        section(text={"type": "markdown", "text": "x"}),
        "unsupported type: markdown [json-pointer:/blocks/0/text/type]",
    ),
    (section(color="red"), "additional property: color [json-pointer:/blocks/0]"),
    (section(block_id="x" * 256), "must be less than 256 characters [json-pointer:/blocks/0/block_id]"),
    (section(fields=[plain()] * 11), "no more than 10 items allowed [json-pointer:/blocks/0/fields]"),
    (
        section(fields=[plain("x" * 2001)]),
        "must be less than 2001 characters [json-pointer:/blocks/0/fields/0/text]",
    ),
    (
        {"type": "header", "text": plain("x" * 151)},
        "must be less than 151 characters [json-pointer:/blocks/0/text/text]",
    ),
    ({"type": "header", "text": marked()}, "unsupported type: mrkdwn [json-pointer:/blocks/0/text/type]"),
    (
        {"type": "markdown", "text": "x" * 12_001},
        "must be less than 12001 characters [json-pointer:/blocks/0/text]",
    ),
    ({"type": "image", "alt_text": "a"}, "missing required field: image_url [json-pointer:/blocks/0]"),
    (
        {"type": "image", "image_url": "https://a.b"},
        "missing required field: alt_text [json-pointer:/blocks/0]",
    ),
    (
        {"type": "context", "elements": [plain()] * 11},
        "no more than 10 items allowed [json-pointer:/blocks/0/elements]",
    ),
    (
        {"type": "context", "elements": [button()]},
        "unsupported type: button [json-pointer:/blocks/0/elements/0/type]",
    ),
    (actions(), "no less than 1 items allowed [json-pointer:/blocks/0/elements]"),
    (
        actions(*(button(action_id=str(number)) for number in range(26))),
        "no more than 25 items allowed [json-pointer:/blocks/0/elements]",
    ),
    (actions(button(), button()), "action_id already exists: go [json-pointer:/blocks/0/elements]"),
    (
        actions(button(value="x" * 2001)),
        "must be less than 2001 characters [json-pointer:/blocks/0/elements/0/value]",
    ),
    (
        actions(button(action_id="x" * 256)),
        "must be less than 256 characters [json-pointer:/blocks/0/elements/0/action_id]",
    ),
    (
        actions(button(text=plain("x" * 76))),
        "must be less than 76 characters [json-pointer:/blocks/0/elements/0/text/text]",
    ),
    (
        actions(button(style="blue")),
        "value must be one of primary, danger [json-pointer:/blocks/0/elements/0/style]",
    ),
    (actions(menu(101)), "no more than 100 items allowed [json-pointer:/blocks/0/elements/0/options]"),
    (actions(menu(0)), "no less than 1 items allowed [json-pointer:/blocks/0/elements/0/options]"),
    (
        actions({"type": "overflow", "options": menu(6)["options"]}),
        "no more than 5 items allowed [json-pointer:/blocks/0/elements/0/options]",
    ),
    (
        {
            "type": "context_actions",
            "elements": [{"type": "feedback_buttons", "positive_button": {"text": plain(), "value": "1"}}],
        },
        "missing required field: negative_button [json-pointer:/blocks/0/elements/0]",
    ),
    (
        {"type": "table", "rows": [[CELL] * 21]},
        "must have between 1 and 20 cells [json-pointer:/blocks/0/rows/0]",
    ),
    (
        {"type": "table", "rows": [[CELL]] * 101},
        "must have between 1 and 100 rows [json-pointer:/blocks/0/rows]",
    ),
    (
        {"type": "task_card", "task_id": "1", "title": "x", "status": "done"},
        "value must be one of pending, in_progress, complete, error [json-pointer:/blocks/0/status]",
    ),
    (
        {"type": "task_card", "task_id": "1", "title": "x", "output": "text"},
        "must provide a rich_text object [json-pointer:/blocks/0/output]",
    ),
    (field(element=button()), "unsupported type: button [json-pointer:/blocks/0/element/type]"),
]


@pytest.mark.parametrize(("block", "problem"), BAD, ids=[problem[:60] for _, problem in BAD])
def test_blocks_that_slack_forbids_are_refused_with_its_reason(block: Block, problem: str) -> None:
    assert problem in wrong([block], MESSAGE)


@pytest.mark.parametrize(("surface", "most"), [(MESSAGE, 50), (MODAL, 100), (HOME, 100)])
def test_the_number_of_blocks_is_limited(surface: str, most: int) -> None:
    assert wrong([section()] * most, surface) == []
    assert wrong([section()] * (most + 1), surface) == [
        f"no more than {most} items allowed [json-pointer:/blocks]"
    ]


@pytest.mark.parametrize("kind", ["markdown", "table", "context_actions", "task_card", "plan"])
def test_some_blocks_are_only_for_messages(kind: str) -> None:
    for surface in (MODAL, HOME):
        assert wrong([{"type": kind}], surface) == [f"unsupported type: {kind} [json-pointer:/blocks/0/type]"]


def test_ids_are_unique_and_a_message_has_at_most_one_table() -> None:
    twice = wrong([section(block_id="a"), section(block_id="a")], MESSAGE)
    assert twice == ["block_id already exists: a [json-pointer:/blocks]"]
    tables = [{"type": "table", "rows": [[CELL]]}] * 2
    assert wrong(tables, MESSAGE) == ["only_one_table_allowed [json-pointer:/blocks]"]


async def test_the_refusal_of_a_call_names_the_place() -> None:
    async with table(socket=False) as t:
        blocks = [section(text=marked("x" * 3001))]
        with pytest.raises(SlackApiError) as caught:
            await t.post(blocks=blocks)
        problem = "must be less than 3001 characters [json-pointer:/blocks/0/text/text]"
        assert caught.value.response["error"] == "invalid_blocks"
        assert caught.value.response["response_metadata"] == {"messages": [f"[ERROR] {problem}"]}


async def test_the_total_text_of_all_blocks_is_limited() -> None:
    async with table(socket=False) as t:
        full = [{"type": "markdown", "text": "x" * 12_000}, section(text=marked("x" * 1200))]
        message = await t.post(blocks=full)
        assert len(message.shown) == 13_201  # with the line break between them
        over = [*full, section()]
        await t.refused("msg_blocks_too_long", "chat.postMessage", channel=t.channel.id, blocks=over)


async def test_blocks_get_ids_and_the_text_is_shown_only_without_blocks() -> None:
    async with table(socket=False) as t:
        element = {"type": "button", "text": plain("Go")}
        message = await t.post("fallback", blocks=[section(), actions(element)])
        assert all(block["block_id"] for block in message.blocks)
        assert message.blocks[1]["elements"][0]["action_id"]
        assert (message.text, message.shown) == ("fallback", "x\nGo")
