"""The table of verbs in words: /help, and docs/commands.md (`python -m bot.manual > docs/commands.md`).

Knows no platform; Discord, where commands are forms, words its own (`bot.adapters.discord.shown.replies`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from bot.commands import DEFAULT_WORK, HELP, KINDS, TABLE, WORKS, by_heading, plain_verb
from bot.markdown import code
from bot.verb import Argument, Option, Verb, usage
from bot.words import Words, words


def example(say: Words, verb: Verb) -> str:
    """The verb's example in the language of `say`, with its name in that language."""
    return f"/{_paths(say, verb)[0]} {verb.sample_in(say)}".rstrip()


def help_text(
    say: Words,
    topic: str = "",
    *,
    table: Sequence[Verb] = TABLE,
    plain: str = "verbs.plain_text",
    example: Callable[[Words, Verb], str] = example,
) -> str:
    """Markdown for /help: all works, one work, or one verb. For an unknown topic it lists all works.

    `plain` is the key of the sentence about plain text below a list, "" for none.
    """
    path = " ".join(topic.strip().lstrip("/").lower().split())
    works = {name for verb in table for name in (verb.work, _work(say, verb))}
    exact = [
        verb
        for verb in table
        if path in (verb.path, *_paths(say, verb))
        or (path in (verb.name, _name(say, verb)) and path not in works)
    ]
    if exact:
        return "\n\n".join(_verb_help(say, verb, example(say, verb)) for verb in exact)
    shown = [verb for verb in table if path in (verb.work, _work(say, verb))]
    lines = _listed(say, shown) if shown else overview(say, table)
    return "\n".join([*lines, "", say(plain)] if plain else lines)


def _listed(say: Words, shown: Sequence[Verb]) -> list[str]:
    """A line for each of a work's verbs, below its heading. Below headings the lines have no options, because the list
    is long.
    """
    groups = by_heading(shown)
    if len(groups) == 1:
        return [f"- `{usage(verb)}`  {say(verb.summary)}" for verb in shown]
    lines = headed(say, groups, lambda verb: f"- `{usage(replace(verb, options=()))}`  {say(verb.summary)}")
    return [*lines, "", say("verbs.help_options", verb=f"`/{HELP.path} {groups[0][1][0].path}`")]


def headed(
    say: Words, groups: Sequence[tuple[str, Sequence[Verb]]], line: Callable[[Verb], str]
) -> list[str]:
    """The groups of `by_heading` as Markdown, with `line` for each verb."""
    lines: list[str] = []
    for heading, verbs in groups:
        if heading:
            lines += [*([""] if lines else []), f"### {say(heading)}"]
        lines += map(line, verbs)
    return lines


def overview(say: Words, table: Sequence[Verb]) -> list[str]:
    """A line for each work, with its verbs, and one for each verb about the conversation itself."""
    lines = []
    for work in WORKS:
        names = " · ".join(f"`{verb.name}`" for verb in table if verb.work == work)
        lines.append(f"- **/{work}**  {say(f'verbs.group_{work}')} {names}")
    lines += [f"- `{usage(verb)}`  {say(verb.summary)}" for verb in table if verb.bare]
    return [*lines, "", say("verbs.help_more", work=f"`/help {WORKS[0]}`", verb=f"`/help {table[0].path}`")]


def _paths(say: Words, verb: Verb) -> list[str]:
    """The words that name the verb in the language of `say`, also as Slack and Discord show them."""
    name = _name(say, verb)
    if verb.bare:
        return [name]
    works = (_work(say, verb), verb.work, say(f"names.group_{verb.group or verb.work}"))
    return [f"{work} {name}" for work in works]


def _name(say: Words, verb: Verb) -> str:
    return say(f"names.{verb.path.replace(' ', '_')}")


def _work(say: Words, verb: Verb) -> str:
    return say(f"names.group_{verb.work}") if verb.work in WORKS else verb.work


def _verb_help(say: Words, verb: Verb, shown: str) -> str:
    lines = [f"`{usage(verb)}`", "", say(verb.summary), ""]
    if verb.argument:
        lines.append(f"- `{verb.argument.name.upper()}`  {_described(say, verb.argument)}")
    lines += [f"- `--{option.name}`  {_described(say, option)}" for option in verb.options]
    return "\n".join([*lines, f"- {say('verbs.example')} `{shown}`"])


def _described(say: Words, given: Argument | Option) -> str:
    """What an argument or an option is, with its choices if the sentence does not name them."""
    summary = say(given.summary)
    named = set(re.findall(r"[\w-]+", summary))
    return (
        summary if named.issuperset(given.choices) else f"{summary} ({', '.join(map(code, given.choices))})"
    )


def document() -> str:
    """docs/commands.md, from the table."""
    say = words("en")
    parts = [
        "# Commands",
        "",
        "Generated from `bot/commands.py` by `python -m bot.manual > docs/commands.md`: "
        "edit the table, not this page.",
        "",
        "In the terminal, commands begin with `/`. Everything else is plain text and goes to the work of the session.",
        f"A new session belongs to `{DEFAULT_WORK}`, where plain text means `/{' '.join(plain_verb(DEFAULT_WORK))}`.",
        "You may leave out the work if only one work has the verb (`/roll 4d6kh3`), or if you mean the verb of",
        f"`{DEFAULT_WORK}` (`/ask`).",
        "After the text, the value of an option needs no quotation marks (`… --title The door in the sea`): it ends at",
        "the next option. Before the text it is one word, or several in quotation marks.",
        "*Ordered* verbs of a thread run one after another; *free* verbs start at once.",
    ]
    for work in KINDS:
        parts += ["", f"## {work}"]
        groups = by_heading([verb for verb in TABLE if verb.work == work])
        for heading, verbs in groups:
            parts += ["", f"**{say(heading)}**"] if heading else []
            parts += ["", "| command | what it does | order |", "|---|---|---|"]
            parts += [
                f"| `{usage(verb)}` | {say(verb.summary)} | {'ordered' if verb.ordered else 'free'} |"
                for verb in verbs
            ]
        for verb in (verb for _, verbs in groups for verb in verbs):
            if verb.argument or verb.options:
                parts += ["", f"### /{verb.path}", "", _verb_help(say, verb, verb.example).split("\n", 4)[-1]]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    print(document(), end="")
