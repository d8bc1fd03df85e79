"""Reads a response's place in a line of a ballot (a rank, a score, a tie), and the order that all places make."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from bot.works.council.ballot_words import COUNTER, ORDINALS, PLACES, RANKS, SCORES

Groups = list[list[str]]
"""Groups of letters, best first; the letters of a group share a place."""

_ORDINAL = re.compile("|".join(f"(?P<o{n}>{words})" for n, words in enumerate(PLACES, 1)), re.IGNORECASE)
_IN_WORDS = re.compile(
    rf"(?:(?<!\w)(?P<rank>{RANKS})[\s:]+(?P<behind>{ORDINALS})"
    rf"|(?<!\w)(?P<before>{ORDINALS})\s*(?:{RANKS}))(?!\w)"
    rf"|(?P<start>^(?:[\s(:=,–—-]|\bis\b)*)(?P<alone>{ORDINALS})(?=\s*(?:$|[)(:;.,–—-]))",
    re.IGNORECASE,
)
_RANK = re.compile(
    rf"""[\s:(=,\[–—-]*(?:(?:{RANKS})\b[\s:#=.]*(?P<after>\d{{1,2}})(?![\d/%])|\#(?P<hash>\d{{1,2}})
    |(?P<th>\d{{1,2}})(?:st|nd|rd|th|\.?[ºª°oa]|er|è?re|e|위|등|位|名|(?:{COUNTER})?\s*(?:{RANKS}))(?![\w/]))""",
    re.VERBOSE | re.IGNORECASE,
)
_RANK_WITHIN = re.compile(
    rf"(?<!\w)(?:{RANKS})\b[\s:#=.]*(?P<after>\d{{1,2}})(?![\d/%])"
    rf"|(?<![\d/.,])(?P<th>\d{{1,2}})(?:{COUNTER})?\s*(?:{RANKS})(?!\w)",
    re.IGNORECASE,
)
_SCORE = re.compile(
    rf"""[\s:(=,\[–—-]*(?:
    (?:{SCORES})\b[\s:=]*(?P<after>\d{{1,3}}(?:[.,]\d+)?)
    |(?:note\s*:?\s*)?(?P<of>\d{{1,3}}(?:[.,]\d+)?)\s*(?:/|out\ of|of|von|de|sur|su|van|na|из)\s*\d+
    |(?P<unit>\d{{1,3}}(?:[.,]\d+)?)\s*(?:%|(?:{SCORES})(?![^\W\d_]))
    |(?P<stars>★+(?:\.5)?)
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_SCORE_WITHIN = re.compile(
    rf"""(?<![\w/.,])(?:(?P<of>\d{{1,3}}(?:[.,]\d+)?)\s*(?:/|out\ of|von|sur|su|van|из)\s*(?:5|10|20|100)(?![\d/])
    |(?:{SCORES})\s*[:=]\s*(?P<after>\d{{1,3}}(?:[.,]\d+)?)(?!\d|\s*/)
    |(?P<unit>\d{{1,3}}(?:[.,]\d+)?)\s*(?:{SCORES})(?![^\W\d_]))|(?P<stars>★+(?:\.5)?)""",
    re.VERBOSE | re.IGNORECASE,
)
_BARE = re.compile(
    r"[\s:(=–—-]*(?:[.…]{2,}\s*)?(?:(?:note|nota|grade|mark|cijfer|оценка)\W{0,3})?(?P<n>\d{1,3}(?:[.,]\d+)?)"
    r"[^\S\n]*(?=$|\n|[)(–—;,.|-](?!\d))",
    re.IGNORECASE,
)
TIE = re.compile(
    r"\b(?:tie|tied|ties|equal|equally|empat\w*|igual\w*|gleich\w*|ex\s+(?:aequo|æquo)|égal\w*|pari"
    r"|gelijk\w*|remis\w*|berabere|shared|joint|jointly|geteilt\w*|compartid\w+|partagée?s?|dividid\w+"
    r"|condivis\w+)\b|공동|동률|동점|同率|同順位|並列|并列",
    re.I,
)


@dataclass(slots=True)
class Item:
    """The letters that share a place, its number in a list or table, and the text next to them."""

    letters: list[str]
    numbers: list[int] = field(default_factory=list)
    remark: str = ""

    @property
    def tied(self) -> bool:
        return bool(TIE.search(self.remark))


def ordered(items: Sequence[Item]) -> Groups:
    """The items in the judge's order, best first; [] if the judge contradicts itself.

    If the responses are listed in the order in which they were shown, scores or places next to every response decide,
    since nobody ranks them that way by accident; in a list in another order the scores must agree with it. Words next
    to each, in the shown order and without numbers, are verdicts on single responses and no ranking.
    """
    items = _without_repeats(items)
    letters = [letter for item in items for letter in item.letters]
    alphabetical = letters == sorted(letters) and len(letters) > 1
    figures = _figures([item.remark for item in items])
    if (
        figures is None
        and alphabetical
        and all(item.remark.strip(" .") and not item.numbers for item in items)
    ):
        return []  # separate verdicts
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
    """Whether these can be the places of `n` responses: whole numbers from 1, with gaps only after ties."""
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
    """A figure for each text, the larger, the better; None unless every text begins with a figure of the same kind."""
    texts = [in_digits(text) for text in texts]
    for kind in (_RANK, _SCORE, _BARE):
        matches = [kind.match(text) for text in texts]
        if not all(matches):
            continue
        values = [_value(match) for match in matches if match]
        if kind is _RANK or (kind is _BARE and ranks(values, len(values))):
            return [-value for value in values]
        return values
    return None


def figure_of(text: str) -> float | None:
    """The figure at the beginning of a text, place or score; None if there is none."""
    match = next((match for kind in (_RANK, _SCORE, _BARE) if (match := kind.match(text))), None)
    return _value(match) if match else None


def _value(match: re.Match[str]) -> float:
    text = next(value for value in match.groups() if value is not None)
    half = 0.5 if text.endswith("★.5") else 0.0
    return text.count("★") + half if "★" in text else float(text.replace(",", "."))


def ordinal(word: str) -> int | None:
    """The place for a word, from 1: "first", "primeira"."""
    match = _ORDINAL.fullmatch(word.strip())
    return int(str(match.lastgroup)[1:]) if match else None


def in_digits(text: str) -> str:
    """The text with "third place", and "third" at its beginning, as "rank 3"."""
    return _IN_WORDS.sub(
        lambda match: (
            f"{match['start'] or ''} rank {ordinal(match['behind'] or match['before'] or match['alone'])}"
        ),
        text,
    )


def figures_within(text: str) -> tuple[set[float], set[float]]:
    """The places and the scores anywhere in the text."""
    text = in_digits(text)
    places = {_value(match) for match in _RANK_WITHIN.finditer(text)}
    if (first := _RANK.match(text)) and re.match(
        r"\s*(?:$|[])(:;.,|–—-])", text[first.end() : first.end() + 20]
    ):
        places.add(_value(first))
    return places, {_value(match) for match in _SCORE_WITHIN.finditer(text)}


def _without_repeats(items: Sequence[Item]) -> list[Item]:
    """Each letter at its first mention; neighbours that are both marked as ties share a place."""
    letters_seen: set[str] = set()
    merged: list[Item] = []
    before: Item | None = None
    for item in items:
        new_letters = [letter for letter in dict.fromkeys(item.letters) if letter not in letters_seen]
        letters_seen.update(new_letters)
        if new_letters and before is not None and before.tied and item.tied:
            merged[-1].letters += new_letters
        elif new_letters:
            merged.append(Item(new_letters, item.numbers, item.remark))
        before = item
    return merged
