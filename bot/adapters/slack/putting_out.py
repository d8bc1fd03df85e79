"""Takes off a message what only makes sense while its run goes on: the button that stops it, a plan's open stages.

Pure. Knows the message as Slack gives it back, and nothing of what it says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.adapters import custom_ids
from bot.adapters.slack.page import BLOCKS, TEXT, Block

_ENDED = {"pending": "error", "in_progress": "error"}


def without(blocks: list[Block], action_id: str) -> list[Block]:
    """The blocks without one button, and without the row that it leaves empty."""
    kept = []
    for block in blocks:
        if block.get("type") == "actions":
            left = [one for one in block.get("elements", ()) if one.get("action_id") != action_id]
            if not left:
                continue
            block = {**block, "elements": left}
        kept.append(block)
    return kept


def ended(blocks: list[Block]) -> list[Block]:
    """The blocks with nothing in a plan that still goes on."""
    found = []
    for block in blocks:
        if block.get("type") == "plan":
            tasks = block.get("tasks") or ()
            block = {
                **block,
                "tasks": [{**one, "status": _ENDED.get(one["status"], one["status"])} for one in tasks],
            }
        found.append(block)
    return found


def put_out(message: Mapping[str, Any], run: str, below: Block, note: str) -> dict[str, Any]:
    """The edit that ends a message in the middle of its text: no stop button, `below` as its last block.

    `note` says the same as a text.
    """
    blocks = ended(without(list(message.get("blocks") or ()), custom_ids.stop(run)))
    text = f"{str(message.get('text') or '')[: TEXT - len(note) - 1]}\n{note}".strip()
    return {"text": text, "blocks": [*blocks[: BLOCKS - 1], below] if blocks else []}
