"""Content blocks of the Messages API: in requests as the model and the cache see them, and in answers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.fakes.reply import Body, Turn

Block = dict[str, Any]


def content_of(message: Mapping[str, Any]) -> list[Block]:
    """A message's content as blocks; a plain string is one block of text."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def turns(messages: list[Body]) -> list[tuple[str, list[Block]]]:
    """The conversation's turns: consecutive messages of one role are one turn."""
    joined: list[tuple[str, list[Block]]] = []
    for message in messages:
        if joined and joined[-1][0] == message["role"]:
            joined[-1][1].extend(content_of(message))
        else:
            joined.append((message["role"], list(content_of(message))))
    return joined


def blocks_of(body: Body) -> Iterator[Block]:
    """Everything that the model reads, in the order of the cache."""
    yield from body.get("tools", [])
    system = body.get("system", [])
    yield from [{"type": "text", "text": system}] if isinstance(system, str) else system
    for message in body["messages"]:
        yield from content_of(message)


def answered(turn: Turn) -> list[Block]:
    """The blocks of a complete answer."""
    reply = turn.reply
    blocks: list[Block] = []
    if reply.reasoning:
        reasoning = "".join(reply.reasoning)
        blocks.append({"type": "thinking", "thinking": reasoning, "signature": signature(reasoning)})
    if text := reply.refusal + turn.text():
        blocks.append({"type": "text", "text": text})
    for call in turn.calls:
        try:
            arguments = json.loads("".join(call.pieces) or "{}")
        except (ValueError, RecursionError):
            arguments = {}
        blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": arguments})
    if turn.finish == "pause_turn":
        blocks.append(searching(turn))
    return blocks


def searching(turn: Turn) -> Block:
    """The last block of a paused turn: one of the service's own tools, still running."""
    id = f"srvtoolu_{turn.id.removeprefix('answer_')}"
    return {"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": "fireball"}}


def signature(reasoning: str) -> str:
    return "sig_" + hashlib.sha256(f"signed {reasoning}".encode()).hexdigest()


def bare(block: Block) -> Block:
    return {name: value for name, value in block.items() if name != "cache_control"}


def words(block: Block) -> str:
    """The text of a block or a tool that the model reads."""
    if "input_schema" in block:
        return json.dumps(bare(block))
    content = block.get("content", "")
    parts = [content] if isinstance(content, str) else [words(inner) for inner in content]
    parts += [block.get(name, "") for name in ("text", "thinking")]
    parts += [f"{block['name']} {json.dumps(block['input'])}"] if "input" in block else []
    return " ".join(part for part in parts if part)
