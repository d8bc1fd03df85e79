"""Reads and fills the table of vectors in Postgres, in the transaction of a copy.

Uses the lines of a backup: see `vectors`.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Generator, Iterable
from itertools import islice
from typing import TYPE_CHECKING

from storage import postgres_vectors
from storage.copying.databases import at_one_moment
from storage.faults import StorageFault
from storage.postgres_vectors import BATCH, TABLE, extension

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from storage.copying.databases import Addresses
    from storage.vectors import Key

Line = tuple[str, str, str]
"""The id of a vector, its document, and float32 in base64."""

_INSERT = f"""INSERT INTO {TABLE} (space, shelf, embedder, id, document_id, vector)
    SELECT space, shelf, embedder, id, document_id, CAST(vector AS halfvec)
    FROM unnest(CAST(:spaces AS text[]), CAST(:shelves AS text[]), CAST(:embedders AS text[]), CAST(:ids AS text[]),
      CAST(:documents AS text[]), CAST(:vectors AS text[])) AS new (space, shelf, embedder, id, document_id, vector)
    ON CONFLICT DO NOTHING"""


def used(connection: Connection) -> bool:
    """Whether the vectors are in this database."""
    return connection.dialect.name == "postgresql" and extension(connection).used


def begin(connection: Connection) -> bool:
    """Make an empty table; returns False if the server cannot have one. Raises the driver's error if it is down."""
    from sqlalchemy.exc import DBAPIError

    if connection.dialect.name != "postgresql":
        return False
    try:
        with connection.begin_nested():
            if not postgres_vectors.prepare(connection):
                return False
            postgres_vectors.created(connection)
    except DBAPIError as error:
        if error.connection_invalidated:
            raise
        return False  # the user may not create the extension
    return True


def drop(connection: Connection) -> None:
    """Drop the table if there is one."""
    if used(connection):
        connection.exec_driver_sql(f"DROP TABLE {TABLE}")


def count(connection: Connection) -> int:
    return int(connection.exec_driver_sql(f"SELECT count(*) FROM {TABLE}").scalar() or 0)


def count_in(addresses: Addresses) -> int | None:
    """How many vectors are in the database at these addresses; None if they have another place. Raises StorageFault."""
    if not addresses.server:
        return None
    with at_one_moment(addresses) as databases:
        connection = databases.connections["storage"]
        return count(connection) if used(connection) else None


def read(connection: Connection) -> Generator[tuple[Key, Line], None, None]:
    """All vectors, those of a space, shelf, embedder and document together."""
    import numpy as np
    from sqlalchemy import text

    query = text(
        f"SELECT space, shelf, embedder, id, document_id, CAST(vector AS text) FROM {TABLE}"
        " ORDER BY space, shelf, embedder, document_id, id"
    ).execution_options(yield_per=BATCH)
    with connection.execute(query) as result:
        for space, shelf, embedder, id, document, vector in result:
            numbers = np.array(json.loads(vector), dtype="<f4")
            yield (space, shelf, embedder), (id, document, b64encode(numbers.tobytes()).decode())


def insert(connection: Connection, keyed_lines: Iterable[tuple[Key, Line]]) -> None:
    """Insert vectors that the table does not contain yet. Raises StorageFault ("damaged") for one without numbers."""
    import numpy as np
    from sqlalchemy import text

    rows = iter(keyed_lines)
    while batch := list(islice(rows, BATCH)):
        try:
            vectors = [
                postgres_vectors.texts(np.frombuffer(b64decode(line[2]), dtype="<f4").reshape(1, -1))[0]
                for _, line in batch
            ]
        except ValueError as error:
            raise StorageFault("damaged", "a vector") from error
        spaces, shelves, embedders = zip(*(key for key, _ in batch), strict=True)
        parameters = {
            "spaces": list(spaces),
            "shelves": list(shelves),
            "embedders": list(embedders),
            "ids": [line[0] for _, line in batch],
            "documents": [line[1] for _, line in batch],
            "vectors": vectors,
        }
        connection.execute(text(_INSERT), parameters)
