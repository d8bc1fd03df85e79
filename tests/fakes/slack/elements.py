"""Finding what a person presses or fills in, and what of it goes over the wire."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

Block = dict[str, Any]
# What an element's state holds: one option, several, or something else by its own name.
_ONE = ("static_select", "radio_buttons", "overflow")
_SEVERAL = ("multi_static_select", "checkboxes")
_NAMED = {
    "users_select": "selected_user",
    "conversations_select": "selected_conversation",
    "channels_select": "selected_channel",
    "datepicker": "selected_date",
    "timepicker": "selected_time",
    "multi_users_select": "selected_users",
    "multi_conversations_select": "selected_conversations",
    "multi_channels_select": "selected_channels",
}
_TYPED = ("plain_text_input", "number_input", "email_text_input", "url_text_input")


def rich(words: str) -> list[Block]:
    """What the service makes of a person's text: one rich text."""
    parts: list[Block] = []
    for number, part in enumerate(re.split(r"<@([A-Z0-9]+)>", words)):
        if number % 2:
            parts.append({"type": "user", "user_id": part})
        elif part:
            plain = part.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
            parts.append({"type": "text", "text": plain})
    return [{"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": parts}]}]


def held(blocks: list[Block]) -> Iterator[tuple[str, Block]]:
    """Each element with its block's id."""
    for block in blocks:
        if block["type"] == "rich_text":
            continue
        for one in [*(block.get("elements") or []), block.get("accessory"), block.get("element")]:
            if isinstance(one, dict) and "action_id" in one:
                yield block["block_id"], one


def button(blocks: list[Block], what: str) -> tuple[str, Block]:
    """The block's id, and the action as it is reported."""
    for block_id, one in held(blocks):
        kind = one["type"]
        if kind == "button" and what in (one["action_id"], one["text"]["text"]):
            action = {"type": kind, "action_id": one["action_id"], "text": one["text"]}
            return block_id, action | {name: one[name] for name in ("value", "style") if name in one}
        if kind == "icon_button" and what in (one["action_id"], one["text"]["text"]):
            return block_id, {"type": kind, "action_id": one["action_id"]} | {"value": one.get("value", "")}
        if kind == "feedback_buttons":
            for name in ("positive_button", "negative_button"):
                half = one[name]
                if what in (half["text"]["text"], half["value"]):
                    action = {"type": kind, "action_id": one["action_id"], "value": half["value"]}
                    return block_id, action | {"text": half["text"]}
    raise LookupError(f"there is no button {what!r} among {[one['action_id'] for _, one in held(blocks)]}")


def choice(blocks: list[Block], action_id: str, values: Sequence[str]) -> tuple[str, Block]:
    for block_id, one in held(blocks):
        if one["action_id"] == action_id:
            value: Any = (
                list(values) if one["type"] in _SEVERAL or one["type"].startswith("multi_") else values[0]
            )
            return block_id, {"action_id": action_id} | answer(one, value)
    raise LookupError(f"there is no menu {action_id!r}")


def remembers(kind: str) -> bool:
    """Whether a view keeps what was chosen."""
    return kind not in ("button", "icon_button", "feedback_buttons", "overflow")


def state(action: Block) -> Block:
    return {name: value for name, value in action.items() if name not in ("action_id", "block_id", "text")}


def answer(element: Block, value: Any) -> Block:
    """An element's state with `value` in it; for menus the value of an option."""
    kind = element["type"]
    if kind in _TYPED:
        _long_enough(element, value)
        return {"type": kind, "value": value}
    if kind in _ONE:
        return {"type": kind, "selected_option": None if value is None else _option(element, value)}
    if kind in _SEVERAL:
        return {"type": kind, "selected_options": [_option(element, one) for one in value or []]}
    if kind in _NAMED:
        return {"type": kind, _NAMED[kind]: value}
    raise ValueError(f"this fake cannot fill in a {kind}")


def _long_enough(element: Block, value: Any) -> None:
    if value is None:
        return
    if not isinstance(value, str):
        raise TypeError(f"{element['action_id']} takes text, not {value!r}")
    most, least = element.get("max_length", 3000), element.get("min_length", 0)
    if not least <= len(value) <= most:
        raise ValueError(f"{element['action_id']} takes {least} to {most} characters, not {len(value)}")


def _option(element: Block, value: str) -> Block:
    grouped = [one for group in element.get("option_groups", []) for one in group["options"]]
    for one in [*element.get("options", []), *grouped]:
        if value in (one["value"], one["text"]["text"]):
            return dict(one)
    raise LookupError(f"{element['action_id']} has no option {value!r}")


def initial(element: Block) -> Any:
    """What is in it before anybody touches it."""
    kind = element["type"]
    if kind in _ONE:
        return (element.get("initial_option") or {}).get("value")
    if kind in _SEVERAL:
        return [one["value"] for one in element.get("initial_options", [])]
    if kind in _NAMED:
        return element.get(_NAMED[kind].replace("selected", "initial"))
    return element.get("initial_value")


def fill(blocks: list[Block], state: dict[str, dict[str, Block]], values: dict[str, dict[str, Any]]) -> None:
    """Into `state`, as a person would: only what is there, and nothing that must be said left out."""
    known = {(block_id, one["action_id"]) for block_id, one in held(blocks)}
    for block_id, given in values.items():
        for action_id in given:
            if (block_id, action_id) not in known:
                raise LookupError(f"there is no field {block_id}/{action_id}, only {sorted(known)}")
    filled: list[tuple[str, str, Block]] = []
    for block in blocks:
        for block_id, one in held([block]):
            if not remembers(one["type"]):
                continue
            action_id = one["action_id"]
            before = state.get(block_id, {}).get(action_id)
            if action_id in values.get(block_id, {}):
                before = answer(one, values[block_id][action_id])
            elif before is None:
                before = answer(one, initial(one))
            filled.append((block_id, action_id, before))
            said = any(value for name, value in before.items() if name != "type")
            if block["type"] == "input" and not block.get("optional") and not said:
                raise ValueError(f"{block_id}/{action_id} must be filled in")
    for block_id, action_id, value in filled:
        state.setdefault(block_id, {})[action_id] = value
