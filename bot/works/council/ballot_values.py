"""Reads a value in a ballot's JSON as places: a list, a text, places or scores by letter, or one object for each
response.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from bot.llm.json_answers import UnreadableError
from bot.works.council.ballot_words import NOUNS, RANKS, SCORES
from bot.works.council.final_ranking import final_ranking
from bot.works.council.judge_text import own
from bot.works.council.places import Groups, Item, by_value, ordinal, ranks
from bot.works.council.rotation import labels

_LETTER = re.compile(rf"(?!(?:{NOUNS})\Z)\W*(?:(?:{NOUNS})[\W_]*)?([a-z])\W*", re.IGNORECASE)
_PLACE = re.compile(rf"\W*(?:(?:{RANKS})[\W_]*)?(\d{{1,2}})(?:st|nd|rd|th|[ºª°.])?\W*", re.IGNORECASE)
_WORD_PLACES = {"middle": 50, "rest": 50, "worst": 99, "last": 99, "weakest": 99}
"""Places for words other than "best"; only their order matters."""
RANK, SCORE = (re.compile(rf"(?:final_|overall_)?(?:{names})s?", re.IGNORECASE) for names in (RANKS, SCORES))
_SUM = r"total[ei]?|sum|overall|gesamt|insgesamt|summe|suma|soma|somme|somma|geral|globale?|général|général|final"
_TOTAL = re.compile(
    rf"(?:(?:{SCORES}|puntaje|punteggio|bewertung|wertung)s?[ _-]?)?(?:{_SUM})"
    rf"(?:[ _-]?(?:{SCORES}|puntaje|punteggio|bewertung|wertung|punktzahl)s?)?"
    r"|合計(?:点)?|総合(?:点|評価|得点)?|総(?:点|得点)|总(?:分|计)|合计|कुल(?:[ _](?:अंक|स्कोर))?|총(?:점|합)",
    re.IGNORECASE,
)
"""Names for the total of the scores by criterion."""
_ASIDE = re.compile(r"\s*\((?:the )?(?:best|worst)\)\s*$", re.IGNORECASE)
_TIES = re.compile(r"\s*(?:[=~≈/&]|\band\b)\s*")


def groups_of(value: object, n: int, *, larger: bool = False) -> Groups:
    """The ranking in a value of a ballot's JSON. `larger` if the judge has said that larger figures are better.

    Raises UnreadableError.
    """
    if isinstance(value, str):
        return _of_string(value, n)
    if isinstance(value, Mapping):
        return _of_mapping(value, n, larger=larger)
    if not isinstance(value, Sequence):
        raise UnreadableError("`ranking` is not a list of letters")
    if value and all(isinstance(entry, Mapping) for entry in value):
        return _of_objects(value, n, larger=larger)
    texts = [entry for entry in value if isinstance(entry, str)]
    if texts and len(texts) == len(value) and not all(map(letter_of, texts)):
        return _of_lines(texts, n)
    return [_letters_of_entry(entry, n) for entry in value]


def _of_string(text: str, n: int) -> Groups:
    """The ranking in a string: "CAB" if it permutes all letters other than alphabetically, else as in a prose list."""
    if sorted(text.strip()) == labels(n) != list(text.strip()) and n > 2:
        return [[letter] for letter in text.strip()]
    return _of_lines([text], n)


def _of_lines(texts: Sequence[str], n: int) -> Groups:
    """Places from the lines of a list: "1. Response C", "C (9/10)", "A = B"."""
    lines = [line for text in texts for line in own(text).lines]
    if len(texts) == len(lines) > 1 and all(letter_of(re.split(r"[:(–—-]", line)[0]) for line in lines):
        lines = [f"{place}. {line}" for place, line in enumerate(lines, 1)]  # "C - complete" in its place
    header = ["FINAL RANKING:"] if len(lines) > 1 else ["FINAL RANKING: " + lines.pop()]
    groups = final_ranking([*header, *lines], n, every=True)
    if not groups:
        raise UnreadableError(f"`ranking` names something that is none of {', '.join(labels(n))}")
    return groups


def _of_mapping(mapping: Mapping[str, Any], n: int, *, larger: bool) -> Groups:
    """Places from letters with places or scores, or from places with letters."""
    if all(letter_of(name) for name in mapping):
        if all(isinstance(value, Mapping) for value in mapping.values()):
            return _of_objects(
                [
                    {"label": name}
                    | {key: figure for key, figure in value.items() if RANK.fullmatch(key) or _is_score(key)}
                    for name, value in mapping.items()
                ],
                n,
                larger=larger,
            )
        asides = [_ASIDE.search(str(value)) for value in mapping.values()]
        figures = [
            _number(_ASIDE.sub("", value) if isinstance(value, str) else value) for value in mapping.values()
        ]
        if any(
            aside and not _fits(aside[0], figure, figures)
            for aside, figure in zip(asides, figures, strict=True)
        ):
            raise UnreadableError("the places in `ranking` say other than the words beside them")
        items = [Item([letter_of(name)]) for name in mapping]
        if None not in figures:
            values = [figure for figure in figures if figure is not None]
            places = ranks(values, n) and not larger
            return by_value(items, values if places else [-value for value in values])
    elif None not in (places_named := [_place(name) for name in mapping]):
        if larger:
            raise UnreadableError("its places do not begin with the best")
        numbers = [float(place) for place in places_named if place is not None]
        return by_value([Item(_letters_of_entry(value, n)) for value in mapping.values()], numbers)
    raise UnreadableError("`ranking` is not a list of letters")


def _fits(aside: str, figure: float | None, figures: Sequence[float | None]) -> bool:
    """Whether the remark "(best)" or "(worst)" is next to the first or the last place."""
    values = [value for value in figures if value is not None]
    return bool(values) and figure == (min(values) if "best" in aside.lower() else max(values))


def _of_objects(objects: Sequence[Mapping[str, Any]], n: int, *, larger: bool) -> Groups:
    """The order of the objects: by a place in each, or by a score in each, or else as written."""
    items: list[Item] = []
    places: list[float | None] = []
    scores: list[float | None] = []
    for entry in objects:
        if len(entry) == 1 and letter_of(name := next(iter(entry))) and not isinstance(entry[name], Mapping):
            items.append(Item([letter_of(name)]))
            places.append(None)
            scores.append(_number(entry[name]))
            continue
        letters = [letter for value in entry.values() if (letter := _letter_in(value))]
        if len(letters) != 1:
            raise UnreadableError("`ranking` has an object that names no response, or several")
        items.append(Item(letters))
        ranks_named = {_number(value) for name, value in entry.items() if RANK.fullmatch(name)}
        if len(ranks_named) > 1:
            raise UnreadableError("`ranking` gives a response two places")
        places.append(next(iter(ranks_named), None))
        scores.append(_score(entry))
    for figures, sign in ((places, 1), (scores, -1)):
        values = [sign * figure for figure in figures if figure is not None]
        if len(values) == len(items):
            if sign > 0 and (larger or not ranks(values, max(n, len(values)))):
                raise UnreadableError("the places in `ranking` are none")
            return by_value(items, values)
        if values:
            raise UnreadableError("not everything in `ranking` has a place")
    return [item.letters for item in items]


def _is_score(name: str) -> bool:
    return bool(SCORE.fullmatch(name) or _TOTAL.fullmatch(name))


def _score(entry: Mapping[str, Any]) -> float | None:
    """The score in a response's object: the total of those by criterion, or the only one; otherwise None."""
    figures = {name: _number(value) for name, value in entry.items() if _is_score(name)}
    values = {value for name, value in figures.items() if value is not None and _TOTAL.fullmatch(name)}
    values = values or {value for value in figures.values() if value is not None}
    return values.pop() if len(values) == 1 else None


def _letters_of_entry(value: object, n: int) -> list[str]:
    """The letters that share one place of a list."""
    if isinstance(value, str):
        letters = [letter_of(part) for part in _TIES.split(value)]
        if all(letters):
            return letters
    elif isinstance(value, Sequence) and not isinstance(value, bytes):
        return [letter for part in value for letter in _letters_of_entry(part, n)]
    elif isinstance(value, Mapping):
        return [letter for group in _of_objects([value], n, larger=False) for letter in group]
    raise UnreadableError(f"`ranking` names something that is none of {', '.join(labels(n))}")


def shown_letters_only(groups: Groups, letters: list[str]) -> Groups:
    """The groups with only letters that were shown, and each letter once."""
    order = [letter for group in groups for letter in group if letter in letters]
    missing = set(letters) - set(order)
    shown: Groups = []
    counted: set[str] = set()
    for group in groups:
        if missing and any(letter in counted or letter not in letters for letter in group):
            break  # it may stand for the missing one
        new_letters = [
            letter for letter in dict.fromkeys(group) if letter in letters and letter not in counted
        ]
        counted.update(new_letters)
        shown += [new_letters] if new_letters else []
    return shown


def _place(text: str) -> int | None:
    """The place in a name: "1", "rank_2", "third", "segundo"."""
    match = _PLACE.fullmatch(text)
    text = re.sub(rf"[\W_]+(?:{RANKS})\W*$", "", text, flags=re.IGNORECASE)
    return int(match[1]) if match else ordinal(text.strip()) or _WORD_PLACES.get(text.strip().casefold())


def _letter_in(value: object) -> str:
    """The letter in a value, or in an object with a single value: {"letter": "C"}."""
    return letter_of(next(iter(value.values())) if isinstance(value, Mapping) and len(value) == 1 else value)


def letter_of(value: object) -> str:
    """The letter of a response that a value consists of ("C", "response_c"); "" for anything else."""
    match = _LETTER.fullmatch(value) if isinstance(value, str) else None
    return match[1].upper() if match else ""


def _number(value: object) -> float | None:
    """The figure in a value such as 7, "7/10" or "2nd"; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value) if abs(value) < 1_000 else None
    match = re.fullmatch(
        r"\s*#?(\d{1,3}(?:[.,]\d{1,3})?)\s*(?:/\s*\d{1,3}|%|st|nd|rd|th|\.?[ºª°]|\.)?\s*", str(value)
    )
    return float(match[1].replace(",", ".")) if match else None
