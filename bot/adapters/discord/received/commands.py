"""The table of verbs as Discord's typed commands: their names in each language, their completions, and the reading of
their values.

Names, descriptions, kinds, choices and completions come from the row. Each string of the tree carries its key in
`bot/words`; Discord shows English for a language without a translation.

In a sentence of the catalogue a command is marked as code, `/library add`, and so is an option: the option `replace`.
Other words are not changed, so text of a book or a model is safe to pass.
"""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

import discord
from discord import app_commands
from discord.app_commands import Choice, TranslationContextTypes, locale_str

from bot import mention
from bot.adapters.discord.received.placing import file_of
from bot.adapters.markdown import clean
from bot.command_line import value_of
from bot.commands import HELP, KINDS, TABLE
from bot.events import File, OptionValue, UserError
from bot.verb import Option, Verb, shown_path
from bot.words import LOCALES, Words, folded, name_of, words

FILES = ("file", "file2", "file3", "file4", "file5")
"""The attachments of a verb that takes a list of files; Discord has no option of many values."""

_TYPES: dict[str, tuple[type[Any], ...]] = {
    "text": (str,),
    "link": (str,),
    "number": (int,),
    "flag": (bool,),
    "file": (discord.Attachment,),
    "person": (discord.User, discord.Member),
    "group": (discord.Role,),
    "channel": (discord.VoiceChannel, discord.StageChannel),
}
_ANNOTATIONS: dict[str, Any] = {
    "person": discord.User,
    "group": discord.Role,
    "channel": discord.VoiceChannel | discord.StageChannel,
}

NOT_ALONE = ("party", "voice")
"""Command groups that need other people or a server, so direct messages do not offer them."""
ONLY_HERE = ("setup", "free_chat")
"""Commands that exist only on Discord and are not in the table."""
_COMMAND = re.compile(r"`/([^`\n]+)`")
_OPTION = re.compile(r"\b(option|opção) `([\w-]+)`")
_WORD = re.compile(r"[\w-]+")
_TWO_WORDS = re.compile(r"[\w-]+\s+[\w-]+")
_DASHED = re.compile(r"(?<!\S)--([\w-]+)")

_SERVERS = app_commands.AppCommandContext(guild=True, dm_channel=False, private_channel=False)
_TRANSLATED = {discord.Locale.brazil_portuguese: "pt-BR"}

Kind = Literal["text", "link", "number", "flag", "file", "person", "group", "channel"]
Perform = Callable[[discord.Interaction, Verb, Mapping[str, Any]], Coroutine[Any, Any, None]]
"""Intake.slash."""
OnMessage = Callable[[discord.Interaction, Verb, discord.Message], Coroutine[Any, Any, None]]
"""Intake.on_message."""
Offer = Callable[[discord.Interaction, str, str], Coroutine[Any, Any, list[Choice[str]]]]
"""Autocomplete.choices: names of a kind that begin with what was typed."""


@dataclass(slots=True)
class Slot:
    """One option of a slash command.

    `option` is the row's; it is None for a word of the argument and for a file of a list. `most` is the largest number,
    or the most characters. `after` is an earlier option on whose value its completions depend, "" for none. `argument`
    is its name as a Python parameter: no keyword, no dash.
    """

    name: str
    summary: str
    kind: Kind = "text"
    required: bool = False
    choices: tuple[str, ...] = ()
    completes: str = ""
    most: int | None = None
    after: str = ""
    option: Option | None = None
    argument: str = field(init=False)

    def __post_init__(self) -> None:
        name = self.name.replace("-", "_")
        self.argument = f"{name}_" if keyword.iskeyword(name) else name


def wants_text(row: Verb) -> bool:
    """Whether the verb needs a free text, for which a modal asks if the command was sent without it."""
    argument = row.argument
    return argument is not None and argument.required and not argument.many and not argument.completes


def texts(row: Verb) -> list[str]:
    """The names of the options for a row's argument on Discord: one for each of its words.

    For a verb that `rewords` ("name text") only the first is an option; a modal asks for the second.
    """
    if row.argument is None or row.argument.many:
        return []
    names = row.argument.name.split()
    return names[:1] if row.rewords else names


@cache
def slots(row: Verb) -> tuple[Slot, ...]:
    """A row's options on Discord: file names become attachments, a free text is optional."""
    result: list[Slot] = []
    argument = row.argument
    if argument is not None and argument.many:
        result += [
            Slot(name, "discord.option_more" if n else "discord.option_file", "file", required=not n)
            for n, name in enumerate(FILES)
        ]
    elif argument is not None:
        required = argument.required and not wants_text(row)
        before = ""
        for name in texts(row):
            summary = argument.summary if name == argument.name else f"discord.option_{name}"
            slot = Slot(name, summary, argument.kind, required, argument.choices)
            slot.completes, slot.most, slot.after = argument.completes, argument.limit, before
            result.append(slot)
            before = name
    for option in row.options:
        kind: Kind = "file" if option.completes == "path" else option.kind
        slot = Slot(option.name, option.summary, kind, option.required, option.choices, option=option)
        slot.most = option.limit
        if kind != "file":
            slot.completes = option.completes
        result.append(slot)
    return tuple(result)


def command(row: Verb, perform: Perform, offer: Offer) -> app_commands.Command[Any, ..., None]:
    """The slash command of a row in all languages; `perform` gets its values for `read`."""
    parameters = slots(row)

    async def callback(interaction: discord.Interaction, **values: Any) -> None:
        await perform(interaction, row, values)

    receiver = inspect.Parameter(
        "interaction", inspect.Parameter.POSITIONAL_ONLY, annotation=discord.Interaction
    )
    callback.__signature__ = inspect.Signature([receiver, *map(_parameter, parameters)])  # type: ignore[attr-defined]
    for slot in parameters:
        app_commands.describe(**{slot.argument: localized_sentence(slot.summary)})(callback)
        app_commands.rename(**{slot.argument: localized_name(slot.name, "option")})(callback)
        if slot.choices:
            offered = [
                Choice(name=localized_name(choice, slot.name), value=choice) for choice in slot.choices
            ]
            app_commands.choices(**{slot.argument: offered})(callback)
    key = row.name if row.bare else f"{row.work}_{row.name}"
    slash_command: app_commands.Command[Any, ..., None] = app_commands.Command(
        name=locale_str(row.name, key=f"names.{key}"),
        description=localized_sentence(row.summary),
        callback=callback,
    )
    for slot in parameters:
        if slot.completes and not slot.choices:
            slash_command.autocomplete(slot.argument)(_completion(slot, offer))
    return slash_command


def groups(work: str, perform: Perform, offer: Offer) -> list[app_commands.Group]:
    """The command groups of a work: one, or several if one cannot hold all its verbs (`Verb.group`)."""
    kind = KINDS[work]
    rights = discord.Permissions(manage_guild=True) if kind.for_admins else None
    by_name: dict[str, app_commands.Group] = {}
    for row in (row for row in kind.verbs if not row.inner):
        name = row.group or work
        if name not in by_name:
            by_name[name] = app_commands.Group(
                name=localized_name(name, "group"),
                description=localized_sentence(f"verbs.group_{name}"),
                default_permissions=rights,
                allowed_contexts=_SERVERS if name in NOT_ALONE else None,
            )
        by_name[name].add_command(command(row, perform, offer))
    return list(by_name.values())


def menu(row: Verb, perform: OnMessage) -> app_commands.ContextMenu:
    """The row's entry in the menu of a message."""

    async def callback(interaction: discord.Interaction, message: discord.Message) -> None:
        await perform(interaction, row, message)

    return app_commands.ContextMenu(name=localized_sentence(row.menu), callback=callback)


def _parameter(slot: Slot) -> inspect.Parameter:
    kind: Any = _ANNOTATIONS.get(slot.kind) or _TYPES[slot.kind][0]
    if slot.most is not None and slot.kind in ("text", "link", "number") and not slot.choices:
        kind = app_commands.Range[kind, 1, slot.most]
    default: object = inspect.Parameter.empty
    if slot.kind == "flag":
        default = False
    elif not slot.required:
        kind, default = kind | None, None
    return inspect.Parameter(slot.argument, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def read(row: Verb, values: Mapping[str, Any]) -> tuple[str | None, dict[str, OptionValue], tuple[File, ...]]:
    """The text, the options and the files of the values that Discord sent, keyed by `Slot.argument`; None for a missing
    free text.

    A flag that is False counts as not given. Raises UserError for an invalid link, and for values of another kind or
    outside an option's choices; these come only from commands of an earlier release that Discord still shows.
    """
    typed: list[str] = []
    options: dict[str, OptionValue] = {}
    files: list[File] = []
    for slot in slots(row):
        value = values.get(slot.argument)
        if value is None or value is False:
            continue
        choices = slot.option.choices if slot.option is not None else ()
        if type(value) not in _TYPES[slot.kind] or (choices and value not in choices):
            raise UserError("discord.outdated")
        if slot.kind == "file":
            files.append(file_of(value))
        elif slot.option is None:
            typed.append(_chosen(value))
        else:
            options[slot.name] = value_of(row, slot.option, value) if slot.kind == "link" else _chosen(value)
    text = None if not typed and len(texts(row)) == 1 and wants_text(row) else " ".join(typed)
    return text, options, tuple(files)


def _chosen(value: Any) -> Any:
    """The value in the table's form: a person, a role or a channel becomes a mention."""
    if isinstance(value, discord.User | discord.Member):
        return mention.person(str(value.id), clean(value.display_name))
    if isinstance(value, discord.Role):
        return mention.group(str(value.id), clean(value.name))
    if isinstance(value, discord.VoiceChannel | discord.StageChannel):
        return mention.channel(str(value.id), value.name)
    return value


def path_of(say: Words, row: Verb) -> str:
    """The command without its slash, in the person's language: "rules ask", "regras perguntar"."""
    if row.bare:
        return say(f"names.{row.name}")
    return f"{say(f'names.group_{row.group or row.work}')} {say(f'names.{row.work}_{row.name}')}"


def localized(say: Words, sentence: str) -> str:
    """The sentence with every command and option by its name in the person's language."""
    paths, options = _names(say.locale)

    def command(code: re.Match[str]) -> str:
        topic = code[1].removeprefix(f"{HELP.path} ")
        helps = f"{paths[HELP.path]} " if topic != code[1] else ""
        renamed = _renamed(topic, paths)
        if renamed != topic:
            renamed = _DASHED.sub(lambda given: f"--{options.get(given[1], given[1])}", renamed)
        return f"`/{helps}{renamed}`"

    def option(code: re.Match[str]) -> str:
        return f"{code[1]} `{options.get(code[2], code[2])}`"

    return _OPTION.sub(option, _COMMAND.sub(command, sentence))


def as_shown(say: Words, line: str) -> str:
    """A line of the table, with its slash, with the command as Discord shows it: "/party join" for "/story join"."""
    return f"/{_renamed(line[1:], _names(say.locale)[0])}"


def as_in_table(line: str) -> str:
    """A typed line in any language, with the command renamed as in the table."""
    if not line.lstrip().startswith("/"):
        return line
    inside = line.lstrip().removeprefix("/")
    for locale in LOCALES:
        paths = {folded(shown): path for path, shown in _names(locale)[0].items()}
        for typed in filter(None, (_TWO_WORDS.match(inside), _WORD.match(inside))):
            if path := paths.get(folded(typed[0])):
                return f"/{path}{inside[typed.end() :]}"
    return line


def _renamed(inside: str, names: dict[str, str]) -> str:
    """The text after a slash, with the command at its beginning replaced by its other name."""
    for path in sorted(names, key=len, reverse=True):
        if re.match(rf"{re.escape(path)}(?![\w-])", inside, re.IGNORECASE):
            return names[path] + inside[len(path) :]
    return inside


@cache
def _names(locale: str) -> tuple[dict[str, str], dict[str, str]]:
    """The names of the table's commands and options in a language, as two dictionaries."""
    say = words(locale)
    paths = {path: path_of(say, row) for row in TABLE for path in (shown_path(row, say), row.path)}
    paths |= {name.replace("_", "-"): say(f"names.{name}") for name in ONLY_HERE}
    return paths, {slot.name: say(name_of(slot.name, "option")) for row in TABLE for slot in slots(row)}


def localized_name(name: str, kind: str) -> locale_str:
    """A name from the table with the key of its translations."""
    return locale_str(name, key=name_of(name, kind))


def _completion(
    slot: Slot, offer: Offer
) -> Callable[[discord.Interaction, str], Coroutine[Any, Any, list[Choice[str]]]]:
    """The completion of an option. If it depends on another (`after`), it gets that option's value."""

    async def complete(interaction: discord.Interaction, current: str) -> list[Choice[str]]:
        before = ""
        if slot.after:
            if not (first := getattr(interaction.namespace, slot.after, None)):
                return []
            before = f"{first} "
        choices = await offer(interaction, slot.completes, before + current)
        return [
            Choice(name=choice.name[len(before) :], value=choice.value[len(before) :]) for choice in choices
        ]

    return complete


def localized_sentence(key: str) -> locale_str:
    """The English sentence of the catalogue with its key for the translator."""
    return locale_str(words("en")(key), key=key)


class Translator(app_commands.Translator):
    async def translate(
        self, string: locale_str, locale: discord.Locale, context: TranslationContextTypes
    ) -> str | None:
        key = string.extras.get("key")
        if key is None or locale not in _TRANSLATED:
            return None
        return words(_TRANSLATED[locale])(key)
