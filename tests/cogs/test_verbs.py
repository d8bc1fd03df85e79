"""A verb of the table as a command on Discord, and the values that Discord sends for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import discord
import pytest
from discord import app_commands

from bot.adapters.discord.received.commands import command, read, slots
from bot.commands import ROWS
from bot.events import UserError
from bot.verb import Verb
from bot.words import words


async def nothing(interaction: discord.Interaction, row: Verb, given: Mapping[str, Any]) -> None: ...


async def nobody(interaction: discord.Interaction, kind: str, typed: str) -> list[app_commands.Choice[str]]:
    return []


def test_a_verb_becomes_a_command() -> None:
    lookup = command(ROWS["rules", "lookup"], nothing, nobody)
    name, shelf, _ = lookup.parameters
    assert (lookup.name, lookup.description) == ("lookup", words("en")("verbs.rules_lookup"))
    assert (name.description, name.required, name.autocomplete) == ("a section's name", True, True)
    assert (shelf.description, shelf.required) == ("a shelf of the library", False)


def test_a_number_and_a_text_have_their_limits() -> None:
    limits = {
        parameter.name: (parameter.min_value, parameter.max_value)
        for parameter in command(ROWS["rules", "ask"], nothing, nobody).parameters
    }
    assert (limits["k"], limits["question"], limits["shelf"]) == ((1, 50), (1, 4_000), (1, 300))


def test_a_free_text_is_optional_and_a_file_is_an_attachment() -> None:
    (question, *_) = slots(ROWS["rules", "ask"])
    assert (question.name, question.required) == ("question", False)
    name, file = slots(ROWS["prompts", "edit"])
    assert (name.name, name.required, file.kind, file.required) == ("name", True, "file", False)
    files = [one for one in slots(ROWS["library", "add"]) if one.kind == "file"]
    assert [file.required for file in files] == [True, False, False, False, False]


def test_a_false_flag_counts_as_not_given() -> None:
    given = {"question": "Why?", "shelf": None, "k": 3, "private": False, "file": None, "strategy": None}
    assert read(ROWS["rules", "ask"], given) == ("Why?", {"k": 3}, ())
    assert read(ROWS["rules", "ask"], given | {"private": True})[1] == {"k": 3, "private": True}


def test_a_missing_text_is_recognised_where_a_verb_needs_one() -> None:
    assert read(ROWS["rules", "ask"], {})[0] is None
    assert read(ROWS["council", "members"], {"list": None})[0] == ""
    assert read(ROWS["library", "jobs"], {})[0] == ""


@pytest.mark.parametrize(
    "options",
    [{"k": "3"}, {"k": True}, {"shelf": 3}, {"private": "yes"}, {"question": 7}, {"strategy": "guess"}],
)
def test_a_value_of_another_type_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(UserError, match=r"discord\.outdated"):
        read(ROWS["rules", "ask"], {"question": "Why?"} | options)
