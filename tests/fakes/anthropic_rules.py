"""Checks requests as the Messages API does, with its own error messages as far as they are known."""

from __future__ import annotations

import re
from typing import Any

from tests.fakes.anthropic_blocks import Block, blocks_of, content_of, turns
from tests.fakes.images import fault, sides
from tests.fakes.reply import Body, Refused
from tests.fakes.schemas import bad_name

KNOWN = {
    "model": str,
    "messages": list,
    "max_tokens": int,
    "system": (str, list),
    "stream": bool,
    "tools": list,
    "tool_choice": dict,
    "output_config": dict,
    "thinking": dict,
    "stop_sequences": list,
    "metadata": dict,
    "cache_control": dict,
    "service_tier": str,
}
"""Not temperature, top_p or top_k: these are gone."""

FIELDS = {
    "text": ({"text"}, {"citations"}),
    "image": ({"source"}, {"transformations"}),
    "thinking": ({"thinking", "signature"}, set()),
    "redacted_thinking": ({"data"}, set()),
    "tool_use": ({"id", "name", "input"}, {"caller", "toolset_name"}),
    "server_tool_use": ({"id", "name", "input"}, {"caller"}),
    "tool_result": ({"tool_use_id"}, {"content", "is_error", "toolset_name"}),
}
MARKABLE = {"text", "image", "tool_use", "server_tool_use", "tool_result"}
OF_USER = {"text", "image", "tool_result"}
MOST_BYTES = 10 * 2**20
"""The most bytes of an encoded image; and the longest side in pixels (Vision, "General limits")."""
MOST_PIXELS = 8_000
EFFORTS = ("low", "medium", "high", "xhigh", "max")
NEVER = {
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"),
    *("maxItems", "uniqueItems", "minProperties", "maxProperties", "patternProperties", "not", "if", "oneOf"),
}
"""Structured outputs, "JSON Schema limitations"."""

MARKS = 4

_ID = re.compile(r"[a-zA-Z0-9_-]+")


def bad(message: str, param: str = "") -> Refused:
    return Refused(400, message, param)


def body_refusal(body: Body, models: tuple[str, ...], most_output: int, *, counting: bool) -> Refused | None:
    """The refusal of a request, judged by the request alone."""
    for name, value in body.items():
        if name not in KNOWN or (counting and name in ("max_tokens", "stream")):
            return bad(f"{name}: Extra inputs are not permitted", name)
        expected: Any = KNOWN[name]
        if not isinstance(value, expected) or (isinstance(value, bool) and expected is not bool):
            return bad(f"{name}: Input should be a valid {expected}", name)
    for name in ("model", "messages") if counting else ("model", "max_tokens", "messages"):
        if name not in body:
            return bad(f"{name}: Field required", name)
    if body["model"] not in models:
        return Refused(404, f"model: {body['model']}", "model")
    most = body.get("max_tokens", 1)
    if most < 1:
        return bad("max_tokens: Input should be greater than or equal to 1", "max_tokens")
    if most > most_output:
        detail = f"max_tokens: {most} > {most_output}, which is the maximum allowed number of output tokens"
        return bad(f"{detail} for {body['model']}", "max_tokens")
    return (
        _system(body.get("system", "x"))
        or messages_refusal(body["messages"])
        or _tools(body)
        or _config(body.get("output_config", {}))
        or _thinking(body)
        or _marks(body)
    )


def _system(system: object) -> Refused | None:
    blocks = [{"type": "text", "text": system}] if isinstance(system, str) else system
    assert isinstance(blocks, list)
    for at, block in enumerate(blocks):
        if not isinstance(block, dict) or block.get("type") != "text":
            return bad(f"system.{at}: Input should be a text block", "system")
        if refused := _block(block, f"system.{at}", "system"):
            return refused
    return None


def messages_refusal(messages: list[Any]) -> Refused | None:
    if not messages:
        return bad("messages: at least one message is required", "messages")
    for at, message in enumerate(messages):
        if not isinstance(message, dict) or set(message) != {"role", "content"}:
            return bad(f"messages.{at}: a message has a role and a content", "messages")
        role = message["role"]
        if role not in ("user", "assistant"):
            detail = f'messages: Unexpected role "{role}". There is a top-level `system` parameter.'
            return bad(detail, "messages")
        if not isinstance(message["content"], str | list):
            return bad(f"messages.{at}.content: Input should be a valid list", "messages")
        if not message["content"]:
            return bad(f"messages.{at}: {role} messages must have non-empty content", "messages")
        for place, block in enumerate(content_of(message)):
            if refused := _block(block, f"messages.{at}.content.{place}", role):
                return refused
    if messages[0]["role"] != "user":
        return bad('messages: first message must use the "user" role', "messages")
    joined = turns(messages)
    role, last = joined[-1]
    if role == "assistant" and last[-1]["type"] == "text" and last[-1]["text"] != last[-1]["text"].rstrip():
        return bad("messages: final assistant content cannot end with trailing whitespace", "messages")
    return _pairs(joined)


def _block(block: object, at: str, role: str) -> Refused | None:
    if not isinstance(block, dict) or block.get("type") not in FIELDS:
        return bad(f"{at}: Input tag does not match any of the expected tags", "messages")
    kind = block["type"]
    if role == "user" and kind not in OF_USER:
        return bad(f"{at}: `{kind}` blocks can only be in `assistant` messages", "messages")
    if role == "assistant" and kind in ("image", "tool_result"):
        return bad(f"{at}: `{kind}` blocks can only be in `user` messages", "messages")
    needed, allowed = FIELDS[kind]
    allowed = allowed | ({"cache_control"} if kind in MARKABLE else set())
    for name in set(block) - {"type"} - needed - allowed:
        return bad(f"{at}.{kind}.{name}: Extra inputs are not permitted", "messages")
    for name in needed - set(block):
        return bad(f"{at}.{kind}.{name}: Field required", "messages")
    if kind == "image":
        return _image(block["source"], f"{at}.image.source")
    if kind == "text":
        if not isinstance(block["text"], str) or not block["text"]:
            return bad("messages: text content blocks must be non-empty", "messages")
        if not block["text"].strip():
            return bad("messages: text content blocks must contain non-whitespace text", "messages")
    for name in ("id", "tool_use_id"):
        if name in needed and (not isinstance(block[name], str) or not _ID.fullmatch(block[name])):
            return bad(f"{at}.{kind}.{name}: String should match pattern '^[a-zA-Z0-9_-]+$'", "messages")
    if "input" in needed and not isinstance(block["input"], dict):
        return bad(f"{at}.{kind}.input: Input should be a valid dictionary", "messages")
    if kind == "tool_result" and not isinstance(block.get("content", ""), str | list):
        return bad(f"{at}.tool_result.content: Input should be a valid list", "messages")
    if kind == "tool_result" and block.get("is_error") and not block.get("content"):
        return bad(f"{at}.tool_result: content cannot be empty if `is_error` is true", "messages")
    return None


def _image(source: object, at: str) -> Refused | None:
    if not isinstance(source, dict) or set(source) != {"type", "media_type", "data"}:
        return bad(f"{at}: Input should be a base64 source", "messages")
    why = fault(source["media_type"], source["data"])
    if source["type"] != "base64" or why == "media":
        kinds = "'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
        return bad(f"{at}.base64.media_type: Input should be {kinds}", "messages")
    if why == "base64":
        return bad(f"{at}.base64.data: invalid base64 data", "messages")
    if len(source["data"]) > MOST_BYTES:
        detail = f"image exceeds 10 MB maximum: {len(source['data'])} bytes > {MOST_BYTES} bytes"
        return bad(f"{at}.base64: {detail}", "messages")
    if why == "mismatch":
        detail = f"Image does not match the provided media type {source['media_type']}"
        return bad(f"{at}.base64.data: {detail}", "messages")
    if max(sides(source["data"])) > MOST_PIXELS:
        detail = f"At least one of the image dimensions exceed max allowed size: {MOST_PIXELS} pixels"
        return bad(f"{at}.base64.data: {detail}", "messages")
    return None


def _pairs(joined: list[tuple[str, list[Block]]]) -> Refused | None:
    """Check that the next turn answers exactly the tool calls of a turn, before anything else."""
    seen: set[str] = set()
    for at, (role, blocks) in enumerate(joined):
        before = joined[at - 1][1] if at else []
        asked = [block["id"] for block in before if block["type"] == "tool_use"] if role == "user" else []
        if seen & set(asked) or len(set(asked)) < len(asked):
            return bad("messages: `tool_use` ids must be unique", "messages")
        seen |= set(asked)
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if strangers := [id for id in results if id not in asked]:
            detail = f"messages.{at}: unexpected `tool_use_id` found in `tool_result` blocks: {strangers[0]}."
            return bad(f"{detail} Each must have a `tool_use` block in the previous message.", "messages")
        if len(set(results)) < len(results):
            return bad("messages: each tool_use must have a single result", "messages")
        first = {block["tool_use_id"] for block in blocks[: len(results)] if block["type"] == "tool_result"}
        if missing := [id for id in asked if id not in first]:
            detail = "`tool_use` ids were found without `tool_result` blocks immediately after"
            return bad(f"messages.{at - 1}: {detail}: {', '.join(missing)}.", "messages")
        # Each may have a result that nevertheless follows a text.
        if len(first) < len(results):
            return bad(f"messages.{at}: `tool_result` blocks must come first in the content", "messages")
    if any(block["type"] == "tool_use" for block in joined[-1][1]):
        detail = "`tool_use` ids were found without `tool_result` blocks immediately after"
        return bad(f"messages.{len(joined) - 1}: {detail}.", "messages")
    return None


def _tools(body: Body) -> Refused | None:
    tools, choice = body.get("tools"), body.get("tool_choice")
    if not tools:
        if choice is not None:
            return bad("tool_choice may only be specified while providing tools", "tool_choice")
        used = {block["type"] for message in body["messages"] for block in content_of(message)}
        if used & {"tool_use", "tool_result"}:
            return bad("Requests which include `tool_use` or `tool_result` blocks must define tools", "tools")
        return None
    for at, tool in enumerate(tools):
        if not isinstance(tool, dict):
            return bad(f"tools.{at}: Input should be a valid dictionary", "tools")
        allowed = {"name", "description", "input_schema", "cache_control", "strict", "type"}
        for name in set(tool) - allowed:
            return bad(f"tools.{at}.custom.{name}: Extra inputs are not permitted", "tools")
        if bad_name(tool.get("name")):
            detail = f"tools.{at}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
            return bad(detail, "tools")
        schema = tool.get("input_schema")
        if not isinstance(schema, dict) or schema.get("type") != "object":
            return bad(f"tools.{at}.custom.input_schema.type: Field required", "tools")
    names = [tool["name"] for tool in tools]
    if len(set(names)) < len(names):
        return bad("tools: Tool names must be unique.", "tools")
    if choice is not None:
        kinds = {"auto": {"type"}, "any": {"type"}, "none": {"type"}, "tool": {"type", "name"}}
        fields = kinds.get(str(choice.get("type")))
        if fields is None or set(choice) - {"disable_parallel_tool_use"} != fields:
            return bad("tool_choice: Input tag does not match any of the expected tags", "tool_choice")
        if choice["type"] == "tool" and choice["name"] not in names:
            return bad(f"Tool '{choice['name']}' not found in provided tools", "tool_choice")
    return None


def _config(config: Body) -> Refused | None:
    for name in set(config) - {"effort", "format"}:
        return bad(f"output_config.{name}: Extra inputs are not permitted", "output_config")
    if "effort" in config and config["effort"] not in EFFORTS:
        return bad(f"output_config.effort: Input should be one of {EFFORTS}", "output_config")
    if "format" not in config:
        return None
    form = config["format"]
    if not isinstance(form, dict) or set(form) != {"type", "schema"} or form["type"] != "json_schema":
        return bad("output_config.format: Input should be a json_schema and its schema", "output_config")
    if detail := _schema_fault(form["schema"]):
        return bad(f"output_config.format.schema: {detail}", "output_config")
    return None


def _schema_fault(schema: object) -> str | None:
    if not isinstance(schema, dict):
        return "a schema must be an object"
    if unknown := NEVER & set(schema):
        return f"For '{schema.get('type')}' type, '{min(unknown)}' is not supported"
    if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        return "For 'object' type, 'additionalProperties' must be explicitly set to false"
    inner = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values()]
    inner += [*schema.get("anyOf", []), *schema.get("allOf", [])]
    inner += [schema["items"]] if "items" in schema else []
    return next((fault for part in inner if (fault := _schema_fault(part))), None)


def _thinking(body: Body) -> Refused | None:
    thinking = body.get("thinking")
    if thinking is None:
        return None
    if thinking.get("type") not in ("adaptive", "disabled", "enabled"):
        return bad("thinking: Input tag does not match any of the expected tags", "thinking")
    if unknown := set(thinking) - {"type", "display", "budget_tokens"}:
        return bad(f"thinking.{min(unknown)}: Extra inputs are not permitted", "thinking")
    if thinking.get("display", "omitted") not in ("summarized", "omitted"):
        return bad("thinking.display: Input should be 'summarized' or 'omitted'", "thinking")
    budget = thinking.get("budget_tokens")
    if thinking["type"] == "enabled" and (not isinstance(budget, int) or budget < 1024):
        return bad("thinking.enabled.budget_tokens: Input should be at least 1024", "thinking")
    if thinking["type"] == "enabled" and budget >= body.get("max_tokens", budget + 1):
        return bad("`max_tokens` must be greater than `thinking.budget_tokens`", "max_tokens")
    return None


def _marks(body: Body) -> Refused | None:
    marks = [block["cache_control"] for block in blocks_of(body) if "cache_control" in block]
    marks += [body["cache_control"]] if "cache_control" in body else []
    if len(marks) > MARKS:
        detail = f"A maximum of {MARKS} blocks with cache_control may be provided. Found {len(marks)}."
        return bad(detail, "cache_control")
    for mark in marks:
        known = isinstance(mark, dict) and set(mark) <= {"type", "ttl"} and mark.get("type") == "ephemeral"
        if not known or mark.get("ttl", "5m") not in ("5m", "1h"):
            return bad("cache_control: Input should be ephemeral, for 5m or 1h", "cache_control")
    return None
