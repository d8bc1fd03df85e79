"""THE table of verbs: the one place that says what can be asked for, put together from the kinds of work.

Knows no platform and runs nothing. It drives the terminal's parser and completion, /help, the command
line, every platform's commands and docs/commands.md (`bot.manual`).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final

from bot.events import Sorry
from bot.kind import Kind, Runs, Setting
from bot.verb import Verb
from bot.works import ALL

if TYPE_CHECKING:
    from bot.events import Work
    from bot.house import House

FOLLOW_UP = "follow_up"
"""The option that marks plain text: it may lean on what was said before, as a typed verb does not."""
ON_MESSAGE = "on_message"
"""The option that marks a verb that was called on a run's message, and not by a button that the run has offered."""
OPENLY = "openly"
"""The option that marks what is personal, and is answered where others read along: nobody can be told alone there."""
MAX_LINE = 8_000
"""Characters of one typed line: more than any question needs, less than any model's window."""

KINDS: Final[Mapping[str, Kind]] = {name: import_module(f"bot.works.{name}").KIND for name in ALL}
ROWS: Final[Mapping[tuple[str, str], Verb]] = {
    (verb.work, verb.name): verb for kind in KINDS.values() for verb in kind.verbs
}
"""Every verb by its work and its name, the inner ones too."""
TABLE: Final = tuple(verb for verb in ROWS.values() if not verb.inner)
"""What people can ask for."""
SETTINGS: Final[Mapping[str, Setting]] = {one.name: one for kind in KINDS.values() for one in kind.settings}
"""What may be set from chat, by name."""
JOBS: Final = tuple((verb.work, verb.name) for verb in TABLE if verb.background)
"""The work and verb of what goes on beside the conversation."""
BARE: Final = tuple(verb for verb in TABLE if verb.bare)
"""The verbs that steer the conversation itself; they are typed without a work's name."""
NAME_FILES: Final = frozenset(one.path for one in TABLE if one.argument is not None and one.argument.many)
"""What asks for a list of files: those that come with a message stand for their names."""
WORKS: Final = tuple(name for name, kind in KINDS.items() if not any(verb.bare for verb in kind.verbs))
HELP: Final = next(verb for verb in BARE if verb.at_once)
DEFAULT_WORK: Final = ALL[0]
"""The work of a session that nobody chose."""


def made(house: House, runs: Runs) -> dict[str, Work]:
    """Every kind of work by its name, ready to run."""
    return {name: kind.make(house, runs) for name, kind in KINDS.items()}


def verb(work: str, name: str) -> Verb:
    """The row of a work's verb, an inner one too. Raises Sorry ("commands.unknown_verb…") where there is none."""
    row = ROWS.get((work, name))
    if row is None:
        raise Sorry("commands.unknown_verb_only", name=f"{work} {name}")
    return row


def bare(name: str) -> Verb | None:
    """The row of a verb that is typed without a work's name, or None."""
    for row in BARE:
        if row.name == name:
            return row
    return None


def plain_verb(work: str) -> tuple[str, str]:
    """The work and verb that plain text means in a session of `work`."""
    return next((row.work, row.name) for row in TABLE if row.work == work and row.plain)
