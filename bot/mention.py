"""A person, a channel or a group that somebody has chosen from their platform's list: `<@ID|NAME>`, `<#ID|NAME>` or
`<&ID|NAME>`.

Where platforms have no such list, people type a name.
"""

from __future__ import annotations

import re

_CHOSEN = re.compile(r"<([@#&])!?(\w{1,40})(?:\|([^<>|\n]*))?>")


def person(id: str, name: str) -> str:
    return f"<@{id}|{_plain(name)}>"


def channel(id: str, name: str) -> str:
    return f"<#{id}|{_plain(name)}>"


def group(id: str, name: str) -> str:
    return f"<&{id}|{_plain(name)}>"


def chosen(text: str) -> tuple[str, str]:
    """The id and the name; "" for the id of a typed name."""
    match = _CHOSEN.fullmatch(text.strip())
    return (match[2], match[3] or "") if match is not None else ("", text.strip())


def readable(text: str) -> str:
    """The text with names alone, for people to read."""
    return _CHOSEN.sub(lambda match: f"{match[1].replace('&', '@')}{match[3] or match[2]}", text)


def _plain(name: str) -> str:
    return " ".join(re.sub(r"[<>|]", "", name).split())
