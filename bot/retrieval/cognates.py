"""Words of two languages that are the same word in two spellings: "ação" and "action", "defesa" and "defence".

Rulebooks use many Latin words, which most European languages share. A foreign question is matched with the terms of a
shelf by their letters, without a model or a dictionary. Independent of chunks and ranking.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from bot.retrieval.lexical import fold, terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

LEAST = 0.4
"""The least likeness of two spellings, 0..1, for a match."""

MOST = 3
"""The most terms of the shelf that one word matches."""

SHORTEST = 4
"""The least length of a word that matches others. Shorter words and numbers match only themselves, because three
letters are often alike by chance.
"""

_ENDINGS = (
    (r"(?:coes|cao|cion|ciones)$", "tion"),
    (r"(?:soes|sao|sion|siones)$", "sion"),
    (r"da(?:de|des|d)$", "ty"),
    (r"mente$", "ly"),
    (r"enci(?:as|a)$", "ence"),
    (r"anci(?:as|a)$", "ance"),
    (r"iv(?:os|as|o|a)$", "ive"),
    (r"os(?:os|as|o|a)$", "ous"),
    (r"ic(?:os|as|o|a)$", "ic"),
    (r"ais$", "al"),
    (r"(?:veis|vel|bles)$", "ble"),
    (r"ador(?:es|as|a)?$", "ator"),
    (r"ad(?:os|as|o|a)$", "ate"),
    (r"[aei]r$", "e"),
    (r"ismos?$", "ism"),
    (r"istas?$", "ist"),
    (r"i(?:os|as|o|a)$", "y"),
    (r"(?:os|as|es|o|a|e)$", ""),
)
"""Portuguese and Spanish endings, without accents, and their English spelling; the first that fits is used."""

_SPELLINGS = (
    ("ph", "f"), ("th", "t"), ("y", "i"), ("qu", "c"), ("ck", "c"), ("k", "c"), ("ee", "i"), ("oo", "u"),
    ("j", "i"), ("w", "v"), ("x", "s"), ("z", "s"),
)  # fmt: skip
_DOUBLED = re.compile(r"([bcdfglmnprst])\1")
_IBERIAN = frozenset({"pt", "es", "ca"})


class Cognates:
    """The terms of one language, found by the letter pairs and triples that they share with a foreign word."""

    def __init__(self, language: str, numbered: Iterable[tuple[str, int]]) -> None:
        """`numbered` are (term, number) pairs."""
        import numpy as np

        self._language = language
        rows = [(term, number) for term, number in numbered]
        self._numbers = [number for _, number in rows]
        self._exact = {term: at for at, (term, _) in enumerate(rows)}
        postings: dict[str, list[tuple[int, int]]] = {}
        sizes = np.zeros(len(rows), dtype=np.float32)
        for at, (term, _) in enumerate(rows):
            if term[:1].isdigit():
                continue
            grams = _grams(_plain(term))
            sizes[at] = sum(grams.values())
            for gram, count in grams.items():
                postings.setdefault(gram, []).append((at, count))
        self._sizes = sizes
        self._postings = {gram: np.array(pairs, dtype=np.int32) for gram, pairs in postings.items()}

    def matches(self, word: str, language: str, most: int = MOST) -> list[tuple[int, float]]:
        """(number of a term, likeness 0..1) of the terms that a word of that language may correspond to, likeliest
        first.
        """
        import numpy as np

        exact = self._exact.get(fold(word))
        if len(word) < SHORTEST or word[0].isdigit():
            return [(self._numbers[exact], 1.0)] if exact is not None else []
        likeness = self._likeness(_plain(_written_as(word, language, self._language)))
        if exact is not None:
            likeness[exact] = 1.0
        enough = np.flatnonzero(likeness >= LEAST)
        best = enough[np.argsort(-likeness[enough], kind="stable")[:most]]
        return [(self._numbers[int(at)], float(likeness[at])) for at in best]

    def _likeness(self, word: str) -> Floats:
        """Dice's coefficient of the letter triples, against every term."""
        import numpy as np

        grams = _grams(word)
        shared = np.zeros(len(self._sizes), dtype=np.float32)
        for gram, count in grams.items():
            rows = self._postings.get(gram)
            if rows is not None:
                shared[rows[:, 0]] += np.minimum(rows[:, 1], count)
        return np.asarray(2 * shared / (self._sizes + sum(grams.values())), dtype=np.float32)


def respelt(language: str, other: str) -> bool:
    """Whether it is known how the other language writes the endings of this one."""
    return other == "en" and language in _IBERIAN


def words_of(question: str) -> Sequence[str]:
    """The words of a question, each once, in lower case."""
    return list(dict.fromkeys(re.findall(r"\w+", question.casefold())))


@lru_cache(maxsize=4096)
def _written_as(word: str, language: str, other: str) -> str:
    """A word's stem as the other language would write it."""
    if respelt(language, other):
        word = fold(word)
        for ending, instead in _ENDINGS:
            changed = re.sub(ending, instead, word)
            if changed != word:
                word = changed
                break
        language = "en"
    return "".join(terms(word, language))


def _plain(stem: str) -> str:
    """A stem in which spellings that differ between languages are made equal: "physic" and "fisic" become one."""
    for spelling, instead in _SPELLINGS:
        stem = stem.replace(spelling, instead)
    stem = _DOUBLED.sub(r"\1", stem)
    if re.match(r"es[cfmnpt]", stem):  # espada, escudo, especial: Romance languages put an e before such an s
        stem = stem[1:]
    return stem


def _grams(word: str) -> Counter[str]:
    """The letter triples of a word, with more weight on its beginning."""
    padded = f"^^{word}$"
    return Counter(padded[at : at + 3] for at in range(len(padded) - 2))
