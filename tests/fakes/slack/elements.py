"""Finds the elements that a person presses or fills in, and their values in payloads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

Block = dict[str, Any]
# The value field in an element's state: one option, several, or another name.
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
    """A person's text as the service stores it: a rich text block."""
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
        for element in [*(block.get("elements") or []), block.get("accessory"), block.get("element")]:
            if isinstance(element, dict) and "action_id" in element:
                yield block["block_id"], element


def button(blocks: list[Block], label: str) -> tuple[str, Block]:
    """The block's id, and the action as it is reported."""
    for block_id, element in held(blocks):
        kind = element["type"]
        if kind == "button" and label in (element["action_id"], element["text"]["text"]):
            action = {"type": kind, "action_id": element["action_id"], "text": element["text"]}
            return block_id, action | {name: element[name] for name in ("value", "style") if name in element}
        if kind == "icon_button" and label in (element["action_id"], element["text"]["text"]):
            return block_id, {"type": kind, "action_id": element["action_id"]} | {
                "value": element.get("value", "")
            }
        if kind == "feedback_buttons":
            for name in ("positive_button", "negative_button"):
                half = element[name]
                if label in (half["text"]["text"], half["value"]):
                    action = {"type": kind, "action_id": element["action_id"], "value": half["value"]}
                    return block_id, action | {"text": half["text"]}
    raise LookupError(
        f"there is no button {label!r} among {[control['action_id'] for _, control in held(blocks)]}"
    )


def choice(blocks: list[Block], action_id: str, values: Sequence[str]) -> tuple[str, Block]:
    for block_id, element in held(blocks):
        if element["action_id"] == action_id:
            value: Any = (
                list(values)
                if element["type"] in _SEVERAL or element["type"].startswith("multi_")
                else values[0]
            )
            return block_id, {"action_id": action_id} | answer(element, value)
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
        return {
            "type": kind,
            "selected_options": [_option(element, value_chosen) for value_chosen in value or []],
        }
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
    grouped = [option for group in element.get("option_groups", []) for option in group["options"]]
    for option in [*element.get("options", []), *grouped]:
        if value in (option["value"], option["text"]["text"]):
            return dict(option)
    raise LookupError(f"{element['action_id']} has no option {value!r}")


def initial(element: Block) -> Any:
    """The initial value."""
    kind = element["type"]
    if kind in _ONE:
        return (element.get("initial_option") or {}).get("value")
    if kind in _SEVERAL:
        return [option["value"] for option in element.get("initial_options", [])]
    if kind in _NAMED:
        return element.get(_NAMED[kind].replace("selected", "initial"))
    return element.get("initial_value")


def fill(blocks: list[Block], state: dict[str, dict[str, Block]], values: dict[str, dict[str, Any]]) -> None:
    """Fill in `state` as a person could: existing elements only, and all required ones."""
    known = {(block_id, element["action_id"]) for block_id, element in held(blocks)}
    for block_id, input in values.items():
        for action_id in input:
            if (block_id, action_id) not in known:
                raise LookupError(f"there is no field {block_id}/{action_id}, only {sorted(known)}")
    filled: list[tuple[str, str, Block]] = []
    for block in blocks:
        for block_id, element in held([block]):
            if not remembers(element["type"]):
                continue
            action_id = element["action_id"]
            before = state.get(block_id, {}).get(action_id)
            if action_id in values.get(block_id, {}):
                before = answer(element, values[block_id][action_id])
            elif before is None:
                before = answer(element, initial(element))
            filled.append((block_id, action_id, before))
            is_filled = any(value for name, value in before.items() if name != "type")
            if block["type"] == "input" and not block.get("optional") and not is_filled:
                raise ValueError(f"{block_id}/{action_id} must be filled in")
    for block_id, action_id, value in filled:
        state.setdefault(block_id, {})[action_id] = value
