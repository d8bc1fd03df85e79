"""Sentences to one person without a run: a refusal, a fault, thanks, help; never a traceback.

Independent of requests; an unforeseen fault goes to the log with its run's digits.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

import discord
from discord import app_commands
from discord.ui import LayoutView, TextDisplay

from bot.adapters import intake
from bot.adapters.discord.received.commands import (
    FILES,
    ONLY_HERE,
    Slot,
    localized,
    path_of,
    slots,
    texts,
    wants_text,
)
from bot.adapters.markdown import clean, neutralise
from bot.command_line import parse
from bot.commands import TABLE, by_heading
from bot.events import UserError
from bot.manual import headed
from bot.verb import Verb
from bot.words import Words, folded, name_of

MESSAGE_CHARS = 2_000
LAYOUT_CHARS = 4_000
"""The most characters of all text components of a message (Discord's documentation, "Using Message Components")."""

_OUTDATED = (
    app_commands.CommandNotFound,
    app_commands.CommandSignatureMismatch,
    app_commands.TransformerError,
)
"""Faults of commands that Discord still shows in the form they had before the last start."""

_log = logging.getLogger(__name__)


def sentence(say: Words, error: Exception, run: str = "") -> str:
    """The sentence for an error. `run` is given if the request had become one."""
    cause: BaseException = getattr(error, "original", error)
    if isinstance(cause, _OUTDATED):
        cause = UserError("discord.outdated")
    return intake.sentence(say, cause, run, adapt=partial(localized, say))


async def tell(interaction: discord.Interaction, text: str) -> None:
    """Show a sentence to the person alone; never raises."""
    if interaction.type is discord.InteractionType.autocomplete:
        return  # a completion accepts nothing but choices
    try:
        await send_alone(interaction, content=neutralise(clean(text))[:MESSAGE_CHARS])
    except (discord.DiscordException, OSError) as fault:  # the interaction cannot be answered any more
        _log.warning("interaction %s could not be answered: %s", interaction.id, type(fault).__name__)


async def at_length(interaction: discord.Interaction, text: str) -> None:
    """Show a longer text to the person alone. Raises what discord.py raises."""
    view = LayoutView(timeout=None)
    view.add_item(TextDisplay(text[:LAYOUT_CHARS]))
    view.stop()  # it has no buttons, so the client need not keep it
    await send_alone(interaction, view=view)


async def send_alone(interaction: discord.Interaction, **content: Any) -> None:
    """Send to the person alone, as the response or a follow-up. Raises what discord.py raises."""
    done = interaction.response.is_done()
    send: Any = interaction.followup.send if done else interaction.response.send_message
    await send(**content, ephemeral=True, allowed_mentions=discord.AllowedMentions.none())


async def reply(message: discord.Message, text: str, kind: str = "r") -> None:
    """Reply to the message; never raises. There is one reply of each kind, even if Discord delivers the
    message twice.
    """
    send = partial(
        message.channel.send,
        neutralise(clean(text))[:MESSAGE_CHARS],
        allowed_mentions=discord.AllowedMentions.none(),
        nonce=f"{kind}{message.id}",
    )
    try:
        try:
            await send(reference=message.to_reference(fail_if_not_exists=False))
        except discord.Forbidden:  # a reply needs one permission more than a plain message
            await send()
    except (discord.DiscordException, OSError) as fault:
        _log.warning("message %s could not be answered: %s", message.id, type(fault).__name__)


def help_text(say: Words, topic: str = "") -> str:
    """Help as Markdown: for all works, the commands of one group, or one command with its options and an example.

    Under a work's own name each of its other groups has one line, because all of the story's commands are too long for
    a message.
    """
    path = folded(topic.strip().lstrip("/"))
    groups = {row.group or row.work: row.work for row in TABLE if not row.bare}
    named = [group for group in groups if path in map(folded, (group, say(f"names.group_{group}")))]
    exact = (
        [row for row in TABLE if path in map(folded, (row.path, row.name, path_of(say, row)))]
        if path and not named
        else []
    )
    if exact:
        return "\n\n".join(_one(say, row) for row in exact)
    listed = named or list(groups)
    rows = [
        row for row in TABLE if (row.bare if not named else not row.bare and (row.group or row.work) in named)
    ]
    commands = headed(
        say, by_heading(rows), lambda row: f"- **/{path_of(say, row)}**  {localized(say, say(row.summary))}"
    )
    if not named:
        commands += [f"- **/{say(f'names.{name}')}**  {say(f'welcome.{name}')}" for name in ONLY_HERE]
    other_groups = [
        group for group, work in groups.items() if work in listed and (not named or group not in named)
    ]
    lines = [_group(say, group) for group in other_groups]
    lines = [*commands, "", *lines] if named and lines else [*lines, *commands]
    return "\n".join([*lines, "", say("discord.help_more"), say("discord.help_talk")])


def _group(say: Words, group: str) -> str:
    """A line for a command group with the names of its verbs."""
    names = [say(f"names.{row.work}_{row.name}") for row in TABLE if (row.group or row.work) == group]
    return f"- **/{say(f'names.group_{group}')}**  {say(f'verbs.group_{group}')} {' · '.join(names)}"


def _one(say: Words, row: Verb) -> str:
    lines = [f"**/{path_of(say, row)}**", localized(say, say(row.summary)), ""]
    lines += [_option(say, row, slot) for slot in slots(row) if slot.name not in FILES[1:]]
    return "\n".join([*lines, "", f"{say('verbs.example')} `{_example(say, row)}`"])


def _option(say: Words, row: Verb, slot: Slot) -> str:
    line = f"- `{_name(say, slot.name)}`  {say(slot.summary)}"
    if row.argument is not None and slot.name == row.argument.name and wants_text(row):
        line += f" ({say('discord.help_window')})"
    return line


def _example(say: Words, row: Verb) -> str:
    """The row's example in Discord's format."""
    parsed = parse(row.example_in(say))
    parts, given = [f"/{path_of(say, row)}"], dict[str, str]()
    if row.argument is not None and row.argument.many:
        parts.append(f"{_name(say, FILES[0])}:")
    elif row.argument is not None and parsed.text:
        names = texts(row)
        values = parsed.text.split(None, len(names) - 1)
        given = dict(zip(names, values, strict=False))
    given |= {name: str(value) for name, value in parsed.options.items() if row.option(name) is not None}
    choices = {slot.name: slot.choices for slot in slots(row)}
    for name, value in given.items():
        shown = say(name_of(value, name)) if value in choices.get(name, ()) else value
        parts.append(f"{_name(say, name)}:{shown}")
    return " ".join(parts)


def _name(say: Words, option: str) -> str:
    return say(name_of(option, "option"))
