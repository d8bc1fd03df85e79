"""A measured figure, and a table of figures."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number, with its required and its desired value as text."""

    what: str
    measured: str
    reach: str = ""
    aim: str = ""
    good: bool | None = None


def table(figures: Iterable[Figure]) -> str:
    """A Markdown table; figures that miss their required value are marked."""
    rows = ["| figure | measured | reach | aim |", "|---|---:|---:|---:|"]
    for figure in figures:
        mark = " **misses**" if figure.good is False else ""
        rows.append(f"| {figure.what} | {figure.measured}{mark} | {figure.reach} | {figure.aim} |")
    return "\n".join(rows)


def data(name: str) -> Path | None:
    """The folder of a data set, or None if it is not on this machine."""
    root = os.environ.get("SUTRADHAR_BENCH_DATA")
    folder = Path(root) / name if root else None
    return folder if folder is not None and folder.is_dir() else None


def skipped(label: str) -> Figure:
    return Figure(label, "skipped: data set absent")
