"""Localized names of commands, as each person's Discord shows them: in sentences, in typed lines, in /help.

Pure. In a sentence of the catalogue a command is marked as code, `/library add`, and so is an option: the option
`replace`. Other words are not changed, so the text of a book or a model may be passed, too.
"""

from __future__ import annotations

import re
from functools import cache

from bot.adapters.discord.received.commands import FILES, Slot, path_of, slots, texts, wants_text
from bot.command_line import parse
from bot.commands import HELP, TABLE
from bot.verb import Verb
from bot.words import LOCALES, Words, name_of, words

_COMMAND = re.compile(r"`/([^`\n]+)`")
_OPTION = re.compile(r"\b(option|opção) `(\w+)`")
_DASHES = re.compile("^[—–]")
ONLY_HERE = ("setup", "free_chat")
"""Commands of Discord alone, in no row of the table."""


def localized(say: Words, sentence: str) -> str:
    """The sentence with every command and option by its name in the person's language."""
    paths, options = _names(say.locale)

    def command(code: re.Match[str]) -> str:
        topic = code[1].removeprefix(f"{HELP.path} ")
        helps = f"{paths[HELP.path]} " if topic != code[1] else ""
        return f"`/{helps}{_renamed(topic, paths)}`"

    def option(code: re.Match[str]) -> str:
        return f"{code[1]} `{options.get(code[2], code[2])}`"

    return _OPTION.sub(option, _COMMAND.sub(command, sentence))


def as_in_table(line: str) -> str:
    """A typed line with the table's names of command and options, from any language."""
    if not line.lstrip().startswith("/"):
        return line
    inside = line.lstrip().removeprefix("/")
    for locale in LOCALES:
        paths, options = _names(locale)
        renamed = _renamed(inside, {shown: path for path, shown in paths.items()})
        if renamed != inside:
            back = {f"--{shown}": f"--{name}" for name, shown in options.items()}
            return "/" + " ".join(back.get(_DASHES.sub("--", word), word) for word in renamed.split(" "))
    return line


def _renamed(inside: str, names: dict[str, str]) -> str:
    """The text behind a slash, with the command at its beginning replaced by its other name."""
    for path in sorted(names, key=len, reverse=True):
        if re.match(rf"{re.escape(path)}(?![\w-])", inside, re.IGNORECASE):
            return names[path] + inside[len(path) :]
    return inside


@cache
def _names(locale: str) -> tuple[dict[str, str], dict[str, str]]:
    """The names of the table's commands and options in a language."""
    say = words(locale)
    paths = {row.path: path_of(say, row) for row in TABLE}
    paths |= {name.replace("_", "-"): say(f"names.{name}") for name in ONLY_HERE}
    return paths, {slot.name: say(name_of(slot.name, "option")) for row in TABLE for slot in slots(row)}


def help_text(say: Words, topic: str = "") -> str:
    """Markdown: all works, the commands of one group, or one command with its options and an example.

    Under a work's own name its other groups have a line each: all of the story's commands are too long for a message.
    """
    path = " ".join(topic.strip().lstrip("/").lower().split())
    groups = {row.group or row.work: row.work for row in TABLE if not row.bare}
    named = [group for group in groups if path in (group, say(f"names.group_{group}"))]
    exact = (
        [row for row in TABLE if path in (row.path, row.name, path_of(say, row))]
        if path and not named
        else []
    )
    if exact:
        return "\n\n".join(_one(say, row) for row in exact)
    listed = named or list(groups)
    rows = [
        (path_of(say, row), row.summary)
        for row in TABLE
        if (row.bare if not named else not row.bare and (row.group or row.work) in named)
    ]
    if not named:
        rows += [(say(f"names.{name}"), f"welcome.{name}") for name in ONLY_HERE]
    commands = [f"- **/{path}**  {say(summary)}" for path, summary in rows]
    others = [group for group, work in groups.items() if work in listed and (not named or group not in named)]
    lines = [_group(say, group) for group in others]
    lines = [*commands, *lines] if named else [*lines, *commands]
    return "\n".join([*lines, "", say("discord.help_more"), say("discord.help_talk")])


def _group(say: Words, group: str) -> str:
    """A line for a command group, with the names of its verbs."""
    names = [say(f"names.{row.work}_{row.name}") for row in TABLE if (row.group or row.work) == group]
    return f"- **/{say(f'names.group_{group}')}**  {say(f'verbs.group_{group}')} {' · '.join(names)}"


def _one(say: Words, row: Verb) -> str:
    lines = [f"**/{path_of(say, row)}**", say(row.summary), ""]
    lines += [_option(say, row, slot) for slot in slots(row) if slot.name not in FILES[1:]]
    return "\n".join([*lines, "", f"{say('verbs.example')} `{_example(say, row)}`"])


def _option(say: Words, row: Verb, slot: Slot) -> str:
    line = f"- `{_name(say, slot.name)}`  {say(slot.summary)}"
    if row.argument is not None and slot.name == row.argument.name and wants_text(row):
        line += f" ({say('discord.help_window')})"
    return line


def _example(say: Words, row: Verb) -> str:
    """The row's example in Discord's format."""
    parsed = parse(row.example)
    parts = [f"/{path_of(say, row)}"]
    if row.argument is not None and row.argument.many:
        parts.append(f"{_name(say, FILES[0])}:")
    elif row.argument is not None and parsed.text:
        names = texts(row)
        values = parsed.text.split(None, len(names) - 1)
        parts += [f"{_name(say, name)}:{value}" for name, value in zip(names, values, strict=False)]
    for name, value in parsed.options.items():
        if row.option(name) is not None:
            parts.append(f"{_name(say, name)}:{value}")
    return " ".join(parts)


def _name(say: Words, option: str) -> str:
    return say(name_of(option, "option"))
