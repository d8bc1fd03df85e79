"""The visible text of blocks, and whom a text would ping.

Strict on purpose: text inside code, and the fallback beside blocks, count as pinging too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

# https://docs.slack.dev/messaging/formatting-message-text#advanced; what is escaped as &lt; pings nobody.
_PING = re.compile(r"<(@[UW][A-Z0-9]+|!(?:channel|here|everyone)|!subteam\^S[A-Z0-9]+)(?:\|[^<>]*)?>")
_LOUD = re.compile(r"(?<![\w<|])@(channel|here|everyone)\b")
_TEXT_KEYS = ("text", "label", "hint", "placeholder", "title", "description", "alt_text", "details", "output")
Block = dict[str, Any]


def pings(text: str, parsed: bool = False) -> list[str]:
    """`<!channel>`, `<@U1>`, `<!subteam^S1>`, without labels; `parsed`: @channel counts, by `parse` or `link_names`."""
    pings = [f"<{ping}>" for ping in _PING.findall(text)]
    if parsed:
        pings += [f"<!{name}>" for name in _LOUD.findall(text)]
    return pings


def block_pings(blocks: Any) -> list[str]:
    """The pings of all texts in the blocks that are not plain."""
    parts: list[str] = []
    for node in walk(blocks):
        kind = node.get("type")
        if kind in ("mrkdwn", "markdown") and isinstance(node.get("text"), str):
            parts += pings(node["text"])
        elif kind == "user" and isinstance(node.get("user_id"), str):
            parts.append(f"<@{node['user_id']}>")
        elif kind == "usergroup" and isinstance(node.get("usergroup_id"), str):
            parts.append(f"<!subteam^{node['usergroup_id']}>")
        elif kind == "broadcast":
            parts.append(f"<!{node.get('range')}>")
    return parts


def walk(node: Any) -> Iterator[Block]:
    """Every object in the node, outermost first."""
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from walk(value)
    elif isinstance(node, list):
        for child in node:
            yield from walk(child)


def words(node: Any) -> Iterator[str]:
    """The texts that people read, in order; values, ids and links are not among them."""
    if isinstance(node, list):
        for child in node:
            yield from words(child)
        return
    if not isinstance(node, dict):
        return
    if node.get("type") == "user":
        yield f"<@{node.get('user_id')}>"
    for key, value in node.items():
        if key in _TEXT_KEYS and isinstance(value, str):
            yield value
        elif isinstance(value, dict | list) and key not in ("confirm", "sources"):
            yield from words(value)
        elif key == "sources" and isinstance(value, list):
            yield from (str(part.get("text", "")) for part in value if isinstance(part, dict))


def shown(blocks: Any) -> str:
    """The visible text of blocks: a rich text's pieces on one line, everything else on separate lines."""
    lines: list[str] = []
    for block in blocks or []:
        parts = list(words(block))
        if isinstance(block, dict) and block.get("type") == "rich_text":
            lines.append("".join(parts))
        else:
            lines += parts
    return "\n".join(line for line in lines if line)


def typed(text: str) -> str:
    """A typed text as Slack sends it: escaped, with links and mentions marked up."""
    parts = re.split(r"(<[@#][A-Z0-9]+>)", text)
    return "".join(part if number % 2 else _mark(part) for number, part in enumerate(parts))


def _mark(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"https?://[^\s<>|]+", lambda match: f"<{match.group()}>", text)
    return _LOUD.sub(lambda match: f"<!{match.group(1)}>", text)
