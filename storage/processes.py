"""The unfinished work of processes that share a database; a process that has it alone owns all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement


def nobodys(process: ColumnElement[str], gone: str | ColumnElement[str] = "") -> ColumnElement[bool]:
    """Whether the process of that id ("" for one without a lease) has ended, or is `gone`."""
    from sqlalchemy import select

    from storage.tables import processes

    return process.not_in(select(processes.c.id).where(processes.c.id != gone))
