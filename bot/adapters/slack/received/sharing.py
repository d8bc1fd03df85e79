"""Shows everybody in a channel an answer that only its asker has seen: as it stands in its messages.

Knows no work: what it passes on is the messages' own blocks.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from bot.adapters import buttons_row
from bot.adapters.intake import KeyedLocks
from bot.adapters.slack.installed.faults import as_surface_faults
from bot.adapters.slack.placing import Body, Location, message_of, origin_of
from bot.adapters.slack.shown.ephemeral import EPHEMERAL
from bot.adapters.slack.text.mrkdwn import literal, mrkdwn
from bot.adapters.slack.text.page import BLOCKS, TEXT, Block, small
from bot.adapters.surface import Gone, PlaceClosed, Refused, bare
from bot.events import Request
from bot.words import LOCALES, words

if TYPE_CHECKING:
    from slack_sdk.web.async_client import AsyncWebClient

    from bot.adapters.slack.received.intake import Intake
    from storage.outbox import OutboxRow

EVENT = "sutradhar_shared"
"""What a shared message says of itself to us, beside what people read."""
STAGES = "sutradhar"
"""The same of a run's own messages."""
PARTS = 50
"""Messages of one stage; more than any answer has."""
PASSED_ON = ("markdown", "section", "rich_text", "header", "divider", "context", "image", "table")
PAGE, PAGES = 1_000, 20
"""Of a channel's members: so many at once, and so often, until it is taken for granted that somebody is one."""

_log = logging.getLogger(__name__)
_turns = KeyedLocks()


@dataclass(frozen=True, slots=True)
class Shared:
    """How it went, as a key of the catalogue; `done`: there is nothing left to share."""

    key: str
    done: bool = False
    values: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Part:
    """One message: what is to be read in it."""

    blocks: list[Block]
    text: str


async def share(intake: Intake, here: Location, body: Body, past: Request) -> Shared:
    """Post the pressed answer to the channel where `past` was asked, once. Whoever presses is who asked."""
    origin = origin_of(past.origin)
    client = await intake.workspaces.client(here.team, here.enterprise)
    try:
        parts = await _parts(intake, client, here, body, past)
        if not origin.private or not origin.channel or not parts:
            return Shared("buttons.nothing_to_share")
        async with _turns.of((past.id, message_of(body))):
            if not await _member(client, origin.channel, here.user):
                return Shared("buttons.you_may_not_share_slack")
            return await _shared(intake, client, here, body, past, parts)
    except (PlaceClosed, Gone) as fault:
        _log.info("an answer could not be shared: %s", fault)
        return Shared("buttons.may_not_share_slack")


async def _shared(
    intake: Intake, client: AsyncWebClient, here: Location, body: Body, past: Request, parts: Sequence[Part]
) -> Shared:
    """Each part is claimed first, so that a second press, or one after a crash, posts only what is missing."""
    outbox, origin = intake.app.records.outbox, origin_of(past.origin)
    where = "buttons.shared" if here.channel == origin.channel else "buttons.shared_there"
    key = f"{where}_before"
    name = (await intake.people.of(here)).name or here.user
    who = (await intake.words(here))("buttons.shared_by", who=literal(name))
    thread = origin.thread
    for n, part in enumerate(parts):
        row = await outbox.claim(here.space, past.id, f"share:{message_of(body)}:{n}")
        ts = row.message_id or ""
        if row.state != "sent":
            to = origin.channel, thread
            ts = "" if row.fresh else await _found(client, to, row)
            ts = ts or await _post(client, to, who if n == 0 else "", part, row)
            await outbox.sent(here.space, past.id, row.stage, ts)
            key = where
        thread = thread or ts  # a long answer fills no channel
    return Shared(key, done=True)


async def _parts(
    intake: Intake, client: AsyncWebClient, here: Location, body: Body, past: Request
) -> list[Part]:
    """The messages of the pressed stage, in order, up to the pressed one."""
    pressed = body.get("message")
    if not isinstance(pressed, Mapping):
        kept = await intake.app.records.offers.all(here.space, past.id, EPHEMERAL)
        found = [_part(json.loads(one)) for one in kept]
    else:
        found = [*await _before(intake, client, here, pressed, past), _part(pressed)]
    return [one for one in found if one.blocks or one.text]


async def _before(
    intake: Intake, client: AsyncWebClient, here: Location, pressed: Mapping[str, Any], past: Request
) -> list[Part]:
    """The messages of a long stage that stand before its last one, as the outbox knows them."""
    said = pressed.get("metadata") or {}
    payload = said.get("event_payload") or {}
    stage, _, last = str(payload.get("key") or "").rpartition("#")
    if said.get("event_type") != STAGES or payload.get("run") != past.id or not last.isdecimal():
        return []
    outbox = intake.app.records.outbox
    keys = [stage, *(f"{stage}#{n}" for n in range(2, min(int(last), PARTS)))]
    rows = [await outbox.get(here.space, past.id, key) for key in keys]
    known = [bare(row.message_id) for row in rows if row is not None and row.message_id]
    if not known or not here.thread:
        return []
    window: dict[str, Any] = {"oldest": known[0], "latest": str(pressed.get("ts")), "inclusive": True}
    by_ts: dict[str, Mapping[str, Any]] = {}
    while not set(known) <= by_ts.keys():
        with as_surface_faults():
            page: Any = await client.conversations_replies(
                channel=here.channel, ts=here.thread, limit=200, **window
            )
        by_ts |= {str(one.get("ts")): one for one in page["messages"]}
        window["cursor"] = (page.get("response_metadata") or {}).get("next_cursor") or ""
        if not window["cursor"]:
            break
    return [_part(by_ts[ts]) for ts in known if ts in by_ts]


def _part(message: Mapping[str, Any]) -> Part:
    blocks = message.get("blocks")
    return Part(
        passed_on(blocks if isinstance(blocks, list) else []), _unhinted(str(message.get("text") or ""))
    )


def passed_on(blocks: list[Block]) -> list[Block]:
    """What is to be read in them, without the names of choices: their buttons stay behind."""
    following = [*blocks[1:], {}]
    found: list[Block] = []
    for block, after in zip(blocks, following, strict=True):
        if block.get("type") in PASSED_ON and not _offers(after):
            kept = {name: value for name, value in block.items() if name != "block_id"}
            if kept["type"] == "context":
                elements = [one | {"text": _unhinted(str(one.get("text")))} for one in kept["elements"]]
                kept["elements"] = [one for one in elements if one["text"]]
            if kept.get("elements") != []:
                found.append(kept)
    return found


def _unhinted(text: str) -> str:
    """Without the line that says how to go on in the asker's own thread, where others are not."""
    return "\n".join(one for one in text.split("\n") if one not in _hints())


@cache
def _hints() -> frozenset[str]:
    return frozenset(mrkdwn(words(one)("slack_thread.hint")) for one in LOCALES)


def _offers(block: Block) -> bool:
    ids = [str(one.get("action_id")) for one in block.get("elements", []) if block.get("type") == "actions"]
    return any(re.fullmatch(buttons_row.CHOICE, one) for one in ids)


async def _member(client: AsyncWebClient, channel: str, user: str) -> bool:
    """Whether the person may still read there; or the bot would speak for who may not."""
    cursor = ""
    for _ in range(PAGES):
        with as_surface_faults():
            answer: Any = await client.conversations_members(channel=channel, limit=PAGE, cursor=cursor)
        if user in answer["members"]:
            return True
        cursor = (answer.get("response_metadata") or {}).get("next_cursor") or ""
        if not cursor:
            return False
    return True


async def _post(client: AsyncWebClient, to: tuple[str, str], who: str, part: Part, row: OutboxRow) -> str:
    """The message's ts; `to` is the channel and the thread. Raises a surface's faults, and Unavailable."""
    said: dict[str, Any] = {
        "channel": to[0],
        "thread_ts": to[1] or None,
        "text": f"{who}\n{part.text}".strip()[:TEXT],
        "metadata": _metadata(row),
        "unfurl_links": False,
        "unfurl_media": False,
    }
    shown = [*([small(who)] if who else []), *part.blocks][:BLOCKS]
    try:
        with as_surface_faults():
            return str((await client.chat_postMessage(**said, blocks=shown))["ts"])
    except Refused:
        if not part.text:
            raise
    with as_surface_faults():
        return str((await client.chat_postMessage(**said))["ts"])


async def _found(client: AsyncWebClient, to: tuple[str, str], row: OutboxRow) -> str:
    """The ts of a message that may have been posted though nobody noted it, as before a crash; "" if there is none."""
    # Slack's clock and ours may differ a little.
    oldest = f"{row.created_at.timestamp() - 60:.6f}"
    window: dict[str, Any] = {"channel": to[0], "oldest": oldest, "limit": 200}
    with as_surface_faults():
        if to[1]:
            answer: Any = await client.conversations_replies(ts=to[1], include_all_metadata=True, **window)
        else:
            answer = await client.conversations_history(include_all_metadata=True, **window)
    mine = _metadata(row)
    return next((str(one["ts"]) for one in answer["messages"] if one.get("metadata") == mine), "")


def _metadata(row: OutboxRow) -> dict[str, Any]:
    return {"event_type": EVENT, "event_payload": {"run": row.run_id, "stage": row.stage}}
