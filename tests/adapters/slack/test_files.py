"""Files are downloaded with the workspace's own token, from Slack alone, and only up to the limit."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.adapters.slack.installed.clients import Client, Limits
from bot.adapters.slack.installed.workspaces import Workspaces
from bot.adapters.slack.placing import Origin
from bot.adapters.slack.received.fetched import Files
from bot.adapters.surface import PlaceClosed
from bot.config import SlackConfig
from bot.events import Author, File, Place, Request, UserError
from tests.fakes.slack import FakeSlack

TOKENS = {"T1": "xoxb-one", "T2": "xoxb-two"}


class Tokens(Workspaces):
    def __init__(self) -> None:
        pass

    async def client(self, team: str, enterprise: str = "") -> Client:
        if team not in TOKENS:
            raise PlaceClosed("not_installed")
        return Client(Limits(), team, token=TOKENS[team])


def asked(team: str = "T1") -> Request:
    origin = Origin("here", "C1", "U1", team).to_json()
    place = Place("slack", team, "C1", "1.0")
    return Request("0" * 32, place, Author("U1", "Ana"), "library", "add", origin=origin)


@dataclass
class Store:
    """A file server: the answer of each path, and the requests with their headers."""

    server: Any
    answers: dict[str, list[web.StreamResponse | bytes]] = field(default_factory=dict)
    asked: list[dict[str, str]] = field(default_factory=list)

    def file(self, size: int = 5) -> File:
        return File("rules.md", "", size, str(self.server.make_url("/rules.md")))

    @property
    def files(self) -> Files:
        settings = SlackConfig(api_base=str(self.server.make_url("/api")))
        return Files(Tokens(), settings, pause_s=0)


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    async def answer(request: web.Request) -> web.StreamResponse:
        service.asked.append(dict(request.headers))
        given = service.answers[request.path].pop(0)
        return web.Response(body=given) if isinstance(given, bytes) else given

    app = web.Application()
    app.router.add_get("/{name}", answer)
    async with TestServer(app) as server:
        service = Store(server)
        yield service


async def refused(files: Files, file: File, path: Path, limit: int = 5, team: str = "T1") -> str:
    with pytest.raises(UserError) as caught:
        await files.fetch(asked(team), file, path, limit)
    assert caught.value.values["name"] == file.name
    assert not any(token in f"{caught.value!r}" for token in TOKENS.values())
    return caught.value.key


@pytest.mark.parametrize("team", ["T1", "T2"])
async def test_the_token_is_that_of_the_workspace_where_it_was_asked_for(
    store: Store, tmp_path: Path, team: str
) -> None:
    store.answers["/rules.md"] = [b"12345"]
    await store.files.fetch(asked(team), store.file(), tmp_path / "in", 5)
    assert (tmp_path / "in").read_bytes() == b"12345"
    assert store.asked[0]["Authorization"] == f"Bearer {TOKENS[team]}"
    assert "Cookie" not in store.asked[0]


async def test_a_file_that_is_too_large_is_not_requested(store: Store, tmp_path: Path) -> None:
    assert await refused(store.files, store.file(6), tmp_path / "in") == "library.file_large"
    assert store.asked == []


async def test_a_file_longer_than_stated_is_cut_off_at_the_limit(store: Store, tmp_path: Path) -> None:
    store.answers["/rules.md"] = [b"x" * 300_000]
    assert await refused(store.files, store.file(), tmp_path / "in", 100_000) == "library.file_large"
    assert not (tmp_path / "in").exists()


async def test_a_brief_failure_is_retried(store: Store, tmp_path: Path) -> None:
    store.answers["/rules.md"] = [web.Response(status=503), web.Response(status=429), b"12345"]
    await store.files.fetch(asked(), store.file(), tmp_path / "in", 5)
    assert (tmp_path / "in").read_bytes() == b"12345"


@pytest.mark.parametrize(
    ("status", "key", "tries"),
    [(404, "gone", 1), (403, "locked", 1), (500, "unreachable", 3)],
)
async def test_a_failed_download_is_reported(
    store: Store, tmp_path: Path, status: int, key: str, tries: int
) -> None:
    store.answers["/rules.md"] = [web.Response(status=status) for _ in range(3)]
    assert await refused(store.files, store.file(), tmp_path / "in") == f"slack_files.{key}"
    assert len(store.asked) == tries


async def test_the_token_does_not_follow_a_redirect(store: Store, tmp_path: Path) -> None:
    store.answers["/rules.md"] = [web.Response(status=302, headers={"Location": "/elsewhere"})]
    assert await refused(store.files, store.file(), tmp_path / "in") == "slack_files.locked"
    assert len(store.asked) == 1


async def test_a_login_page_is_not_taken_for_a_book(store: Store, tmp_path: Path) -> None:
    page = b"<!DOCTYPE html><html>Sign in</html>"
    store.answers["/rules.md"] = [web.Response(body=page, content_type="text/html")]
    assert await refused(store.files, store.file(), tmp_path / "in", 100) == "slack_files.locked"
    assert not (tmp_path / "in").exists()


@pytest.mark.parametrize(
    "url",
    [
        "http://files.slack.com/files-pri/T1-F1/a.md",
        "https://files.slack.com:8443/files-pri/T1-F1/a.md",
        "https://files.slack.com.example.org/a.md",
        "https://files.slack.com@example.org/a.md",
        "https://example.org/files.slack.com/a.md",
        "https://notslack-files.com/a.md",
        "http://127.0.0.1:1/a.md",
        "https://slack.com/api/conversations.history?channel=C1",
        "https://slack.com//api/chat.postMessage?channel=C1&text=a.md",
        "file:///etc/passwd",
        "//files.slack.com/a.md",
        "a.md",
        "http://[",
        "",
    ],
)
async def test_nothing_is_downloaded_from_other_hosts(url: str, tmp_path: Path) -> None:
    files = Files(Tokens(), SlackConfig())
    assert await refused(files, File("a.md", "", 1, url), tmp_path / "in") == "slack_files.elsewhere"
    assert not (tmp_path / "in").exists()


@pytest.mark.parametrize("path", ["/api/users.list", "/%61pi/users.list", "/x/../api/users.list", "/api"])
async def test_a_file_id_cannot_name_another_api_method(store: Store, tmp_path: Path, path: str) -> None:
    file = File("a.md", "", 1, f"{str(store.server.make_url('/')).rstrip('/')}{path}")
    assert await refused(store.files, file, tmp_path / "in") == "slack_files.elsewhere"
    assert store.asked == []


async def test_nothing_is_requested_without_an_installation(store: Store, tmp_path: Path) -> None:
    assert await refused(store.files, store.file(), tmp_path / "in", team="T3") == "slack_files.locked"
    assert store.asked == []


async def test_a_shared_file_arrives_only_with_the_scope_for_files(
    tmp_path: Path,
) -> None:
    async with FakeSlack() as slack:
        team = slack.workspace("Table")
        ana, channel = team.user("Ana"), team.channel("general")
        message = await slack.say(ana, channel, "a book", files=[("rules.md", b"# Rules")], wait=False)
        given = json.loads(json.dumps(message.payload()["files"][0]))
        file = File(given["name"], "", given["size"], given["url_private"])

        class Here(Tokens):
            async def client(self, team: str, enterprise: str = "") -> Client:
                return Client(Limits(), team, token=slack.bot_token)

        files = Files(Here(), SlackConfig(api_base=slack.api))
        await files.fetch(asked(), file, tmp_path / "in", 100)
        assert (tmp_path / "in").read_bytes() == b"# Rules"
        team.scopes.remove("files:read")
        assert await refused(files, file, tmp_path / "other", 100) == "slack_files.locked"
