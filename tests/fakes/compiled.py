"""SQLite dialects that share compiled statements between all databases of this process.

SQLAlchemy caches compiled statements per database, and tests open hundreds, each of which would compile the same
statements again. tests/conftest.py replaces SQLAlchemy's dialects with these. An engine without a pool keeps its own
cache: it serves one copy of a database whose tables are read from it, and would stay in memory.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine, NullPool
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.aiosqlite import SQLiteDialect_aiosqlite
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache

_COMPILED: LRUCache[Any, Any] = LRUCache(4_000)


class _Shared:
    """SQLAlchemy's cache key includes the dialect: all dialects of a class count as one."""

    supports_statement_cache = True

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    @classmethod
    def engine_created(cls, engine: Engine) -> None:
        if not isinstance(engine.pool, NullPool):
            engine.update_execution_options(compiled_cache=_COMPILED)


class Blocking(_Shared, SQLiteDialect_pysqlite):
    supports_statement_cache = True


class Async(_Shared, SQLiteDialect_aiosqlite):
    supports_statement_cache = True


def share() -> None:
    registry.register("sqlite", __name__, Blocking.__name__)
    registry.register("sqlite.aiosqlite", __name__, Async.__name__)
