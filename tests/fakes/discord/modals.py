"""Forms as a person fills them in: what the client lets them type and choose, and what it then sends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.fakes.discord.messages import SELECTS, walk

ROW, INPUT, LABEL, RADIO, CHECKBOXES, CHECKBOX = 1, 4, 18, 21, 22, 23


def filled(modal: dict[str, Any], values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The submitted components; a field that is not in `values` keeps what stood in it."""
    known = {one["custom_id"] for one in walk(modal["components"]) if "custom_id" in one}
    if set(values) - known:
        raise LookupError(f"the form has no {sorted(set(values) - known)}; it has {sorted(known)}")
    sent: list[dict[str, Any]] = []
    for one in modal["components"]:
        about = {"type": one["type"], "id": one["id"]}
        if one["type"] == LABEL:
            sent.append(about | {"component": _control(one["component"], values)})
        elif one["type"] == ROW:
            sent.append(about | {"components": [_control(inner, values) for inner in one["components"]]})
        else:
            sent.append(about)
    return sent


def _control(one: dict[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    name = one["custom_id"]
    about = {"type": one["type"], "id": one["id"], "custom_id": name}
    if one["type"] in SELECTS or one["type"] == CHECKBOXES:
        value = values.get(
            name, [option["value"] for option in one.get("options") or [] if option.get("default")]
        )
        return about | {"values": picked(one, [value] if isinstance(value, str) else list(value))}
    if one["type"] == CHECKBOX:
        return about | {"value": bool(values.get(name, one.get("default", False)))}
    if one["type"] == RADIO:
        return about | {"value": values.get(name)}
    value = values.get(name, one.get("value") or "")
    low = one.get("min_length") or (1 if one.get("required", True) else 0)
    high = one.get("max_length") or 4000
    if not (low <= len(value) <= high or (value == "" and not one.get("required", True))):
        raise ValueError(f"{name} takes {low} to {high} characters, not {len(value)}")
    return about | {"value": value}


def picked(one: dict[str, Any], values: list[str]) -> list[str]:
    """The values of the options of that value or label."""
    low, high = one.get("min_values", 1), one.get("max_values", 1)
    if not low <= len(values) <= high:
        raise ValueError(f"{one['custom_id']} takes {low} to {high} choices, not {len(values)}")
    options = one.get("options")
    if options is None:
        return values
    by_name = {name: option["value"] for option in options for name in (option["label"], option["value"])}
    unknown = [value for value in values if value not in by_name]
    if unknown:
        raise ValueError(
            f"{one['custom_id']} has no option {unknown}; it has {[option['label'] for option in options]}"
        )
    return [by_name[value] for value in values]
