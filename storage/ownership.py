"""Declares for each table to whom its rows belong; export, deletion and withdrawal use this, so that they miss no
table.

Knows no table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Table

_KEY = "belongs"


@dataclass(frozen=True, slots=True)
class PersonRule:
    """The rows of the person whose id is in `column`, if their columns match `where`.

    `then` says what happens to them when the person's data is deleted: "delete", or "unname", which empties `column`
    and those in `emptied` and keeps the rest. Columns in `rewritten` contain the caller's JSON, which the caller
    rewrites without the person. A row to which another person's row refers in the column `held_by` ("table.column") is
    only unnamed.
    """

    column: str
    then: Literal["delete", "unname"]
    emptied: tuple[str, ...] = ()
    rewritten: tuple[str, ...] = ()
    where: Mapping[str, str] = field(default_factory=dict)
    held_by: str = ""


@dataclass(frozen=True, slots=True)
class Ownership:
    """The owners of a table's rows: `people`, and the column `run`, say whose rows they are.

    `goes_with` says when a run's rows are deleted: when the "run" is withdrawn, only with the "person" who asked, or
    ("") never. If they stay, the columns in `blanked` are emptied when a person's run is withdrawn. If they are
    deleted, rows whose columns match `stays` are kept without words, because they are still needed. `within` names the
    table whose rows delete these, too. `copies`: the data also exists elsewhere, so exports leave it out. `to` says of
    rows that are nobody's whose they are: the "space"'s, the "platform"'s, the "process"'s, or those of a "cache" of
    what people wrote, without a name, which is emptied.
    """

    people: tuple[PersonRule, ...] = ()
    run: str = ""
    goes_with: Literal["run", "person", ""] = ""
    blanked: tuple[str, ...] = ()
    stays: Mapping[str, str] = field(default_factory=dict)
    within: str = ""
    copies: bool = False
    to: Literal["", "space", "platform", "process", "cache"] = ""

    @property
    def info(self) -> dict[str, Any]:
        """The declaration in the form that `Table` accepts."""
        return {_KEY: self}


def going(table: Table) -> list[ColumnElement[bool]]:
    """Which of a run's rows are deleted, in a table whose rows are deleted with their run."""
    return [table.c[name] != value for name, value in ownership(table).stays.items()]


def ownership(table: Table) -> Ownership:
    """What the table declares. Raises KeyError if it declares nothing."""
    declared = table.info[_KEY]
    assert isinstance(declared, Ownership)
    return declared
