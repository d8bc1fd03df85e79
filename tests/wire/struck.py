"""Checks after a kill of the bot: what it had received and stored, and what was billed.

It knows no platform: a driver has the data folder, the model, and the table's first number in the inbox.
"""

from __future__ import annotations

from typing import Any

from tests.kill.remains import cut_off, rows, steps
from tests.wire.inbox import query

LEDGER = "SELECT state, input_tokens, output_tokens FROM ledger WHERE run_id = ? ORDER BY id"


def received(d: Any) -> list[tuple[str, str]]:
    """(run, state) of the requests in the inbox of a dead process."""
    return [(run, state) for run, state in rows(d.process.data / "sutradhar.db", query(d.first))]


def calls_when_kept(d: Any, before: int) -> int | None:
    """The number of paid calls when the last answer was stored, or None until it is stored."""
    run = received(d)[-1][0] if received(d) else ""
    return len(d.model.prompts) - before if (run, "answer") in steps(d.process.data) else None


def settled(d: Any, calls: int) -> None:
    """Check the ledger: one counted entry, as in an undisturbed run, and otherwise only calls that were cut off."""
    database = d.process.data / "sutradhar.db"
    (reference, _), (run, state) = received(d)
    assert state == "done"
    ((_, *tokens),) = rows(database, LEDGER, reference)
    paid = rows(database, LEDGER, run)
    assert ("settled", *tokens) in paid, paid
    assert all(row == ("settled", *tokens) or cut_off(row) for row in paid), paid
    assert calls <= len(paid)
    assert len(rows(database, "SELECT 1 FROM exchanges WHERE run_id = ?", run)) == 1
