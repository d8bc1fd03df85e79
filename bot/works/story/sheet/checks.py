"""Finds the dice and the target of a check on a character's sheet. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bot.works.story.log.story import Story
from bot.works.story.sheet.sheet import Sheet, sheet_of
from bot.works.story.sheet.template import folded

Results = tuple[tuple[int, Mapping[str, str]], ...]
SAVE: Final = "-save"


@dataclass(frozen=True, slots=True)
class Known:
    """A check on a sheet. `dice` exclude the modifier. `under`: the dice must not exceed this number. `results` are
    pairs of a minimum total and the name of its outcome, the largest first.
    """

    name: str
    dice: str
    modifier: int
    under: int | None = None
    results: Results = ()


@dataclass(frozen=True, slots=True)
class Sheets:
    """The checks of one character; none if the author plays no character."""

    sheet: Sheet | None = None
    locale: str = "en"

    def check(self, name: str, *, save: bool = False) -> Known | None:
        """The check of this attribute, skill or thing, or the `save` of an attribute; None if the sheet has none."""
        if (sheet := self.sheet) is None:
            return None
        template, own = sheet.template, sheet.template.field(name)
        if save and own is not None:
            own = template.fields.get(f"{own.key}{SAVE}", own)
        if own is None:
            value = sheet.values.get(folded(name)) if not save else None
            return None if value is None else Known(sheet.things[folded(name)], template.dice, value)
        shown = own.names.get(self.locale, own.key)
        if template.check == "under":
            score = sheet.score(own)
            modifier = sheet.modifier(own) if own.group == "attributes" else 0
            return None if score is None else Known(shown, template.dice, modifier, score)
        if own.group == "counters":
            return None
        return Known(shown, template.dice, sheet.modifier(own), results=template.results)

    def number(self, name: str) -> int | None:
        """The modifier of an attribute or a skill in dice, such as "str" in "1d8+str"; None for an unknown name."""
        own = self.sheet.template.field(name) if self.sheet is not None else None
        return (
            self.sheet.modifier(own) if self.sheet is not None and own and own.group != "counters" else None
        )


def sheets_for(story: Story, character: str, locale: str) -> Sheets:
    return Sheets(sheet_of(story, character) if character else None, locale)
