"""Handles every request: faults, the token, rate limits, the record, then its route.

It knows no routes: those are in the rest_… files, each with a table ROUTES.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiohttp import BodyPartReader, web

from tests.fakes.discord.faults import Fault
from tests.fakes.discord.limits import GLOBAL, Bucket, Limited
from tests.fakes.discord.refusal import Refusal, no

if TYPE_CHECKING:
    from tests.fakes.discord.service import FakeDiscord

BASE = "/api/v10"
REQUEST_BYTES = 25 * 1024 * 1024


@dataclass(frozen=True)
class Call:
    at: float
    method: str
    route: str
    path: str
    status: int


@dataclass(frozen=True)
class Refused:
    at: float
    method: str
    path: str
    status: int
    code: int
    why: str


@dataclass
class Ask:
    """A parsed request: the parts of its path, its form, its files."""

    discord: FakeDiscord
    method: str
    path: str
    at: float
    args: dict[str, str]
    query: dict[str, str]
    body: dict[str, Any] = field(default_factory=dict)
    uploads: dict[int, tuple[str, bytes, str]] = field(default_factory=dict)
    # A list for routes that accept one (commands).
    rows: list[Any] | None = None

    def id(self, name: str) -> int:
        """The named part of the path as a snowflake."""
        if not self.args[name].isdecimal():
            raise Refusal(400, 50035, "Invalid Form Body")
        return int(self.args[name])


Answer = dict[str, Any] | list[Any] | None
Handler = Callable[[Ask], Awaitable[Answer]]


@dataclass(frozen=True)
class Route:
    """`token` says whether the bot's token is needed; routes with the same `major` share the `bucket`."""

    method: str
    template: str
    handler: Handler
    bucket: Bucket | None = None
    major: str = "channel"
    token: bool = True


class Rest:
    def __init__(self, discord: FakeDiscord, routes: Sequence[Route]) -> None:
        self.discord = discord
        self.routes = routes

    def add_to(self, app: web.Application) -> None:
        for route in self.routes:
            app.router.add_route(route.method, BASE + route.template, self._door(route))
        app.router.add_route("*", BASE + "/{tail:.*}", self._nowhere)

    def _door(self, route: Route) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def door(request: web.Request) -> web.StreamResponse:
            path = request.path.removeprefix(BASE)
            at = time.monotonic()
            status = 0
            try:
                response = await self._through(route, request, path, at)
                status = response.status
            finally:
                self.discord.calls.append(Call(at, route.method, route.template, path, status))
                self.discord.touch()
            return response

        return door

    async def _nowhere(self, request: web.Request) -> web.Response:
        path = request.path.removeprefix(BASE)
        self.discord.calls.append(Call(time.monotonic(), request.method, "?", path, 404))
        return self._refuse(request.method, path, Refusal(404, 0, "404: Not Found"))

    async def _through(self, route: Route, request: web.Request, path: str, at: float) -> web.StreamResponse:
        fault = self.discord.faults.next(route.method, route.template, path)
        if fault is not None and fault.gate is not None:
            await fault.gate.wait()
        if fault is not None and fault.delay:
            if request.content_type != "multipart/form-data":
                await request.read()  # the request is executed even if the client does not wait
            await asyncio.sleep(fault.delay)
        if fault is not None and not fault.passes:
            await request.read()
            return self._fail(fault, request)
        headers: dict[str, str] = {}
        try:
            if route.token:
                self._authorise(request)
                everything = self.discord.limits.take(GLOBAL, "")
                if everything.wait:
                    return self._too_many(route.method, path, GLOBAL, everything.wait, {})
            ask = await self._read(route, request, path, at)
            if route.bucket is not None:
                verdict = self.discord.limits.take(route.bucket, request.match_info.get(route.major, ""))
                headers = verdict.headers
                if verdict.wait:
                    return self._too_many(route.method, path, route.bucket, verdict.wait, headers)
            answer = await route.handler(ask)
        except Refusal as refusal:
            return self._refuse(route.method, path, refusal, headers)
        except TooMany as many:
            return self._too_many(route.method, path, many.bucket, many.wait, headers)
        if fault is not None and fault.lost:
            return self._fail(Fault("", "", status=0), request)
        if answer is None:
            return web.Response(status=204, headers=headers)
        return _json(200, answer, headers)

    def _authorise(self, request: web.Request) -> None:
        if request.headers.get("Authorization") != f"Bot {self.discord.token}":
            raise Refusal(401, 0, "401: Unauthorized")

    async def _read(self, route: Route, request: web.Request, path: str, at: float) -> Ask:
        ask = Ask(self.discord, route.method, path, at, dict(request.match_info), dict(request.query))
        if not request.body_exists:
            return ask
        if (request.content_length or 0) > REQUEST_BYTES:
            raise no(40005)
        if request.content_type == "multipart/form-data":
            await _parts(request, ask)
            return ask
        body = _parse(await request.read())
        if isinstance(body, list):
            ask.rows = body
        else:
            ask.body = body
        return ask

    def _fail(self, fault: Fault, request: web.Request) -> web.Response:
        if fault.status == 0:
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=500)
        body: dict[str, Any] = {"message": f"{fault.status}: told to fail", "code": fault.code}
        headers = {}
        if fault.status == 429:
            wait = 0.5 if fault.retry_after is None else fault.retry_after
            body |= {"message": "You are being rate limited.", "retry_after": wait, "global": False}
            headers = {
                "Via": "1.1 google",
                "Retry-After": str(max(1, round(wait))),
                "X-RateLimit-Scope": "shared",
            }
        return _json(fault.status, body, headers)

    def _refuse(
        self, method: str, path: str, refusal: Refusal, headers: dict[str, str] | None = None
    ) -> web.Response:
        now = time.monotonic()
        self.discord.refused.append(Refused(now, method, path, refusal.status, refusal.code, refusal.why))
        return _json(refusal.status, refusal.body, headers or {})

    def _too_many(
        self, method: str, path: str, bucket: Bucket, wait: float, headers: dict[str, str]
    ) -> web.Response:
        self.discord.limited.append(Limited(time.monotonic(), method, path, bucket.name, wait))
        everywhere = bucket is GLOBAL
        wait = round(wait + 0.001, 3)
        headers = headers | {
            "Via": "1.1 google",
            "Retry-After": str(max(1, round(wait))),
            "X-RateLimit-Scope": "global" if everywhere else "user",
        }
        if everywhere:
            headers["X-RateLimit-Global"] = "true"
        body = {"message": "You are being rate limited.", "retry_after": wait, "global": everywhere}
        return _json(429, body, headers)


class TooMany(Exception):
    """A limit in addition to a route's own bucket, such as that of renaming."""

    def __init__(self, bucket: Bucket, wait: float) -> None:
        super().__init__(bucket.name)
        self.bucket = bucket
        self.wait = wait


def _json(status: int, value: Any, headers: dict[str, str]) -> web.Response:
    # discord.py reads a body as JSON only if the header is exactly this, with no charset.
    return web.Response(
        status=status, body=json.dumps(value).encode(), content_type="application/json", headers=headers
    )


def _parse(body: bytes) -> Any:
    if not body:
        return {}
    try:
        value = json.loads(body)
    except ValueError as cause:
        raise no(50109) from cause
    if not isinstance(value, dict | list):
        raise no(50109)
    return value


async def _parts(request: web.Request, ask: Ask) -> None:
    async for part in await request.multipart():
        if not isinstance(part, BodyPartReader):
            continue
        data = bytes(await part.read(decode=True))
        if part.name == "payload_json":
            ask.body = _parse(data)
        elif part.name and part.name.startswith("files[") and part.name[6:-1].isdecimal():
            kind = part.headers.get("Content-Type", "application/octet-stream")
            ask.uploads[int(part.name[6:-1])] = (part.filename or "unknown", data, kind)
