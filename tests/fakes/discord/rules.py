"""Checks a message as Discord does, and normalizes an accepted one.

https://docs.discord.com/developers/resources/message. Knows no route and no permission.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.fakes.discord import messages
from tests.fakes.discord.component_rules import check_message
from tests.fakes.discord.messages import Message
from tests.fakes.discord.refusal import bad, items, no, number, table, text

if TYPE_CHECKING:
    from tests.fakes.discord.world import User, World

CONTENT, EMBED_TEXT, FILES, FILE_BYTES = 2000, 6000, 10, 10 * 1024 * 1024
SENT_FLAGS = messages.SUPPRESS_EMBEDS | 1 << 12 | messages.COMPONENTS_V2
Uploads = dict[int, tuple[str, bytes, str]]


@dataclass
class Form:
    """A message's new state, checked."""

    content: str
    embeds: list[dict[str, Any]]
    components: list[dict[str, Any]]
    flags: int
    # Ids of the kept files, and the new files: name, bytes, type, description.
    kept: list[int]
    added: list[tuple[str, bytes, str, str | None]] = field(default_factory=list)


def form(body: dict[str, Any], uploads: Uploads, old: Message | None = None, ephemeral: bool = False) -> Form:
    """The state after applying `body` to `old`, or the refusal."""
    content = _content(body, old)
    embeds = _embeds(body["embeds"]) if body.get("embeds") is not None else old.embeds if old else []
    if "embeds" in body and body["embeds"] is None:
        embeds = []
    files_kept, added = _files(body, uploads, old)
    flags = _flags(body, old, ephemeral)
    v2 = bool(flags & messages.COMPONENTS_V2)
    names = {name for name, _, _, _ in added} | {
        file.name for file in (old.files if old else []) if file.id in files_kept
    }
    if "components" in body:
        given = body["components"]
        components = check_message([] if given is None else given, v2, names)
    else:
        components = old.components if old else []
    if v2:
        for legacy, is_there in (("content", content), ("embeds", embeds), ("poll", body.get("poll"))):
            if is_there:
                raise bad(
                    legacy,
                    "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2",
                    f"The '{legacy}' field cannot be used when using MessageFlags.IS_COMPONENTS_V2",
                )
    if not (
        content.strip()
        or embeds
        or components
        or files_kept
        or added
        or body.get("sticker_ids")
        or body.get("poll")
    ):
        raise no(50006)
    return Form(content, embeds, components, flags, files_kept, added)


def nonce(body: dict[str, Any]) -> str | int | None:
    """The nonce, if Discord accepts it: a number, or a string of at most 25 characters."""
    value = body.get("nonce")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise bad("nonce", "NONCE_TYPE_INVALID", "Nonce must be a string or integer.")
    if isinstance(value, str) and len(value) > 25:
        raise bad("nonce", "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.")
    return value


def pings(
    body: dict[str, Any], words: str, world: World, author: User | None, everyone: bool
) -> list[User | str]:
    """Who gets a notification; `author` wrote the message that it replies to, `everyone`: whether it may notify all."""
    allowed = body.get("allowed_mentions")
    if allowed is None:
        parse, users, replied = {"users", "roles", "everyone"}, None, True
    else:
        parse, users, replied = _allowed(allowed)
    # Mentions in code do not notify.
    plain = re.sub(r"```.*?```|`[^`]*`", "", words, flags=re.DOTALL)
    mentioned: list[User | str] = []
    for id in dict.fromkeys(int(user_id) for user_id in re.findall(r"<@!?(\d{1,20})>", plain)):
        user = world.users.get(id)
        if user is not None and ("users" in parse or (users is not None and id in users)):
            mentioned.append(user)
    if everyone and "everyone" in parse and re.search(r"@everyone|@here", plain):
        mentioned.append("@everyone")
    if "roles" in parse:
        mentioned += [f"<@&{role_id}>" for role_id in dict.fromkeys(re.findall(r"<@&(\d+)>", plain))]
    if author is not None and replied and author not in mentioned:
        mentioned.append(author)
    return mentioned


def named(words: str, world: World) -> list[User]:
    ids = dict.fromkeys(int(user_id) for user_id in re.findall(r"<@!?(\d{1,20})>", words))
    return [world.users[id] for id in ids if id in world.users]


def _content(body: dict[str, Any], old: Message | None) -> str:
    if "content" not in body:
        return old.content if old else ""
    return text(body["content"], "content", 0, CONTENT)


def _flags(body: dict[str, Any], old: Message | None, ephemeral: bool) -> int:
    flags_value = body.get("flags")
    asked = 0 if flags_value is None else number(flags_value, "flags", 0, 2**31 - 1)
    if old is None:
        return asked & (SENT_FLAGS | (messages.EPHEMERAL if ephemeral else 0))
    if flags_value is None:
        return old.flags
    if old.flags & messages.COMPONENTS_V2 and not asked & messages.COMPONENTS_V2:
        raise bad(
            "flags",
            "MESSAGE_CANNOT_REMOVE_COMPONENTS_V2_FLAG",
            "The MessageFlags.IS_COMPONENTS_V2 flag cannot be removed once it is set",
        )
    changeable = messages.SUPPRESS_EMBEDS | messages.COMPONENTS_V2
    return (old.flags & ~messages.SUPPRESS_EMBEDS) | (asked & changeable)


def _embeds(body: Any) -> list[dict[str, Any]]:
    total = 0
    for index, embed in enumerate(items(body, "embeds", 0, 10)):
        path = f"embeds.{index}"
        table(embed, path)
        total += len(text(embed.get("title"), f"{path}.title", 0, 256))
        total += len(text(embed.get("description"), f"{path}.description", 0, 4096))
        total += len(text((embed.get("footer") or {}).get("text"), f"{path}.footer.text", 0, 2048))
        total += len(text((embed.get("author") or {}).get("name"), f"{path}.author.name", 0, 256))
        for number_, part in enumerate(items(embed.get("fields") or [], f"{path}.fields", 0, 25)):
            total += len(text(part.get("name"), f"{path}.fields.{number_}.name", 1, 256))
            total += len(text(part.get("value"), f"{path}.fields.{number_}.value", 1, 1024))
        if embed.get("url") and not str(embed["url"]).startswith(("http://", "https://")):
            raise bad(f"{path}.url", "URL_TYPE_INVALID_URL", "Not a well formed URL.")
    if total > EMBED_TEXT:
        raise bad("embeds", "MAX_EMBED_SIZE_EXCEEDED", f"Embed size exceeds maximum size of {EMBED_TEXT}")
    return list(body)


def _files(
    body: dict[str, Any], uploads: Uploads, old: Message | None
) -> tuple[list[int], list[tuple[str, bytes, str, str | None]]]:
    listed = body.get("attachments")
    old_ids = {file.id for file in old.files} if old else set()
    about: dict[int, dict[str, Any]] = {}
    kept_ids = sorted(old_ids)
    if listed is not None:
        kept_ids = []
        for attachment in items(listed, "attachments", 0, FILES):
            id = table(attachment, "attachments").get("id")
            if not str(id).isdecimal():
                raise bad("attachments.id", "NUMBER_TYPE_COERCE", f'Value "{id}" is not snowflake.')
            if int(str(id)) in old_ids:
                kept_ids.append(int(str(id)))
            else:
                about[int(str(id))] = attachment
    unknown = set(about) - set(uploads)
    if unknown:
        raise bad("attachments", "ATTACHMENT_NOT_FOUND", f"Attachment data not found: {sorted(unknown)}")
    if len(kept_ids) + len(uploads) > FILES:
        raise bad("attachments", "BASE_TYPE_MAX_LENGTH", f"Must be {FILES} or fewer in length.")
    added = []
    for id, (name, data, kind) in sorted(uploads.items()):
        if len(data) > FILE_BYTES:
            raise no(40005)
        more = about.get(id, {})
        shown = text(more.get("filename"), "attachments.filename", 0, 260) or name
        description = text(more.get("description"), "attachments.description", 0, 1024) or None
        added.append((re.sub(r"[^\w.\-]", "_", shown), data, kind, description))
    return kept_ids, added


def _allowed(value: Any) -> tuple[set[str], set[int] | None, bool]:
    allowed = table(value, "allowed_mentions")
    parse = set(items(allowed.get("parse") or [], "allowed_mentions.parse", 0, 3))
    if parse - {"users", "roles", "everyone"}:
        raise bad(
            "allowed_mentions.parse",
            "BASE_TYPE_CHOICES",
            "Value must be one of ('users', 'roles', 'everyone').",
        )
    users = items(allowed.get("users") or [], "allowed_mentions.users", 0, 100)
    for kind in ("users", "roles"):
        if kind in parse and allowed.get(kind):
            raise bad(
                "allowed_mentions",
                "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE",
                f'parse:["{kind}"] and {kind}: [ids...] are mutually exclusive.',
            )
    if not all(str(user).isdecimal() for user in users):
        raise bad("allowed_mentions.users", "NUMBER_TYPE_COERCE", "Value is not snowflake.")
    return parse, {int(user) for user in users}, bool(allowed.get("replied_user"))
