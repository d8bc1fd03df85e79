"""Attachments are downloaded from Discord's own hosts, and only up to the limit."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.adapters.discord.service import Attachments
from bot.config import DiscordConfig
from bot.events import Author, File, Place, Request, UserError

REQUEST = Request("r", Place("discord", "1", "2", ""), Author("3", "Ana"), "library", "add")


@dataclass
class Store:
    """A file server: the answer of each path, and the requests with their headers."""

    server: TestServer
    answers: dict[str, list[web.StreamResponse | bytes]] = field(default_factory=dict)
    asked: list[dict[str, str]] = field(default_factory=list)

    def file(self, size: int = 5) -> File:
        return File("rules.md", "", size, str(self.server.make_url("/rules.md")))

    @property
    def fetcher(self) -> Attachments:
        return Attachments(DiscordConfig(api_base=str(self.server.make_url("/api/v10"))), pause_s=0)


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    async def answer(request: web.Request) -> web.StreamResponse:
        service.asked.append(dict(request.headers))
        given = service.answers[request.path].pop(0)
        return web.Response(body=given) if isinstance(given, bytes) else given

    app = web.Application()
    app.router.add_get("/{name}", answer)
    async with TestServer(app) as server:
        service = Store(server)  # type: ignore[arg-type]
        yield service


def key_of(caught: pytest.ExceptionInfo[UserError]) -> tuple[str, object]:
    return caught.value.key, caught.value.values["name"]


async def test_a_download_does_not_send_the_token(store: Store, tmp_path: Path) -> None:
    store.answers["/rules.md"] = [b"12345"]
    await store.fetcher.fetch(REQUEST, store.file(), tmp_path / "in", 5)
    assert (tmp_path / "in").read_bytes() == b"12345"
    assert not {"Authorization", "Cookie"} & set(store.asked[0])


async def test_a_file_that_is_too_large_is_not_requested(store: Store, tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        await store.fetcher.fetch(REQUEST, store.file(6), tmp_path / "in", 5)
    assert key_of(caught) == ("library.file_large", "rules.md")
    assert store.asked == []


async def test_a_size_just_above_the_limit_is_shown_as_larger(store: Store, tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        await store.fetcher.fetch(REQUEST, store.file(10_000_001), tmp_path / "in", 10_000_000)
    assert (caught.value.values["mb"], caught.value.values["limit"]) == ("10.1", 10)


async def test_a_file_longer_than_stated_is_cut_off_at_the_limit(store: Store, tmp_path: Path) -> None:
    """The header says how large it is, or nobody knows: the bytes read so far are not its size."""
    unsized = web.Response(body=b"x" * 3_000_000)
    unsized.enable_chunked_encoding()
    store.answers["/rules.md"] = [b"x" * 3_000_000, unsized]
    for key, size in (("library.file_large", "3"), ("library.file_over", None)):
        with pytest.raises(UserError) as caught:
            await store.fetcher.fetch(REQUEST, store.file(5), tmp_path / "in", 100_000)
        assert key_of(caught) == (key, "rules.md")
        assert caught.value.values.get("mb") == size
    assert (tmp_path / "in").stat().st_size <= 100_000


async def test_an_expired_address_is_renewed(store: Store, tmp_path: Path) -> None:
    store.answers["/rules.md"] = [web.Response(status=404)]
    with pytest.raises(UserError) as caught:
        await store.fetcher.fetch(REQUEST, store.file(), tmp_path / "in", 5)
    assert key_of(caught) == ("discord_run.file_gone", "rules.md")


@pytest.mark.parametrize("status", [429, 503])
async def test_a_brief_failure_is_retried(status: int, store: Store, tmp_path: Path) -> None:
    store.answers["/rules.md"] = [web.Response(status=status), b"12345"]
    await store.fetcher.fetch(REQUEST, store.file(), tmp_path / "in", 5)
    assert (tmp_path / "in").read_bytes() == b"12345"


@pytest.mark.parametrize(
    "url",
    [
        "http://cdn.discordapp.com/attachments/1/2/a.md",
        "https://cdn.discordapp.com.example.org/a.md",
        "https://example.org/a.md",
        "http://127.0.0.1:1/a.md",
        "file:///etc/passwd",
        "a.md",
        "",
    ],
)
async def test_nothing_is_downloaded_from_other_hosts(url: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        await Attachments(DiscordConfig()).fetch(REQUEST, File("a.md", "", 1, url), tmp_path / "in", 5)
    assert key_of(caught) == ("discord_run.file_elsewhere", "a.md")
    assert not (tmp_path / "in").exists()


async def test_a_service_that_does_not_return_is_reported_as_unreachable(
    store: Store, tmp_path: Path
) -> None:
    store.answers["/rules.md"] = [web.Response(status=503) for _ in range(3)]
    with pytest.raises(UserError) as caught:
        await store.fetcher.fetch(REQUEST, store.file(), tmp_path / "in", 5)
    assert key_of(caught) == ("discord_run.file_unreachable", "rules.md")


async def test_a_redirect_is_not_followed(store: Store, tmp_path: Path) -> None:
    store.answers["/rules.md"] = [web.Response(status=302, headers={"Location": "/elsewhere"})]
    with pytest.raises(UserError) as caught:
        await store.fetcher.fetch(REQUEST, store.file(), tmp_path / "in", 5)
    assert key_of(caught) == ("discord_run.file_gone", "rules.md")
