"""Content words: what a sentence is about, once the words that every sentence has are left out."""

from __future__ import annotations

from functools import cache

from bot.retrieval.language import FUNCTION_WORDS
from bot.retrieval.lexical import terms


def content_terms(text: str, language: str) -> list[str]:
    """The stemmed terms of `text` without function words and single letters; in order."""
    skipped = _stems(language)
    return [one for one in terms(text, language) if one not in skipped and (len(one) > 1 or one.isdigit())]


@cache
def _stems(language: str) -> frozenset[str]:
    return frozenset(terms(" ".join(FUNCTION_WORDS.get(language, ())), language))
