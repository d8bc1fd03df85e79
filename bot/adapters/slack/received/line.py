"""What a message says: as the person sees it, and which command it is the same as.

Slack escapes three characters and wraps mentions and links (its documentation, "Formatting message text"). A command
may stand without its slash; all else is plain text. Knows the table's way to read a line and no request.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from typing import Final

from bot.adapters import intake
from bot.adapters.slack.text.help import COMMAND
from bot.command_line import Parsed, parse, tokens
from bot.commands import BARE, MAX_LINE, NAME_FILES, ROWS, TABLE, WORKS
from bot.events import File, Sorry
from bot.verb import Verb
from bot.words import LOCALES, words

NAMES: Final = 20
"""People of one message who are called by their names; the others keep their ids."""

_MARKED = re.compile(r"<([^<>]*)>")
_PERSON = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^<>]*)?>")
_OTHERS = re.compile(r"<(?:@([UW][A-Z0-9]+)|!subteam\^|!(?:channel|here|everyone)\b)")
_ESCAPES: Final = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))

_CODE = re.compile(r"(`+)([^`\n]+)\1")
_OPTION = re.compile(r"(--|—|–)\w")

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


def parsed_of(text: str, files: Sequence[File] = ()) -> Parsed:
    """What a message asks for; files stand for those that a line would name. Raises Sorry."""
    text = text.strip()
    if len(text) > MAX_LINE:
        raise Sorry("commands.too_long", length=len(text), limit=MAX_LINE)
    line = command_of(text)
    if line is None:
        return Parsed(None, {}, text)
    try:
        return intake.parsed_of(line, files)
    except Sorry as sorry:
        # What names files needs them with a message; the table's example, which has paths, would lead astray.
        if sorry.key == "commands.missing" and sorry.values["verb"] in NAME_FILES:
            raise Sorry("slack.attach", verb=sorry.values["verb"]) from None
        raise


def command_of(text: str) -> str | None:
    """The line with a slash that the text is the same as, None for plain text."""
    if code := _CODE.fullmatch(text):  # as people copy it from our own sentences
        text = code[2].strip()
    if text.startswith("/"):  # `/sutradhar rules ask` is `/rules ask`, also in a message
        name, _, rest = text.partition(" ")
        return f"/{rest.strip().lstrip('/')}" if name.lower() == COMMAND else text
    if house := _house(text):
        return house
    said = [word.value.lower() for word in tokens(text[:200])[:2]]
    row = ROWS.get((said[0], said[1])) if len(said) == 2 and said[0] in WORKS else None
    return f"/{text}" if row is not None and _means(row, text) else None


def _house(text: str) -> str | None:
    """A verb that steers the conversation is a word that people use: it is meant only where nothing else is said."""
    whole = " ".join(text.lower().rstrip(".!?").split())
    if name := _house_names().get(whole):
        return f"/{name}"
    first, _, topic = whole.partition(" ")
    name = _house_names().get(first)
    if name == "help" and topic.lstrip("/") in _topics():
        return f"/help {topic}"
    return f"/{name} {topic}" if name and _OPTION.match(topic) else None


def _means(row: Verb, text: str) -> bool:
    """A verb that takes nothing, with something after it, is the beginning of a sentence."""
    if row.argument is not None:
        return True
    try:
        parse(f"/{text}")
    except Sorry as sorry:
        return sorry.key != "commands.too_many"
    return True


@cache
def _house_names() -> dict[str, str]:
    """What each language calls them, and English for all."""
    said = {words(locale)(f"names.{row.name}").lower(): row.name for locale in LOCALES for row in BARE}
    return said | {row.name: row.name for row in BARE}


@cache
def _topics() -> frozenset[str]:
    return frozenset(WORKS) | {row.path for row in TABLE} | {row.name for row in TABLE}
