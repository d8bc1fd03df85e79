"""What a message may say: text, blocks or Markdown, and the metadata beside them.

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
    """The fields of a message, checked; `partial`: what was not given stays as it is."""
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
    found: dict[str, Any] = {}
    if markdown:
        found = {"text": markdown, "blocks": [{"type": "markdown", "text": markdown}]}
    if text is not None:
        found["text"] = text
    if "blocks" in args:
        found["blocks"] = block_rules.accept(args["blocks"], slack.world.ids.next)
    if "attachments" in args:
        _attachments(args["attachments"])
    if found.get("text") and "blocks" not in found:
        found["blocks"] = []
    if not (found.get("text") or found.get("blocks") or args.get("attachments")) and not partial:
        raise Refusal("no_text")
    if "metadata" in args:
        found["metadata"] = metadata(args["metadata"])
    found["parsed"] = args.get("parse") == "full" or args.get("link_names") in (True, 1, "1", "true")
    return found


def custom(ask: Ask) -> dict[str, str]:
    """A name or picture other than the bot's own, which are a scope's to give."""
    given = {one: ask.args[one] for one in CUSTOM if ask.args.get(one)}
    if not given:
        return {}
    ask.need("chat:write.customize")
    if not all(isinstance(one, str) for one in given.values()):
        raise Refusal("invalid_arguments", "must provide a string")
    return {"username": given.get("username", ""), "icon": given.get("icon_url", "")}


def metadata(given: Any) -> dict[str, Any] | None:
    """https://docs.slack.dev/messaging/message-metadata; an empty object takes it away."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except json.JSONDecodeError:
            raise Refusal("invalid_metadata_format") from None
    if given == {}:
        return None
    if not isinstance(given, dict) or not isinstance(given.get("event_type"), str):
        raise Refusal("invalid_metadata_format")
    if not isinstance(given.get("event_payload"), dict) or given.keys() - {"event_type", "event_payload"}:
        raise Refusal("invalid_metadata_schema")
    return given


def _attachments(given: Any) -> None:
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except json.JSONDecodeError:
            raise Refusal("invalid_attachments") from None
    if not isinstance(given, list):
        raise Refusal("invalid_attachments")
    if len(given) > ATTACHMENTS:
        raise Refusal("too_many_attachments")
