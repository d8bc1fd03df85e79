"""The text of a message as the person sees it, and the command that it stands for.

Slack escapes three characters and wraps mentions and links (its documentation, "Formatting message text"). A command
may have no slash; everything else is plain text. It uses the table's parser and depends on no request.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from typing import Final

from bot.adapters import invocation
from bot.adapters.slack.manifest import COMMAND
from bot.adapters.slack.placing import Body, text_of
from bot.command_line import Parsed, parse, tokens
from bot.commands import BARE, MAX_LINE, NAME_FILES, ROWS, TABLE, WORKS
from bot.events import File, UserError
from bot.verb import Verb
from bot.words import LOCALES, folded, words

NAMES: Final = 20
"""The most people in one message who are shown by name; the others keep their ids."""

_MARKED = re.compile(r"<([^<>]*)>")
_PERSON = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^<>]*)?>")
_OTHERS = re.compile(r"<(?:@([UW][A-Z0-9]+)|!subteam\^|!(?:channel|here|everyone)\b)")
_ESCAPES: Final = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))

_CODE = re.compile(r"(`+)([^`\n]+)\1")
_OPTION = re.compile(r"(--|—|–)\w")

Name = Callable[[str], Awaitable[str]]


async def text_without_mention(text: str, me: str, name: Name) -> str:
    """The message without the mention of `me`, and with names for other mentions."""
    # The preceding blanks match only from their first on; trying a match from each of many blanks would take seconds.
    mine = re.compile(rf"(?:(?<![ \t])[ \t]+)?<@{re.escape(me)}(?:\|[^<>]*)?>[ \t]*")
    unmentioned = mine.sub(" ", text) if me else text
    people = list(dict.fromkeys(_PERSON.findall(unmentioned)))[:NAMES]
    names = dict(zip(people, await asyncio.gather(*map(name, people)), strict=True))
    return unwrapped(unmentioned, names).strip().lstrip(",:;").strip()


def people_in(text: str) -> list[str]:
    """The ids of the mentioned people."""
    return list(dict.fromkeys(_PERSON.findall(text)))


def mentions(text: str, user: str) -> bool:
    return user in _PERSON.findall(text)


def calls_others(text: str, me: str) -> bool:
    """Whether a person other than `me`, a group or everybody is mentioned."""
    return any(mention[1] is None or mention[1] != me for mention in _OTHERS.finditer(text))


def unwrapped(text: str, names: Mapping[str, str]) -> str:
    """The text without Slack's markup. Half a surrogate pair becomes a replacement character, for the storage."""
    plain = _MARKED.sub(lambda match: _words(match[1], names), text)
    for escaped, character in _ESCAPES:
        plain = plain.replace(escaped, character)
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _words(inside: str, names: Mapping[str, str]) -> str:
    """The text for the part between < and >. Names are escaped like everything else, because they may contain such
    signs.
    """
    target, _, label = inside.partition("|")
    match target[:1]:
        case "@":
            name = names.get(target[1:])
            return f"@{_escaped(name) if name else label or target[1:]}"
        case "#":
            return f"#{label or target[1:]}"
        case "!":
            return label if label else f"@{target[1:].partition('^')[0]}"
    if target.startswith(("mailto:", "tel:")):
        return label or target.partition(":")[2]
    return target


def _escaped(text: str) -> str:
    for escaped, character in reversed(_ESCAPES):
        text = text.replace(character, escaped)
    return text


def parsed_of(text: str, files: Sequence[File] = ()) -> Parsed:
    """The parsed message; attached files replace a missing list of files. Raises UserError."""
    text = text.strip()
    if len(text) > MAX_LINE:
        raise UserError("commands.too_long", length=len(text), limit=MAX_LINE)
    line = command_of(text)
    if line is None:
        return Parsed(None, {}, text)
    try:
        return invocation.parsed_of(line, files)
    except UserError as error:
        # A verb for files needs them attached; the table's example with paths would mislead.
        if error.key == "commands.missing" and error.values["verb"] in NAME_FILES:
            work, _, name = str(error.values["verb"]).partition(" ")
            raise without_files(ROWS[work, name]) from None
        raise


def without_files(row: Verb) -> UserError:
    """The error for a command that needs files and has none. Its sentence shows how to send them."""
    shelf = row.option("shelf")
    return UserError("slack.attach", line=f"{row.path} --{shelf.name} rules" if shelf else row.path)


def command_of(text: str) -> str | None:
    """The line with a slash that the text stands for; None for plain text."""
    if code := _CODE.fullmatch(text):  # as people copy it from our own sentences
        text = code[2].strip()
    if text.startswith("/"):  # `/sutradhar rules ask` is `/rules ask` in a message too
        name, _, rest = text.partition(" ")
        return f"/{rest.strip().lstrip('/')}" if name.lower() == COMMAND else text
    if resources := _resources(text):
        return resources
    first_words = [folded(word.value) for word in tokens(text[:200])[:2]]
    row = _named().get((first_words[0], first_words[1])) if len(first_words) == 2 else None
    return f"/{text}" if row is not None and _means(row, text) else None


def _resources(text: str) -> str | None:
    """The line of a `bare` verb. These are common words, so they count only if nothing else is in the text."""
    words = " ".join(text.lower().rstrip(".!?").split())
    if name := _house_names().get(folded(words)):
        return f"/{name}"
    first, _, topic = words.partition(" ")
    name = _house_names().get(folded(first))
    if name == "help" and folded(topic.lstrip("/")) in _topics():
        return f"/help {topic}"
    return f"/{name} {topic}" if name and _OPTION.match(topic) else None


def _means(row: Verb, text: str) -> bool:
    """Whether the verb is meant. A verb without an argument is not meant if other words follow it."""
    if row.argument is not None:
        return True
    try:
        parse(f"/{text}")
    except UserError as error:
        return error.key != "commands.too_many"
    return True


@cache
def _house_names() -> dict[str, str]:
    """The `bare` verbs keyed by their names in each language."""
    localized = {folded(words(locale)(f"names.{name}")): name for locale in LOCALES for name in BARE}
    return localized | {name: name for name in BARE}


@cache
def _named() -> dict[tuple[str, str], Verb]:
    """The verbs by their work and by their name in the table or in one of our languages."""
    localized = {
        (row.work, folded(words(locale)(f"names.{row.work}_{row.name}"))): row
        for locale in LOCALES
        for row in TABLE
        if row.work in WORKS
    }
    return localized | {key: row for key, row in ROWS.items() if row.work in WORKS}


@cache
def _topics() -> frozenset[str]:
    paths = [" ".join(words) for words in _named()]
    return frozenset(map(folded, (*WORKS, *paths, *(name for row in TABLE for name in (row.path, row.name)))))


def words_of(message: Body) -> str:
    """All text of a message in Slack's markup: its own, that of shared messages, and that of attachments, which
    programs write.
    """
    attachments = message.get("attachments")
    texts = [text_of(message, "text")]
    for each in attachments if isinstance(attachments, list) else []:
        if isinstance(each, dict):
            fields = [field for field in each.get("fields") or () if isinstance(field, dict)]
            parts = [text_of(each, key) for key in ("pretext", "title", "text")]
            parts += [f"{text_of(field, 'title')}\n{text_of(field, 'value')}".strip() for field in fields]
            texts.append("\n".join(filter(None, parts)) or text_of(each, "fallback"))
    return "\n\n".join(filter(None, texts))
