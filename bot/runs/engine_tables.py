"""Where the durable engine (DBOS) keeps its rows, and how its tables are created.

Its rows are copied unchanged: an unfinished run continues from them in any database.
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
    """The addresses of the storage's and the engine's database; `url` is from the settings, None for files in the data
    folder.
    """
    storage = (url or f"sqlite:///{data / 'sutradhar.db'}").replace("sqlite+aiosqlite:", "sqlite:", 1)
    engine = f"sqlite:///{data / 'engine.db'}" if storage.startswith("sqlite") else storage
    return Addresses(storage, engine, SCHEMA, VERSIONS, RUNS)


def prepare(url: str) -> None:
    """Create the engine's tables if they are missing, and migrate them to this release. Raises StorageFault."""
    logger = logging.getLogger("dbos")  # it logs to the console if it has no handler
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    from dbos import DBOS

    try:
        DBOS.migrate(url, schema=SCHEMA)
    except Exception as error:  # any error of its drivers
        raise fault_of(error) from error
