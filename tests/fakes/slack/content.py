"""The content of a message: text, blocks or Markdown, and metadata.

For everything that posts: chat.postMessage, chat.update, response_url, the answer to a slash command.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.fakes.slack import block_rules
from tests.fakes.slack.refusal import Refusal

if TYPE_CHECKING:
    from tests.fakes.slack.ask import Ask
    from tests.fakes.slack.service import FakeSlack

# https://docs.slack.dev/reference/methods/chat.postMessage: longer ones are cut or refused; here refused.
TEXT = 40_000
# https://docs.slack.dev/reference/methods/chat.update
UPDATE_TEXT = 4_000
# https://docs.slack.dev/reference/methods/chat.postMessage#arg_markdown_text
MARKDOWN_TEXT = 12_000
ATTACHMENTS = 100
CUSTOM = ("username", "icon_emoji", "icon_url")


def content(
    slack: FakeSlack, args: dict[str, Any], *, limit: int = TEXT, partial: bool = False
) -> dict[str, Any]:
    """The checked fields of a message; with `partial`, missing fields stay unchanged."""
    text, markdown = args.get("text"), args.get("markdown_text")
    if "as_user" in args:
        raise Refusal("as_user_not_supported")
    for name, value in (("text", text), ("markdown_text", markdown)):
        if value is not None and not isinstance(value, str):
            raise Refusal("invalid_arguments", f"must provide a string [json-pointer:/{name}]")
    if len(text or "") > limit or len(markdown or "") > MARKDOWN_TEXT:
        raise Refusal("msg_too_long")
    if markdown is not None and (text is not None or "blocks" in args):
        raise Refusal("markdown_text_conflict")
    content: dict[str, Any] = {}
    if markdown:
        content = {"text": markdown, "blocks": [{"type": "markdown", "text": markdown}]}
    if text is not None:
        content["text"] = text
    if "blocks" in args:
        content["blocks"] = block_rules.accept(args["blocks"], slack.world.ids.next)
    if "attachments" in args:
        _attachments(args["attachments"])
    if content.get("text") and "blocks" not in content:
        content["blocks"] = []
    if not (content.get("text") or content.get("blocks") or args.get("attachments")) and not partial:
        raise Refusal("no_text")
    if "metadata" in args:
        content["metadata"] = metadata(args["metadata"])
    content["parsed"] = args.get("parse") == "full" or args.get("link_names") in (True, 1, "1", "true")
    return content


def custom(ask: Ask) -> dict[str, str]:
    """A name or picture other than the bot's own, which needs a scope."""
    custom = {name: ask.args[name] for name in CUSTOM if ask.args.get(name)}
    if not custom:
        return {}
    ask.need("chat:write.customize")
    if not all(isinstance(value, str) for value in custom.values()):
        raise Refusal("invalid_arguments", "must provide a string")
    return {"username": custom.get("username", ""), "icon": custom.get("icon_url", "")}


def metadata(body: Any) -> dict[str, Any] | None:
    """https://docs.slack.dev/messaging/message-metadata; an empty object takes it away."""
    if isinstance(body, str):
        try:
            body = json.loads(body)
        except json.JSONDecodeError:
            raise Refusal("invalid_metadata_format") from None
    if body == {}:
        return None
    if not isinstance(body, dict) or not isinstance(body.get("event_type"), str):
        raise Refusal("invalid_metadata_format")
    if not isinstance(body.get("event_payload"), dict) or body.keys() - {"event_type", "event_payload"}:
        raise Refusal("invalid_metadata_schema")
    return body


def _attachments(value: Any) -> None:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except json.JSONDecodeError:
            raise Refusal("invalid_attachments") from None
    if not isinstance(value, list):
        raise Refusal("invalid_attachments")
    if len(value) > ATTACHMENTS:
        raise Refusal("too_many_attachments")
