"""Windows (Slack's modals) as views: a title, fields to type into, and what was typed read back. Pure.

Limits: Slack's documentation, "Views" and "Block elements".
"""

from __future__ import annotations

from collections.abc import Sequence

from bot.adapters.buttons_row import label as cut
from bot.adapters.slack.placing import Body
from bot.adapters.slack.text.page import Block

TITLE_CHARS = 24
"""Of a view's title, and of its buttons (Slack's documentation, "Views")."""
FIELD_CHARS = 3_000
"""The most that can be typed into a field (Slack's documentation, "Plain-text input element")."""
PART_CHARS = 2_000
"""Of a text that is to be changed, in each of its fields: there is room for more."""
HINT_CHARS = 150
SHOWN_CHARS = 3_000
"""Of a section's text (Slack's documentation, "Section block")."""
TYPED = "text"
"""The action_id of what is typed into."""


def parts(text: str) -> list[str]:
    """The text in pieces of whole lines that a field has room for, one piece of nothing."""
    found = [""]
    for line in text.splitlines(keepends=True):
        while len(line) > PART_CHARS:
            found, line = [*found, line[:PART_CHARS]], line[PART_CHARS:]
        if len(found[-1]) + len(line) > PART_CHARS:
            found.append("")
        found[-1] += line
    return [one for one in found if one] or [""]


def modal(callback: str, title: str, blocks: Sequence[Block], *, submit: str = "", close: str = "") -> Block:
    """A view as views.open takes it. `callback` is by what its submission is known."""
    view: Block = {
        "type": "modal",
        "callback_id": callback,
        "title": plain(title, TITLE_CHARS),
        "blocks": list(blocks),
    }
    if submit:
        view["submit"] = plain(submit, TITLE_CHARS)
    if close:
        view["close"] = plain(close, TITLE_CHARS)
    return view


def field(
    n: int, label: str, filled: str = "", *, hint: str = "", required: bool = True, long: bool = True
) -> Block:
    """The `n`th field to type into, from 0."""
    typed: Block = {
        "type": "plain_text_input",
        "action_id": TYPED,
        "multiline": long,
        "max_length": FIELD_CHARS,
        "focus_on_load": n == 0,
    }
    if filled:
        typed["initial_value"] = filled
    if hint:
        typed["placeholder"] = plain(hint, HINT_CHARS)
    named = label if n == 0 else f"{label} ({n + 1})"
    return {
        "type": "input",
        "block_id": block_id(n),
        "label": plain(named, FIELD_CHARS),
        "optional": not required,
        "element": typed,
    }


def block_id(n: int) -> str:
    return f"{TYPED}:{n}"


def plain(text: str, most: int) -> Block:
    """A text object without formatting, one line."""
    return {"type": "plain_text", "text": cut(text, min(most, 2_000)), "emoji": True}


def typed(body: Body) -> str:
    """What was typed into the window's fields, one after another.

    A field that ended with a whole line does so still, whatever Slack or the writer has cut off there.
    """
    view = body["view"]
    cut_off = {
        one.get("block_id"): not str((one.get("element") or {}).get("initial_value") or "").endswith("\n")
        for one in view.get("blocks") or []
    }
    found: list[str] = []
    while (one := view["state"]["values"].get(block_id(len(found)))) is not None:
        found.append(str(one.get(TYPED, {}).get("value") or ""))
    for n, text in enumerate(found[:-1]):
        if not text.endswith("\n") and not cut_off.get(block_id(n)):
            found[n] += "\n"
    return "".join(found)


def section(text: str) -> Block:
    shown = text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…"
    return {"type": "section", "text": {"type": "plain_text", "text": shown, "emoji": False}}
