"""The model in the stories: the strict fake service, which answers from its queue, then with a default.

Knows no platform.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.fakes.chat_completions import ChatService, Reply
from tests.fakes.ear import Ear
from tests.fakes.reply import Gate

ANSWER = (
    "A candle burns for four hours of walking or one hour of running [1]. "
    "When the last candle goes out, the Night takes the next turn [1]."
)
ALONE = "How many hours of running does a candle burn?"
"""What a follow-up is rewritten to."""


@dataclass
class Answerer:
    """The next answers: from the `script` if there is one, otherwise from the `queue`, then `usual`. Questions are
    rewritten with `form`, without any of these.
    """

    usual: Reply = field(default_factory=lambda: Reply(ANSWER, delay_s=0.02))
    queue: list[Reply] = field(default_factory=list)
    script: Callable[[dict[str, Any]], Reply] | None = None
    findings: list[dict[str, Any]] = field(default_factory=list)
    """The extractor's findings in the next scenes; none if the list is empty."""
    form: str = json.dumps({"question": ALONE, "translations": []})
    """What is written where JSON is asked for."""
    written: Callable[[dict[str, Any]], Reply] | None = None
    """What answers where JSON is asked for, in place of `form`."""
    ear: Ear = field(default_factory=Ear)
    """What listens to recordings."""
    prompts: list[str] = field(default_factory=list)
    """What each answer was asked by, the passages and the exchanges before it included."""

    def __call__(self, body: dict[str, Any]) -> Reply:
        if "contradictions" in str(body.get("response_format")):
            return Reply(pieces=[json.dumps(self.findings.pop(0) if self.findings else {})])
        if "response_format" in body:
            if self.written is not None:
                return self.written(body)
            return Reply(pieces=[self.form])
        self.prompts.append("\n".join(str(message["content"]) for message in body["messages"]))
        if self.script is not None:
            return self.script(body)
        return self.queue.pop(0) if self.queue else self.usual

    def hold(self, text: str = ANSWER, at: int = 18) -> Gate:
        """Hold the next answer after `at` pieces, until the event is set. Slack gets the beginning of a line once it
        is too long to become a table's header.
        """
        gate = Gate()
        self.queue.append(Reply(text, gates={at: gate}, delay_s=0.01))
        return gate


class Service(ChatService):
    """The model service; it also transcribes, with the ear of the current Answerer."""

    def routes(self) -> list[web.RouteDef]:
        async def listen(request: web.Request) -> web.Response:
            assert isinstance(self.script, Answerer)
            return await self.script.ear.listen(request)

        return [web.post("/v1/audio/transcriptions", listen)]


def service(answerer: Answerer) -> ChatService:
    return Service(answerer)


def settings(base_url: str, *, extract: bool = False) -> str:
    """The part of config.toml with this service, lexical search only, and no extraction from scenes."""
    return (
        f'[providers.local]\nkind = "openai-compatible"\nbase_url = "{base_url}"\n'
        '[roles]\nanswerer = "local:small"\ntranscriber = "local:whisper-1"\n[embedding]\nmodel = "none"\n'
        f"[story]\nextract = {str(extract).lower()}\n"
    )
