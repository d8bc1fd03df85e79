"""Letters that are set apart from their words: initials over several lines, and titles in spaced letters.

Knows no PDF.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from bot.readers.pdf.page import Word

_INITIALS: Final = 100
"""Letters on a page that are looked at as such."""
_SPACED: Final = 5
"""Letters in a line of nothing else, from which on they are words."""
_LARGER: Final = 1.8
"""Times the size of the text beside it, that an initial is."""


def with_initials(words: Sequence[Word]) -> Sequence[Word]:
    """The words, with initials over several lines put back to the words that they begin."""
    lost: set[int] = set()
    whole: dict[int, Word] = {}
    large = [at for at, word in enumerate(words) if len(word.text) == 1 and word.text.isupper()][:_INITIALS]
    for at in large:
        initial = words[at]
        beside = [
            (word.base, word.left, place)
            for place, word in enumerate(words)
            if initial.size >= _LARGER * word.size
            and -0.3 * word.size <= word.left - initial.right <= 1.2 * word.size
            and initial.base - 0.85 * initial.size <= word.base <= initial.base + 0.3 * word.size
        ]
        if len(beside) < 2 or len({word[0] for word in beside}) != len(beside):
            continue
        (base, left, place), *below = sorted(beside)
        word = words[place]
        if initial.base - base < 0.8 * word.size or place in whole:
            continue
        apart = left - min(other for _, other, _ in below) >= 0.15 * word.size or not word.text[0].isalpha()
        whole[place] = replace(word, text=f"{initial.text}{' ' * apart}{word.text}")
        lost.add(at)
    return [whole.get(at, word) for at, word in enumerate(words) if at not in lost] if lost else words


def closed_up(words: Sequence[Word]) -> str:
    """The words of a title in spaced letters, the wider gaps parting them; "" for any other line, as an alphabet."""
    texts = [word.text for word in words]
    if (
        len(texts) < _SPACED
        or not all(len(text) == 1 and text.isalpha() for text in texts)
        or texts == sorted(texts)
    ):
        return ""
    gaps = [after.left - before.right for before, after in pairwise(words)]
    usual = sorted(gaps)[len(gaps) // 3]
    wide = [gap > usual + 0.15 * words[0].size for gap in gaps]
    if 2 * sum(wide) > len(wide):
        return ""
    return texts[0] + "".join(f"{' ' * parts}{text}" for text, parts in zip(texts[1:], wide, strict=True))
