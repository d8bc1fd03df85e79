"""Parses what people type to change a sheet: "hp -4; str 16; +poisoned; torches 3"."""

from __future__ import annotations

import re
from typing import Final

from bot.events import UserError
from bot.works.story.log.turn import Change
from bot.works.story.sheet.template import LARGEST, Template

MOST: Final = 30
"""The maximum number of changes at once."""
NAME_CHARS: Final = 60
_SIGNS: Final = str.maketrans({"−": "-", "–": "-"})
_NUMBER = re.compile(
    r"(?P<name>[^\d=+\-/:][^=+/:]*?)\s*:?\s*(?P<value>[=+-]{0,2}\d{1,7})?(?:\s*/\s*(?P<most>\d{1,7}))?"
)
_CONDITION = re.compile(r"(?P<sign>[+-])\s*(?P<name>[^\W\d].*?)(?:\s+(?P<rounds>\d{1,4}))?")


def parse(text: str, template: Template) -> list[Change]:
    """The changes, in order. Raises UserError for a text that is not a change.

    A number with a sign is added to a counter, a score or a count; one without a sign, or after `=`, replaces the
    value. The value of a modifier (a skill, or an attribute if the template has no scores) is always replaced.
    """
    parts = [
        part for piece in re.split(r"[;,\n]", text.translate(_SIGNS)) if (part := " ".join(piece.split()))
    ]
    if not parts or len(parts) > MOST:
        raise UserError("story.sheet_how")
    return [_change(part, template) for part in parts]


def _change(part: str, template: Template) -> Change:
    if match := _CONDITION.fullmatch(part):
        return Change(_name(match["name"], part), on=match["sign"] == "+", rounds=int(match["rounds"] or 0))
    match = _NUMBER.fullmatch(part)
    if match is None or (match["value"] is None and match["most"] is None):
        raise UserError("story.sheet_change", text=part[:NAME_CHARS])
    name, typed = _name(match["name"], part), match["value"]
    field = template.field(name)
    name = field.key if field is not None else name
    most = int(match["most"]) if match["most"] else None
    if typed is None:
        return Change(name, most=most)
    if not re.fullmatch(r"=?[+-]?\d+", typed):
        raise UserError("story.sheet_change", text=part[:NAME_CHARS])
    value = int(typed.removeprefix("="))
    if abs(value) > LARGEST:
        raise UserError("story.sheet_change", text=part[:NAME_CHARS])
    is_modifier = field is not None and (
        field.group == "skills" or (field.group == "attributes" and not template.modifiers)
    )
    if typed[0] in "+-" and not is_modifier:
        return Change(name, by=value, most=most)
    return Change(name, to=value, most=most)


def _name(name: str, part: str) -> str:
    if len(name) > NAME_CHARS:
        raise UserError("story.sheet_change", text=part[:NAME_CHARS])
    return name


def is_lasting(change: Change, template: Template) -> bool:
    """Whether an undo keeps the change, since it is to an attribute, a skill or a maximum, not to what happened."""
    field = template.field(change.field)
    of_character = field is not None and field.group != "counters"
    return change.on is None and (of_character or (change.to is None and change.by is None))
