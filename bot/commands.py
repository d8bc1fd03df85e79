"""The table of verbs: every command of the bot, collected from the kinds of work.

Knows no platform and runs nothing. The terminal's parser and completion, /help, the command line, every platform's
commands and docs/commands.md (`bot.manual`) are built from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final

from bot.events import UserError
from bot.kind import Kind, Runs, Setting
from bot.verb import Verb
from bot.works import ALL

if TYPE_CHECKING:
    from bot.resources import Resources
    from bot.work import Work

FOLLOW_UP = "follow_up"
"""The option that marks plain text, which may refer to what was said before, unlike a typed verb."""
ON_MESSAGE = "on_message"
"""The option that marks a verb called from the menu of a run's message, not by one of the run's buttons."""
UNDER = "under"
"""The option that a button adds to its verb: what the button belongs to (`Choice.under`)."""
RUN = "run:"
"""The prefix of that option's value if only the run is known whose message has the button."""
OPENLY = "openly"
"""The option that marks a personal verb that is answered in public because no private answer is possible."""
MAX_LINE = 8_000
"""The most characters of one typed line: more than a question needs, fewer than any model's window has."""

KINDS: Final[Mapping[str, Kind]] = {name: import_module(f"bot.works.{name}").KIND for name in ALL}


class _Rows(dict[tuple[str, str], Verb]):
    """A mapping whose missing keys raise UserError."""

    def __missing__(self, key: tuple[str, str]) -> Verb:
        raise UserError("commands.unknown_verb_only", name=" ".join(key), help="help")


ROWS: Final[Mapping[tuple[str, str], Verb]] = _Rows(
    ((verb.work, verb.name), verb) for kind in KINDS.values() for verb in kind.verbs
)
"""Every verb by its work and its name, including inner verbs. Raises UserError ("commands.unknown_verb…") for any other
key.
"""
TABLE: Final = tuple(verb for verb in ROWS.values() if not verb.inner)
"""The verbs that people can use."""
SETTINGS: Final[Mapping[str, Setting]] = {
    setting.name: setting for kind in KINDS.values() for setting in kind.settings
}
"""The settings that may be changed from chat, by name."""
JOBS: Final = tuple((verb.work, verb.name) for verb in TABLE if verb.background)
"""The work and verb of the background jobs."""
BARE: Final[Mapping[str, Verb]] = {verb.name: verb for verb in TABLE if verb.bare}
"""The verbs about the conversation itself, which are typed without a work's name."""
NAME_FILES: Final = frozenset(row.path for row in TABLE if row.argument is not None and row.argument.many)
"""The verbs whose argument is a list of files; a message's attached files can take its place."""
WORKS: Final = tuple(name for name, kind in KINDS.items() if not any(verb.bare for verb in kind.verbs))
HELP: Final = next(verb for verb in BARE.values() if verb.at_once)
HEAR: Final = next(verb for verb in TABLE if verb.hears)
PLAY: Final = next(verb for verb in ROWS.values() if verb.inner and verb.plain)
"""The inner verb of the button that plays transcribed words as if they had been typed."""
TELL_ADMINS: Final = next(verb for verb in ROWS.values() if verb.tells_admins)
DEFAULT_WORK: Final = ALL[0]
"""The work of a session for which none was chosen."""


def make_works(resources: Resources, runs: Runs) -> dict[str, Work]:
    """Every kind of work by its name, ready to run."""
    return {name: kind.make(resources, runs) for name, kind in KINDS.items()}


def by_heading(rows: Sequence[Verb]) -> list[tuple[str, list[Verb]]]:
    """The rows below the headings of their works (`Kind.headings`); all below "" if fewer than two headings apply."""
    groups = []
    for work in dict.fromkeys(row.work for row in rows):
        by_name = {row.name: row for row in rows if row.work == work}
        for heading, names in KINDS[work].headings.items():
            if below := [by_name[name] for name in names.split() if name in by_name]:
                groups.append((heading, below))
    return groups if len(groups) > 1 else [("", list(rows))]


def plain_verb(work: str) -> tuple[str, str]:
    """The work and verb of plain text in a session of `work`."""
    return next((row.work, row.name) for row in TABLE if row.work == work and row.plain)
