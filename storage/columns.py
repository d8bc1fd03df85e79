"""The metadata object for all tables, and column types that behave alike on both databases.

Knows no table.
"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

from sqlalchemy import BigInteger, DateTime, Dialect, Integer, MetaData, TypeDecorator

# Constraints need names so that a later migration can refer to them on both databases.
metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

NANO = Decimal("1e9")

# SQLite numbers rows by itself only when the key's type is exactly INTEGER.
Sequence = BigInteger().with_variant(Integer(), "sqlite")


class Moment(TypeDecorator[datetime]):
    """A point in time, always UTC and always aware (SQLite forgets the zone)."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value.astimezone(UTC) if value is not None else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)


class Dollars(TypeDecorator[Decimal]):
    """US dollars, kept as whole nano-dollars: exact, and SQL can add them up on both databases."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> int | None:
        return int((value * NANO).to_integral_value()) if value is not None else None

    def process_result_value(self, value: int | None, dialect: Dialect) -> Decimal | None:
        return Decimal(int(value)) / NANO if value is not None else None
