"""What a line says: a command with or without its slash, else plain text.

Knows the table's way to read a line and nothing of how lines arrive.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from bot.adapters.slack.text.help import COMMAND
from bot.command_line import Parsed, parse, tokens
from bot.commands import BARE, MAX_LINE, TABLE, WORKS, find
from bot.events import File, Sorry
from bot.verb import Verb
from bot.words import LOCALES, words

_CODE = re.compile(r"(`+)([^`\n]+)\1")
_OPTION = re.compile(r"(--|—|–)\w")
_UNSAFE = re.compile(r"[^\w.-]")


def parsed_of(text: str, files: Sequence[File] = (), *, typed: bool = True) -> Parsed:
    """What a message asks for; files stand for those that a line would name. Raises Sorry.

    Not `typed`: plain text, whatever it looks like.
    """
    text = text.strip()
    if len(text) > MAX_LINE:
        raise Sorry("commands.too_long", length=len(text), limit=MAX_LINE)
    line = command_of(text) if typed else None
    if line is None:
        return Parsed(None, {}, text)
    try:
        return parse(line)
    except Sorry as sorry:
        if sorry.key != "commands.missing" or not files:
            raise _in_our_words(sorry) from None
    try:
        return parse(" ".join([line, *(_UNSAFE.sub("_", one.name) for one in files)]))
    except Sorry as sorry:
        raise _in_our_words(sorry) from None


def _in_our_words(sorry: Sorry) -> Sorry:
    """What names files needs them with a message; the table's example, which has paths, would lead astray."""
    brings = {row.path for row in TABLE if row.argument is not None and row.argument.many}
    if sorry.key == "commands.missing" and sorry.values["verb"] in brings:
        return Sorry("slack.attach", verb=sorry.values["verb"])
    return sorry


def command_of(text: str) -> str | None:
    """The line with a slash that the text is the same as, None for plain text."""
    if code := _CODE.fullmatch(text):  # as people copy it from our own sentences
        text = code[2].strip()
    if text.startswith("/"):
        return _without_ours(text)
    if house := _house(text):
        return house
    said = [word.value.lower() for word in tokens(text[:200])[:2]]
    row = find(*said) if len(said) == 2 and said[0] in WORKS else None
    return f"/{text}" if row is not None and _means(row, text) else None


def _without_ours(line: str) -> str:
    """`/sutradhar rules ask` is `/rules ask`, also where it was typed into a message."""
    name, _, rest = line.partition(" ")
    return f"/{rest.strip().lstrip('/')}" if name.lower() == COMMAND else line


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
