"""Parses a person, channel or group chosen from a platform's list: `<@ID|NAME>`, `<#ID|NAME>` or `<&ID|NAME>`.

On platforms without such a list people type a name.
"""

from __future__ import annotations

import re

_MENTION = re.compile(r"<([@#&])!?(\w{1,40})(?:\|([^<>|\n]*))?>")


def person(id: str, name: str) -> str:
    """The mention of a person."""
    return f"<@{id}|{_plain(name)}>"


def channel(id: str, name: str) -> str:
    """The mention of a channel."""
    return f"<#{id}|{_plain(name)}>"


def group(id: str, name: str) -> str:
    """The mention of a group."""
    return f"<&{id}|{_plain(name)}>"


def chosen(text: str) -> tuple[str, str]:
    """The id and the name of a mention; the id is "" if a name was typed."""
    match = _MENTION.fullmatch(text.strip())
    return (match[2], match[3] or "") if match is not None else ("", text.strip())


def readable(text: str) -> str:
    """The text with mentions replaced by names, for people to read."""
    return _MENTION.sub(lambda match: f"{match[1].replace('&', '@')}{match[3] or match[2]}", text)


def _plain(name: str) -> str:
    return " ".join(re.sub(r"[<>|]", "", name).split())
