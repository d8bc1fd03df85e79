"""Checks a bot's form as Discord does.

https://docs.discord.com/developers/components/reference. Knows no interaction.
"""

from __future__ import annotations

from typing import Any

from tests.fakes.discord.component_rules import (
    ROW,
    SELECTS,
    TEXT,
    TEXTS,
    Seen,
    custom_id_of,
    kind_of,
    numbered,
    once,
    options_of,
    select,
)
from tests.fakes.discord.messages import walk
from tests.fakes.discord.refusal import bad, items, number, table, text

INPUT, LABEL, UPLOAD, RADIO, CHECKBOXES, CHECKBOX = 4, 18, 19, 21, 22, 23
CONTROLS = (INPUT, *SELECTS, UPLOAD, RADIO, CHECKBOXES, CHECKBOX)


def check_modal(body: Any) -> dict[str, Any]:
    data = table(body, "data")
    text(data.get("custom_id"), "data.custom_id", 1, 100)
    text(data.get("title"), "data.title", 1, 45)
    components = items(data.get("components"), "data.components", 1, 5)
    seen = Seen(set())
    for index, component in enumerate(components):
        path = f"data.components.{index}"
        kind = kind_of(component, path, (ROW, TEXT, LABEL))
        if kind == TEXT:
            text(component.get("content"), f"{path}.content", 1, TEXTS)
        elif kind == LABEL:
            text(component.get("label"), f"{path}.label", 1, 45)
            text(component.get("description"), f"{path}.description", 0, 100)
            inner = table(component.get("component"), f"{path}.component")
            _control(
                inner, kind_of(inner, f"{path}.component", CONTROLS), f"{path}.component", seen, labelled=True
            )
        else:
            inner = table(
                items(component.get("components"), f"{path}.components", 1, 1)[0], f"{path}.components.0"
            )
            _control(
                inner,
                kind_of(inner, f"{path}.components.0", (INPUT, *SELECTS)),
                f"{path}.components.0",
                seen,
                labelled=False,
            )
    numbered(list(walk(components)), seen)
    return data


def _control(component: dict[str, Any], kind: int, path: str, seen: Seen, labelled: bool) -> None:
    once(component.get("id"), path, seen)
    if kind in SELECTS:
        select(component, kind, path, seen)
        return
    custom_id_of(component, path, seen)
    if kind in (RADIO, CHECKBOXES):
        options_of(component, path, 10)
    if kind != INPUT:
        return
    number(component.get("style"), f"{path}.style", 1, 2)
    # Inside a label component it has no separate label.
    text(component.get("label"), f"{path}.label", 0 if labelled else 1, 45)
    text(component.get("placeholder"), f"{path}.placeholder", 0, 100)
    low = number(component.get("min_length") or 0, f"{path}.min_length", 0, TEXTS)
    high = number(component.get("max_length") or TEXTS, f"{path}.max_length", 1, TEXTS)
    if low > high:
        raise bad(f"{path}.min_length", "TEXT_INPUT_LENGTHS", "min_length may not exceed max_length.")
    text(component.get("value"), f"{path}.value", 0, high)
