"""response_url: five posts within half an hour, seen by the person or by all.

https://docs.slack.dev/interactivity/handling-user-interaction#message_responses.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiohttp import web

from tests.fakes.slack.content import content
from tests.fakes.slack.refusal import Refusal
from tests.fakes.slack.web import Refused

if TYPE_CHECKING:
    from tests.fakes.slack.channels import Channel
    from tests.fakes.slack.delivery import Sent
    from tests.fakes.slack.messages import Message
    from tests.fakes.slack.people import User
    from tests.fakes.slack.service import FakeSlack

USES, SECONDS = 5, 30 * 60.0


@dataclass(eq=False)
class Hook:
    url: str
    user: User
    channel: Channel
    source: Message | None
    sent: Sent | None = None
    uses: int = 0
    at: float = field(default_factory=time.monotonic)
    expired: bool = False


class Hooks:
    def __init__(self, slack: FakeSlack) -> None:
        self.slack = slack
        self.all: dict[str, Hook] = {}

    def add_to(self, app: web.Application) -> None:
        app.router.add_post("/actions/{team}/{secret}", self._door)

    def new(self, user: User, channel: Channel, source: Message | None = None) -> Hook:
        secret = secrets.token_hex(16)
        url = f"{self.slack.root}/actions/{channel.team.id}/{secret}"
        self.all[secret] = Hook(url, user, channel, source)
        return self.all[secret]

    async def _door(self, request: web.Request) -> web.Response:
        hook = self.all.get(request.match_info["secret"])
        try:
            given = self._take(hook, await request.json())
        except (Refusal, ValueError) as problem:
            error = problem.error if isinstance(problem, Refusal) else "invalid_payload"
            why = problem.why if isinstance(problem, Refusal) else ""
            self.slack.refused.append(Refused(time.monotonic(), "response_url", error, why))
            return web.json_response({"ok": False, "error": error}, status=404)
        if hook is not None and hook.sent is not None:
            hook.sent.responses.append(given)
        return web.Response(text="ok")

    def _take(self, hook: Hook | None, body: Any) -> dict[str, Any]:
        if hook is None or hook.expired or time.monotonic() - hook.at > SECONDS:
            raise Refusal("expired_url")
        if hook.uses >= USES:
            raise Refusal("used_url")
        if not isinstance(body, dict):
            raise Refusal("invalid_payload")
        self.answer(hook, body)
        hook.uses += 1
        return body

    def answer(self, hook: Hook, body: dict[str, Any]) -> Message | None:
        """Handle a post to a response_url, or the payload of a command's acknowledgement."""
        source = hook.source
        if body.get("delete_original") and source is not None:
            self.slack.post.delete(source)
            return None
        fields = {"text": ""} | content(self.slack, body)
        if body.get("replace_original") and source is not None:
            self.slack.post.change(source, **fields)
            return source
        thread = body.get("thread_ts")
        if thread is not None and thread not in hook.channel.posts:
            raise Refusal("thread_not_found")
        alone = body.get("response_type", "ephemeral") != "in_channel"
        return self.slack.post.put(
            hook.channel,
            hook.channel.team.bot,
            **fields,
            thread_ts=thread,
            ephemeral_to=hook.user if alone else None,
        )
