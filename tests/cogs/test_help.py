"""/help: every command in the person's language, with fields instead of dashes."""

from __future__ import annotations

import re

import pytest

from bot.adapters.discord.received.commands import path_of
from bot.adapters.discord.shown.replies import help_text
from bot.commands import TABLE
from bot.words import LOCALES, words
from tests.cogs.table import Table

SHOWN = 4_000
"""Characters of one message's text components."""


@pytest.mark.asyncio(loop_scope="module")
async def test_help_is_ephemeral_and_starts_no_run(table: Table) -> None:
    asked = await table.ana.slash(table.general, "help", topic="rules ask")
    assert asked.ephemeral
    assert table.requests == []


@pytest.mark.parametrize("locale", LOCALES)
def test_help_fits_a_message_and_names_every_command(locale: str) -> None:
    say = words(locale)
    text = help_text(say)
    assert len(text) < SHOWN
    for row in TABLE:
        group = help_text(say, row.group or row.work)
        assert path_of(say, row).rpartition(" ")[2] in text
        assert row.bare or f"/{path_of(say, row)}**" in group
        assert path_of(say, row).rpartition(" ")[2] in help_text(say, "" if row.bare else row.work)
        assert len(group) < SHOWN
    assert f"/{say('names.setup')}" in text


@pytest.mark.parametrize("locale", LOCALES)
def test_long_lists_are_grouped_under_headings(locale: str) -> None:
    say = words(locale)
    for group in ("story", "party", "world", "script", "voice", "settings", "course"):
        lines = help_text(say, group).splitlines()
        assert lines[0].startswith("### "), group
        assert sum(line.startswith("### ") for line in lines) > 1, group
    for group in ("rules", "gm", "library"):
        assert "###" not in help_text(say, group)
    assert "`/story" not in help_text(words("pt-BR"), "memória"), (
        "a command is also found by its name in the table"
    )


@pytest.mark.parametrize("locale", LOCALES)
def test_each_command_has_help_without_dashes(locale: str) -> None:
    say = words(locale)
    for row in TABLE:
        text = help_text(say, row.path)
        assert f"/{path_of(say, row)}" in text.rsplit("`", 2)[1]
        assert "--" not in text
        assert not re.search(r"\bnames\.\w", text), "the key of the name is not shown"


def test_an_example_shows_the_filled_in_fields() -> None:
    text = help_text(words("en"), "/rules ask")
    assert "`/rules ask question:Can a grappled creature cast spells? shelf:rules`" in text
    say = words("pt-BR")
    assert "`/regras perguntar pergunta:Uma criatura agarrada pode" in help_text(say, "regras perguntar")
    assert "`/mundo prosa nome:enxuto narração:terceira tempo:passado`" in help_text(say, "mundo prosa")


def test_a_works_name_lists_its_commands_alone() -> None:
    text = help_text(words("en"), "library")
    assert "/library add" in text
    assert "/rules ask" not in text
