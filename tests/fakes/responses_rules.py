"""Checks requests as the Responses API does: parameters, input items and their order, tools, formats.

It is stateless, like a request with `store` false; the service checks everything that depends on earlier answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.fakes.images import fault, parts_of
from tests.fakes.reply import Body, Refused
from tests.fakes.schemas import bad_name, schema_fault

KNOWN: dict[str, Any] = {
    "model": str,
    "input": (str, list),
    "instructions": str,
    "max_output_tokens": int,
    "temperature": (int, float),
    "top_p": (int, float),
    "stream": bool,
    "store": bool,
    "include": list,
    "text": dict,
    "tools": list,
    "tool_choice": (str, dict),
    "parallel_tool_calls": bool,
    "reasoning": dict,
    "prompt_cache_key": str,
    "prompt_cache_options": dict,
    "truncation": str,
}
COUNTED = {
    *("model", "input", "instructions", "text", "tools", "tool_choice", "parallel_tool_calls"),
    *("reasoning", "truncation"),
}
"""What the route that counts tokens takes."""

MOVED = {"messages": "input", "max_tokens": "max_output_tokens", "response_format": "text.format"}
INCLUDED = ("reasoning.encrypted_content", "message.output_text.logprobs", "file_search_call.results")
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
LONGEST = 64
"""Characters of a call's id and of the cache's key."""

_OPTIONAL = {"id", "status"}
_FIELDS = {
    "message": ({"role", "content"}, {"type", "phase", *_OPTIONAL}),
    "function_call": ({"type", "call_id", "name", "arguments"}, _OPTIONAL),
    "function_call_output": ({"type", "call_id", "output"}, _OPTIONAL),
    "reasoning": ({"type", "id", "summary"}, {"encrypted_content", "content", "status"}),
}
_PREFIXES = {"message": "msg", "function_call": "fc", "function_call_output": "fc", "reasoning": "rs"}
_PARTS = {
    "user": ({"input_text", "input_image"}),
    "system": ({"input_text"}),
    "developer": ({"input_text"}),
    "assistant": ({"output_text", "refusal"}),
}


def bad(message: str, param: str = "", code: str = "") -> Refused:
    return Refused(400, message, param, code)


def body_refusal(body: Body, models: tuple[str, ...], *, counting: bool = False) -> Refused | None:
    for name, value in body.items():
        if name in MOVED:
            detail = (
                f"Unsupported parameter: '{name}'. In the Responses API, it has moved to '{MOVED[name]}'."
            )
            return bad(detail, name, "unsupported_parameter")
        if name not in (COUNTED if counting else KNOWN):
            return bad(f"Unknown parameter: '{name}'.", name, "unknown_parameter")
        expected = KNOWN[name]
        if not isinstance(value, expected) or (isinstance(value, bool) and expected is not bool):
            return bad(f"Invalid type for '{name}'.", name, "invalid_type")
    for name in ("model", "input"):
        if not body.get(name):
            return bad(f"Missing required parameter: '{name}'.", name, "missing_required_parameter")
    if body["model"] not in models:
        return bad(f"The requested model '{body['model']}' does not exist.", "model", "model_not_found")
    return (
        input_refusal(body["input"])
        or tools_refusal(body)
        or _format_refusal(body.get("text", {}))
        or _rest_refusal(body)
    )


def input_refusal(items: str | list[Any]) -> Refused | None:
    """Checks each item; then that each call is followed by its output, and reasoning by another item."""
    if isinstance(items, str):
        return None
    owed: dict[str, None] = {}
    answered: set[str] = set()
    ids: set[str] = set()
    for at, item in enumerate(items):
        where = f"input[{at}]"
        if refused := _item_refusal(item, where):
            return refused
        kind = item.get("type", "message")
        if (id := item.get("id")) is not None:
            if id in ids:
                return bad(f"Duplicate item found with id {id}.", "input")
            ids.add(id)
        if kind == "function_call":
            if item["call_id"] in owed or item["call_id"] in answered:
                return bad(f"Duplicate call_id '{item['call_id']}'.", f"{where}.call_id")
            owed[item["call_id"]] = None
        elif kind == "function_call_output":
            if item["call_id"] not in owed:
                detail = f"No tool call found for function call output with call_id {item['call_id']}."
                return bad(detail, "input")
            del owed[item["call_id"]]
            answered.add(item["call_id"])
        elif kind == "reasoning":
            follower = items[at + 1] if at + 1 < len(items) else {}
            if not isinstance(follower, dict) or not str(follower.get("id", "")).startswith(("msg", "fc")):
                detail = f"Item '{id}' of type 'reasoning' was provided without its required following item."
                return bad(detail, "input")
    if owed:
        return bad(f"No tool output found for function call {next(iter(owed))}.", "input")
    return None


def _item_refusal(item: Any, where: str) -> Refused | None:
    if not isinstance(item, dict):
        return bad(f"Invalid type for '{where}': expected an object.", where, "invalid_type")
    kind = item.get("type", "message")
    if kind not in _FIELDS:
        return bad(f"Invalid value: '{kind}'.", f"{where}.type", "invalid_value")
    needed, allowed = _FIELDS[kind]
    if missing := needed - set(item):
        name = f"{where}.{min(missing)}"
        return bad(f"Missing required parameter: '{name}'.", name, "missing_required_parameter")
    if unknown := set(item) - needed - allowed:
        name = f"{where}.{min(unknown)}"
        return bad(f"Unknown parameter: '{name}'.", name, "unknown_parameter")
    for name in ("call_id", "name", "arguments", "encrypted_content", "id"):
        if name in item and not isinstance(item[name], str):
            return bad(f"Invalid type for '{where}.{name}'.", f"{where}.{name}", "invalid_type")
    if not str(item.get("id", _PREFIXES[kind])).startswith(_PREFIXES[kind]):
        detail = f"Invalid '{where}.id'. Expected an ID that begins with '{_PREFIXES[kind]}'."
        return bad(detail, f"{where}.id", "invalid_value")
    if item.get("status", "completed") not in ("completed", "incomplete", "in_progress"):
        return bad(f"Invalid value: '{item['status']}'.", f"{where}.status", "invalid_value")
    if "call_id" in item and not 0 < len(item["call_id"]) <= LONGEST:
        detail = f"Invalid '{where}.call_id': string of 1 to {LONGEST} characters expected."
        return bad(detail, f"{where}.call_id", "string_above_max_length")
    if kind == "function_call" and bad_name(item["name"]):
        detail = f"Invalid '{where}.name': string does not match pattern."
        return bad(detail, f"{where}.name", "invalid_value")
    if kind == "function_call_output" and not isinstance(item["output"], str):
        return bad(f"Invalid type for '{where}.output'.", f"{where}.output", "invalid_type")
    if kind == "reasoning" and not isinstance(item["summary"], list):
        return bad(f"Invalid type for '{where}.summary'.", f"{where}.summary", "invalid_type")
    return _message_refusal(item, where) if kind == "message" else None


def _message_refusal(item: Mapping[str, Any], where: str) -> Refused | None:
    role, content = item["role"], item["content"]
    if role not in _PARTS:
        return bad(f"Invalid value: '{role}'.", f"{where}.role", "invalid_value")
    if isinstance(content, str):
        return None
    if not isinstance(content, list):
        return bad(f"Invalid type for '{where}.content'.", f"{where}.content", "invalid_type")
    for place, part in enumerate(content):
        name = f"{where}.content[{place}]"
        if not isinstance(part, dict) or part.get("type") not in _PARTS[role]:
            known = " and ".join(sorted(_PARTS[role]))
            return bad(f"Invalid value. Supported values are: {known}.", name, "invalid_value")
        if part["type"] == "input_image":
            if refused := _image_refusal(part, name):
                return refused
            continue
        word = "refusal" if part["type"] == "refusal" else "text"
        if not isinstance(part.get(word), str):
            return bad(f"Missing required parameter: '{name}.{word}'.", name, "missing_required_parameter")
        marks = {"prompt_cache_breakpoint"} if part["type"] == "input_text" else set()
        if part.get("prompt_cache_breakpoint", {"mode": "explicit"}) != {"mode": "explicit"}:
            return bad("Invalid value.", f"{name}.prompt_cache_breakpoint", "invalid_value")
        if unknown := set(part) - {"type", word, "annotations", "logprobs"} - marks:
            return bad(f"Unknown parameter: '{name}.{min(unknown)}'.", name, "unknown_parameter")
    return None


def _image_refusal(part: Mapping[str, Any], name: str) -> Refused | None:
    if unknown := set(part) - {"type", "image_url", "file_id", "detail", "prompt_cache_breakpoint"}:
        return bad(f"Unknown parameter: '{name}.{min(unknown)}'.", name, "unknown_parameter")
    if part.get("detail", "auto") not in ("low", "high", "auto", "original"):
        return bad(f"Invalid value: '{part['detail']}'.", f"{name}.detail", "invalid_value")
    if not isinstance(part.get("image_url"), str):
        detail = f"Invalid type for '{name}.image_url': expected an image URL."
        return bad(detail, f"{name}.image_url", "invalid_type")
    why = fault(*parts_of(part["image_url"]))
    if why in ("media", "mismatch"):
        detail = (
            "You uploaded an unsupported image. Please make sure your image has of one the following formats: "
            "['png', 'jpeg', 'gif', 'webp']."
        )
        return bad(detail, "", "invalid_image_format")
    if why:
        detail = "Invalid 'input': expected a base64-encoded data URL with an image MIME type."
        return bad(detail, f"{name}.image_url", "invalid_value")
    return None


def tools_refusal(body: Body) -> Refused | None:
    names = []
    for at, tool in enumerate(body.get("tools", [])):
        where = f"tools[{at}]"
        if not isinstance(tool, dict) or tool.get("type") != "function":
            return bad("Invalid value: only 'function' is known here.", f"{where}.type", "invalid_value")
        for name in ("name", "parameters"):
            if name not in tool:
                detail = f"Missing required parameter: '{where}.{name}'."
                return bad(detail, f"{where}.{name}", "missing_required_parameter")
        if unknown := set(tool) - {"type", "name", "description", "parameters", "strict"}:
            name = f"{where}.{min(unknown)}"
            return bad(f"Unknown parameter: '{name}'.", name, "unknown_parameter")
        if bad_name(tool["name"]):
            detail = f"Invalid '{where}.name': string does not match pattern '^[a-zA-Z0-9_-]+$'."
            return bad(detail, f"{where}.name", "invalid_value")
        parameters = tool["parameters"]
        strict = tool.get("strict", True)  # as on the service, unlike chat completions
        if not isinstance(parameters, dict) or parameters.get("type") != "object":
            fault: str | None = "schema must be a JSON Schema of 'type: \"object\"'"
        else:
            fault = schema_fault(parameters) if strict else None
        if fault:
            detail = f"Invalid schema for function '{tool['name']}': {fault}"
            return bad(detail, f"{where}.parameters", "invalid_function_parameters")
        names.append(tool["name"])
    if len(set(names)) < len(names):
        return bad("Tool names must be unique.", "tools", "invalid_value")
    choice = body.get("tool_choice", "auto")
    if choice == "required" and not names:
        return bad("Tool choice 'required' must be specified with 'tools' parameter.", "tool_choice")
    if choice not in ("auto", "none", "required", *({"type": "function", "name": name} for name in names)):
        return bad("Invalid 'tool_choice'.", "tool_choice", "invalid_value")
    return None


def _format_refusal(text: Mapping[str, Any]) -> Refused | None:
    if unknown := set(text) - {"format", "verbosity"}:
        return bad(f"Unknown parameter: 'text.{min(unknown)}'.", "text", "unknown_parameter")
    format = text.get("format", {"type": "text"})
    if format == {"type": "text"}:
        return None
    if not isinstance(format, dict) or format.get("type") != "json_schema":
        return bad("Invalid value.", "text.format.type", "invalid_value")
    for name in ("name", "schema"):
        if name not in format:
            detail = f"Missing required parameter: 'text.format.{name}'."
            return bad(detail, f"text.format.{name}", "missing_required_parameter")
    if unknown := set(format) - {"type", "name", "description", "schema", "strict"}:
        name = f"text.format.{min(unknown)}"
        return bad(f"Unknown parameter: '{name}'.", name, "unknown_parameter")
    if bad_name(format["name"]):
        return bad("Invalid 'text.format.name'.", "text.format.name", "invalid_value")
    if format.get("strict") and (fault := schema_fault(format["schema"])):
        detail = f"Invalid schema for response_format '{format['name']}': {fault}"
        return bad(detail, "text.format.schema", "invalid_json_schema")
    return None


def _rest_refusal(body: Body) -> Refused | None:
    if body.get("max_output_tokens", LEAST) < LEAST:
        detail = f"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= {LEAST}."
        return bad(detail, "max_output_tokens", "integer_below_min_value")
    for name, most in (("temperature", 2), ("top_p", 1)):
        if not 0 <= body.get(name, 1) <= most:
            return bad(f"Invalid '{name}': 0 to {most}.", name, "decimal_out_of_range")
    if not set(body.get("include", [])) <= set(INCLUDED):
        return bad("Invalid value.", "include[0]", "invalid_value")
    reasoning = body.get("reasoning", {})
    if unknown := set(reasoning) - {"effort", "summary"}:
        name = f"reasoning.{min(unknown)}"
        return bad(f"Unknown parameter: '{name}'.", name, "unknown_parameter")
    if reasoning.get("effort", "low") not in EFFORTS:
        return bad(f"Invalid value: '{reasoning['effort']}'.", "reasoning.effort", "invalid_value")
    if reasoning.get("summary", "auto") not in ("auto", "concise", "detailed"):
        return bad(f"Invalid value: '{reasoning['summary']}'.", "reasoning.summary", "invalid_value")
    if len(body.get("prompt_cache_key", "")) > LONGEST:
        detail = f"Invalid 'prompt_cache_key': string too long. Expected at most {LONGEST} characters."
        return bad(detail, "prompt_cache_key", "string_above_max_length")
    if body.get("truncation", "auto") not in ("auto", "disabled"):
        return bad("Invalid value.", "truncation", "invalid_value")
    return None


LEAST = 16
"""`max_output_tokens` may not be lower."""
