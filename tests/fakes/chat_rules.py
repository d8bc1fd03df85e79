"""Checks messages and tools as a chat completions service does: matching ids, order, names, types."""

from __future__ import annotations

import json
from typing import Any

from tests.fakes.images import fault, parts_of
from tests.fakes.model_service import Body, Refused
from tests.fakes.schemas import bad_name, schema_fault

FIELDS = {
    "system": ({"role", "content"}, {"name"}),
    "developer": ({"role", "content"}, {"name"}),
    "user": ({"role", "content"}, {"name"}),
    "assistant": ({"role"}, {"content", "tool_calls", "name", "refusal"}),
    "tool": ({"role", "content", "tool_call_id"}, set()),
}


def messages_refusal(messages: list[Any], *, sees: bool, own: frozenset[str] = frozenset()) -> Refused | None:
    """The refusal of messages. `own` are the service's extra fields that it accepts in an assistant's message or its
    calls.
    """
    if not messages:
        return Refused(400, "'messages' is too short.", "messages", "empty_array")
    owed: list[str] = []  # tool calls without a result yet
    for at, message in enumerate(messages):
        if not isinstance(message, dict) or message.get("role") not in FIELDS:
            return Refused(400, "A message has a role that is known.", "messages.role", "invalid_value")
        needed, allowed = FIELDS[message["role"]]
        if message["role"] == "assistant":
            allowed = allowed | own
        if unknown := set(message) - needed - allowed:
            return Refused(400, f"'messages.{at}': property '{min(unknown)}' is unsupported", "messages")
        if not needed <= set(message):
            return Refused(400, "A message has a role and a content.", "messages", "invalid_type")
        calls = message.get("tool_calls")
        if message["role"] == "user" and isinstance(message["content"], list):
            if refused := _parts(message["content"], f"messages.[{at}].content", sees=sees):
                return refused
        elif not isinstance(message.get("content"), str) and not (calls and message.get("content") is None):
            return Refused(400, "Invalid type for 'content'.", "messages.content", "invalid_type")
        if message["role"] == "tool":
            if message["tool_call_id"] not in owed:
                detail = (
                    "messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
                )
                return Refused(400, detail, "messages.role", "invalid_value")
            owed.remove(message["tool_call_id"])
        elif owed:
            detail = "An assistant message with 'tool_calls' must be followed by tool messages for each id."
            return Refused(400, detail, "messages", "invalid_value")
        if calls is not None:
            if refused := _calls(calls, own):
                return refused
            owed = [call["id"] for call in calls]
    if owed:
        detail = f"The following tool_call_ids did not have response messages: {', '.join(owed)}"
        return Refused(400, detail, "messages", "invalid_value")
    return None


def _parts(parts: list[Any], where: str, *, sees: bool) -> Refused | None:
    """Texts and images of a user's message, in OpenAI's words."""
    if not parts:
        return Refused(400, "Invalid 'content': empty array.", where, "empty_array")
    for place, part in enumerate(parts):
        name = f"{where}.[{place}]"
        kind = part.get("type") if isinstance(part, dict) else None
        if (
            kind == "text"
            and set(part) == {"type", "text"}
            and isinstance(part["text"], str)
            and part["text"]
        ):
            continue
        if kind != "image_url" or set(part) != {"type", "image_url"}:
            detail = f"Invalid value: '{kind}'. Supported values are: 'text' and 'image_url'."
            return Refused(400, detail, f"{name}.type", "invalid_value")
        if not sees:
            detail = "Invalid content type. image_url is only supported by certain models."
            return Refused(400, detail, f"{name}.type")
        image = part["image_url"]
        if not isinstance(image, dict) or not {"url"} <= set(image) <= {"url", "detail"}:
            detail = f"Invalid type for '{name}.image_url': expected an object."
            return Refused(400, detail, f"{name}.image_url", "invalid_type")
        if fault(*parts_of(image["url"])):
            detail = (
                "You uploaded an unsupported image. Please make sure your image has of one the following formats: "
                "['png', 'jpeg', 'gif', 'webp']."
            )
            return Refused(400, detail, "", "invalid_image_format")
    return None


def _calls(calls: object, own: frozenset[str]) -> Refused | None:
    bad = Refused(400, "Invalid 'tool_calls'.", "messages.tool_calls", "invalid_value")
    if not isinstance(calls, list) or not calls:
        return bad
    for call in calls:
        if not isinstance(call, dict) or set(call) - own != {"id", "type", "function"}:
            return bad
        function = call["function"]
        if call["type"] != "function" or not isinstance(call["id"], str) or not call["id"]:
            return bad
        if not isinstance(function, dict) or set(function) != {"name", "arguments"}:
            return bad
        if bad_name(function["name"]) or not isinstance(function["arguments"], str):
            return bad
        # OpenAI accepts any text; services that fill a chat template (vLLM, llama.cpp) need an object.
        try:
            is_object = isinstance(json.loads(function["arguments"]), dict)
        except ValueError:
            is_object = False
        if not is_object:
            return Refused(
                400, "The arguments are not a JSON object.", "messages.tool_calls", "invalid_value"
            )
    if len({call["id"] for call in calls}) < len(calls):
        return Refused(400, "Duplicate tool call id.", "messages.tool_calls", "invalid_value")
    return None


def tools_refusal(body: Body) -> Refused | None:
    tools = body.get("tools")
    if tools is None:
        for name in ("tool_choice", "parallel_tool_calls"):
            if name in body:
                return Refused(400, f"'{name}' is only allowed when 'tools' are specified.", name)
        return None
    if not tools:
        return Refused(400, "'tools' is too short.", "tools", "empty_array")
    names = []
    for tool in tools:
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or set(tool) != {"type", "function"} or tool["type"] != "function":
            return Refused(400, "A tool has a type and a function.", "tools", "invalid_type")
        if not {"name"} <= set(function) <= {"name", "description", "parameters", "strict"}:
            return Refused(400, "Unknown parameter of a function.", "tools.function", "unknown_parameter")
        if bad_name(function["name"]):
            return Refused(400, "Invalid name of a function.", "tools.function.name", "invalid_value")
        parameters = function.get("parameters", {"type": "object"})
        if not isinstance(parameters, dict) or parameters.get("type") != "object":
            return Refused(400, "Invalid schema of a function.", "tools.function.parameters")
        if function.get("strict") and (detail := schema_fault(parameters)):
            detail = f"Invalid schema for function '{function['name']}': {detail}"
            return Refused(400, detail, "tools.function.parameters", "invalid_function_parameters")
        names.append(function["name"])
    if len(set(names)) < len(names):
        return Refused(400, "Tool names must be unique.", "tools", "invalid_value")
    choice = body.get("tool_choice", "auto")
    named = [{"type": "function", "function": {"name": name}} for name in names]
    if choice not in ("auto", "none", "required", *named):
        return Refused(400, "Invalid 'tool_choice'.", "tool_choice", "invalid_value")
    return None
