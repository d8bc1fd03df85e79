"""Phrases that a story's writer uses too often, counted by code: models fall into them and do not notice.

Pure.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Final

from bot.retrieval.language import FUNCTION_WORDS

SHORTEST, LONGEST = 3, 8
"""The fewest and the most words of a phrase."""
CONTENT_WORDS: Final = 2
"""Words of a phrase that say something: "out of the" is no manner of writing."""
MOST: Final = 6
"""The most phrases in the prompt."""

_CLAUSE = re.compile(r"[.!?…;:,“”\"«»\n()—–]+")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_BINDING = frozenset().union(*FUNCTION_WORDS.values())


def overused(scenes: Sequence[str], names: Collection[str], least: int) -> list[str]:
    """Phrases that stand in at least `least` of these scenes, the most frequent first, at most MOST.

    What holds a word of a name is passed over: who and where a story is about comes in each scene. Of phrases that
    share a word that says something only the longest is told.
    """
    if not least or len(scenes) < least:
        return []
    words_of_names = {word for name in names for word in _WORD.findall(name.casefold())}
    clauses = [(n, clause) for n, scene in enumerate(scenes) for clause in _clauses(scene)]
    places = [(n, clause, at) for n, clause in clauses for at in range(len(clause) - SHORTEST + 1)]
    often: dict[tuple[str, ...], int] = {}
    for length in range(SHORTEST, LONGEST + 1):
        # What stands in few scenes stands in no more of them with a word behind it.
        scenes_of = defaultdict[tuple[str, ...], set[int]](set)
        for n, clause, at in places:
            if at + length <= len(clause):
                scenes_of[clause[at : at + length]].add(n)
        frequent = {phrase: len(scenes) for phrase, scenes in scenes_of.items() if len(scenes) >= least}
        places = [(n, clause, at) for n, clause, at in places if clause[at : at + length] in frequent]
        often |= frequent
    distinctive = [
        phrase for phrase in often if _is_distinctive(phrase) and not words_of_names.intersection(phrase)
    ]
    chosen: list[tuple[str, ...]] = []
    for phrase in sorted(distinctive, key=lambda phrase: (-len(phrase), -often[phrase], phrase)):
        if not any(set(phrase) & set(longer) - _BINDING for longer in chosen):
            chosen.append(phrase)
    return [" ".join(phrase) for phrase in sorted(chosen, key=lambda phrase: -often[phrase])[:MOST]]


def _is_distinctive(phrase: tuple[str, ...]) -> bool:
    return all(phrase) and sum(word not in _BINDING for word in phrase) >= CONTENT_WORDS


@lru_cache(maxsize=256)
def _clauses(scene: str) -> tuple[tuple[str, ...], ...]:
    """The words of a scene between its marks of punctuation; "" for one with a capital within a clause, a name."""
    clauses = (_WORD.findall(clause) for clause in _CLAUSE.split(scene))
    return tuple(
        tuple(word.casefold() if n == 0 or word[0].islower() else "" for n, word in enumerate(words))
        for words in clauses
        if len(words) >= SHORTEST
    )
