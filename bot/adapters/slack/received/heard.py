"""What a message says, as the person sees it: Slack escapes three characters and wraps mentions and links.

Slack's documentation, "Formatting message text". Knows no request.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

NAMES: Final = 20
"""People of one message who are called by their names; the others keep their ids."""

_MARKED = re.compile(r"<([^<>]*)>")
_PERSON = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^<>]*)?>")
_OTHERS = re.compile(r"<(?:@([UW][A-Z0-9]+)|!subteam\^|!(?:channel|here|everyone)\b)")
_ESCAPES: Final = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))

Name = Callable[[str], Awaitable[str]]


async def heard(text: str, me: str, name: Name) -> str:
    """The message without the mention of `me`, other people by what `name` calls them."""
    # The blanks before it from their first on: tried from each, many of them would take seconds.
    mine = re.compile(rf"(?:(?<![ \t])[ \t]+)?<@{re.escape(me)}(?:\|[^<>]*)?>[ \t]*")
    rest = mine.sub(" ", text) if me else text
    people = list(dict.fromkeys(_PERSON.findall(rest)))[:NAMES]
    names = dict(zip(people, await asyncio.gather(*map(name, people)), strict=True))
    return unwrapped(rest, names).strip().lstrip(",:;").strip()


def people_in(text: str) -> list[str]:
    """Who is mentioned, by their ids."""
    return list(dict.fromkeys(_PERSON.findall(text)))


def mentions(text: str, user: str) -> bool:
    return user in _PERSON.findall(text)


def calls_others(text: str, me: str) -> bool:
    """Whether somebody other than `me` is mentioned, or a group, or everybody."""
    return any(found[1] is None or found[1] != me for found in _OTHERS.finditer(text))


def unwrapped(text: str, names: Mapping[str, str]) -> str:
    """The words themselves. Half a surrogate pair, which no storage takes, becomes a replacement character."""
    plain = _MARKED.sub(lambda found: _words(found[1], names), text)
    for escaped, meant in _ESCAPES:
        plain = plain.replace(escaped, meant)
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _words(inside: str, names: Mapping[str, str]) -> str:
    """What stands between < and >. A name may hold such signs itself, so it is escaped like everything else."""
    target, _, label = inside.partition("|")
    match target[:1]:
        case "@":
            known = names.get(target[1:])
            return f"@{_escaped(known) if known else label or target[1:]}"
        case "#":
            return f"#{label or target[1:]}"
        case "!":
            return label if label else f"@{target[1:].partition('^')[0]}"
    if target.startswith(("mailto:", "tel:")):
        return label or target.partition(":")[2]
    return target


def _escaped(text: str) -> str:
    for escaped, meant in reversed(_ESCAPES):
        text = text.replace(meant, escaped)
    return text
