"""Orders responses, with ties, by what a judge wrote beside each: a place, a score, or nothing.

Knows neither JSON nor lines: whoever reads those says which letters stood together, and with what.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

Groups = list[list[str]]
"""Letters, best first; those of one group share a place."""

RANKS = r"rank|place|position|platz|rang|lugar|posi[çc][ãa]o|puesto|posici[óo]n|posto|posizione|colocação|№"
SCORES = r"score|points?|pts|grade|rating|marks?|nota|pontos?|pontuação|puntos?|puntuación|punkte?|note|punti"

_RANK = re.compile(
    rf"""[\s:(=–—-]*(?:(?:{RANKS})\b[\s:#=]*(?P<after>\d{{1,2}})|\#(?P<hash>\d{{1,2}})
    |(?P<th>\d{{1,2}})(?:st|nd|rd|th|º|ª|°|er|ère|e|[.]?\s*(?:{RANKS}))(?![\w/]))""",
    re.VERBOSE | re.IGNORECASE,
)
_SCORE = re.compile(
    rf"""[\s:(=–—-]*(?:
    (?:{SCORES})\b[\s:=]*(?P<after>\d{{1,3}}(?:[.,]\d+)?)
    |(?P<of>\d{{1,3}}(?:[.,]\d+)?)\s*(?:/|out\ of|of|von|de|sur|su)\s*\d+
    |(?P<unit>\d{{1,3}}(?:[.,]\d+)?)\s*(?:%|(?:{SCORES})\b)
    |(?P<stars>[★⭐]+)
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_BARE = re.compile(r"[\s:(=–—-]*(?P<n>\d{1,3}(?:[.,]\d+)?)\s*(?=$|[)(–—;,.|-](?!\d))")
_TIE = re.compile(r"\b(?:tie|tied|ties|equal|equally|empat\w*|igual\w*|gleich\w*|ex\s+aequo|égal\w*)\b", re.I)


@dataclass(slots=True)
class Item:
    """The letters that share a place, its number in a list or table, and the text beside them."""

    letters: list[str]
    numbers: list[int] = field(default_factory=list)
    remark: str = ""

    @property
    def tied(self) -> bool:
        return bool(_TIE.search(self.remark))


def ordered(items: Sequence[Item]) -> Groups:
    """The items in the judge's order, best first; [] where the judge contradicts itself.

    Scores or places beside every response decide where the responses stand in the order in which they were
    shown: nobody ranks them so by accident, and a score in the list of another order has to agree with it. Words
    beside each, in that order and without numbers, are a verdict on each and no ranking.
    """
    items = _once(items)
    letters = [letter for item in items for letter in item.letters]
    alphabetical = letters == sorted(letters) and len(letters) > 1
    figures = _figures([item.remark for item in items])
    if (
        figures is None
        and alphabetical
        and all(item.remark.strip(" .") and not item.numbers for item in items)
    ):
        return []  # verdicts, one by one
    if figures is None:
        return [list(item.letters) for item in items]
    falling = [-figure for figure in figures]
    if all(low <= high for low, high in pairwise(falling)):
        if all(item.numbers for item in items):
            return [list(item.letters) for item in items]
    elif not alphabetical:
        return []
    return by_value(items, falling)


def by_value(items: Sequence[Item], values: Sequence[float]) -> Groups:
    """The smallest value first, equal ones together."""
    places: dict[float, list[str]] = {}
    for value, item in sorted(zip(values, items, strict=True), key=lambda pair: pair[0]):
        places.setdefault(value, []).extend(item.letters)
    return list(places.values())


def ranks(values: Sequence[float], n: int) -> bool:
    """Whether these can be the places of so many: whole, from 1 on, and none left out but behind a tie."""
    sorted_values = sorted(values)
    steps = all(
        place in (before, before + 1, at) for at, (before, place) in enumerate(pairwise(sorted_values), 2)
    )
    return (
        bool(sorted_values)
        and sorted_values[0] == 1
        and sorted_values[-1] <= n
        and steps
        and all(value == int(value) for value in sorted_values)
    )


def _figures(texts: Sequence[str]) -> list[float] | None:
    """For each text its figure, the larger, the better; None where not every text begins with one of a kind."""
    for kind in (_RANK, _SCORE, _BARE):
        matches = [kind.match(text) for text in texts]
        if not all(matches):
            continue
        values = [_value(match) for match in matches if match]
        if kind is _RANK or (kind is _BARE and ranks(values, len(values))):
            return [-value for value in values]
        return values
    return None


def _value(match: re.Match[str]) -> float:
    text = next(value for value in match.groups() if value is not None)
    return float(len(text)) if text[0] in "★⭐" else float(text.replace(",", "."))


def _once(items: Sequence[Item]) -> list[Item]:
    """Each letter at its first mention; neighbours that are both marked as ties share a place."""
    letters_seen: set[str] = set()
    items_made: list[Item] = []
    before: Item | None = None
    for item in items:
        new_letters = [letter for letter in dict.fromkeys(item.letters) if letter not in letters_seen]
        letters_seen.update(new_letters)
        if new_letters and before is not None and before.tied and item.tied:
            items_made[-1].letters += new_letters
        elif new_letters:
            items_made.append(Item(new_letters, item.numbers, item.remark))
        before = item
    return items_made
