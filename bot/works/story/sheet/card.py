"""Shows a sheet in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bot.markdown import harmless
from bot.works.story.sheet.sheet import Sheet, number, things
from bot.works.story.sheet.template import plain_name

if TYPE_CHECKING:
    from bot.words import Words
    from bot.works.story.log.turn import Change

ALL_SHOWN: Final = 8
"""The number of attributes up to which all are shown; of more, only those with a value are."""


def card(sheet: Sheet, say: Words, locale: str) -> str:
    """The sheet as Markdown, with the names of its template in this language."""
    template = sheet.template
    attributes = template.group("attributes")
    if len(attributes) > ALL_SHOWN:
        attributes = [field for field in attributes if sheet.values.get(field.key)]
    parts = []
    if attributes:
        head = [say("story.sheet_attribute"), say("story.sheet_value")]
        rows = [[field.names[locale], str(sheet.score(field) or 0)] for field in attributes]
        if template.modifiers:
            head.append(say("story.sheet_modifier"))
            rows = [
                [*row, signed(sheet.modifier(field))] for row, field in zip(rows, attributes, strict=True)
            ]
        else:
            rows = [[name, signed(int(value))] for name, value in rows]
        lines = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]
        parts.append("\n".join(lines))
    skills = [
        f"{field.names[locale]} {signed(sheet.modifier(field))}"
        for field in template.group("skills")
        if field.key in sheet.values
    ]
    conditions = [
        harmless(condition.name)
        + (f" ({say('story.sheet_rounds', n=condition.rounds)})" if condition.rounds else "")
        for condition in sheet.conditions.values()
    ]
    counts = [f"{harmless(name)} {number(value, sheet.most.get(key))}" for key, name, value in things(sheet)]
    rows_of = {
        "counters": _counters(sheet, locale),
        "skills": skills,
        "conditions": conditions,
        "things": counts,
    }
    parts += [f"**{say(f'story.sheet_{name}')}:** {', '.join(row)}" for name, row in rows_of.items() if row]
    return "\n\n".join(parts) or say("story.sheet_empty")


def _counters(sheet: Sheet, locale: str) -> list[str]:
    """The counters with a value, such as "Hit points 8/12"."""
    return [
        f"{field.names[locale]} {number(value, sheet.maximum(field))}"
        for field in sheet.template.group("counters")
        if (value := sheet.score(field)) is not None
    ]


def line(sheet: Sheet, locale: str) -> str:
    """A character's counters and conditions as an item of a list."""
    conditions = (harmless(condition.name) for condition in sheet.conditions.values())
    facts = [*_counters(sheet, locale), *conditions]
    return f"- **{harmless(sheet.name)}**: {', '.join(facts) or '…'}"


def result(change: Change, sheet: Sheet, locale: str) -> str:
    """What a change has led to on the sheet: "Hit points 8/12", "+poisoned"."""
    if change.on is not None:
        return f"{'+' if change.on else '-'}{harmless(change.field)}"
    field = sheet.template.field(change.field)
    if field is None:
        key = plain_name(change.field)
        return f"{harmless(change.field)} {number(sheet.values.get(key, 0), sheet.most.get(key))}"
    value = sheet.score(field)
    if field.group == "counters":
        return f"{field.names[locale]} {number(value or 0, sheet.maximum(field))}"
    modifier = signed(sheet.modifier(field))
    has_score = field.group == "attributes" and bool(sheet.template.modifiers)
    return f"{field.names[locale]} {f'{value} ({modifier})' if has_score else modifier}"


def signed(value: int) -> str:
    return f"+{value}" if value >= 0 else f"−{-value}"
