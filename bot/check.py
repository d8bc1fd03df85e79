"""A check of the installation, as `doctor`, Discord's /setup and Slack's `/sutradhar setup` list it."""

from __future__ import annotations

from typing import Final, NamedTuple

MARKS: Final = {True: "✓", False: "✗", None: "–"}
"""What stands before a check's sentence, by `well`."""


class Check(NamedTuple):
    """The result of a check. `well` None is neither good nor bad: a choice, or something that comes later."""

    well: bool | None
    text: str

    @property
    def line(self) -> str:
        return f"{MARKS[self.well]} {self.text}"
