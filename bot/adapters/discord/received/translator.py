"""The command tree's names and descriptions in the languages of the catalogue.

A string of the tree brings its key in `bot/words` along; Discord shows English where a language has none.
"""

from __future__ import annotations

import discord
from discord import app_commands
from discord.app_commands import TranslationContextTypes, locale_str

from bot.words import words

_TRANSLATED = {discord.Locale.brazil_portuguese: "pt-BR"}


def said(key: str) -> locale_str:
    """The English sentence of the catalogue as a string that the translator knows again."""
    return locale_str(words("en")(key), key=key)


class Translator(app_commands.Translator):
    async def translate(
        self, string: locale_str, locale: discord.Locale, context: TranslationContextTypes
    ) -> str | None:
        key = string.extras.get("key")
        if key is None or locale not in _TRANSLATED:
            return None
        return words(_TRANSLATED[locale])(key)
