"""Commands in the catalogues' languages: every name and sentence exists and is valid on Discord."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import discord
import pytest_asyncio
from discord.app_commands import TranslationContext, TranslationContextLocation, locale_str

from bot.adapters.discord.installed.setup import payload
from bot.adapters.discord.received.commands import Translator, localized_sentence
from bot.adapters.discord.service import Sutradhar
from bot.words import folded, words

NAME = re.compile(r"[-_'\w]{1,32}")
"""Of commands and options (Discord's documentation, "Application Command Naming"); lower case besides."""


@pytest_asyncio.fixture
async def tree(client: Sutradhar) -> list[dict[str, Any]]:
    return await payload(client.tree)


def nodes(found: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for node in found:
        yield node
        yield from nodes(node.get("options", []))


def choices(found: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for node in nodes(found):
        yield from node.get("choices", [])


async def test_every_name_and_description_has_a_portuguese_version(tree: list[dict[str, Any]]) -> None:
    for node in [*nodes(tree), *choices(tree)]:
        assert (node.get("name_localizations") or {}).get("pt-BR"), node["name"]
        if node.get("description"):
            assert (node.get("description_localizations") or {}).get("pt-BR"), node["name"]


async def test_no_key_of_the_catalogue_is_shown(tree: list[dict[str, Any]]) -> None:
    keys = set(words("en").sentences())
    for node in [*nodes(tree), *choices(tree)]:
        shown = [node["name"], node.get("description", ""), *_translations(node)]
        assert not keys & set(shown), node["name"]
        assert not [text for text in shown if re.match(r"(names|verbs|discord|welcome)\.", text)]


async def test_english_names_are_those_of_the_table(tree: list[dict[str, Any]]) -> None:
    """People who read docs/commands.md find the same names on Discord."""
    english = {key: text for key, text in words("en").sentences().items() if key.startswith("names.")}
    for key, text in english.items():
        assert key.removeprefix("names.").replace("_", "-").endswith(text), key


async def test_names_are_valid_on_discord(tree: list[dict[str, Any]]) -> None:
    for node in nodes(tree):
        if node.get("type", 1) == 3 and "options" not in node and "description" not in node:
            continue  # a context menu's name has no such rules
        for name in (node["name"], *(node.get("name_localizations") or {}).values()):
            assert NAME.fullmatch(name), name
            assert name == name.lower(), name
    for menu in (one for one in tree if one.get("type") == 3):
        assert all(1 <= len(name) <= 32 for name in (menu["name"], *menu["name_localizations"].values()))


async def test_descriptions_and_choices_keep_within_discords_limit(tree: list[dict[str, Any]]) -> None:
    for node in [*nodes(tree), *choices(tree)]:
        for text in (node["name"], node.get("description", ""), *_translations(node)):
            assert len(text) <= 100, text


async def test_siblings_have_different_names_in_every_language(tree: list[dict[str, Any]]) -> None:
    for node in [{"name": "", "options": tree}, *nodes(tree)]:
        siblings = node.get("options", [])
        for locale in ("", "pt-BR"):
            names = [
                (sibling.get("name_localizations") or {}).get(locale) or sibling["name"]
                for sibling in siblings
            ]
            assert len(set(map(folded, names))) == len(names), names


async def test_portuguese_names_are_spelt_with_their_accents(tree: list[dict[str, Any]]) -> None:
    shown = {name for node in nodes(tree) for name in (node.get("name_localizations") or {}).values()}
    accented = "relatório análise visível nível intenção segurança classificação véus número tópico últimas"
    assert set(accented.split()) <= shown
    assert not {folded(name) for name in accented.split()} & shown


async def test_strings_without_a_key_and_languages_without_a_catalogue_are_unchanged() -> None:
    translator = Translator()
    nowhere: TranslationContext[Any, None] = TranslationContext(TranslationContextLocation.other, None)
    portuguese, french = discord.Locale.brazil_portuguese, discord.Locale.french
    assert (
        await translator.translate(localized_sentence("names.rules_ask"), portuguese, nowhere) == "perguntar"
    )
    assert await translator.translate(localized_sentence("names.rules_ask"), french, nowhere) is None
    assert await translator.translate(locale_str("ask"), portuguese, nowhere) is None


def _translations(node: dict[str, Any]) -> list[str]:
    names = (node.get("name_localizations") or {}).values()
    return [*names, *(node.get("description_localizations") or {}).values()]
