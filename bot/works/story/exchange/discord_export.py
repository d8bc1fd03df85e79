"""Reads a Discord channel that DiscordChatExporter wrote as JSON, as the story of a chat log with speakers and dates.

`guild`, `channel`, and `messages` with `id`, `type`, `timestamp`, `content`, `author`, `attachments`, `embeds`. A reply
(`reference`) begins with a quote of the message that it answers, unless that is the previous one. Discord's own
messages (somebody joined, a message was pinned) are left out and counted. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from bot.events import UserError
from bot.works.story.exchange.json_import import Imported
from bot.works.story.exchange.passages import Destination, text_of
from bot.works.story.exchange.rows import LINE_CHARS, TURNS, Rows, name_of, story_id, titled
from bot.works.story.exchange.sillytavern import moment

_SPOKEN: Final = frozenset(("Default", "Reply", "0", "19", "20", "23"))
"""Types of messages that people write. The exporter names some, and gives others as Discord's numbers."""
QUOTED: Final = 120
"""The maximum length of the quote in a reply."""


def is_discord_export(tree: Mapping[str, Any]) -> bool:
    return isinstance(tree.get("messages"), list) and all(
        isinstance(tree.get(name), dict) for name in ("guild", "channel")
    )


def read_discord_export(tree: Mapping[str, Any], data: bytes, file: str, whose: Destination) -> Imported:
    """Raises UserError ("story.import_…") if nobody says anything in it."""
    messages = [row for row in tree["messages"] if isinstance(row, dict)]
    if len(messages) > TURNS:
        raise UserError("story.import_long", file=file, limit=TURNS)
    counts, labels = Counter[str](), set[str]()
    if broken := len(tree["messages"]) - len(messages):
        counts["story.import_left_broken"] = broken
    ids = [text_of(row.get("id")) for row in messages]
    # An export may begin with the newest message.
    if all(id.isascii() and id.isdigit() and len(id) < 25 for id in ids):
        messages.sort(key=lambda row: int(row["id"]))
    title = name_of(tree["channel"].get("name"))
    rows = Rows(whose.id or story_id(whose.space, data), whose.space, title or titled(file))
    said, before = dict[str, str](), ""
    for row in messages:
        author, label, text = row.get("author"), text_of(row.get("id")), "\n".join(_words(row)).strip()
        author = author if isinstance(author, dict) else {}
        name = name_of(author.get("nickname")) or name_of(author.get("name"))
        if str(row.get("type")) not in _SPOKEN:
            counts["story.import_left_system"] += 1
        elif not text:
            counts["story.import_left_silent"] += 1
        elif not name or not label or label in labels:
            counts["story.import_left_broken"] += 1
        elif len(text) > LINE_CHARS:
            counts["story.import_left_long"] += 1
        else:
            labels.add(label)
            said[label] = _quote(name, text)
            answers = _answered(row)
            if answers and answers not in said:
                counts["story.import_left_replies"] += 1
            elif answers and answers != before:
                text = f"{said[answers]}\n\n{text}"
            before = label
            at = moment(row.get("timestamp"))
            body = {"mode": "say", "text": text, "name": name, "label": label}
            rows.add("act", body | ({"when": at.isoformat(timespec="seconds")} if at else {}), at=at)
    if not rows.turns:
        raise UserError("story.import_nobody_wrote", file=file)
    imported = rows.imported()
    imported.counts.update(counts)
    return imported


def _answered(message: Mapping[str, Any]) -> str:
    """The id of the message that it replies to, "" for none."""
    reference = message.get("reference")
    replies = isinstance(reference, dict) and str(message.get("type")) in ("Reply", "19")
    return text_of(reference.get("messageId")) if replies and isinstance(reference, dict) else ""


def _quote(name: str, text: str) -> str:
    words = " ".join(text.split())
    return f"> {name}: {words if len(words) <= QUOTED else words[:QUOTED].rsplit(' ', 1)[0] + ' …'}"


def _words(message: Mapping[str, Any]) -> Iterator[str]:
    """The text of the message or of one that it forwards, the text of its embeds (dice, for instance), and the names of
    its files.
    """
    yield text_of(message.get("content")).replace("\0", "")
    if isinstance(forwarded := message.get("forwardedMessage"), dict):
        yield from (
            f"> {line}"
            for words in _words({**forwarded, "forwardedMessage": None})
            for line in words.split("\n")
        )
    for embed in _objects(message.get("embeds")):
        yield from filter(None, (text_of(embed.get(name)) for name in ("title", "description")))
        for field in _objects(embed.get("fields")):
            yield f"{text_of(field.get('name'))}: {text_of(field.get('value'))}"
    for file in _objects(message.get("attachments")):
        if name := text_of(file.get("fileName")):
            yield f"[{name}]"


def _objects(value: Any) -> list[dict[str, Any]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
