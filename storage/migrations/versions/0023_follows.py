"""Which run a request answers or repeats."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"

ROWS = 1_000
"""Requests that are read at once."""


def upgrade() -> None:
    op.add_column("inbox", sa.Column("follows", sa.String(), nullable=False, server_default=""))
    op.create_index(op.f("ix_inbox_follows"), "inbox", ["follows"])
    inbox = sa.table(
        "inbox",
        sa.column("seq", sa.BigInteger),
        sa.column("payload", sa.Text),
        sa.column("follows", sa.String),
    )
    some = sa.select(inbox.c.seq, inbox.c.payload).order_by(inbox.c.seq).limit(ROWS)
    named = inbox.update().where(inbox.c.seq == sa.bindparam("of")).values(follows=sa.bindparam("run"))
    connection, last = op.get_bind(), 0
    while rows := connection.execute(some.where(inbox.c.seq > last)).all():
        last = rows[-1].seq
        found = [{"of": row.seq, "run": run} for row in rows if (run := _followed(row.payload))]
        if found:
            connection.execute(named, found)


def _followed(payload: str) -> str:
    try:
        request = json.loads(payload)
        return str(request.get("answers") or request["options"].get("repeats") or "")
    except (AttributeError, KeyError, TypeError, ValueError):  # it cannot be read, and so is no repetition
        return ""
