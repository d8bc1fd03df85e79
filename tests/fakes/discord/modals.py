"""Fills in forms as a person does: what the client accepts, and what it then sends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.fakes.discord.messages import SELECTS, walk

ROW, INPUT, LABEL, RADIO, CHECKBOXES, CHECKBOX = 1, 4, 18, 21, 22, 23


def filled(modal: dict[str, Any], values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The submitted components; a field that is not in `values` keeps its initial value."""
    known = {component["custom_id"] for component in walk(modal["components"]) if "custom_id" in component}
    if set(values) - known:
        raise LookupError(f"the form has no {sorted(set(values) - known)}; it has {sorted(known)}")
    sent: list[dict[str, Any]] = []
    for component in modal["components"]:
        about = {"type": component["type"], "id": component["id"]}
        if component["type"] == LABEL:
            sent.append(about | {"component": _control(component["component"], values)})
        elif component["type"] == ROW:
            sent.append(
                about | {"components": [_control(inner, values) for inner in component["components"]]}
            )
        else:
            sent.append(about)
    return sent


def _control(component: dict[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    name = component["custom_id"]
    about = {"type": component["type"], "id": component["id"], "custom_id": name}
    if component["type"] in SELECTS or component["type"] == CHECKBOXES:
        value = values.get(
            name, [option["value"] for option in component.get("options") or [] if option.get("default")]
        )
        return about | {"values": picked(component, [value] if isinstance(value, str) else list(value))}
    if component["type"] == CHECKBOX:
        return about | {"value": bool(values.get(name, component.get("default", False)))}
    if component["type"] == RADIO:
        return about | {"value": values.get(name)}
    value = values.get(name, component.get("value") or "")
    low = component.get("min_length") or (1 if component.get("required", True) else 0)
    high = component.get("max_length") or 4000
    if not (low <= len(value) <= high or (value == "" and not component.get("required", True))):
        raise ValueError(f"{name} takes {low} to {high} characters, not {len(value)}")
    return about | {"value": value}


def picked(component: dict[str, Any], values: list[str]) -> list[str]:
    """The values of the options with these values or labels."""
    low, high = component.get("min_values", 1), component.get("max_values", 1)
    if not low <= len(values) <= high:
        raise ValueError(f"{component['custom_id']} takes {low} to {high} choices, not {len(values)}")
    options = component.get("options")
    if options is None:
        return values
    by_name = {name: option["value"] for option in options for name in (option["label"], option["value"])}
    unknown = [value for value in values if value not in by_name]
    if unknown:
        raise ValueError(
            f"{component['custom_id']} has no option {unknown}; it has {[option['label'] for option in options]}"
        )
    return [by_name[value] for value in values]
