"""Shows a sheet as a card in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bot.markdown import harmless
from bot.works.story.sheet.sheet import Sheet, number, things
from bot.works.story.sheet.template import folded

if TYPE_CHECKING:
    from bot.words import Words
    from bot.works.story.log.turn import Change

ALL: Final = 8
"""Up to this many attributes all are shown; with more, only those with a value."""


def card(sheet: Sheet, say: Words, locale: str) -> str:
    """The sheet as Markdown, with the names of its template in this language."""
    template = sheet.template
    attributes = template.group("attributes")
    if len(attributes) > ALL:
        attributes = [own for own in attributes if sheet.values.get(own.key)]
    parts = []
    if attributes:
        head = [say("story.sheet_attribute"), say("story.sheet_value")]
        rows = [[own.names[locale], str(sheet.score(own) or 0)] for own in attributes]
        if template.modifiers:
            head.append(say("story.sheet_modifier"))
            rows = [[*row, signed(sheet.modifier(own))] for row, own in zip(rows, attributes, strict=True)]
        else:
            rows = [[name, signed(int(value))] for name, value in rows]
        lines = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]
        parts.append("\n".join(lines))
    counters = [
        f"{own.names[locale]} {number(value, sheet.holds(own))}"
        for own in template.group("counters")
        if (value := sheet.score(own)) is not None
    ]
    skills = [
        f"{own.names[locale]} {signed(sheet.modifier(own))}"
        for own in template.group("skills")
        if own.key in sheet.values
    ]
    conditions = [
        harmless(condition.name)
        + (f" ({say('story.sheet_rounds', n=condition.rounds)})" if condition.rounds else "")
        for condition in sheet.conditions.values()
    ]
    counted = [f"{harmless(name)} {number(value, sheet.most.get(key))}" for key, name, value in things(sheet)]
    rows_of = {"counters": counters, "skills": skills, "conditions": conditions, "things": counted}
    parts += [f"**{say(f'story.sheet_{name}')}:** {', '.join(row)}" for name, row in rows_of.items() if row]
    return "\n\n".join(parts) or say("story.sheet_empty")


def line(sheet: Sheet, say: Words, locale: str) -> str:
    """A character's counters and conditions in one line of a list."""
    counters = [
        f"{own.names[locale]} {number(value, sheet.holds(own))}"
        for own in sheet.template.group("counters")
        if (value := sheet.score(own)) is not None
    ]
    facts = [*counters, *(harmless(condition.name) for condition in sheet.conditions.values())]
    return f"- **{harmless(sheet.name)}**: {', '.join(facts) or '…'}"


def said(change: Change, sheet: Sheet, locale: str) -> str:
    """A change with its result: "Hit points 8/12", "+poisoned"."""
    if change.on is not None:
        return f"{'+' if change.on else '-'}{harmless(change.field)}"
    own = sheet.template.field(change.field)
    if own is None:
        key = folded(change.field)
        return f"{harmless(change.field)} {number(sheet.values.get(key, 0), sheet.most.get(key))}"
    value = sheet.score(own)
    if own.group == "counters":
        return f"{own.names[locale]} {number(value or 0, sheet.holds(own))}"
    of_score = own.group == "attributes" and bool(sheet.template.modifiers)
    shown = f"{value} ({signed(sheet.modifier(own))})" if of_score else signed(sheet.modifier(own))
    return f"{own.names[locale]} {shown}"


def signed(value: int) -> str:
    return f"+{value}" if value >= 0 else f"−{-value}"
