"""Items of the Responses API: those of a request as the model reads them, and those of a response."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from tests.fakes.reply import Body, Turn

Item = dict[str, Any]


def items_of(body: Body) -> list[Item]:
    """The input's items; a text alone is a message."""
    value = body["input"]
    return [{"role": "user", "content": value}] if isinstance(value, str) else value


def words(item: Item) -> str:
    """The text of an item that the model reads."""
    if "call_id" in item:
        return str(item["output"] if "output" in item else f"{item['name']} {item['arguments']}")
    parts = item.get("content") or ""
    if isinstance(parts, str):
        return parts
    return "".join(part.get("text") or part.get("refusal", "") for part in parts)


def seal(id: str, model: str) -> str:
    """Reasoning that only this service can read, and only for the model that thought it."""
    return "gAAAAA" + hashlib.sha256(f"sealed {id} {model}".encode()).hexdigest()


def part_of(text: str) -> Item:
    return {"type": "output_text", "annotations": [], "logprobs": [], "text": text}


def status_of(turn: Turn) -> str:
    if turn.finish is None:
        return "in_progress"
    return turn.finish if turn.finish in ("completed", "failed") else "incomplete"


def usage_of(turn: Turn) -> Body | None:
    if turn.reply.usage == "none":
        return None
    read_in, written_out, cached, cache_written = turn.counted
    return {
        "input_tokens": read_in,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": cache_written},
        "output_tokens": written_out,
        "output_tokens_details": {"reasoning_tokens": len(turn.reply.reasoning)},
        "total_tokens": read_in + written_out,
    }


def reasoned(turn: Turn, *, aloud: bool) -> Item:
    item: Item = {"id": id_of(turn, "rs"), "type": "reasoning", "summary": []}
    if aloud or turn.body.get("reasoning", {}).get("summary"):
        item["summary"] = [{"type": "summary_text", "text": "".join(turn.reply.reasoning)}]
    if "reasoning.encrypted_content" in turn.body.get("include", []):
        item["encrypted_content"] = seal(item["id"], turn.model)
    return item


def message(turn: Turn) -> Item:
    content: list[Item] = []
    if turn.reply.refusal:
        content.append({"type": "refusal", "refusal": turn.reply.refusal})
    if turn.reply.content():
        content.append(part_of(turn.text()))
    status = "incomplete" if status_of(turn) == "incomplete" and not turn.calls else "completed"
    about = {"id": id_of(turn, "msg"), "type": "message", "status": status}
    return {**about, "content": content, "role": "assistant"}


def called(turn: Turn, number: int) -> Item:
    """A tool call of the answer; the last one of an incomplete answer is incomplete."""
    call = turn.calls[number]
    last = number == len(turn.calls) - 1
    return {
        "id": id_of(turn, "fc", number),
        "type": "function_call",
        "status": "incomplete" if last and status_of(turn) == "incomplete" else "completed",
        "arguments": "".join(call.pieces),
        "call_id": call.id,
        "name": call.name,
    }


def id_of(turn: Turn, prefix: str, number: int = 0) -> str:
    return f"{prefix}_{turn.id.removeprefix('answer_')}{number:02d}"


def response(turn: Turn, status: str, output: list[Item], usage: Mapping[str, Any] | None) -> Body:
    body = turn.body
    error = {name: turn.reply.said().get(name) for name in ("code", "message")}
    incomplete = {"reason": turn.finish} if status == "incomplete" else None
    return {
        "id": id_of(turn, "resp"),
        "object": "response",
        "created_at": 1,
        "status": status,
        "background": False,
        "error": error if status == "failed" else None,
        "incomplete_details": incomplete,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "model": turn.model,
        "output": output,
        "parallel_tool_calls": body.get("parallel_tool_calls", True),
        "previous_response_id": None,
        "prompt_cache_key": body.get("prompt_cache_key"),
        "reasoning": {"effort": None, "summary": None} | body.get("reasoning", {}),
        "store": body.get("store", True),
        "temperature": body.get("temperature", 1.0),
        "text": body.get("text", {"format": {"type": "text"}}),
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": body.get("tools", []),
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": usage,
        "user": None,
        "metadata": {},
    }
