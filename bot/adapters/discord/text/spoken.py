"""Commands by the names that each person's Discord shows: the catalogue's sentences, and the lines that people type,
call them as the table does.

Pure. In a sentence a command stands as code, `/library add`, and so does an option: the option `replace`. Other words
are let be, so that a book's or a model's text may come by.
"""

from __future__ import annotations

import re
from functools import cache

from bot.adapters.discord.received.verbs import slots
from bot.adapters.discord.text.help import ONLY_HERE, path_of
from bot.commands import HELP, TABLE
from bot.words import LOCALES, Words, words

_COMMAND = re.compile(r"`/([^`\n]+)`")
_OPTION = re.compile(r"\b(option|opção) `(\w+)`")
_DASHES = re.compile("^[—–]")


def shown(say: Words, sentence: str) -> str:
    """The sentence with every command and option by its name in the person's language."""
    paths, options = _names(say.locale)

    def command(code: re.Match[str]) -> str:
        topic = code[1].removeprefix(f"{HELP.path} ")
        helps = f"{paths[HELP.path]} " if topic != code[1] else ""
        return f"`/{helps}{_renamed(topic, paths)}`"

    def option(code: re.Match[str]) -> str:
        return f"{code[1]} `{options.get(code[2], code[2])}`"

    return _OPTION.sub(option, _COMMAND.sub(command, sentence))


def typed(line: str) -> str:
    """A line as the table has it, in whichever language its command and options are named."""
    if not line.lstrip().startswith("/"):
        return line
    inside = line.lstrip().removeprefix("/")
    for locale in LOCALES:
        paths, options = _names(locale)
        known = _renamed(inside, {shown: path for path, shown in paths.items()})
        if known != inside:
            back = {f"--{shown}": f"--{name}" for name, shown in options.items()}
            return "/" + " ".join(back.get(_DASHES.sub("--", word), word) for word in known.split(" "))
    return line


def _renamed(inside: str, names: dict[str, str]) -> str:
    """What stands after a slash, with the command that it begins with by its other name."""
    for path in sorted(names, key=len, reverse=True):
        if re.match(rf"{re.escape(path)}(?![\w-])", inside, re.IGNORECASE):
            return names[path] + inside[len(path) :]
    return inside


@cache
def _names(locale: str) -> tuple[dict[str, str], dict[str, str]]:
    """What a language calls the table's commands and their options."""
    say = words(locale)
    paths = {row.path: path_of(say, row) for row in TABLE}
    paths |= {name.replace("_", "-"): say(f"names.{name}") for name in ONLY_HERE}
    return paths, {slot.name: say(f"names.option_{slot.name}") for row in TABLE for slot in slots(row)}
