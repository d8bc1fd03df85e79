"""Alembic's entry: runs the revisions on the connection that `migrate.upgrade` hands over."""

from __future__ import annotations

from alembic import context

from storage.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    # SQLite alters a table by copying it.
    render_as_batch=True,
    # The connection begins with BEGIN IMMEDIATE by itself, so that SQLite's DDL rolls back too.
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
