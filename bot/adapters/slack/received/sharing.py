"""Shares an answer that only its asker has seen with everybody in a channel, in the form of its messages.

Independent of works: it posts the messages' own blocks.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from bot.adapters import footer
from bot.adapters.intake import KeyedLocks
from bot.adapters.slack.placing import Body, Location, message_of, origin_of
from bot.adapters.slack.received.people import is_member
from bot.adapters.slack.shown.ephemeral import EPHEMERAL
from bot.adapters.slack.text.escaping import literal
from bot.adapters.slack.text.markdown import mrkdwn
from bot.adapters.slack.text.page import BLOCKS, TEXT, Block, small
from bot.adapters.surface import Gone, PlaceClosed, Refused, bare
from bot.events import Request
from bot.words import LOCALES, words

if TYPE_CHECKING:
    from bot.adapters.slack.installed.clients import Client
    from bot.adapters.slack.received.intake import Intake
    from storage.outbox import OutboxRow

EVENT = "sutradhar_shared"
"""The event_type of a shared message's metadata."""
STAGES = "sutradhar"
"""The event_type of the metadata of a run's own messages."""
PARTS = 50
"""Messages of one stage; more than any answer has."""
PASSED_ON = ("markdown", "section", "rich_text", "header", "divider", "context", "image", "table")

_log = logging.getLogger(__name__)
_turns = KeyedLocks()


@dataclass(frozen=True, slots=True)
class Shared:
    """The result as a key of the catalogue. `done`: nothing is left to share."""

    key: str
    done: bool = False
    values: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Part:
    """The readable part of one message."""

    blocks: list[Block]
    text: str


async def share(intake: Intake, location: Location, body: Body, past: Request) -> Shared:
    """Post the pressed answer once to the channel of the request `past`. The presser is the asker."""
    origin = origin_of(past.origin)
    client = await intake.workspaces.client(location.team, location.enterprise)
    try:
        parts = await _parts(intake, client, location, body, past)
        if not origin.private or not origin.channel or not parts:
            return Shared("buttons.nothing_to_share")
        async with _turns.lock((past.id, message_of(body))):
            # The bot must not post there on behalf of outsiders.
            if not await is_member(client, origin.channel, location.user, beyond=True):
                return Shared("buttons.you_may_not_share_slack")
            return await _shared(intake, client, location, body, past, parts)
    except (PlaceClosed, Gone) as fault:
        _log.info("an answer could not be shared: %s", fault)
        return Shared("buttons.may_not_share_slack")


async def _shared(
    intake: Intake,
    client: Client,
    location: Location,
    body: Body,
    past: Request,
    parts: Sequence[Part],
) -> Shared:
    """Share the parts. Each is claimed first, so that a second press, or one after a crash, posts only
    what is missing.
    """
    outbox, origin = intake.app.records.outbox, origin_of(past.origin)
    where = "buttons.shared" if location.channel == origin.channel else "buttons.shared_there"
    key = f"{where}_before"
    name = (await intake.people.person(location)).name or location.user
    credit = (await intake.words(location))("buttons.shared_by", who=literal(name))
    thread = origin.thread
    for n, part in enumerate(parts):
        row = await outbox.claim(location.space, past.id, f"share:{message_of(body)}:{n}")
        ts = row.message_id or ""
        if row.state != "sent":
            to = origin.channel, thread
            ts = "" if row.fresh else await _posted_ts(client, to, row)
            ts = ts or await _post(client, to, credit if n == 0 else "", part, row)
            await outbox.mark_sent(location.space, past.id, row.stage, ts)
            key = where
        thread = thread or ts  # a long answer goes into a thread rather than filling the channel
    return Shared(key, done=True)


async def _parts(intake: Intake, client: Client, location: Location, body: Body, past: Request) -> list[Part]:
    """The messages of the pressed stage in order, up to and including the pressed one."""
    pressed = body.get("message")
    if not isinstance(pressed, Mapping):
        stored = await intake.app.records.offers.all(location.space, past.id, EPHEMERAL)
        parts = [_part(json.loads(item)) for item in stored]
    else:
        parts = [*await _before(intake, client, location, pressed, past), _part(pressed)]
    return [part for part in parts if part.blocks or part.text]


async def _before(
    intake: Intake, client: Client, location: Location, pressed: Mapping[str, Any], past: Request
) -> list[Part]:
    """The messages of a long stage before its last one, according to the outbox."""
    metadata = pressed.get("metadata") or {}
    payload = metadata.get("event_payload") or {}
    stage, _, last = str(payload.get("key") or "").rpartition("#")
    if metadata.get("event_type") != STAGES or payload.get("run") != past.id or not last.isdecimal():
        return []
    outbox = intake.app.records.outbox
    keys = [stage, *(f"{stage}#{n}" for n in range(2, min(int(last), PARTS)))]
    rows = [await outbox.get(location.space, past.id, key) for key in keys]
    posted = [bare(row.message_id) for row in rows if row is not None and row.message_id]
    if not posted or not location.thread:
        return []
    window: dict[str, Any] = {"oldest": posted[0], "latest": str(pressed.get("ts")), "inclusive": True}
    by_ts: dict[str, Mapping[str, Any]] = {}
    while not set(posted) <= by_ts.keys():
        page: Any = await client.conversations_replies(
            channel=location.channel, ts=location.thread, limit=200, **window
        )
        by_ts |= {str(message.get("ts")): message for message in page["messages"]}
        window["cursor"] = (page.get("response_metadata") or {}).get("next_cursor") or ""
        if not window["cursor"]:
            break
    return [_part(by_ts[ts]) for ts in posted if ts in by_ts]


def _part(message: Mapping[str, Any]) -> Part:
    blocks = message.get("blocks")
    return Part(
        passed_on(blocks if isinstance(blocks, list) else []), _unhinted(str(message.get("text") or ""))
    )


def passed_on(blocks: list[Block]) -> list[Block]:
    """The readable blocks without the prompts of choices, because their buttons are not shared."""
    following = [*blocks[1:], {}]
    readable: list[Block] = []
    for block, after in zip(blocks, following, strict=True):
        if block.get("type") in PASSED_ON and not _offers(after):
            passed = {name: value for name, value in block.items() if name != "block_id"}
            if passed["type"] == "context":
                elements = [
                    element | {"text": _unhinted(str(element.get("text")))} for element in passed["elements"]
                ]
                passed["elements"] = [element for element in elements if element["text"]]
            if passed.get("elements") != []:
                readable.append(passed)
    return readable


def _unhinted(text: str) -> str:
    """The text without the hint on how to continue in the asker's own thread."""
    return "\n".join(text_line for text_line in text.split("\n") if text_line not in _hints())


@cache
def _hints() -> frozenset[str]:
    return frozenset(mrkdwn(words(locale)("slack_thread.hint")) for locale in LOCALES)


def _offers(block: Block) -> bool:
    ids = [
        str(element.get("action_id"))
        for element in block.get("elements", [])
        if block.get("type") == "actions"
    ]
    return any(re.fullmatch(footer.CHOICE, each) for each in ids)


async def _post(client: Client, to: tuple[str, str], credit: str, part: Part, row: OutboxRow) -> str:
    """Post a part. Returns the message's ts; `to` is the channel and the thread. Raises a surface's faults, and
    Unavailable.
    """
    arguments: dict[str, Any] = {
        "channel": to[0],
        "thread_ts": to[1] or None,
        "text": f"{credit}\n{part.text}".strip()[:TEXT],
        "metadata": _metadata(row),
        "unfurl_links": False,
        "unfurl_media": False,
    }
    blocks = [*([small(credit)] if credit else []), *part.blocks][:BLOCKS]
    try:
        return str((await client.chat_postMessage(**arguments, blocks=blocks))["ts"])
    except Refused:
        if not part.text:
            raise
    return str((await client.chat_postMessage(**arguments))["ts"])


async def _posted_ts(client: Client, to: tuple[str, str], row: OutboxRow) -> str:
    """The ts of a message whose post was not recorded, for example before a crash; "" if there is none."""
    # Slack's clock and ours may differ a little.
    oldest = f"{row.created_at.timestamp() - 60:.6f}"
    window: dict[str, Any] = {"channel": to[0], "oldest": oldest, "limit": 200}
    if to[1]:
        answer: Any = await client.conversations_replies(ts=to[1], include_all_metadata=True, **window)
    else:
        answer = await client.conversations_history(include_all_metadata=True, **window)
    mine = _metadata(row)
    return next((str(message["ts"]) for message in answer["messages"] if message.get("metadata") == mine), "")


def _metadata(row: OutboxRow) -> dict[str, Any]:
    return {"event_type": EVENT, "event_payload": {"run": row.run_id, "stage": row.stage}}
