"""Fills empty databases from a source, compares every row, and migrates the tables to this release."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from storage.copying import rows
from storage.copying.databases import Databases, Source
from storage.faults import StorageFault
from storage.migrations import migrate

if TYPE_CHECKING:
    from storage.copying.archive import Progress
    from storage.copying.databases import Part
    from storage.copying.rows import Row

    Counted = Callable[[Generator[Row, None, None]], Generator[Row, None, None]]


def fill(source: Source, target: Databases, progress: Progress) -> Databases:
    """Copy all rows, in the caller's transactions; returns the filled databases.

    The engine's tables must exist. Raises StorageFault: "newer" for a source of a later release, "damaged" if a row
    differs after copying.
    """
    migrate.begin(target.connections["storage"], source.versions["storage"])
    target = Databases(target.addresses, target.connections)
    _check_engine(source, target)
    total = 2 * sum(shape.rows for shapes in source.shapes.values() for shape in shapes.values())
    done = 0

    def counted(copied: Generator[Row, None, None]) -> Generator[Row, None, None]:
        nonlocal done
        with closing(copied):
            for row in copied:
                done += 1
                progress("rows", done, total)
                yield row

    for part in source.versions:
        connection, tables, shapes = target.connections[part], target.tables[part], source.shapes[part]
        if part == "engine":
            for table in reversed(list(tables.values())):
                connection.execute(table.delete())
        for name, table in tables.items():
            if name in shapes:
                with _named(name):
                    rows.insert(
                        connection, table, list(shapes[name].columns), counted(source.rows(part, name))
                    )
                rows.go_on_from(connection, table, shapes[name].last_number)
        compare(source, target, part, counted)
    migrate.upgrade(target.connections["storage"])
    return Databases(target.addresses, target.connections)


@contextmanager
def _named(table: str) -> Iterator[None]:
    """Add the table's name to the error if the database refuses a row."""
    from sqlalchemy.exc import DataError, IntegrityError

    try:
        yield
    except (DataError, IntegrityError) as error:
        raise StorageFault("other", f"{table}: {' '.join(str(error.orig).split())}") from error


def compare(source: Source, target: Databases, part: Part, counted: Counted | None = None) -> None:
    """Compare a part's rows in source and target. Raises StorageFault ("damaged") if they differ."""
    for name, shape in source.shapes[part].items():
        n = 0
        if name in target.tables[part]:
            expected = source.rows(part, name)
            expected = counted(expected) if counted is not None else expected
            n = rows.compare(target.connections[part], target.tables[part][name], shape.columns, expected)
        if n != shape.rows:
            raise StorageFault("damaged", f"{n} of {shape.rows} rows of {name}")


def _check_engine(source: Source, target: Databases) -> None:
    if "engine" not in source.versions:
        return
    if int(source.versions["engine"] or 0) > int(target.versions["engine"] or 0):
        raise StorageFault("newer", "the engine's tables")
    tables = target.tables["engine"]
    for name, shape in source.shapes["engine"].items():
        if shape.rows and (name not in tables or set(shape.columns) - set(rows.kinds(tables[name]))):
            raise StorageFault("newer", f"the engine's table {name}")
