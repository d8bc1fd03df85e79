"""A person's earlier questions to the writer outside the story, with the answers, for the prompt of the next one."""

from __future__ import annotations

from typing import Final

from bot import untrusted
from bot.works.story.log.story import Story
from bot.works.story.log.turn import Aside

ROUNDS: Final = 6
"""How many of the newest earlier questions, with their answers, a prompt includes."""


def earlier(story: Story, author: str, verb: str, about: str = "") -> list[Aside]:
    """The person's earlier questions by the same verb about the same subject, oldest first, of turns that count."""
    key, counting = about.casefold(), {"", *story.path[: story.length]}
    asides = [
        aside
        for aside in story.asides
        if aside.author == author and aside.verb == verb and aside.about.casefold() == key
    ]
    return [aside for aside in asides if aside.turn in counting][-ROUNDS:]


def up_to(asides: list[Aside], run: str) -> list[Aside]:
    """The questions up to the one of this run, whose button was pressed; all of them if none is of this run."""
    at = next((n for n, aside in enumerate(asides, 1) if aside.run == run), len(asides))
    return asides[:at]


def as_prompt(asides: list[Aside], tag: str) -> str:
    """The questions and answers in this tag; "" for none."""
    lines = [f"{untrusted.data(aside.question)}\n{untrusted.data(aside.answer)}" for aside in asides]
    return "\n".join([f"<{tag}>", "\n\n".join(lines), f"</{tag}>"]) if lines else ""
