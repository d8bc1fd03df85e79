"""Phrases that a story's writer uses too often, counted by code: models fall into them and do not notice.

Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Final

from bot.retrieval.language import FUNCTION_WORDS

LENGTHS: Final = range(8, 2, -1)
"""Words of a phrase, the longest first."""
CONTENT_WORDS: Final = 2
"""Words of a phrase that say something: "out of the" is no manner of writing."""
MOST: Final = 6
"""Phrases that the writer is told."""

_SENTENCE = re.compile(r"[.!?…;:,“”\"«»\n()—–]+")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_BINDING = frozenset().union(*FUNCTION_WORDS.values())


def overused(scenes: Sequence[str], names: Collection[str], least: int) -> list[str]:
    """Phrases that stand in at least `least` of these scenes, the most frequent first, at most MOST.

    What holds a word of a name is passed over: who and where a story is about comes in each scene.
    """
    if not least or len(scenes) < least:
        return []
    named = {word for name in names for word in _WORD.findall(name.casefold())}
    counts = Counter(phrase for scene in scenes for phrase in _phrases(scene))
    often = [phrase for phrase, count in counts.items() if count >= least and not named.intersection(phrase)]
    chosen: list[tuple[str, ...]] = []
    for phrase in sorted(often, key=lambda phrase: (-len(phrase), -counts[phrase], phrase)):
        # One phrase of a turn of words: its other parts, longer and shorter, say the same.
        if not any(set(phrase) & set(longer) - _BINDING for longer in chosen):
            chosen.append(phrase)
    return [" ".join(phrase) for phrase in sorted(chosen, key=lambda phrase: -counts[phrase])[:MOST]]


@lru_cache(maxsize=2_000)
def _phrases(scene: str) -> frozenset[tuple[str, ...]]:
    """Those of a scene, each once; none crosses a mark of punctuation, and none holds a word in capitals within it."""
    found = set()
    for clause in _SENTENCE.split(scene):
        words = _WORD.findall(clause)
        # A word with a capital that does not begin its clause is a name.
        known = [word.casefold() if n == 0 or word[0].islower() else "" for n, word in enumerate(words)]
        for length in LENGTHS:
            for at in range(len(known) - length + 1):
                phrase = tuple(known[at : at + length])
                if all(phrase) and sum(word not in _BINDING for word in phrase) >= CONTENT_WORDS:
                    found.add(phrase)
    return frozenset(found)
