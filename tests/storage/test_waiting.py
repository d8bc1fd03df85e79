"""What waits in a place, and how much has not been shown yet, on SQLite and on Postgres."""

from __future__ import annotations

from dataclasses import replace

from storage.db import Database
from storage.inbox import Inbox, NewRequest
from storage.unshown import Unshown

HERE = ("T1", "slack", "C1", "1.1")
ASKED = NewRequest("one", "slack", "T1", "C1", "1.1", "me", "rules", "ask", True, "{}")


async def test_a_request_waits_in_its_place_until_it_has_ended(db: Database) -> None:
    inbox = Inbox(db)
    assert not await inbox.waiting_at(*HERE)
    await inbox.receive([ASKED])
    assert await inbox.waiting_at(*HERE)
    await inbox.set_states({"one": "running"})
    assert await inbox.waiting_at(*HERE)
    await inbox.set_states({"one": "stopped"})
    assert not await inbox.waiting_at(*HERE)


async def test_requests_elsewhere_or_without_an_order_do_not_count(db: Database) -> None:
    inbox = Inbox(db)
    others = {"space": "T2", "platform": "discord", "channel": "C2", "thread": "2.2", "ordered": False}
    await inbox.receive([replace(ASKED, id=name, **{name: value}) for name, value in others.items()])  # type: ignore[arg-type]
    assert not await inbox.waiting_at(*HERE)
    assert await inbox.waiting_at("T1", "slack", "C2", "1.1")


async def test_health_checks_need_few_queries(db: Database) -> None:
    """They ask whether the database answers, and how much has not been shown yet in any space."""
    unshown = Unshown(db)
    await db.answers()
    assert await unshown.count() == 0
    for space in ("one", "other"):
        await unshown.keep(space, "run", "", status="done")
    await unshown.keep("one", "run", "", status="stopped")
    assert await unshown.count() == 2
