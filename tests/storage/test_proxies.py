"""The names under which proxy bots post: whose they are, in which space, and for how long."""

from __future__ import annotations

from storage.db import Database
from storage.people import People
from storage.proxies import Proxies


async def test_a_proxied_name_belongs_to_one_space_and_is_deleted_with_the_person(db: Database) -> None:
    proxies = Proxies(db)
    for space in ("one", "two"):
        await proxies.offer(space, "Mira", "bia", "Bia")
    assert await proxies.confirm("one", "mira", "bia", "Bia")
    assert [row.confirmed for row in await proxies.named("two", "Mira")] == [False]
    assert not await proxies.confirm("two", "Mira", "cai", "Cai"), "it was never offered to Cai"
    assert not await proxies.remove("two", "Mira", "cai")
    rows = await People(db).rows_about("one", "bia", "now")
    assert [row["name"] for row in rows["proxied_names"]] == ["Mira"]
    await People(db).delete("one", "bia", "now", lambda payload: payload)
    assert await proxies.by_person("one", "bia") == []
    assert len(await proxies.by_person("two", "bia")) == 1
