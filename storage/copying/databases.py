"""Reads at one moment, or fills, the two databases that are copied together: the storage's and the engine's.

Of the engine's tables it knows only the one with its version.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from storage.copying import rows
from storage.copying.rows import Row, Shape
from storage.faults import StorageFault

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine, Table

Part = Literal["storage", "engine"]
PARTS: tuple[Part, ...] = ("storage", "engine")

BUSY_S = 30
"""How many seconds to wait for other writers."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """The SQLAlchemy URLs of both databases. On a server they are the same, and the engine has the schema `schema`.

    `versions` is the engine's one-row table with its schema version, `runs` its table of runs.
    """

    storage: str
    engine: str
    schema: str
    versions: str
    runs: str

    @property
    def server(self) -> bool:
        return not self.storage.startswith("sqlite")

    @property
    def files(self) -> dict[Part, Path]:
        """The paths of the databases that are SQLite files."""
        urls: dict[Part, str] = {"storage": self.storage, "engine": self.engine}
        return {part: Path(url.split("///", 1)[1]) for part, url in urls.items() if url.startswith("sqlite")}


def without_password(url: str) -> str:
    """The URL without its password. Raises ValueError for an invalid URL, without repeating it."""
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise ValueError("not a database's URL") from None
    query = {name: value for name, value in parsed.query.items() if "password" not in name.casefold()}
    return parsed._replace(password=None, query=query).render_as_string(hide_password=False)  # type: ignore[arg-type]


def passwords(*urls: str) -> set[str]:
    """The passwords in URLs, both as written and decoded."""
    from urllib.parse import quote, quote_plus

    from sqlalchemy.engine import make_url

    decoded = set()
    for url in filter(None, urls):
        parsed = make_url(url)
        values = [parsed.password, *(v for name, v in parsed.query.items() if "password" in name.casefold())]
        decoded |= {str(value) for value in values if value}
    return {form for word in decoded for form in (word, quote(word, safe=""), quote_plus(word))}


class Source(Protocol):
    """The source of copied rows. `versions` is a revision for "storage"; "" if a database does not exist."""

    @property
    def versions(self) -> Mapping[Part, str]: ...

    @property
    def shapes(self) -> Mapping[Part, Mapping[str, Shape]]: ...

    def rows(self, part: Part, table: str) -> Generator[Row, None, None]: ...


class Databases:
    """Both databases, with a transaction in each; a `Source`."""

    def __init__(self, addresses: Addresses, connections: Mapping[Part, Connection]) -> None:
        self.addresses = addresses
        self.connections = connections

    @cached_property
    def tables(self) -> Mapping[Part, Mapping[str, Table]]:
        """The tables to copy, each after those that it refers to."""
        return {part: {table.name: table for table in self._tables(part)} for part in self.connections}

    @cached_property
    def shapes(self) -> Mapping[Part, Mapping[str, Shape]]:
        return {
            part: {name: rows.shape(self.connections[part], table) for name, table in tables.items()}
            for part, tables in self.tables.items()
        }

    @property
    def versions(self) -> Mapping[Part, str]:
        columns: dict[Part, tuple[str, str | None, str]] = {
            "storage": ("alembic_version", None, "version_num"),
            "engine": (self.addresses.versions, self._schema("engine"), "version"),
        }
        return {part: self._version(part, *columns[part]) for part in self.connections}

    def rows(self, part: Part, table: str) -> Generator[Row, None, None]:
        return rows.read(self.connections[part], self.tables[part][table])

    def _version(self, part: Part, table: str, schema: str | None, column: str) -> str:
        from sqlalchemy import inspect

        connection = self.connections[part]
        if not inspect(connection).has_table(table, schema):
            return ""
        name = f"{schema}.{table}" if schema else table
        return str(connection.exec_driver_sql(f"SELECT {column} FROM {name}").scalar() or "")

    def _schema(self, part: Part) -> str | None:
        return self.addresses.schema if part == "engine" and self.addresses.server else None

    def _tables(self, part: Part) -> Sequence[Table]:
        from storage.migrations.migrate import DROPPED
        from storage.tables import metadata

        connection, schema = self.connections[part], self._schema(part)
        if part == "storage":  # a server's database may also contain other programs' tables
            return rows.tables(connection, schema, (*metadata.tables, *DROPPED).__contains__)
        return rows.tables(connection, schema, lambda name: name != self.addresses.versions)

    @property
    def occupied(self) -> bool:
        """Whether the databases contain any data."""
        shapes = dict(self.shapes.get("storage", {}))
        if (runs := self.shapes.get("engine", {}).get(self.addresses.runs)) is not None:
            shapes[self.addresses.runs] = runs
        return any(shape.rows for shape in shapes.values())


@contextmanager
def at_one_moment(addresses: Addresses) -> Iterator[Databases]:
    """Open both for reading, while others write: their later writes are not seen.

    The contents are what a process killed at that moment would have left, so a start continues from it as after a
    crash. Raises StorageFault.
    """
    with ExitStack() as stack, _faults():
        if addresses.server:
            session = stack.enter_context(_server(addresses.storage, reading=True))
            yield Databases(addresses, {"storage": session, "engine": session})
            return
        files: dict[Part, Path] = {part: file for part, file in addresses.files.items() if file.exists()}
        if "storage" not in files:
            raise StorageFault("missing", str(addresses.files["storage"]))
        with ExitStack() as writers:
            # For a few milliseconds, while both reads begin, nobody may write to either. SQLite then shows a reader the
            # database of its first read until its transaction ends.
            writing = [writers.enter_context(file_connection(file)) for file in files.values()]
            connections: dict[Part, Connection] = {}
            for part, file in files.items():
                connections[part] = stack.enter_context(file_connection(file, "BEGIN"))
                connections[part].exec_driver_sql("SELECT count(*) FROM sqlite_master")
            for connection in writing:
                connection.exec_driver_sql("ROLLBACK")
        yield Databases(addresses, connections)


@contextmanager
def server_connection(url: str) -> Iterator[Connection]:
    """A connection to a server in a transaction, committed at the end, while no other process works on the database.

    Raises DatabaseBusy, StorageFault.
    """
    with _faults(), _server(url, reading=False) as connection:
        yield connection


@contextmanager
def file_connection(file: Path, begin: str = "BEGIN IMMEDIATE") -> Iterator[Connection]:
    """A connection to an SQLite file in a transaction, which is committed at the end."""
    from sqlalchemy import create_engine, event
    from sqlalchemy.pool import NullPool

    engine = create_engine(
        f"sqlite:///{file}", poolclass=NullPool, hide_parameters=True, connect_args={"timeout": BUSY_S}
    )

    def connected(connection: object, _record: object) -> None:
        connection.isolation_level = None  # type: ignore[attr-defined]  # the driver would begin too late

    event.listen(engine, "connect", connected)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))
    with _connected(engine) as connection:
        yield connection


@contextmanager
def _server(url: str, *, reading: bool) -> Iterator[Connection]:
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    from storage.advisory_locks import take_alone

    engine = create_engine(
        url, poolclass=NullPool, hide_parameters=True, connect_args={"connect_timeout": 10}
    )
    if reading:
        options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        engine = engine.execution_options(**options)
    with _connected(engine) as connection:
        if not reading:
            take_alone(connection)
        yield connection


@contextmanager
def _connected(engine: Engine) -> Iterator[Connection]:
    try:
        with engine.connect() as connection, connection.begin():
            yield connection
    finally:
        engine.dispose()


@contextmanager
def _faults() -> Iterator[None]:
    from sqlalchemy.exc import SQLAlchemyError

    from storage.faults import fault_of

    try:
        yield
    except SQLAlchemyError as error:
        raise fault_of(error) from error
