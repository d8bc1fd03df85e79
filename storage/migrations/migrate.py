"""Brings a database to the newest revision inside the caller's transaction.

Alembic is imported only when there is something to do.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from storage.faults import StorageFault

if TYPE_CHECKING:
    from sqlalchemy import Connection

HEAD = "0032"
"""The newest file's revision. Kept here so that a start with nothing to do costs one query (a test compares)."""

DROPPED = ("council_settings", "prompt_overrides")
"""Tables of earlier revisions only."""

# Any number will do as long as every process of the program uses the same one.
_ADVISORY_LOCK = 0x5374_7261


def is_due(connection: Connection) -> bool:
    """Whether the database is behind. Raises StorageFault("newer") if it is ahead of this release."""
    stored = _stored(connection)
    if stored is not None and stored > HEAD:
        raise StorageFault("newer", f"the database has revision {stored}, this release knows {HEAD}")
    return stored != HEAD


def upgrade(connection: Connection) -> None:
    """Apply the missing revisions; all of them or, if one fails, none."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_ADVISORY_LOCK})")
    if is_due(connection):  # else another process was faster
        _upgrade(connection, "head")


def begin(connection: Connection, revision: str) -> None:
    """Make the tables of a revision, in place of ours. Raises StorageFault("newer") for one of a later release."""
    from sqlalchemy import MetaData, inspect

    from storage.tables import metadata

    if revision > HEAD:
        raise StorageFault("newer", f"revision {revision}, this release knows {HEAD}")
    ours = MetaData()
    names = {*metadata.tables, *DROPPED, "alembic_version"} & set(inspect(connection).get_table_names())
    if names:  # with none to look for, SQLAlchemy would read every table that is there
        ours.reflect(connection, only=sorted(names))
    ours.drop_all(connection)
    _upgrade(connection, revision)


def _upgrade(connection: Connection, revision: str) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    # Alembic reads options through configparser, where a lone % in a path would be an interpolation.
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def _stored(connection: Connection) -> str | None:
    if not connection.dialect.has_table(connection, "alembic_version"):
        return None
    revision = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    return str(revision) if revision is not None else None
