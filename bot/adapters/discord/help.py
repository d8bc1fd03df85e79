"""/help as Discord's forms want it: names in the person's language, options as fields, an example to copy.

Pure: knows the table of verbs and the words. In the terminal and in messages a line is typed, with dashes.
"""

from __future__ import annotations

from bot.adapters.discord.verbs import FILES, Slot, slots, texts, typed
from bot.command_line import parse
from bot.commands import TABLE, WORKS
from bot.verb import Verb
from bot.words import Words

ONLY_HERE = ("setup", "free_chat")
"""Commands that are Discord's own, and in no row of the table."""


def help_text(say: Words, topic: str = "") -> str:
    """Markdown: every command, those of one work, or one command with its options and an example."""
    path = " ".join(topic.strip().lstrip("/").lower().split())
    exact = [row for row in TABLE if path in (row.path, row.name, path_of(say, row))] if path else []
    if exact:
        return "\n\n".join(_one(say, row) for row in exact)
    works = [work for work in WORKS if path in (work, say(f"names.group_{work}"))]
    shown = [(path_of(say, row), row.summary) for row in TABLE if row.work in works or not works]
    if not works:
        shown += [(say(f"names.{name}"), f"welcome.{name}") for name in ONLY_HERE]
    lines = [f"- **/{path}**  {say(summary)}" for path, summary in shown]
    return "\n".join([*lines, "", say("discord.help_more"), say("discord.help_talk")])


def path_of(say: Words, row: Verb) -> str:
    """What is typed after the slash, in the person's language: "rules ask", "regras perguntar"."""
    if row.bare:
        return say(f"names.{row.name}")
    return f"{say(f'names.group_{row.work}')} {say(f'names.{row.work}_{row.name}')}"


def _one(say: Words, row: Verb) -> str:
    lines = [f"**/{path_of(say, row)}**", say(row.summary), ""]
    lines += [_option(say, row, slot) for slot in slots(row) if slot.name not in FILES[1:]]
    return "\n".join([*lines, "", f"{say('verbs.example')} `{_example(say, row)}`"])


def _option(say: Words, row: Verb, slot: Slot) -> str:
    line = f"- `{_name(say, slot.name)}`  {say(slot.summary)}"
    if row.argument is not None and slot.name == row.argument.name and typed(row):
        line += f" ({say('discord.help_window')})"
    return line


def _example(say: Words, row: Verb) -> str:
    """The row's example as Discord shows it while it is filled in."""
    given = parse(row.example)
    parts = [f"/{path_of(say, row)}"]
    if row.argument is not None and row.argument.many:
        parts.append(f"{_name(say, FILES[0])}:")
    elif row.argument is not None and given.text:
        names = texts(row)
        values = given.text.split(None, len(names) - 1)
        parts += [f"{_name(say, name)}:{value}" for name, value in zip(names, values, strict=False)]
    for name, value in given.options.items():
        if row.option(name) is not None:
            parts.append(f"{_name(say, name)}:{value}")
    return " ".join(parts)


def _name(say: Words, option: str) -> str:
    return say(f"names.option_{option}")
