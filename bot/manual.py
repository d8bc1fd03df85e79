"""The table of verbs in words: /help, and docs/commands.md (`python -m bot.manual > docs/commands.md`).

Knows no platform; Discord, where commands are forms, words its own (`bot.adapters.discord.shown.replies`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from bot.command_line import nearest
from bot.commands import DEFAULT_WORK, HELP, KINDS, TABLE, WORKS, by_heading, plain_verb
from bot.markdown import code, one_line
from bot.verb import Argument, Option, Verb, shown_choices, shown_name, shown_path, usage
from bot.words import Words, folded, words


def example(say: Words, verb: Verb) -> str:
    """The verb's example in the language of `say`, with its name in that language."""
    return f"/{shown_path(verb, say)} {verb.sample_in(say)}".rstrip()


def help_text(
    say: Words,
    topic: str = "",
    *,
    table: Sequence[Verb] = TABLE,
    plain: str = "verbs.plain_text",
    example: Callable[[Words, Verb], str] = example,
) -> str:
    """Markdown for /help: all works, one work, or one verb. For an unknown topic it lists all works, and names the
    nearest.

    `plain` is the key of the sentence about plain text below a list, "" for none.
    """
    path = folded(topic.strip().lstrip("/"))
    works = {folded(name) for verb in table for name in (verb.work, _work_name(say, verb))}
    named_verbs = [
        verb
        for verb in table
        if path in map(folded, (verb.path, *_verb_paths(say, verb)))
        or (path in map(folded, (verb.name, _verb_name(say, verb))) and path not in works)
    ]
    if named_verbs:
        return "\n\n".join(_verb_help(say, verb, example(say, verb)) for verb in named_verbs)
    of_work = [verb for verb in table if path in map(folded, (verb.work, _work_name(say, verb)))]
    lines = _verb_lines(say, of_work) if of_work else overview(say, table)
    if path and not of_work:
        lines = [_unknown_topic(say, topic, table), "", *lines]
    return "\n".join([*lines, "", say(plain)] if plain else lines)


def _unknown_topic(say: Words, topic: str, table: Sequence[Verb]) -> str:
    """The sentence for an unknown topic, which names the nearest."""
    names = dict[str, str]()
    for verb in table:
        paths = _verb_paths(say, verb)
        for path in (*paths, verb.path):
            for name in (path, path.split()[-1]):
                names.setdefault(folded(name), paths[0])
    close = nearest(folded(topic.strip().lstrip("/")), list(names))
    key = "verbs.help_nearest" if close else "verbs.help_unknown"
    return say(key, topic=code(one_line(topic)), near=code(f"/{HELP.path} {names.get(close or '', '')}"))


def _verb_lines(say: Words, verbs: Sequence[Verb]) -> list[str]:
    """A line for each of a work's verbs, below its heading. Below headings the lines have no options, because the list
    is long.
    """
    groups = by_heading(verbs)
    if len(groups) == 1:
        return [f"- `{usage(verb, say)}`  {say(verb.summary)}" for verb in verbs]
    lines = headed(
        say, groups, lambda verb: f"- `{usage(replace(verb, options=()), say)}`  {say(verb.summary)}"
    )
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
    lines += [f"- `{usage(verb, say)}`  {say(verb.summary)}" for verb in table if verb.bare]
    return [*lines, "", say("verbs.help_more", work=f"`/help {WORKS[0]}`", verb=f"`/help {table[0].path}`")]


def _verb_paths(say: Words, verb: Verb) -> list[str]:
    """The words that name the verb in the language of `say`, also as Slack and Discord show them."""
    name = _verb_name(say, verb)
    if verb.bare:
        return [name]
    works = (_work_name(say, verb), verb.work, say(f"names.group_{verb.group or verb.work}"))
    return [f"{work} {name}" for work in works]


def _verb_name(say: Words, verb: Verb) -> str:
    return say(f"names.{verb.path.replace(' ', '_')}")


def _work_name(say: Words, verb: Verb) -> str:
    return say(f"names.group_{verb.work}") if verb.work in WORKS else verb.work


def _verb_help(say: Words, verb: Verb, shown: str) -> str:
    lines = [f"`{usage(verb, say)}`", "", say(verb.summary), ""]
    if verb.argument:
        lines.append(f"- `{shown_name(verb.argument, say).upper()}`  {_description(say, verb.argument)}")
    lines += [f"- `--{shown_name(option, say)}`  {_description(say, option)}" for option in verb.options]
    return "\n".join([*lines, f"- {say('verbs.example')} `{shown}`"])


def _description(say: Words, parameter: Argument | Option) -> str:
    """The summary of an argument or an option, with its choices if the summary does not name them."""
    summary = say(parameter.summary)
    choices = shown_choices(parameter, say)
    if all(re.search(rf"(?<!\w){re.escape(choice)}(?!\w)", summary) for choice in choices):
        return summary
    return f"{summary} ({', '.join(map(code, choices))})"


def document() -> str:
    """docs/commands.md, from the table."""
    say = words("en")
    parts = [
        "# Commands",
        "",
        "<!-- Generated by `python -m bot.manual > docs/commands.md` from the tables of commands. Do not edit. -->",
        "",
        "All commands, grouped by work: one kind of thing that the bot does, such as `rules` or `story`.",
        "",
        "In the terminal, commands begin with `/`. Text without `/` goes to the work of your conversation.",
        f"In a new conversation, that is `{DEFAULT_WORK}`: text means `/{' '.join(plain_verb(DEFAULT_WORK))}`.",
        "You can leave out the work if only one work has a command of that name (`/roll 4d6kh3`), and for the commands",
        f"of `{DEFAULT_WORK}` (`/ask`).",
        "After the text, the value of an option needs no quotation marks (`… --title The door in the sea`): it ends at",
        "the next option. Before the text it is one word, or several in quotation marks.",
        "*Ordered* commands in the same thread run one after another; *free* commands start at once.",
    ]
    for work in KINDS:
        parts += ["", f"## {work}"]
        groups = by_heading([verb for verb in TABLE if verb.work == work])
        for heading, verbs in groups:
            parts += ["", f"**{say(heading)}**"] if heading else []
            parts += ["", "| command | what it does | order |", "|---|---|---|"]
            parts += [
                f"| `{usage(verb, say)}` | {say(verb.summary)} | {'ordered' if verb.ordered else 'free'} |"
                for verb in verbs
            ]
        for verb in (verb for _, verbs in groups for verb in verbs):
            if verb.argument or verb.options:
                parts += ["", f"### /{verb.path}", "", _verb_help(say, verb, verb.example).split("\n", 4)[-1]]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    print(document(), end="")
