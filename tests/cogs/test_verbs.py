"""A method that is not what its row of the table says is refused while it is being defined."""

from __future__ import annotations

import discord
import pytest
from discord import app_commands

from bot.adapters.discord.verbs import checked, given, slots, verb
from bot.commands import verb as row_of
from bot.events import Sorry
from bot.words import words


def test_a_method_with_the_rows_options_becomes_its_command() -> None:
    class Cog:
        @verb("rules", "lookup")
        async def lookup(
            self,
            interaction: discord.Interaction,
            name: str,
            shelf: str | None = None,
            private: bool = False,
        ) -> None: ...

    name, shelf, _ = Cog.lookup.parameters
    assert (Cog.lookup.name, Cog.lookup.description) == ("lookup", words("en")("verbs.rules_lookup"))
    assert (name.description, name.required, name.autocomplete) == ("a section's name", True, True)
    assert (shelf.description, shelf.required) == ("the shelf of the library", False)


def test_a_missing_option_is_named() -> None:
    with pytest.raises(TypeError, match=r"lookup takes name; /rules lookup has name, shelf, private"):

        class Cog:
            @verb("rules", "lookup")
            async def lookup(self, interaction: discord.Interaction, name: str) -> None: ...


def test_an_option_too_many_is_named() -> None:
    with pytest.raises(TypeError, match="jobs takes shelf; /library jobs has no options"):

        class Cog:
            @verb("library", "jobs")
            async def jobs(self, interaction: discord.Interaction, shelf: str) -> None: ...


def test_an_option_of_another_kind_is_named() -> None:
    with pytest.raises(TypeError, match="shelf of /rules books must be optional and a string"):

        class Cog:
            @verb("rules", "books")
            async def books(
                self, interaction: discord.Interaction, shelf: int | None = None, private: bool = False
            ) -> None: ...


def test_what_must_be_given_cannot_be_left_out() -> None:
    with pytest.raises(TypeError, match="shelf of /library remove must be required"):

        class Cog:
            @verb("library", "remove")
            async def remove(
                self, interaction: discord.Interaction, name: str, shelf: str | None = None
            ) -> None: ...


def test_a_number_has_its_range() -> None:
    with pytest.raises(TypeError, match="k of /rules ask must range from 1 to 50"):

        class Cog:
            @verb("rules", "ask")
            async def ask(
                self,
                interaction: discord.Interaction,
                question: str | None = None,
                shelf: str | None = None,
                k: app_commands.Range[int, 1, 9000] | None = None,
                strategy: str | None = None,
                file: discord.Attachment | None = None,
                private: bool = False,
            ) -> None: ...


def test_an_unknown_verb_has_no_row() -> None:
    with pytest.raises(Sorry):
        verb("rules", "fathom")


def test_a_free_text_may_be_left_out_and_a_file_is_an_attachment() -> None:
    (question, *_) = slots(row_of("rules", "ask"))
    assert (question.name, question.required) == ("question", False)
    name, file = slots(row_of("prompts", "edit"))
    assert (name.name, name.required, file.kind, file.required) == ("name", True, "file", False)
    files = [one for one in slots(row_of("library", "add")) if one.kind == "file"]
    assert [one.required for one in files] == [True, False, False, False, False]


def test_a_flag_that_is_off_was_not_given() -> None:
    assert given(shelf=None, k=3, private=False, replace=True) == {"k": 3, "replace": True}


@pytest.mark.parametrize("options", [{"k": "3"}, {"k": True}, {"shelf": 3}, {"private": "yes"}])
def test_a_value_of_another_kind_is_refused(options: dict[str, int | str]) -> None:
    with pytest.raises(Sorry, match=r"discord\.outdated"):
        checked(row_of("rules", "ask"), "a question", options)


def test_a_text_that_is_none_is_refused() -> None:
    assert checked(row_of("rules", "ask"), None, {"k": 3}) == {"k": 3}
    with pytest.raises(Sorry, match=r"discord\.outdated"):
        checked(row_of("rules", "ask"), 7, {})
