"""A scene's changes to sheets, from the extractor's answer: proposals until somebody applies or ignores them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, Protocol

from bot.events import UserError
from bot.works.story.log.story import Story
from bot.works.story.log.turn import Change
from bot.works.story.sheet.changes import MOST, lasting, parse
from bot.works.story.sheet.sheet import Sheet, sheets
from bot.works.story.sheet.template import folded

if TYPE_CHECKING:
    from bot.words import Words

CHARACTERS: Final = 4
"""The maximum number of characters with changes by one scene: each is a button, and one more ignores them."""


class Found(Protocol):
    """The extractor's finding about one character; `change` is worded as people type it."""

    @property
    def character(self) -> str: ...
    @property
    def change(self) -> str: ...


def proposals(story: Story, found: Iterable[Found], say: Words) -> list[dict[str, Any]]:
    """The bodies of the proposals, one for each character with a sheet. Text that cannot be parsed, and changes to what
    a character is rather than what has happened to it, are ignored.
    """
    standing, by_name = sheets(story), dict[str, list[Change]]()
    for one in found:
        key = folded(one.character)
        if key not in standing:
            continue
        changes = by_name.setdefault(key, [])
        for part in one.change.replace(";", ",").split(","):
            try:
                read = parse(part, standing[key].template)
            except UserError:
                continue
            changes += [
                change for change in read if _happens(change, standing[key]) and change not in changes
            ]
    return [
        {
            "name": standing[key].name,
            "text": ", ".join(worded(change, standing[key], say.locale) for change in changes[:MOST]),
            "changes": [body(change) for change in changes[:MOST]],
        }
        for key, changes in by_name.items()
        if changes
    ][:CHARACTERS]


def _happens(change: Change, sheet: Sheet) -> bool:
    """Whether a scene may make the change, and the change makes a difference."""
    if lasting(change, sheet.template) or change.most is not None or change.by == 0:
        return False
    return change.on is None or change.on != (folded(change.field) in sheet.conditions)


def worded(change: Change, sheet: Sheet, locale: str) -> str:
    """The change in words: "Hit points −4", "+poisoned", "torches = 2"."""
    if change.on is not None:
        return f"{'+' if change.on else '−'}{change.field}"
    own = sheet.template.field(change.field)
    name = own.names[locale] if own is not None else change.field
    if change.by is not None:
        return f"{name} {'+' if change.by >= 0 else '−'}{abs(change.by)}"
    return f"{name} = {change.to}"


def body(change: Change) -> dict[str, Any]:
    """The change as a node stores it."""
    fields = {"field": change.field, "to": change.to, "by": change.by, "most": change.most, "on": change.on}
    kept = {name: value for name, value in fields.items() if value is not None}
    return kept | ({"rounds": change.rounds} if change.rounds else {})
