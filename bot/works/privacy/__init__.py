"""Exports and deletes the stored data about the person who asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.kind import Kind, Runs
from bot.verb import Option, Verb

if TYPE_CHECKING:
    from bot.resources import Resources
    from bot.work import Work

VERBS: tuple[Verb, ...] = (
    Verb("privacy", "export", personal=True, outside="always"),
    Verb(
        "privacy",
        "delete",
        options=(Option("yes", "verbs.option_yes_delete", "flag"),),
        personal=True,
        outside="always",
    ),
    Verb("privacy", "policy", personal=True, outside="always"),
)


def make(resources: Resources, runs: Runs) -> Work:
    from bot.works.privacy.work import Privacy

    return Privacy(resources, runs)


KIND = Kind("privacy", VERBS, make)
