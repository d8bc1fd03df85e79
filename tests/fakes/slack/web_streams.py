"""chat.startStream, appendStream and stopStream. https://docs.slack.dev/reference/methods/chat.startStream.

Without `thread_ts` a stream is refused, as people who tried report, though the page calls it optional. How much text
one streamed message holds is not documented either; reports of `msg_too_long` begin at 12,000 characters in all.
"""

from __future__ import annotations

from typing import Any

from tests.fakes.slack import block_rules
from tests.fakes.slack.ask import Ask
from tests.fakes.slack.content import MARKDOWN_TEXT, custom, metadata
from tests.fakes.slack.messages import Message
from tests.fakes.slack.refusal import Refusal, bad, missing, wrong_blocks
from tests.fakes.slack.streams import LIVE, STOPPED, STOPPED_BY_USER, Stream
from tests.fakes.slack.web import Method

MODES = ("timeline", "plan")
NEEDED = {
    "markdown_text": ("text",),
    "task_update": ("id", "title", "status"),
    "plan_update": ("title",),
    "blocks": ("blocks",),
}


async def start(ask: Ask) -> dict[str, Any]:
    channel = ask.joined(ask.channel())
    under = custom(ask)
    if not ask.text("thread_ts"):
        raise missing("thread_ts")
    thread = ask.root(channel)
    if channel.kind != "im":
        _recipient(ask)
    mode = ask.text("task_display_mode") or "timeline"
    if mode not in MODES:
        raise bad("value must be one of timeline, plan [json-pointer:/task_display_mode]")
    stream = Stream(ask.slack.stream_seconds, mode)
    for chunk in _chunks(ask, stream):
        stream.append(chunk)
    message = ask.slack.post.put(
        channel, channel.team.bot, stream.text, blocks=stream.blocks, thread_ts=thread, stream=stream, **under
    )
    return {"channel": channel.id, "ts": message.ts}


def _recipient(ask: Ask) -> None:
    for name in ("recipient_team_id", "recipient_user_id"):
        if not ask.text(name):
            raise Refusal(f"missing_{name}")
    if ask.text("recipient_team_id") not in ask.slack.world.teams:
        raise Refusal("team_not_found")
    if ask.slack.world.user(ask.text("recipient_user_id")) is None:
        raise Refusal("user_not_found")


def _streaming(ask: Ask, allowed: tuple[str, ...]) -> tuple[Message, Stream]:
    message = ask.message(ask.channel())
    if message.user is not message.channel.team.bot:
        raise Refusal("message_not_owned_by_app")
    stream = message.stream
    if stream is None or stream.state not in allowed:
        by_user = stream is not None and stream.state == STOPPED_BY_USER
        raise Refusal("stopped_by_user" if by_user else "message_not_in_streaming_state")
    return message, stream


async def append(ask: Ask) -> dict[str, Any]:
    message, stream = _streaming(ask, (LIVE,))
    chunks = _chunks(ask, stream)
    if not any(chunk.get("text") or chunk["type"] != "markdown_text" for chunk in chunks):
        raise Refusal("no_text")
    for chunk in chunks:
        stream.append(chunk)
    message.change(text=stream.text, blocks=stream.blocks)
    ask.slack.world.touch()
    return {"channel": message.channel.id, "ts": message.ts}


async def stop(ask: Ask) -> dict[str, Any]:
    """End a stream; the closing blocks go below everything, and may be fifty in addition to the stream's own."""
    message, stream = _streaming(ask, (LIVE, STOPPED_BY_USER))
    chunks = _chunks(ask, stream)
    closing = block_rules.accept(ask.args["blocks"], ask.slack.world.ids.next) if "blocks" in ask.args else []
    metadata_now = metadata(ask.args["metadata"]) if "metadata" in ask.args else message.metadata
    status = ask.text("session_status")
    ask.slack.agents.check(status or "active")
    if not (stream.parts or stream.plan or chunks or closing):
        raise Refusal("no_text")
    for chunk in chunks:
        stream.append(chunk)
    stream.closing = closing
    stream.end(STOPPED)
    ask.slack.agents.stream_ended(message, status)
    ask.slack.post.change(message, text=stream.text, blocks=stream.blocks, metadata=metadata_now)
    return {"channel": message.channel.id, "ts": message.ts, "message": message.payload(metadata=True)}


def _chunks(ask: Ask, stream: Stream) -> list[dict[str, Any]]:
    """The checked chunks to append; Markdown text is a chunk like others."""
    markdown = ask.args.get("markdown_text")
    if markdown is not None and "chunks" in ask.args:
        raise bad("markdown_text and chunks cannot be used together")
    if markdown is not None:
        chunks: list[Any] = [{"type": "markdown_text", "text": markdown}]
    else:
        chunks = ask.rows("chunks") if "chunks" in ask.args else []
    for number, chunk in enumerate(chunks):
        _chunk(chunk, f"/chunks/{number}")
    texts = [chunk["text"] for chunk in chunks if chunk["type"] == "markdown_text"]
    if any(len(text) > MARKDOWN_TEXT for text in texts):
        raise Refusal("msg_too_long")
    if len(stream.text) + sum(len(text) for text in texts) > ask.slack.stream_text:
        raise Refusal("msg_too_long")
    blocks = [block for chunk in chunks if chunk["type"] == "blocks" for block in chunk["blocks"]]
    part_count = sum(part["type"] not in ("markdown", "task_card") for part in stream.parts)
    if part_count + len(blocks) > block_rules.MOST[block_rules.MESSAGE]:
        raise Refusal("msg_blocks_too_many")
    for chunk in chunks:
        if chunk["type"] == "blocks":
            chunk["blocks"] = block_rules.accept(chunk["blocks"], ask.slack.world.ids.next)
    return chunks


def _chunk(chunk: Any, at: str) -> None:
    if not isinstance(chunk, dict) or chunk.get("type") not in NEEDED:
        raise Refusal("invalid_chunks", f"unsupported type [json-pointer:{at}/type]")
    for name in NEEDED[chunk["type"]]:
        kind = list if name == "blocks" else str
        if not isinstance(chunk.get(name), kind):
            raise Refusal("invalid_chunks", f"missing required field: {name} [json-pointer:{at}]")
    if chunk["type"] == "task_update" and chunk["status"] not in block_rules.STATUSES:
        raise Refusal("invalid_chunks", f"invalid status [json-pointer:{at}/status]")
    if chunk["type"] == "blocks" and (problems := block_rules.wrong(chunk["blocks"], block_rules.MESSAGE)):
        raise wrong_blocks(problems)


WRITE = ("chat:write",)
METHODS = (
    Method("chat.startStream", start, 2, WRITE),
    Method("chat.appendStream", append, 4, WRITE),
    Method("chat.stopStream", stop, 2, WRITE),
)
