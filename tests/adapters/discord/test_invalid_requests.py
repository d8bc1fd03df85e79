"""Invalid requests, for which Discord bans an address, are counted, and the log warns in time."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.adapters.discord.installed.traffic import LIMIT, WINDOW_S, InvalidRequests


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


async def test_refusals_count_and_shared_limits_do_not() -> None:
    async def answer(request: web.Request) -> web.Response:
        scope = {"X-RateLimit-Scope": request.query["scope"]} if "scope" in request.query else {}
        return web.Response(status=int(request.match_info["status"]), headers=scope)

    app = web.Application()
    app.router.add_get("/{status}", answer)
    counter = InvalidRequests()
    async with (
        TestServer(app) as server,
        aiohttp.ClientSession(trace_configs=[counter.trace()]) as session,
    ):
        for path in ("200", "404", "500", "401", "403", "429", "429?scope=user", "429?scope=shared"):
            async with session.get(server.make_url(f"/{path}")):
                pass
    assert counter.count == 4


def test_the_log_warns_once_at_a_tenth_at_half_and_near_the_limit(
    caplog: pytest.LogCaptureFixture,
) -> None:
    counter = InvalidRequests(Clock())
    warned = []
    for n in range(1, LIMIT + 1):
        caplog.clear()
        counter.note(403)
        if caplog.records:
            warned.append(n)
    assert warned == [LIMIT // 10, LIMIT // 2, LIMIT * 9 // 10]
    assert caplog.handler.level <= logging.WARNING


def test_requests_are_forgotten_after_ten_minutes_and_warnings_start_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Clock()
    counter = InvalidRequests(clock)
    for _ in range(LIMIT // 10):
        counter.note(429)
    assert len(caplog.records) == 1
    clock.now = WINDOW_S
    assert counter.count == 0
    for _ in range(LIMIT // 10):
        counter.note(401)
    assert len(caplog.records) == 2
