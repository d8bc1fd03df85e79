"""Handles every call of the Web API: faults, the token, scopes, rate limits, the record; then its method.

Knows no method by name: those are in the web_… files, each with a table METHODS.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiohttp import web

from tests.fakes.slack.ask import Ask
from tests.fakes.slack.faults import Fault
from tests.fakes.slack.limits import Limited
from tests.fakes.slack.refusal import Refusal, TooMany

if TYPE_CHECKING:
    from tests.fakes.slack.service import FakeSlack

BASE = "/api/"
TYPES = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data", "text/plain")


@dataclass(frozen=True)
class Call:
    """`team` is the workspace's id, None for other tokens; `status` is 0 if the connection was cut."""

    at: float
    method: str
    team: str | None
    status: int
    error: str | None
    args: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Refused:
    at: float
    method: str
    error: str
    why: str


Handler = Callable[[Ask], Awaitable[dict[str, Any]]]


@dataclass(frozen=True)
class Method:
    """`scopes` are all required; `token` says whose token: the bot's, the app's, or none."""

    name: str
    handler: Handler
    tier: int
    scopes: tuple[str, ...] = ()
    token: str = "bot"


class Web:
    def __init__(self, slack: FakeSlack, methods: Sequence[Method]) -> None:
        self.slack = slack
        self.methods = {method.name: method for method in methods}

    def add_to(self, app: web.Application) -> None:
        app.router.add_route("*", BASE + "{method:.*}", self._door)

    async def _door(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["method"].strip("/")
        ask = Ask(self.slack, name, time.monotonic())
        response, error = web.Response(status=499), None
        try:
            response, error = await self._through(ask, request)
        finally:
            team = ask.team_or_none.id if ask.team_or_none else None
            self.slack.calls.append(Call(ask.at, name, team, response.status, error, ask.args))
            self.slack.world.touch()
        return response

    async def _through(self, ask: Ask, request: web.Request) -> tuple[web.Response, str | None]:
        fault = self.slack.faults.next(ask.method)
        if fault is not None and fault.gate is not None:
            await fault.gate.wait()
        if fault is not None and fault.delay:
            await asyncio.sleep(fault.delay)
        if fault is not None and not fault.passes:
            await request.read()
            return _fail(fault, request)
        try:
            answer: dict[str, Any] = {"ok": True} | await self._answer(ask, request)
        except Refusal as refusal:
            self.slack.refused.append(Refused(ask.at, ask.method, refusal.error, refusal.why))
            answer = refusal.body
        except TooMany as many:
            wait = max(1, math.ceil(many.wait))
            key = ask.args.get("channel") or (ask.team_or_none.id if ask.team_or_none else "")
            self.slack.limited.append(Limited(ask.at, ask.method, str(key), wait))
            return _too_many(wait), "ratelimited"
        if fault is not None and fault.lost:
            return _fail(Fault("", status=0), request)
        headers = {"x-oauth-scopes": ",".join(sorted(ask.scopes))} if ask.scopes else {}
        return web.json_response(answer, headers=headers), answer.get("error")

    async def _answer(self, ask: Ask, request: web.Request) -> dict[str, Any]:
        in_json = await _read(request, ask)
        method = self.methods.get(ask.method)
        if method is None:
            raise Refusal("unknown_method", req_method=ask.method)
        if method.token != "none":
            self._authorise(method, ask, request, in_json)
        ask.need(*method.scopes)
        key = ask.team_or_none.id if ask.team_or_none else ask.token
        if wait := self.slack.limits.take(method.name, method.tier, key):
            raise TooMany(wait)
        return await method.handler(ask)

    def _authorise(self, method: Method, ask: Ask, request: web.Request, in_json: bool) -> None:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
        # In a JSON body the token does not count.
        posted = ask.args.pop("token", None)
        ask.token = token or ("" if in_json else str(posted or ""))
        if not ask.token:
            raise Refusal("not_authed")
        is_app = ask.token == self.slack.app_token
        grant = self.slack.grants.find(ask.token)
        if self.slack.grants.expired(ask.token):
            raise Refusal("token_expired")
        if not is_app and grant is None:
            raise Refusal("invalid_auth")
        if is_app != (method.token == "app"):
            raise Refusal("not_allowed_token_type")
        if grant is not None:
            ask.grant = grant
            if not grant.active:
                raise Refusal("account_inactive")


async def _read(request: web.Request, ask: Ask) -> bool:
    """Read the query, form or JSON into `ask.args`; returns whether it was JSON."""
    ask.args = dict(request.query)
    ask.basic = request.headers.get("Authorization", "")
    if request.method != "POST" or not request.can_read_body:
        return False
    if request.content_type not in TYPES:
        if request.content_length:
            raise Refusal("invalid_post_type")
        return False
    if request.content_type == "application/json":
        try:
            body = json.loads(await request.read() or b"{}")
        except ValueError:
            raise Refusal("invalid_json") from None
        if not isinstance(body, dict):
            raise Refusal("json_not_object")
        ask.args |= {name: value for name, value in body.items() if value is not None}
        return True
    ask.args |= {name: str(value) for name, value in (await request.post()).items()}
    return False


def _fail(fault: Fault, request: web.Request) -> tuple[web.Response, str | None]:
    if fault.status == 0:
        if request.transport is not None:
            request.transport.abort()
        return web.Response(status=499), "cut"
    if fault.status == 429 or fault.error == "ratelimited":
        return _too_many(fault.retry_after or 1), "ratelimited"
    if fault.status is not None:
        return web.Response(status=fault.status, text="upstream fault"), str(fault.status)
    return web.json_response({"ok": False, "error": fault.error}), fault.error


def _too_many(wait: int) -> web.Response:
    answer = {"ok": False, "error": "ratelimited"}
    return web.json_response(answer, status=429, headers={"Retry-After": str(wait)})
