"""Parses a typed line with the table of verbs: lenient about quotes, strict about names.

Knows no platform. A line that does not begin with "/" is plain text and is not parsed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial

from bot.commands import BARE, DEFAULT_WORK, HELP, MAX_LINE, ROWS, TABLE, WORKS
from bot.events import OptionValue, UserError
from bot.verb import Argument, Option, Verb, shown_choices, shown_name, shown_path
from bot.words import LOCALES, Words, folded, meant, named
from bot.words import words as catalogue

_SPECIAL = re.compile(r"([\s\"'“”‘’\\])")
_ESCAPED = re.compile(r"\\([\s\"'“”‘’\\])")
_DASHES = re.compile(r"^(--|—|–)(?=\w)")  # phone keyboards turn two hyphens into one long dash
CHOICE_WORDS = 4
"""The most words in the name of a choice, such as "card de personagem (PNG)"."""
_CLOSING = {'"': '"', "'": "'", "“": "”", "‘": "’"}


@dataclass(frozen=True, slots=True)
class Parsed:
    """A parsed line. `verb` is None for plain text, which goes to the session's work."""

    verb: Verb | None
    options: dict[str, OptionValue] = field(default_factory=dict)
    text: str = ""


@dataclass(frozen=True, slots=True)
class Token:
    """A word of the line: its value without quotes, and its range in the line."""

    value: str
    start: int
    end: int


def tokens(line: str) -> list[Token]:
    """The words of a line. A quote counts only at a word's start (or after "=") and when it is closed at a word's end,
    so that apostrophes are kept; a backslash keeps the space after it.
    """
    words: list[Token] = []
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
        words.append(Token(value, start, at))
    return words


def _closing(line: str, at: int) -> int | None:
    """The index where the quote that opens at `at` closes: the next such mark at the end of a word."""
    mark = _CLOSING[line[at]]
    close = line.find(mark, at + 1)
    while close != -1:
        if close + 1 == len(line) or line[close + 1].isspace():
            return close
        close = line.find(mark, close + 1)
    return None


def parse(line: str, *, asks: bool = False) -> Parsed:
    """Parse the line into verb, options and text. Raises UserError ("commands.…") with the nearest valid name.

    `asks`: a window will ask for the text, or the rest of it, and for the options of the verb's form.
    """
    line = line.strip()
    if len(line) > MAX_LINE:
        raise UserError("commands.too_long", length=len(line), limit=MAX_LINE)
    if not line.startswith("/"):
        return Parsed(None, {}, line)
    words = tokens(line[1:])
    verb, used = _verb([word.value for word in words])
    return _parse_words(verb, line[1:], words[used:], asks)


def lines_of(pasted: str) -> list[str]:
    """Split pasted lines into commands and questions. Several lines of text are one question. If the only command is in
    the first line and takes a text, the other lines belong to it.
    """
    lines = [line for line in pasted.splitlines() if line.strip()]
    commands = [n for n, line in enumerate(lines) if line.lstrip().startswith("/")]
    if commands == [0] and not _is_one_line(lines[0]):
        return [pasted.strip()]
    parts: list[list[str]] = []
    for n, line in enumerate(lines):
        if n in commands or n - 1 in commands or not parts:
            parts.append([])
        parts[-1].append(line)
    return ["\n".join(part).strip() for part in parts]


def _is_one_line(line: str) -> bool:
    """Whether no further lines can belong to the command: it takes no text, or is not a known verb."""
    try:
        verb, _ = _verb([word.value for word in tokens(line.strip()[1:])])
    except UserError:
        return True
    return verb.argument is None or verb.argument.many


def lacking_text(line: str) -> Parsed | None:
    """The parsed line if it lacks only what the verb's form asks for; otherwise None."""
    try:
        parsed = parse(line, asks=True)
    except UserError:
        return None
    return parsed if parsed.verb is not None and parsed.verb.lacks(parsed.text) else None


def line_for(verb: Verb, options: Mapping[str, OptionValue]) -> str:
    """The line to type for the verb with these options, without its text."""
    words = [f"/{verb.path}"]
    for name, value in options.items():
        if option := verb.option(name):
            words.append(f"--{name}")
            if option.kind != "flag":
                words.append(escaped(str(value)))
    return " ".join(words)


def escaped(word: str) -> str:
    """A word as it has to be typed in a line to be one word."""
    return _SPECIAL.sub(r"\\\1", word)


def with_words(parsed: Parsed, words: str) -> Parsed:
    """The parsed line with a person's words added to its text. The words are not parsed. Raises UserError."""
    if len(words) > MAX_LINE:
        raise UserError("commands.too_long", length=len(words), limit=MAX_LINE)
    return replace(parsed, text=f"{parsed.text} {words}".strip())


def _verb(words: Sequence[str]) -> tuple[Verb, int]:
    """The verb that the words begin with, and how many of them name it."""
    first = words[0].lower() if words else "help"
    second = words[1].lower() if len(words) > 1 else ""
    if row := BARE.get(first):
        return row, min(1, len(words))
    if first in WORKS:
        if row := ROWS.get((first, second)):
            return row, 2
        if not second:
            return HELP, 0
        if (translated := _translated_verb(first, second)) is not None:
            return translated
        if (synonym := _synonym(first, second)) is not None:
            suggestion = partial(shown_path, synonym)
            raise UserError(
                "commands.unknown_verb", name=f"{first} {second}", nearest=suggestion, help=f"help {first}"
            )
        if len(candidates := verbs_named(second)) == 1 and not candidates[0].inner:
            name, suggestion = f"{first} {second}", partial(shown_path, candidates[0])
            raise UserError("commands.unknown_verb", name=name, nearest=suggestion, help=f"help {first}")
    elif (translated := _translated_verb(first, second)) is not None:
        return translated
    rows, first_folded, candidates = _translated_rows(), folded(first), verbs_named(first)
    of_work = {names: row for names, row in rows.items() if names[0] == first_folded}
    if of_work and (first in WORKS or not candidates):
        work = next(iter(of_work.values())).work
        raise _unknown(f"{first} {second}", of_work, help=f"help {work}")
    candidates = candidates or list(
        dict.fromkeys(row for names, row in rows.items() if names[-1] == first_folded)
    )
    if len(candidates) == 1:
        return candidates[0], 1
    if candidates:
        raise UserError("commands.several", name=first, paths=partial(_paths, candidates))
    raise _unknown(f"{first} {second}".strip(), rows, first)


def _synonym(work: str, name: str) -> Verb | None:
    """The work's verb for which `name` is a synonym."""
    return next((row for (of, verb), row in ROWS.items() if of == work and meant(name, f"verb_{verb}")), None)


def _translated_verb(first: str, second: str) -> tuple[Verb, int] | None:
    """The verb by its names in one of the bot's languages, as on Discord ("biblioteca adicionar", "ajuda"), and how
    many of the words name it.
    """
    first, second, rows = folded(first), folded(second), _translated_rows()
    for words in ((first,), (first, second)):
        if row := rows.get(words):
            return row, len(words)
    return (HELP, 0) if not second and named(WORKS, "group", first) else None


@cache
def _translated_rows() -> dict[tuple[str, ...], Verb]:
    """The verbs by the words, as `folded`, that name them in each of the bot's languages."""
    rows: dict[tuple[str, ...], Verb] = {}
    for say in map(catalogue, LOCALES):
        for row in TABLE:
            if row.bare:
                rows.setdefault((folded(say(f"names.{row.name}")),), row)
                continue
            for group in (
                row.work,
                say(f"names.group_{row.work}"),
                say(f"names.group_{row.group or row.work}"),
            ):
                for name in (row.name, say(f"names.{row.work}_{row.name}")):
                    rows.setdefault((folded(group), folded(name)), row)
    return rows


def verbs_named(name: str) -> list[Verb]:
    """The verbs that a name without a work could mean: the default work's, otherwise all verbs of that name."""
    if row := BARE.get(name) or ROWS.get((DEFAULT_WORK, name)):
        return [row]
    return [row for row in TABLE if row.name == name]


def _unknown(name: str, rows: dict[tuple[str, ...], Verb], *others: str, help: str = "help") -> UserError:
    """The error that names the nearest of these verbs, and the help to read."""
    names = {words[-1]: row for words, row in reversed(rows.items())}
    typed_names = name.split()[-1:]
    same_work = len({words[0] for words in rows}) == 1
    if not same_work:  # verbs of one work share the first word, which would make them seem alike
        names = {" ".join(words): row for words, row in rows.items()} | names
        typed_names = [name, *others, *typed_names]
    for typed_name in typed_names:
        if close := nearest(folded(typed_name), list(names), few=same_work):
            suggestion = partial(shown_path, names[close])
            return UserError("commands.unknown_verb", name=name, nearest=suggestion, help=help)
    return UserError("commands.unknown_verb_only", name=name, help=help)


def _paths(rows: Sequence[Verb], say: Words) -> str:
    return ", ".join(f"/{shown_path(row, say)}" for row in rows)


def nearest(name: str, names: Sequence[str], *, few: bool = False) -> str | None:
    """The one of these names that `name` most likely misspells, or None. `few`: there are only some dozen names."""
    from difflib import get_close_matches  # only a mistake needs it

    cutoff = 0.6 if few or len(name) > 3 else 0.75  # many names share two of three letters
    return next(iter(get_close_matches(name, names, 1, cutoff)), None)


def _parse_words(verb: Verb, line: str, words: Sequence[Token], asks: bool) -> Parsed:
    """Separate the options from the words; the rest, as typed, is the text or the argument's list."""
    options: dict[str, OptionValue] = {}
    text_words: list[Token] = []
    at, literal = 0, False
    while at < len(words):
        word = words[at]
        at += 1
        if word.value == "--" and not literal:
            literal = True
            continue
        dashed = not literal and _DASHES.match(word.value) is not None
        option, inline = _option(verb, word.value) if dashed else (None, None)
        if option is None:
            if not dashed or text_words or not _names_argument(verb, word.value):
                text_words.append(word)
        elif option.kind == "flag":
            options[option.name] = True
        elif inline or at < len(words):
            value = [word] if inline else _choice_words(option, words[at:]) or [words[at]]
            at += 0 if inline else len(value)
            if _takes_more_words(verb, option, line, value[0], text_words):
                while at < len(words) and words[at].value != "--":
                    if _DASHES.match(words[at].value) and _option(verb, words[at].value)[0] is not None:
                        break
                    value.append(words[at])
                    at += 1
            joined = " ".join([inline or value[0].value, *(token.value for token in value[1:])])
            options[option.name] = value_of(verb, option, joined)
        else:
            raise UserError("commands.option_value", verb=verb.path, name=partial(shown_name, option))
    text = _text(line, text_words)
    if verb.argument and verb.argument.choices:
        text = named(verb.argument.choices, verb.argument.name, text) or text
    _check(verb, options, text, asks)
    if verb.argument and verb.argument.many:
        options[verb.argument.name] = [word.value for word in text_words]
        text = ""
    return Parsed(verb, options, text)


def _choice_words(option: Option, words: Sequence[Token]) -> list[Token]:
    """The longest beginning of the words that names a choice, such as "em roda"; [] if none does."""
    for count in range(min(CHOICE_WORDS, len(words)) if option.choices else 0, 0, -1):
        if named(option.choices, option.name, " ".join(word.value for word in words[:count])):
            return list(words[:count])
    return []


def _takes_more_words(verb: Verb, option: Option, line: str, first: Token, text: Sequence[Token]) -> bool:
    """Whether the option's value extends to the next option: unquoted free text after the verb's text, or of a verb
    without text. Before the text, where its end could not be recognised, the value is one word.
    """
    free = option.kind in ("text", "person", "group") and not option.choices and not option.completes
    quoted = first.value != line[first.start : first.end]
    many = verb.argument is not None and verb.argument.many
    return free and not quoted and not many and (verb.argument is None or bool(text))


def _option(verb: Verb, word: str) -> tuple[Option | None, str | None]:
    """The option that a word with dashes names, and the value after "=". A word that resembles no option belongs to the
    text, unless the text `rejects_dashes`.
    """
    name, _, inline = _DASHES.sub("", word).partition("=")
    if option := verb.option(name.lower().replace("_", "-")):
        return option, inline or None
    if known := named([option.name for option in verb.options], "option", name):
        return verb.option(known), inline or None
    names = {
        folded(shown_name(option, say)): option for say in map(catalogue, LOCALES) for option in verb.options
    }
    if close := nearest(folded(name), list(names)):
        suggestion = partial(shown_name, names[close])
        raise UserError("commands.unknown_option", verb=verb.path, name=name, nearest=suggestion)
    if verb.argument and not verb.argument.many:
        mistaken = verb.argument.rejects_dashes and name[0].isalpha() and not _names_argument(verb, word)
        if not mistaken:
            return None, None
    if not names:
        raise UserError("commands.no_option", verb=verb.path, name=name)
    raise UserError(
        "commands.unknown_option_only",
        verb=verb.path,
        name=name,
        known=partial(_options, verb.options),
    )


def _options(options: Sequence[Option], say: Words) -> str:
    return ", ".join(f"--{shown_name(option, say)}" for option in options)


def _names_argument(verb: Verb, word: str) -> bool:
    """Whether a word with dashes before the text is the argument's own name written like an option: "--script" of
    "script report", where other verbs have an option of that name.
    """
    if verb.argument is None or verb.argument.many:
        return False
    return named([verb.argument.name], "option", _DASHES.sub("", word)) is not None


def value_of(verb: Verb, option: Option, value: str) -> OptionValue:
    """Convert the value to the option's kind. Raises UserError ("commands.option_…")."""
    name = partial(shown_name, option)
    if option.kind == "number":
        if not (value.isascii() and value.isdigit() and len(value) < 9 and int(value) > 0):
            raise UserError("commands.option_number", verb=verb.path, name=name, value=value)
        return int(value)
    if option.kind == "link" and not re.fullmatch(r"https?://[^\s/]+\S*", value):
        raise UserError("commands.option_link", verb=verb.path, name=name, value=value)
    if option.choices and value not in option.choices:
        if choice := named(option.choices, option.name, value):
            return choice
        choices = partial(_choices, option)
        raise UserError("commands.option_choice", verb=verb.path, name=name, value=value, choices=choices)
    return value


def _choices(option: Option, say: Words) -> str:
    return ", ".join(shown_choices(option, say))


def _text(line: str, words: Sequence[Token]) -> str:
    """The words as typed, with the spaces between them; a single quoted text without its quotes."""
    if len(words) == 1:
        return words[0].value
    text = ""
    for previous, word in zip([None, *words], words, strict=False):
        gap = line[previous.end : word.start] if previous else ""
        text += (gap if gap.isspace() else " " if previous else "") + line[word.start : word.end]
    return text


def _missing_words(verb: Verb, missing: Sequence[str], say: Words) -> str:
    """The missing argument and options with their summaries: "`WHAT` (answers, ballots or key)"."""
    parameters: list[Argument | Option] = [*([verb.argument] if verb.argument else []), *verb.options]
    descriptions = dict[str, str]()
    for parameter in parameters:
        name, summary = shown_name(parameter, say), say(parameter.summary)
        descriptions |= {
            parameter.name.upper(): f"`{name.upper()}` ({summary})",
            f"--{parameter.name}": f"`--{name}` ({summary})",
        }
    return ", ".join(descriptions[name] for name in missing)


def _check(verb: Verb, options: dict[str, OptionValue], text: str, asks: bool) -> None:
    """Raise UserError if something required is missing and `asks` does not add it, or if there is too much."""
    if verb.argument is None and (text or (asks and not verb.form)):
        raise UserError("commands.too_many", verb=verb.path, value=text or "…")
    if verb.argument and verb.argument.kept and meant(text.rstrip("0123456789 "), "sub_verb"):
        known = partial(_options, verb.options)
        key = "commands.no_sub_verb" if verb.options else "commands.no_sub_verb_only"
        raise UserError(key, verb=verb.path, name=text, example=verb.example_in, known=known)
    asks = asks and not (verb.argument is not None and verb.argument.many)
    missing = [
        f"--{option.name}" for option in verb.missing(options) if not (asks and option.name in verb.form)
    ]
    if verb.argument and verb.argument.required and not text.strip() and not asks:
        missing.insert(0, verb.argument.name.upper())
    if missing:
        raise UserError(
            "commands.missing",
            verb=verb.path,
            what=partial(_missing_words, verb, missing),
            example=verb.example_in,
        )
