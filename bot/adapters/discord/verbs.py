"""A row of the table of verbs as one of Discord's typed commands, and what comes in by it.

Names, descriptions, kinds, choices and completions are the row's, in all languages. Knows no application.
"""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import discord
from discord import app_commands
from discord.app_commands import Choice, locale_str

from bot.adapters.discord.translator import said
from bot.commands import KINDS
from bot.events import OptionValue, Sorry
from bot.verb import Verb

FILES = ("file", "file2", "file3", "file4", "file5")
"""The attachments of a verb that takes a list of files; Discord has no option of many values."""

_TYPES = {"text": str, "number": int, "flag": bool, "file": discord.Attachment}
_VALUES = {"text": str, "number": int, "flag": bool}

Perform = Callable[[discord.Interaction, Verb, Mapping[str, Any]], Coroutine[Any, Any, None]]
"""Reception.slash."""
Offer = Callable[[discord.Interaction, str, str], Coroutine[Any, Any, list[Choice[str]]]]
"""Autocomplete.choices: names of a kind that begin like what was typed."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One option of a slash command, as the row wants it.

    `after` is the option that is filled in before it, where its own names depend on that.
    """

    name: str
    summary: str
    kind: Literal["text", "number", "flag", "file"] = "text"
    required: bool = False
    choices: tuple[str, ...] = ()
    completes: str = ""
    most: int | None = None
    after: str = ""

    @property
    def argument(self) -> str:
        """What Python calls it: a word of its own it cannot take."""
        return f"{self.name}_" if keyword.iskeyword(self.name) else self.name


def typed(row: Verb) -> bool:
    """Whether the verb needs a free text, which a modal asks for where the command was sent without it."""
    argument = row.argument
    return argument is not None and argument.required and not argument.many and not argument.completes


def texts(row: Verb) -> list[str]:
    """The options that a row's argument is on Discord: one for each of its words.

    Of a verb that rewords ("name text") only the first is an option; a modal asks for the second.
    """
    if row.argument is None or row.argument.many:
        return []
    names = row.argument.name.split()
    return names[:1] if row.rewords else names


def slots(row: Verb) -> tuple[Slot, ...]:
    """A row's options on Discord: what names a file is an attachment, a free text may be left out."""
    found: list[Slot] = []
    argument = row.argument
    if argument is not None and argument.many:
        found += [
            Slot(name, "discord.option_more" if n else "discord.option_file", "file", required=not n)
            for n, name in enumerate(FILES)
        ]
    elif argument is not None:
        required = argument.required and not typed(row)
        before = ""
        for name in texts(row):
            summary = argument.summary if name == argument.name else f"discord.option_{name}"
            found.append(
                Slot(
                    name,
                    summary,
                    required=required,
                    completes=argument.completes,
                    most=argument.most,
                    after=before,
                )
            )
            before = name
    for option in row.options:
        if option.completes == "path":
            found.append(Slot(option.name, option.summary, "file"))
        else:
            found.append(
                Slot(
                    option.name,
                    option.summary,
                    option.kind,
                    option.required,
                    option.choices,
                    option.completes,
                    option.most if option.kind == "number" else None,
                )
            )
    return tuple(found)


def command(row: Verb, perform: Perform, offer: Offer) -> app_commands.Command[Any, ..., None]:
    """The slash command of a row, in all languages; what it was given goes to `perform` by the options' names."""
    wanted = slots(row)

    async def given(interaction: discord.Interaction, **values: Any) -> None:
        await perform(interaction, row, {slot.name: values[slot.argument] for slot in wanted})

    who = inspect.Parameter("interaction", inspect.Parameter.POSITIONAL_ONLY, annotation=discord.Interaction)
    given.__signature__ = inspect.Signature([who, *map(_parameter, wanted)])  # type: ignore[attr-defined]
    for slot in wanted:
        app_commands.describe(**{slot.argument: said(slot.summary)})(given)
        app_commands.rename(**{slot.argument: named(slot.name, "option")})(given)
        if slot.choices:
            offered = [Choice(name=named(one, slot.name), value=one) for one in slot.choices]
            app_commands.choices(**{slot.argument: offered})(given)
    key = row.name if row.bare else f"{row.work}_{row.name}"
    made: app_commands.Command[Any, ..., None] = app_commands.Command(
        name=locale_str(row.name, key=f"names.{key}"), description=said(row.summary), callback=given
    )
    for slot in wanted:
        if slot.completes and not slot.choices:
            made.autocomplete(slot.argument)(_completion(slot, offer))
    return made


def group(work: str, perform: Perform, offer: Offer) -> app_commands.Group:
    """The commands of a work, as one."""
    kind = KINDS[work]
    rights = discord.Permissions(manage_guild=True) if kind.for_admins else None
    made = app_commands.Group(
        name=named(work, "group"), description=said(f"discord.group_{work}"), default_permissions=rights
    )
    for row in kind.verbs:
        made.add_command(command(row, perform, offer))
    return made


def _parameter(slot: Slot) -> inspect.Parameter:
    kind: Any = _TYPES[slot.kind]
    if slot.most is not None and slot.kind in ("text", "number"):
        kind = app_commands.Range[kind, 1, slot.most]
    default: object = inspect.Parameter.empty
    if slot.kind == "flag":
        default = False
    elif not slot.required:
        kind, default = kind | None, None
    return inspect.Parameter(slot.argument, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def read(
    row: Verb, given: Mapping[str, Any]
) -> tuple[str | None, dict[str, OptionValue], tuple[discord.Attachment | None, ...]]:
    """The text, the options and the attachments of what Discord sent; None for a free text that was left out.

    A flag left at False is one that was not typed. Raises Sorry for values of another kind, which come only from
    commands that Discord has kept too long.
    """
    parts = [given.get(name) for name in texts(row)]
    if not all(isinstance(one, str | None) for one in parts):
        raise Sorry("discord.outdated")
    text = None if parts == [None] and typed(row) else " ".join(one for one in parts if one is not None)
    files = [slot.name for slot in slots(row) if slot.kind == "file"]
    options: dict[str, OptionValue] = {}
    for option in row.options:
        value = given.get(option.name)
        if option.name in files or value is None or value is False:
            continue
        if type(value) is not _VALUES[option.kind]:
            raise Sorry("discord.outdated")
        options[option.name] = given[option.name]
    return text, options, tuple(given.get(name) for name in files)


def named(name: str, kind: str) -> locale_str:
    """A name of the table with the key of its translations: an "option", a "group", or a choice of the option
    called `kind`.
    """
    return locale_str(name, key=f"names.{kind}_{name.replace('-', '_')}")


def _completion(
    slot: Slot, offer: Offer
) -> Callable[[discord.Interaction, str], Coroutine[Any, Any, list[Choice[str]]]]:
    """What offers names while somebody types; after another option as in a line: with what that one says before it."""

    async def offered(interaction: discord.Interaction, current: str) -> list[Choice[str]]:
        before = ""
        if slot.after:
            if not (given := getattr(interaction.namespace, slot.after, None)):
                return []
            before = f"{given} "
        found = await offer(interaction, slot.completes, before + current)
        return [Choice(name=one.name[len(before) :], value=one.value[len(before) :]) for one in found]

    return offered
