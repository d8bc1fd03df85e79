"""Takes off a message what only makes sense while its run goes on: the button that stops it, a plan's open stages.

Pure. Knows the message as Slack gives it back, and nothing of what it says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bot.adapters import custom_ids
from bot.adapters.slack.text.page import BLOCKS, TEXT, Block

_ENDED = {"pending": "error", "in_progress": "error"}


def without(blocks: Sequence[Block], action_id: str) -> list[Block]:
    """The blocks of a message but for this button, and for a row in which nothing else stands."""
    found: list[Block] = []
    for block in blocks:
        if block.get("type") not in ("actions", "context_actions"):
            found.append(block)
        elif left := [one for one in block.get("elements", ()) if one.get("action_id") != action_id]:
            found.append({**block, "elements": left})
    return found


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
    blocks = ended(without(message.get("blocks") or (), custom_ids.stop(run)))
    text = f"{str(message.get('text') or '')[: TEXT - len(note) - 1]}\n{note}".strip()
    return {"text": text, "blocks": [*blocks[: BLOCKS - 1], below] if blocks else []}
