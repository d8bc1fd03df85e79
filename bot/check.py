"""A check of the installation, as `doctor`, Discord's /setup and Slack's `/sutradhar setup` list it, and the checks
that the latter two share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from bot.config import DEMO

if TYPE_CHECKING:
    from bot.config import Config, RolesConfig
    from bot.words import Words
    from storage.documents import Documents

MARKS: Final = {True: "✓", False: "✗", None: "–"}
"""The mark before a check's sentence, by `well`."""
SHELVES: Final = 5
"""The most shelves that a checklist names."""


class Check(NamedTuple):
    """The result of a check. `well` is None if it is neither good nor bad: a choice, or something to do later."""

    well: bool | None
    text: str

    @property
    def line(self) -> str:
        return f"{MARKS[self.well]} {self.text}"


def checklist(checks: Sequence[Check], say: Words, *, well: str, broken: str) -> str:
    """The checklist of a platform's /setup, in Markdown; `well` or `broken` is the key of its last sentence."""
    lines = [check.line for check in checks]
    count = sum(check.well is False for check in checks)
    end = say(broken, n=count) if count else say(well)
    return "\n".join([say("welcome.check_title"), "", *lines, "", end])


async def library_check(
    documents: Documents, space: str, say: Words, *, none: str, escaped: Callable[[str], str] = str
) -> Check:
    """The check of the library's books; `none` is the message key for an empty library."""
    shelved = await documents.list(space)
    if not shelved:
        return Check(False, say(none))
    shelves = list(dict.fromkeys(book.shelf for book in shelved))
    names = ", ".join(map(escaped, shelves[:SHELVES])) + ("…" if len(shelves) > SHELVES else "")
    return Check(True, say("welcome.check_books", n=len(shelved), count=len(shelves), shelves=names))


def model_check(config: Config, roles: RolesConfig, say: Words) -> Check:
    """The check of the model that writes answers; `roles` are those of the space."""
    answers = roles.chain("answerer")
    if not answers:
        return Check(None, say("welcome.check_model_none"))
    if answers[0] == DEMO:
        return Check(None, say("welcome.check_model_demo"))
    if variable := config.key_missing(answers[0]):
        return Check(False, say("welcome.check_model_key", model=answers[0], variable=variable))
    return Check(True, say("welcome.check_model", model=answers[0]))
