"""Turns the changes to sheets that the extractor found in a scene into proposals, and words and stores changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, Protocol

from bot.events import UserError
from bot.works.story.log.story import Story
from bot.works.story.log.turn import Change
from bot.works.story.sheet.changes import MOST, is_lasting, parse
from bot.works.story.sheet.sheet import Sheet, sheets
from bot.works.story.sheet.template import plain_name

if TYPE_CHECKING:
    from bot.words import Words

CHARACTERS: Final = 4
"""The maximum number of characters with proposals by one scene, since each has a button."""


class FoundChange(Protocol):
    """The extractor's finding about one character; `change` is worded as people type it."""

    @property
    def character(self) -> str: ...
    @property
    def change(self) -> str: ...


def proposals(story: Story, found: Iterable[FoundChange], say: Words) -> list[dict[str, Any]]:
    """The proposals, as nodes store them: one for each character with a sheet and changes that a scene may make.

    Text that cannot be parsed is ignored.
    """
    by_name, changes_of = sheets(story), dict[str, list[Change]]()
    for finding in found:
        key = plain_name(finding.character)
        if key not in by_name:
            continue
        changes = changes_of.setdefault(key, [])
        for part in finding.change.replace(";", ",").split(","):
            try:
                parsed = parse(part, by_name[key].template)
            except UserError:
                continue
            changes += [
                change for change in parsed if _is_possible(change, by_name[key]) and change not in changes
            ]
    return [
        {
            "name": by_name[key].name,
            "text": ", ".join(worded(change, by_name[key], say.locale) for change in changes[:MOST]),
            "changes": [body(change) for change in changes[:MOST]],
        }
        for key, changes in changes_of.items()
        if changes
    ][:CHARACTERS]


def _is_possible(change: Change, sheet: Sheet) -> bool:
    """Whether a scene may make the change, and the change makes a difference."""
    if is_lasting(change, sheet.template) or change.most is not None or change.by == 0:
        return False
    return change.on is None or change.on != (plain_name(change.field) in sheet.conditions)


def worded(change: Change, sheet: Sheet, locale: str) -> str:
    """The change in words: "Hit points −4", "+poisoned", "torches = 2"."""
    if change.on is not None:
        return f"{'+' if change.on else '−'}{change.field}"
    field = sheet.template.field(change.field)
    name = field.names[locale] if field is not None else change.field
    if change.by is not None:
        return f"{name} {'+' if change.by >= 0 else '−'}{abs(change.by)}"
    return f"{name} = {change.to}"


def body(change: Change) -> dict[str, Any]:
    """The change as a node stores it."""
    fields = {"field": change.field, "to": change.to, "by": change.by, "most": change.most, "on": change.on}
    body = {name: value for name, value in fields.items() if value is not None}
    return body | ({"rounds": change.rounds} if change.rounds else {})
