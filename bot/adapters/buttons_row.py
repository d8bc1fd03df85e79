"""The buttons of a page: their labels and custom_ids. Pure; does not know what a press does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bot.adapters.markdown import clean
from bot.adapters.stage_content import PageContext, StageContent

# Patterns of the custom_ids, at most 100 characters (Discord's limit); a run's id is 32 hexadecimal digits. Pages of
# sources are counted from 0, and so is a choice among all of the run's, or among what stands there meanwhile. A modal's
# run is the id of the request that the interaction which opened it would have made.
RUN = r"(?P<run>[0-9a-f]{32})"
STOP = rf"stop:{RUN}"
RETRY = rf"retry:{RUN}"
SOURCES = rf"sources:{RUN}"
SOURCES_PAGE = rf"sources:{RUN}:(?P<page>\d{{1,3}})"
SHARE = rf"share:{RUN}"
CHOICE = rf"choice:{RUN}:(?P<n>\d{{1,3}})"
MEANWHILE = rf"meanwhile:{RUN}:(?P<n>\d{{1,3}})"
FEEDBACK = rf"feedback:{RUN}:(?P<verdict>up|down)"
MODAL = rf"modal:{RUN}"

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
    """A row of choices under its prompt, which is one line; "" where the row continues the one before.

    `over`: none of them can be pressed any more. `taken` is the label of the chosen one, in the first row.
    """

    prompt: str
    buttons: tuple[Button, ...]
    over: bool = False
    taken: str = ""


def label(text: str, most: int, size: Callable[[str], int] = len) -> str:
    """The text without Markdown, for a button: at most `most` units."""
    words = " ".join(clean(text).split()) or "…"
    if size(words) <= most:
        return words
    while size(words) > most - 1:
        words = words[:-1]
    return words.rstrip() + "…"


def counted(text: str, votes: int, most: int, size: Callable[[str], int] = len) -> str:
    """The label, with the number of votes where there are any."""
    behind = f" · {votes}" if votes else ""
    return label(text, most - size(behind), size) + behind


def offers(stage: StageContent, run: str, most: int, size: Callable[[str], int] = len) -> list[Offer]:
    """The stage's first ten choices, by prompt; labels of at most `most` units."""
    rows: list[Offer] = []
    number, count = stage.first_choice, 0
    for group in stage.choices:
        buttons, over, taken = [], group.taken is not None, ""
        for n, choice in enumerate(group.choices):
            label = f"{TAKEN} {choice.label}" if n == group.taken else choice.label
            label = counted(label, stage.counts.get(number, 0), most, size)
            taken = label if n == group.taken else taken
            if count < MOST_CHOICES:
                buttons.append(Button(f"choice:{run}:{number}", label, disabled=over))
                count += 1
            number += 1
        for at in range(0, len(buttons), PER_ROW):
            prompt = " ".join(clean(group.prompt).split()) if at == 0 else ""
            row = tuple(buttons[at : at + PER_ROW])
            rows.append(Offer(prompt, row, over, taken if at == 0 else ""))
    return rows[:MOST_GROUPS]


def controls(stage: StageContent, context: PageContext, *, more: bool) -> tuple[Button, ...]:
    """The buttons of the run itself. `more`: the page has no room for all sources."""
    say, run = context.say, context.run
    sources = Button(f"sources:{run}", say("page.sources"), "📖")
    beside = [Button(*stage.meanwhile)] if stage.meanwhile is not None else []
    if not context.last:
        return (sources,) if more else ()
    if not context.ended:
        return (Button(f"stop:{run}", say("page.stop"), "⏹️"), *beside)
    row = beside if context.ended != "done" else []
    if context.retry:
        row.append(Button(f"retry:{run}", say("page.retry"), "🔁"))
    if stage.citations:
        row.append(sources)
    if context.feedback:
        row.append(Button(f"feedback:{run}:up", "", "👍"))
        row.append(Button(f"feedback:{run}:down", "", "👎"))
    if context.private and context.ended != "failed":
        row.append(Button(f"share:{run}", say(context.share), "📣"))
    return tuple(row)
