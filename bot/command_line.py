"""A typed line to a verb of the table: forgiving about quotes, strict about names.

Knows no platform. A line that does not begin with "/" is plain text and is not looked into at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter

from bot.commands import DEFAULT_WORK, HELP, MAX_LINE, ROWS, TABLE, WORKS, bare
from bot.events import OptionValue, Sorry
from bot.verb import Option, Verb, usage

_SPECIAL = re.compile(r"([\s\"'“”‘’\\])")
_ESCAPED = re.compile(r"\\([\s\"'“”‘’\\])")
_DASHES = re.compile(r"^(--|—|–)(?=\w)")  # a telephone's keyboard makes one long dash of two
_CLOSING = {'"': '"', "'": "'", "“": "”", "‘": "’"}


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a line asks for. `verb` is None for plain text, which goes to the session's work."""

    verb: Verb | None
    options: dict[str, OptionValue] = field(default_factory=dict)
    text: str = ""


@dataclass(frozen=True, slots=True)
class Token:
    """A word of the line: its value without quotes, and where it stands in the line."""

    value: str
    start: int
    end: int


def tokens(line: str) -> list[Token]:
    """The words of a line. A quote counts only at a word's start (or after "=") and when it is closed
    at a word's end, so that apostrophes stay apostrophes; a backslash keeps the space after it.
    """
    found: list[Token] = []
    at = 0
    while at < len(line):
        if line[at].isspace():
            at += 1
            continue
        start, value = at, ""
        while at < len(line) and not line[at].isspace():
            opens = line[at] in _CLOSING and (at == start or line[at - 1] == "=")
            close = _closing(line, at) if opens else None
            if close is not None:
                value += line[at + 1 : close]
                at = close + 1
            elif escaped := _ESCAPED.match(line, at):
                value += escaped[1]
                at += 2
            else:
                value += line[at]
                at += 1
        found.append(Token(value, start, at))
    return found


def _closing(line: str, at: int) -> int | None:
    """Where the quote that opens at `at` is closed: the next such mark at the end of a word."""
    mark = _CLOSING[line[at]]
    close = line.find(mark, at + 1)
    while close != -1:
        if close + 1 == len(line) or line[close + 1].isspace():
            return close
        close = line.find(mark, close + 1)
    return None


def parse(line: str, *, asks: bool = False) -> Parsed:
    """What the line asks for. Raises Sorry ("commands.…") with the nearest right name.

    `asks`: the end of its text is still to come, `worded`.
    """
    line = line.strip()
    if len(line) > MAX_LINE:
        raise Sorry("commands.too_long", length=len(line), limit=MAX_LINE)
    if not line.startswith("/"):
        return Parsed(None, {}, line)
    words = tokens(line[1:])
    verb, used = _verb(list(map(attrgetter("value"), words)))
    return _read(verb, line[1:], words[used:], asks)


def lacking_text(line: str) -> Parsed | None:
    """What the line asks for where nothing but its text is missing, which the verb's form can ask for; else None."""
    try:
        parsed = parse(line, asks=True)
    except Sorry:
        return None
    return parsed if parsed.verb is not None and parsed.verb.lacks(parsed.text) else None


def typed(verb: Verb, options: Mapping[str, OptionValue]) -> str:
    """The line that asks for the verb with these options, without its text."""
    words = [f"/{verb.path}"]
    for name, value in options.items():
        if option := verb.option(name):
            words.append(f"--{name}")
            if option.kind != "flag":
                words.append(_SPECIAL.sub(r"\\\1", str(value)))
    return " ".join(words)


def worded(parsed: Parsed, words: str) -> Parsed:
    """The same with a person's words at the end of its text. They are data: nothing looks into them. Raises Sorry."""
    if len(words) > MAX_LINE:
        raise Sorry("commands.too_long", length=len(words), limit=MAX_LINE)
    return replace(parsed, text=f"{parsed.text} {words}".strip())


def _verb(words: Sequence[str]) -> tuple[Verb, int]:
    """The verb that the words begin with, and how many of them name it."""
    first = words[0].lower() if words else "help"
    second = words[1].lower() if len(words) > 1 else ""
    if row := bare(first):
        return row, min(1, len(words))
    if first in WORKS:
        if named := ROWS.get((first, second)):
            return named, 2
        if not second:
            return HELP, 0
        raise _unknown(f"{first} {second}", [row.path for row in TABLE if row.work == first])
    meant = called(first)
    if len(meant) == 1:
        return meant[0], 1
    if meant:
        raise Sorry("commands.several", name=first, paths=", ".join(f"/{row.path}" for row in meant))
    raise _unknown(f"{first} {second}".strip(), [row.path for row in TABLE], first)


def called(name: str) -> list[Verb]:
    """The rows that a verb's name without a work's could mean: one where only one has it, or the default work."""
    if row := bare(name) or ROWS.get((DEFAULT_WORK, name)):
        return [row]
    return [row for row in TABLE if row.name == name]


def _unknown(name: str, known: Sequence[str], *others: str) -> Sorry:
    names = {path: path for path in known} | {path.split()[-1]: path for path in known}
    for tried in (name, *others, name.split()[-1]):
        if close := nearest(tried, list(names)):
            return Sorry("commands.unknown_verb", name=name, nearest=names[close])
    return Sorry("commands.unknown_verb_only", name=name)


def nearest(name: str, known: Sequence[str]) -> str | None:
    """The known name that `name` is most likely a slip of, or None."""
    from difflib import get_close_matches  # only a mistake needs it

    return next(iter(get_close_matches(name, known, 1, 0.6)), None)


def _read(verb: Verb, line: str, words: Sequence[Token], asks: bool) -> Parsed:
    """Options out of the words; what is left, as typed, is the text, or the list of the argument."""
    options: dict[str, OptionValue] = {}
    rest: list[Token] = []
    at, literal = 0, False
    while at < len(words):
        word = words[at]
        at += 1
        if word.value == "--" and not literal:
            literal = True
            continue
        option, given = (None, None) if literal else _option(verb, word.value)
        if option is None:
            rest.append(word)
        elif option.kind == "flag":
            options[option.name] = True
        elif given or at < len(words):
            value = [word] if given else [words[at]]
            at += 0 if given else 1
            if _is_open(verb, option, line, value[0], rest):
                while (
                    at < len(words) and words[at].value != "--" and _option(verb, words[at].value)[0] is None
                ):
                    value.append(words[at])
                    at += 1
            said = " ".join([given or value[0].value, *(one.value for one in value[1:])])
            options[option.name] = value_of(verb, option, said)
        else:
            raise Sorry("commands.option_value", verb=verb.path, name=option.name)
    text = _text(line, rest)
    _check(verb, options, text, asks)
    if verb.argument and verb.argument.many:
        options[verb.argument.name] = [word.value for word in rest]
        text = ""
    return Parsed(verb, options, text)


def _is_open(verb: Verb, option: Option, line: str, first: Token, text: Sequence[Token]) -> bool:
    """Whether the option's value is all up to the next option: free words without quotes, where the text stands before
    them or there is none. Before the text nobody could say where they end: there it is one word.
    """
    free = option.kind == "text" and not option.choices and not option.completes
    quoted = first.value != line[first.start : first.end]
    many = verb.argument is not None and verb.argument.many
    return free and not quoted and not many and (verb.argument is None or bool(text))


def _option(verb: Verb, word: str) -> tuple[Option | None, str | None]:
    """The option that a word names and the value after "=". An unlikely name in a text is text."""
    if not _DASHES.match(word):
        return None, None
    name, _, given = _DASHES.sub("", word).partition("=")
    if option := verb.option(name.lower().replace("_", "-")):
        return option, given or None
    known = [option.name for option in verb.options]
    close = nearest(name.lower(), known)
    if close:
        raise Sorry("commands.unknown_option", verb=verb.path, name=name, nearest=close)
    if verb.argument and not verb.argument.many:
        return None, None
    if not known:
        raise Sorry("commands.no_option", verb=verb.path, name=name)
    raise Sorry(
        "commands.unknown_option_only",
        verb=verb.path,
        name=name,
        known=", ".join(f"--{one}" for one in known),
    )


def value_of(verb: Verb, option: Option, given: str) -> OptionValue:
    """What the option is given, of its kind. Raises Sorry ("commands.option_…")."""
    if option.kind == "number":
        if not (given.isascii() and given.isdigit() and len(given) < 9 and int(given) > 0):
            raise Sorry("commands.option_number", verb=verb.path, name=option.name, value=given)
        return int(given)
    if option.kind == "link" and not re.fullmatch(r"https?://[^\s/]+\S*", given):
        raise Sorry("commands.option_link", verb=verb.path, name=option.name, value=given)
    if option.choices and given not in option.choices:
        raise Sorry(
            "commands.option_choice",
            verb=verb.path,
            name=option.name,
            value=given,
            choices=", ".join(option.choices),
        )
    return given


def _text(line: str, rest: Sequence[Token]) -> str:
    """The words as they were typed, the spaces between neighbours too; one quoted whole is unquoted."""
    if len(rest) == 1:
        return rest[0].value
    pieces = ""
    for before, word in zip([None, *rest], rest, strict=False):
        gap = line[before.end : word.start] if before else ""
        pieces += (gap if gap.isspace() else " " if before else "") + line[word.start : word.end]
    return pieces


def _check(verb: Verb, options: dict[str, OptionValue], text: str, asks: bool) -> None:
    """Everything that the verb needs is there, or `asks` will bring it, and nothing that it would not read."""
    if verb.argument is None and (text or asks):
        raise Sorry("commands.too_many", verb=verb.path, value=text or "…")
    asks = asks and verb.argument is not None and not verb.argument.many
    missing = [
        f"--{option.name}" for option in verb.options if option.required and option.name not in options
    ]
    if verb.argument and verb.argument.required and not text.strip() and not asks:
        missing.insert(0, verb.argument.name.upper())
    if missing:
        raise Sorry(
            "commands.missing",
            verb=verb.path,
            what=", ".join(f"`{one}`" for one in missing),
            example=verb.example,
            usage=usage(verb),
        )
