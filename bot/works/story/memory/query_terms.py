"""Turns a query into terms of the story's language, since a question may be in another language than the story."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from bot.retrieval.cognates import words_of
from bot.retrieval.glossary import translated
from bot.retrieval.language import FUNCTION_WORDS, detect_question
from bot.retrieval.lexical import content_terms

if TYPE_CHECKING:
    from bot.works.story.memory.branch import BranchPieces

COMPARED: Final = 32
"""How many words of a query in another language are compared with the story's: a question has fewer."""


def query_terms(branch: BranchPieces, text: str) -> Mapping[str, float]:
    """The terms of a query, and the weight of each: how often it occurs in the query.

    Function words don't count. In another language than the story's, a word that occurs in the story counts as itself
    (a name); others are replaced by their translations, or else by similar words, weighted by their likeness.
    """
    language = branch.index.language
    own = content_terms(text, language)
    if (asked_in := _language(text, language)) == language:
        return Counter(own)
    weights = {term: 1.0 for term in own if term.isdigit()}
    idle, unknown = FUNCTION_WORDS.get(asked_in, frozenset()), 0
    for word in words_of(text):
        if word in idle or word.isdigit():
            continue
        same = content_terms(word, language)
        meant = {term: 1.0 for term in (*same, *translated(word, asked_in, language)) if branch.has(term)}
        if not meant and unknown < COMPARED:
            meant, unknown = branch.alike(word, asked_in), unknown + 1
        weights |= meant or dict.fromkeys(same, 1.0)
    return weights


@lru_cache(maxsize=8)  # a recall asks several times for the same texts
def _language(text: str, story: str) -> str:
    return detect_question(text, (story,)) or story
