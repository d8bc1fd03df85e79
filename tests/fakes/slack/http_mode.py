"""Signed HTTP: events, commands and interactions as POSTs to the bot's own address.

https://docs.slack.dev/authentication/verifying-requests-from-slack. It can also send forged, replayed and late
requests, like a stranger.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import aiohttp

from tests.fakes.slack.delivery import COMMAND, EVENT, Sent, Try

if TYPE_CHECKING:
    from tests.fakes.slack.service import FakeSlack

REASONS = {"timeout": "http_timeout"}
Headers = dict[str, str]


@dataclass(frozen=True)
class Reply:
    status: int
    text: str


def sign(secret: str, timestamp: str, body: bytes) -> str:
    base = b"v0:" + timestamp.encode() + b":" + body
    return "v0=" + hmac.new(secret.encode(), base, hashlib.sha256).hexdigest()


class HttpMode:
    """On while `url` is set; then nothing is delivered on sockets."""

    def __init__(self, slack: FakeSlack) -> None:
        self.slack = slack
        self.url: str | None = None
        self._http: aiohttp.ClientSession | None = None
        self._posted: dict[str, tuple[bytes, Headers]] = {}

    def __call__(self, url: str | None) -> None:
        """Set the bot's address; None returns to Socket Mode."""
        self.url = url

    async def close(self) -> None:
        if self._http is not None:
            await self._http.close()

    async def hand(self, sent: Sent, attempt: Try) -> None:
        body, headers = self._form(sent)
        if attempt.attempt:
            reason = attempt.reason or "http_error"
            headers |= {"X-Slack-Retry-Num": str(attempt.attempt), "X-Slack-Retry-Reason": reason}
        headers |= self._signed(body)
        self._posted[attempt.id] = (body, headers)
        attempt.at = time.monotonic()
        try:
            async with asyncio.timeout(self.slack.ack_seconds):
                async with self._session().post(str(self.url), data=body, headers=headers) as response:
                    attempt.status, text = response.status, await response.text()
                    stop = response.headers.get("X-Slack-No-Retry") == "1"
        except TimeoutError:
            attempt.failed = "http_timeout"
            return
        except aiohttp.ClientError:
            attempt.failed = "connection_failed"
            return
        if attempt.status != 200:
            attempt.failed = "no_retry" if stop else "http_error"
            return
        attempt.acked = time.monotonic() - attempt.at
        attempt.done.set()
        sent.take(attempt, _answer(text))

    def _form(self, sent: Sent) -> tuple[bytes, Headers]:
        if sent.kind == EVENT:
            return json.dumps(sent.payload).encode(), {"Content-Type": "application/json"}
        fields = sent.payload if sent.kind == COMMAND else {"payload": json.dumps(sent.payload)}
        return urlencode(fields).encode(), {"Content-Type": "application/x-www-form-urlencoded"}

    def _signed(self, body: bytes, ago: float = 0.0, secret: str | None = None) -> Headers:
        timestamp = str(int(time.time() - ago))
        signature = sign(secret or self.slack.signing_secret, timestamp, body)
        return {"X-Slack-Request-Timestamp": timestamp, "X-Slack-Signature": signature}

    def _session(self) -> aiohttp.ClientSession:
        if self._http is None:
            self._http = aiohttp.ClientSession()
        return self._http

    # What others do

    async def post(self, body: bytes, headers: Headers) -> Reply:
        """Post any body to the bot's address."""
        async with self._session().post(str(self.url), data=body, headers=headers) as response:
            return Reply(response.status, await response.text())

    async def forge(self, sent: Sent, secret: str = "somebody else's secret") -> Reply:
        """Send the same body, signed with a secret that is not the app's."""
        body, headers = self._form(sent)
        return await self.post(body, headers | self._signed(body, secret=secret))

    async def unsigned(self, sent: Sent) -> Reply:
        body, headers = self._form(sent)
        return await self.post(body, headers)

    async def replay(self, sent: Sent) -> Reply:
        """Send the same request again, with its valid signature."""
        body, headers = self._posted[sent.tries[0].id]
        return await self.post(body, headers)

    async def stale(self, sent: Sent, seconds: float = 301.0) -> Reply:
        """Send the request with a valid signature of that many seconds ago."""
        body, headers = self._form(sent)
        return await self.post(body, headers | self._signed(body, ago=seconds))

    async def verify(self, challenge: str = "loopback-challenge") -> bool:
        """Send the challenge with which Slack checks an address in the app's settings."""
        asked = {
            "type": "url_verification",
            "challenge": challenge,
            "token": self.slack.verification_token,
        }
        body = json.dumps(asked).encode()
        reply = await self.post(body, {"Content-Type": "application/json"} | self._signed(body))
        return reply.status == 200 and challenge in reply.text


def _answer(text: str) -> dict[str, Any] | None:
    """JSON, or a plain text."""
    if not text.strip():
        return None
    try:
        body = json.loads(text)
    except ValueError:
        return {"text": text}
    return body if isinstance(body, dict) and body else None
