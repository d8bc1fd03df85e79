"""Checks blocks as Slack does, in messages, modals and the Home tab.

https://docs.slack.dev/reference/block-kit/blocks. Refuses cards, carousels and alerts, which it does not know.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from tests.fakes.slack import texts
from tests.fakes.slack.element_rules import IN_ACTIONS, IN_CONTEXT_ACTIONS, IN_INPUT, IN_SECTION, Check
from tests.fakes.slack.refusal import Refusal, wrong_blocks

MESSAGE, MODAL, HOME = "message", "modal", "home"
MOST = {MESSAGE: 50, MODAL: 100, HOME: 100}
SECTION, FIELD, HEADER, MARKDOWN, BLOCK_ID = 3000, 2000, 150, 12_000, 255
# Not documented; https://github.com/slackapi/bolt-js/issues/2509 measured it.
ALL_TEXT = 13_200
EVERYWHERE = ("section", "divider", "header", "image", "context", "actions", "input", "rich_text")
SURFACES = {
    MESSAGE: (*EVERYWHERE, "markdown", "table", "context_actions", "task_card", "plan"),
    MODAL: EVERYWHERE,
    HOME: EVERYWHERE,
}
STATUSES = ("pending", "in_progress", "complete", "error")


def parse(body: Any) -> list[dict[str, Any]]:
    """The blocks from a list or from JSON."""
    if isinstance(body, str):
        try:
            body = json.loads(body)
        except json.JSONDecodeError:
            raise Refusal("invalid_blocks_format") from None
    if not isinstance(body, list) or not all(isinstance(block, dict) for block in body):
        raise Refusal("invalid_blocks_format")
    return body


def accept(body: Any, new_id: Any) -> list[dict[str, Any]]:
    """The blocks of a message as Slack stores them, each with an id. Refuses invalid blocks."""
    blocks = parse(body)
    if problems := wrong(blocks, MESSAGE):
        raise wrong_blocks(problems)
    if sum(len(text) for text in texts.words(blocks)) > ALL_TEXT:
        raise Refusal("msg_blocks_too_long")
    return named(blocks, new_id)


def named(blocks: list[dict[str, Any]], new_id: Any) -> list[dict[str, Any]]:
    """Give ids to blocks and interactive elements without one."""
    copies: list[dict[str, Any]] = json.loads(json.dumps(blocks))
    for block in copies:
        block.setdefault("block_id", new_id("b"))
        inner = [*(block.get("elements") or []), block.get("accessory"), block.get("element")]
        for element in inner if block["type"] != "rich_text" else []:
            if isinstance(element, dict) and element.get("type") in (
                *IN_SECTION,
                *IN_CONTEXT_ACTIONS,
                *IN_INPUT,
            ):
                element.setdefault("action_id", new_id("a"))
    return copies


def wrong(blocks: list[dict[str, Any]], surface: str) -> list[str]:
    check = Check()
    if len(blocks) > MOST[surface]:
        check.no(f"no more than {MOST[surface]} items allowed", "/blocks")
    for number, block in enumerate(blocks):
        _block(check, block, f"/blocks/{number}", surface)
    _twice(check, (block.get("block_id") for block in blocks), "block_id", "/blocks")
    if sum(block.get("type") == "table" for block in blocks) > 1:
        check.no("only_one_table_allowed", "/blocks")
    return check.problems


def _block(check: Check, block: dict[str, Any], at: str, surface: str) -> None:
    kind = block.get("type")
    if kind not in SURFACES[surface]:
        check.no(f"unsupported type: {kind}", f"{at}/type")
        return
    check.string(block, "block_id", at, BLOCK_ID, required=False)
    match kind:
        case "section":
            _section(check, block, at)
        case "header":
            check.known(block, "text level", at)
            check.text(block, "text", at, HEADER, plain=True)
        case "markdown":
            check.known(block, "text", at)
            check.string(block, "text", at, MARKDOWN)
            _tables(check, str(block.get("text") or ""), at)
        case "divider":
            check.known(block, "", at)
        case "image":
            check.image(block, at)
            check.text(block, "title", at, 2000, plain=True, required=False)
        case "context":
            _context(check, block, at)
        case "actions":
            check.known(block, "elements", at)
            _elements(check, block, at, 25, IN_ACTIONS)
        case "context_actions":
            check.known(block, "elements", at)
            _elements(check, block, at, 5, IN_CONTEXT_ACTIONS)
        case "input":
            _input(check, block, at)
        case "rich_text":
            check.known(block, "elements", at)
            check.rows(block, "elements", at, 0, 1000)
        case "table":
            _table(check, block, at)
        case "task_card":
            _task(check, block, at)
        case "plan":
            check.known(block, "title tasks", at)
            check.string(block, "title", at, 3000)
            for number, task in enumerate(check.rows(block, "tasks", at, 0, 50)):
                _task(check, task, f"{at}/tasks/{number}")


def _tables(check: Check, markdown: str, at: str) -> None:
    """Check the tables of a `markdown` block: Slack turns them into table blocks, with their limits."""
    outside = "".join(markdown.split("```")[::2])
    tables = re.findall(r"(?m)^(\|.*)\n\|(?: *:?-+:? *\|)+ *(?:\n|\Z)((?:\|.*(?:\n|\Z))*)", outside)
    if len(tables) > 1:
        check.no("only_one_table_allowed", at)
    for header, rows in tables:
        if header.count("|") - header.count("\\|") - 1 > 20 or rows.count("\n") >= 100:
            check.no("too many rows or columns of a table", at)


def _section(check: Check, block: dict[str, Any], at: str) -> None:
    check.known(block, "text fields accessory expand", at)
    if "fields" not in block:
        check.text(block, "text", at, SECTION)
    else:
        check.text(block, "text", at, SECTION, required=False)
        for number, row in enumerate(check.rows(block, "fields", at, 1, 10)):
            check.said(row, f"{at}/fields/{number}", FIELD)
    if isinstance(block.get("accessory"), dict):
        check.element(block["accessory"], f"{at}/accessory", IN_SECTION)


def _context(check: Check, block: dict[str, Any], at: str) -> None:
    check.known(block, "elements", at)
    for number, row in enumerate(check.rows(block, "elements", at, 1, 10)):
        place = f"{at}/elements/{number}"
        if row.get("type") == "image":
            check.image(row, place)
        elif row.get("type") in ("mrkdwn", "plain_text"):
            check.string(row, "text", place, SECTION)
        else:
            check.no(f"unsupported type: {row.get('type')}", f"{place}/type")


def _elements(check: Check, block: dict[str, Any], at: str, most: int, allowed: tuple[str, ...]) -> None:
    rows = check.rows(block, "elements", at, 1, most)
    for number, row in enumerate(rows):
        check.element(row, f"{at}/elements/{number}", allowed)
    _twice(check, (cell_row.get("action_id") for cell_row in rows), "action_id", f"{at}/elements")


def _input(check: Check, block: dict[str, Any], at: str) -> None:
    check.known(block, "label element dispatch_action hint optional", at)
    check.text(block, "label", at, 2000, plain=True)
    check.text(block, "hint", at, 2000, plain=True, required=False)
    if not isinstance(block.get("element"), dict):
        check.no("missing required field: element", at)
    else:
        check.element(block["element"], f"{at}/element", IN_INPUT)


def _table(check: Check, block: dict[str, Any], at: str) -> None:
    check.known(block, "rows column_settings", at)
    rows = block.get("rows")
    if not isinstance(rows, list) or not 1 <= len(rows) <= 100:
        check.no("must have between 1 and 100 rows", f"{at}/rows")
        return
    for number, row in enumerate(rows):
        if not isinstance(row, list) or not 1 <= len(row) <= 20:
            check.no("must have between 1 and 20 cells", f"{at}/rows/{number}")
        elif any(
            not isinstance(cell, dict) or cell.get("type") not in ("raw_text", "raw_number", "rich_text")
            for cell in row
        ):
            check.no("unsupported type", f"{at}/rows/{number}")


def _task(check: Check, block: dict[str, Any], at: str) -> None:
    check.known(block, "task_id title details output sources status icon hide_title", at)
    check.string(block, "task_id", at, 255)
    check.string(block, "title", at, 3000)
    check.one_of(block, "status", at, STATUSES)
    for name in ("details", "output"):
        if name in block and (not isinstance(block[name], dict) or block[name].get("type") != "rich_text"):
            check.no("must provide a rich_text object", f"{at}/{name}")


def _twice(check: Check, ids: Iterable[Any], name: str, at: str) -> None:
    seen: set[str] = set()
    for id in ids:
        if isinstance(id, str) and id in seen:
            check.no(f"{name} already exists: {id}", at)
        elif isinstance(id, str):
            seen.add(id)
