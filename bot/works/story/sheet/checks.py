"""The dice and the target of a check on a character's sheet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bot.works.story.log.story import Story
from bot.works.story.sheet.sheet import Sheet, sheet_of
from bot.works.story.sheet.template import plain_name

Results = tuple[tuple[int, Mapping[str, str]], ...]
SAVE: Final = "-save"


@dataclass(frozen=True, slots=True)
class Check:
    """A check: `dice` without the modifier, and `under`, the number that the total must not exceed, if there is one.

    `results` are (minimum total, names of the outcome by locale), the largest first.
    """

    name: str
    dice: str
    modifier: int
    under: int | None = None
    results: Results = ()


@dataclass(frozen=True, slots=True)
class Checks:
    """The checks of one character; without a `sheet` there are none."""

    sheet: Sheet | None = None
    locale: str = "en"

    def check(self, name: str, *, save: bool = False) -> Check | None:
        """The check of an attribute, skill or thing, or the saving throw of an attribute; None for an unknown name."""
        if (sheet := self.sheet) is None:
            return None
        template, field = sheet.template, sheet.template.field(name)
        if save and field is not None:
            field = template.fields.get(f"{field.key}{SAVE}", field)
        if field is None:
            value = sheet.values.get(plain_name(name)) if not save else None
            return None if value is None else Check(sheet.things[plain_name(name)], template.dice, value)
        title = field.names.get(self.locale, field.key)
        if template.check == "under":
            score = sheet.score(field)
            modifier = sheet.modifier(field) if field.group == "attributes" else 0
            return None if score is None else Check(title, template.dice, modifier, score)
        if field.group == "counters":
            return None
        return Check(title, template.dice, sheet.modifier(field), results=template.results)

    def number(self, name: str) -> int | None:
        """The modifier of an attribute or a skill in dice, such as "str" in "1d8+str"; None for an unknown name."""
        if self.sheet is None:
            return None
        field = self.sheet.template.field(name)
        return self.sheet.modifier(field) if field is not None and field.group != "counters" else None


def checks_for(story: Story, character: str, locale: str) -> Checks:
    """The checks of a character; of none for ""."""
    return Checks(sheet_of(story, character) if character else None, locale)
