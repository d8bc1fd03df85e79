"""Which buttons a page carries and what they say. Pure: what a press does is `buttons`' business."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bot.adapters import custom_ids
from bot.adapters.draft import clean
from bot.adapters.sheet import Facts, Sheet

PER_ROW = 5
"""Buttons that an action row of Discord's holds (its documentation, "Action Row"); Slack's rows hold more."""

MOST_CHOICES = 10
TAKEN = "✓"
MOST_GROUPS = 4
"""A message of Discord's without layout has five rows; one is for the controls."""


@dataclass(frozen=True, slots=True)
class Button:
    custom_id: str
    label: str = ""
    emoji: str = ""
    loud: bool = False
    disabled: bool = False


@dataclass(frozen=True, slots=True)
class Offer:
    """A row of choices under its prompt, which is one line; "" where the row goes on with the one before.

    `over`: none of them can be pressed any more. `taken` is the label of the one that was, in the row of its prompt.
    """

    prompt: str
    buttons: tuple[Button, ...]
    over: bool = False
    taken: str = ""


def label(text: str, most: int, size: Callable[[str], int] = len) -> str:
    """The text as a button shows it, which knows no Markdown: at most so long."""
    words = " ".join(clean(text).split()) or "…"
    if size(words) <= most:
        return words
    while size(words) > most - 1:
        words = words[:-1]
    return words.rstrip() + "…"


def counted(text: str, votes: int, most: int, size: Callable[[str], int] = len) -> str:
    """The label with its votes, where it has any."""
    behind = f" · {votes}" if votes else ""
    return label(text, most - size(behind), size) + behind


def offers(sheet: Sheet, run: str, most: int, size: Callable[[str], int] = len) -> list[Offer]:
    """The stage's choices, the first ten, by prompt; labels at most so long."""
    rows: list[Offer] = []
    number, shown = sheet.first_choice, 0
    for group in sheet.choices:
        buttons, over, taken = [], group.taken is not None, ""
        for n, choice in enumerate(group.choices):
            named = f"{TAKEN} {choice.label}" if n == group.taken else choice.label
            named = counted(named, sheet.counts.get(number, 0), most, size)
            taken = named if n == group.taken else taken
            if shown < MOST_CHOICES:
                buttons.append(Button(custom_ids.choice(run, number), named, disabled=over))
                shown += 1
            number += 1
        for at in range(0, len(buttons), PER_ROW):
            prompt = " ".join(clean(group.prompt).split()) if at == 0 else ""
            row = tuple(buttons[at : at + PER_ROW])
            rows.append(Offer(prompt, row, over, taken if at == 0 else ""))
    return rows[:MOST_GROUPS]


def controls(sheet: Sheet, facts: Facts, *, more: bool) -> tuple[Button, ...]:
    """What can be done with the run. `more`: there are sources that the page has no room for."""
    say, run = facts.say, facts.run
    sources = Button(custom_ids.sources(run), say("page.sources"), "📖")
    if not facts.last:
        return (sources,) if more else ()
    if not facts.ended:
        return (Button(custom_ids.stop(run), say("page.stop"), "⏹️"),)
    row = []
    if facts.retry:
        row.append(Button(custom_ids.retry(run), say("page.retry"), "🔁"))
    if sheet.citations:
        row.append(sources)
    if facts.feedback:
        row += [
            Button(custom_ids.feedback(run, one), "", sign) for one, sign in (("up", "👍"), ("down", "👎"))
        ]
    if facts.private and facts.ended != "failed":
        row.append(Button(custom_ids.share(run), say(facts.share), "📣"))
    return tuple(row)
