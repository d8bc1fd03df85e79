"""Where the durable engine (DBOS) keeps its rows, beside the storage's, and how its tables are made.

Its rows are copied as they are: an unfinished run goes on from them wherever they are.
"""

from __future__ import annotations

import logging
from pathlib import Path

from storage.copying.databases import Addresses
from storage.faults import fault_of

SCHEMA = "dbos"
VERSIONS = "dbos_migrations"
RUNS = "workflow_status"


def addresses(url: str | None, data: Path) -> Addresses:
    """Both databases' addresses; `url` is the settings', None for the file in the data folder."""
    storage = (url or f"sqlite:///{data / 'sutradhar.db'}").replace("sqlite+aiosqlite:", "sqlite:", 1)
    engine = f"sqlite:///{data / 'engine.db'}" if storage.startswith("sqlite") else storage
    return Addresses(storage, engine, SCHEMA, VERSIONS, RUNS)


def prepare(url: str) -> None:
    """Make the engine's tables where they are not there, and bring them to this release's form. Raises StorageFault."""
    logger = logging.getLogger("dbos")  # it writes to the console unless it has a handler
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    from dbos import DBOS

    try:
        DBOS.migrate(url, schema=SCHEMA)
    except Exception as error:  # whatever its drivers raise
        raise fault_of(error) from error
