"""Agent sessions and the status line of a thread. https://docs.slack.dev/ai/agent-sessions.

It is documented that a post of the bot clears the status line. It is an assumption that ending a stream makes a
processing session active if the call names no other status.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.fakes.slack.ask import Ask
from tests.fakes.slack.channels import Channel
from tests.fakes.slack.refusal import Refusal, bad, missing
from tests.fakes.slack.streams import STOPPED_BY_USER
from tests.fakes.slack.web import Method

if TYPE_CHECKING:
    from tests.fakes.slack.messages import Message

STATUSES = ("active", "processing", "suspended", "closed")
TITLE, PROMPTS = 200, 4
STOPPED = "agent_session_stopped"
Key = tuple[str, str]


@dataclass
class Session:
    status: str
    title: str = ""
    initiator: str = ""
    # All statuses so far, including the current one.
    past: list[str] = field(default_factory=list)

    def become(self, status: str) -> None:
        self.status = status
        self.past.append(status)


class Agents:
    """By channel and thread: sessions, status lines and titles. By channel: suggested prompts."""

    def __init__(self) -> None:
        self.sessions: dict[Key, Session] = {}
        self.statuses: dict[Key, str] = {}
        self.titles: dict[Key, str] = {}
        self.prompts: dict[str, list[dict[str, Any]]] = {}

    def check(self, status: str) -> str:
        if status not in STATUSES:
            raise Refusal("invalid_status")
        return status

    def spoken(self, channel: Channel, thread: str) -> None:
        self.statuses.pop((channel.id, thread), None)

    def stream_ended(self, message: Message, status: str) -> None:
        session = self.sessions.get((message.channel.id, message.thread_ts or ""))
        if session is not None and (status or session.status == "processing"):
            session.become(status or "active")

    def stop(self, channel: Channel, thread: str) -> list[str]:
        """Press the stop button: the streams end. Raises if there is no such button."""
        session = self.sessions.get((channel.id, thread))
        if session is None or session.status != "processing":
            raise PermissionError(f"there is no stop button: {session}")
        live = [
            message
            for message in channel.thread(thread)
            if message.stream is not None and message.stream.live
        ]
        for message in live:
            assert message.stream is not None
            message.stream.end(STOPPED_BY_USER)
        return [live_message.ts for live_message in live]


def _thread(ask: Ask, error: str) -> tuple[Channel, str]:
    channel = ask.channel("channel_id")
    if not channel.has_bot:
        raise Refusal("channel_not_found")
    thread = ask.root(channel, error=error)
    if thread is None:
        raise missing("thread_ts")
    return channel, thread


async def threads_set_status(ask: Ask) -> dict[str, Any]:
    """Set the status line; an empty one clears it."""
    channel, thread = _thread(ask, "invalid_thread_ts")
    if "status" not in ask.args:
        raise missing("status")
    if status := ask.text("status"):
        ask.slack.agents.statuses[channel.id, thread] = status
    else:
        ask.slack.agents.spoken(channel, thread)
    return {}


async def threads_set_title(ask: Ask) -> dict[str, Any]:
    channel, thread = _thread(ask, "invalid_thread_ts")
    ask.slack.agents.titles[channel.id, thread] = ask.text("title", required=True)
    return {}


async def threads_set_prompts(ask: Ask) -> dict[str, Any]:
    """Show prompts below the newest message. With an agent view, a call that names a thread has no effect."""
    channel = ask.channel("channel_id")
    thread = ask.root(channel, error="invalid_thread_ts") or ""
    prompts = ask.rows("prompts")
    if len(prompts) > PROMPTS:
        raise bad(f"no more than {PROMPTS} items allowed [json-pointer:/prompts]")
    for prompt in prompts:
        if not isinstance(prompt, dict) or not prompt.get("title") or not prompt.get("message"):
            raise bad("must provide title and message [json-pointer:/prompts]")
    if not thread:
        ask.slack.agents.prompts[channel.id] = prompts
    return {}


def _session(ask: Ask) -> Key:
    channel = ask.channel("channel_id")
    if not channel.has_bot:
        raise Refusal("not_authorized")
    thread = ask.root(channel)
    if thread is None:
        raise Refusal("thread_ts_required")
    return channel.id, thread


async def sessions_set_status(ask: Ask) -> dict[str, Any]:
    """The first call creates the session; title and initiator count only then."""
    key = _session(ask)
    status = ask.slack.agents.check(ask.text("status", required=True))
    title = ask.text("title", limit=TITLE)
    if ask.args.get("initiator_user_id"):
        ask.user("initiator_user_id")
    session = ask.slack.agents.sessions.setdefault(key, Session(status, title, ask.text("initiator_user_id")))
    session.become(status)
    ask.slack.world.touch()
    answer: dict[str, Any] = {"status": status, "agent_status": status, "title": session.title}
    if STOPPED not in ask.slack.events:
        warning = "missing_agent_session_stopped_event_subscription"
        answer |= {"warning": warning, "response_metadata": {"warnings": [warning]}}
    return answer


async def sessions_rename(ask: Ask) -> dict[str, Any]:
    key = _session(ask)
    session = ask.slack.agents.sessions.get(key)
    if session is None:
        raise Refusal("session_not_found")
    session.title = ask.text("title", required=True, limit=TITLE)
    return {"title": session.title}


ASSISTANT, WRITE = ("assistant:write",), ("chat:write",)
METHODS = (
    Method("assistant.threads.setStatus", threads_set_status, 5, WRITE),
    Method("assistant.threads.setTitle", threads_set_title, 4, ASSISTANT),
    Method("assistant.threads.setSuggestedPrompts", threads_set_prompts, 4, ASSISTANT),
    Method("agents.sessions.setStatus", sessions_set_status, 3, WRITE),
    Method("agents.sessions.rename", sessions_rename, 3, WRITE),
)
