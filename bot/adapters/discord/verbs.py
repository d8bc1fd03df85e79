"""Ties a cog's typed method to its row of the table of verbs.

The method's signature is written by hand; every name, description, choice and completion comes from the
row, in all languages. Where the two disagree, importing the cog fails and says how. Knows no application.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import discord
from discord import AppCommandOptionType as Kind
from discord import app_commands
from discord.app_commands import Choice, locale_str

from bot import commands
from bot.adapters.discord.translator import said
from bot.events import OptionValue, Sorry
from bot.verb import HOUSE, Completes, Verb

if TYPE_CHECKING:
    from bot.adapters.discord.reception import Reception

FILES = ("file", "file2", "file3", "file4", "file5")
"""The attachments of a verb that takes a list of files; Discord has no option of many values."""
PASSAGES = 50
"""More passages than any answer stands on."""

_KINDS = {"text": Kind.string, "number": Kind.integer, "flag": Kind.boolean, "file": Kind.attachment}

_VALUES = {"text": str, "number": int, "flag": bool}

Method = Callable[..., Coroutine[Any, Any, None]]
Bound = app_commands.Command[Any, ..., None]


@dataclass(frozen=True, slots=True)
class Slot:
    """One option of a slash command, as the row wants it."""

    name: str
    summary: str
    kind: Literal["text", "number", "flag", "file"] = "text"
    required: bool = False
    choices: tuple[str, ...] = ()
    completes: Completes = ""
    most: int = 0


def typed(row: Verb) -> bool:
    """Whether the verb needs a free text, which a modal asks for where the command was sent without it."""
    argument = row.argument
    return argument is not None and argument.required and not argument.many and not argument.completes


def slots(row: Verb) -> tuple[Slot, ...]:
    """A row's options on Discord: what names a file is an attachment, a free text may be left out.

    Of an argument of two words ("name text") only the first is an option; a modal asks for the second.
    """
    found: list[Slot] = []
    argument = row.argument
    if argument is not None and argument.many:
        found += [
            Slot(name, "discord.option_more" if n else "discord.option_file", "file", required=not n)
            for n, name in enumerate(FILES)
        ]
    elif argument is not None:
        first = argument.name.split()[0]
        summary = argument.summary if first == argument.name else f"discord.option_{first}"
        required = argument.required and not typed(row)
        found.append(Slot(first, summary, required=required, completes=argument.completes))
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
                    option.most,
                )
            )
    return tuple(found)


def verb(work: str, name: str) -> Callable[[Method], Bound]:
    """The slash command of a row, answered by the method under this decorator.

    Raises TypeError where the method's parameters are not the row's options.
    """
    row = commands.verb(work, name)

    def bind(method: Method) -> Bound:
        wanted = {slot.name: slot for slot in slots(row)}
        _, _, *given = inspect.signature(method).parameters  # after self and the interaction
        if set(given) != set(wanted):
            raise TypeError(
                f"{method.__qualname__} takes {', '.join(given) or 'nothing'}; "
                f"/{row.path} has {', '.join(wanted) or 'no options'}"
            )
        for slot in wanted.values():
            app_commands.describe(**{slot.name: said(slot.summary)})(method)
            app_commands.rename(**{slot.name: named(slot.name, "option")})(method)
            if slot.choices:
                offered = [Choice(name=named(one, slot.name), value=one) for one in slot.choices]
                app_commands.choices(**{slot.name: offered})(method)
        key = row.name if work == HOUSE else f"{work}_{row.name}"
        command: Bound = app_commands.Command(
            name=locale_str(row.name, key=f"names.{key}"), description=said(row.summary), callback=method
        )
        for slot in wanted.values():
            _check(row, slot, command)
            if slot.completes and not slot.choices:
                command.autocomplete(slot.name)(completion(slot.completes))
        return command

    return bind


def named(name: str, kind: str) -> locale_str:
    """A name of the table with the key of its translations: an "option", a "group", or a choice of the option
    called `kind`.
    """
    return locale_str(name, key=f"names.{kind}_{name.replace('-', '_')}")


def group(name: str) -> dict[str, locale_str]:
    """What a cog of a work's verbs says of its group."""
    return {"group_name": named(name, "group"), "group_description": said(f"discord.group_{name}")}


def completion(
    kind: Completes,
) -> Callable[[discord.Interaction, str], Coroutine[Any, Any, list[Choice[str]]]]:
    """What offers names of this kind while somebody types."""

    async def offered(interaction: discord.Interaction, current: str) -> list[Choice[str]]:
        reception: Reception = interaction.client.reception  # type: ignore[attr-defined]
        return await reception.autocomplete.choices(interaction, kind, current)

    return offered


def given(**options: OptionValue) -> dict[str, OptionValue]:
    """The options that somebody did give: a flag left at False is one that was not typed."""
    return {name: value for name, value in options.items() if value is not None and value is not False}


def checked(row: Verb, text: object, options: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
    """The options, if they and the text are of their kind; Discord sees to that, but for commands that it has
    kept too long. Raises Sorry.
    """
    if not isinstance(text, str | None):
        raise Sorry("discord.outdated")
    for name, value in options.items():
        option = row.option(name)
        kind = _VALUES[option.kind] if option is not None else None
        if kind is not None and type(value) is not kind:
            raise Sorry("discord.outdated")
    return dict(options)


def _check(row: Verb, slot: Slot, command: Bound) -> None:
    parameter = next(one for one in command.parameters if one.name == slot.name)
    kind = _KINDS[slot.kind]
    if parameter.type is not kind or parameter.required is not slot.required:
        must = "required" if slot.required else "optional"
        raise TypeError(f"{slot.name} of /{row.path} must be {must} and a {kind.name}")
    bounds = (parameter.min_value, parameter.max_value)
    if slot.kind == "number" and bounds != (1, slot.most):
        raise TypeError(f"{slot.name} of /{row.path} must range from 1 to {slot.most}, not {bounds}")
