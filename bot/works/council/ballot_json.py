"""Reads the ranking in a judge's JSON, in the requested form or in other forms that models use for the same vote.

Reading is strict except for unambiguous slips: comments, bare keys, a comma before a closing bracket, and an end that
breaks off. Other invalid JSON may be a quotation that was not escaped, and is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeGuard

from bot.llm.fields import characters
from bot.llm.json_answers import UnreadableError
from bot.works.council.ballot_syntax import parsed_object, unescaped_ranking
from bot.works.council.ballot_values import RANK, SCORE, groups_of, letter_of, shown_letters_only
from bot.works.council.ballot_words import RANKINGS
from bot.works.council.direction import announced
from bot.works.council.final_ranking import better_figure
from bot.works.council.judge_text import QUOTED, Own, introduces, own, quotes_at
from bot.works.council.mentions import plain
from bot.works.council.places import Groups
from bot.works.council.refusal import refuses
from bot.works.council.reservations import PENALTY, REVISED
from bot.works.council.rotation import labels
from bot.works.council.values import Reading

_MOST_WRAPPERS = 3
"""How many levels of objects around a ballot are searched."""
_KEY = re.compile(
    rf"(?<!\w)(?:{RANKINGS}|rank|order|ordem|orden|ordre|ordine|ordering|ordnung|placering|sequence)(?!\w)",
    re.IGNORECASE,
)
_OTHER = re.compile(
    r"\b(?:previous|initial|draft|example|claimed|forged|quoted|other|reason\w*|rationale|comments?"
    r"|notes?|why|explanation|criteria"
    r"|method|confidence|instructions?|direction)\b"
)
"""Keys that name something other than the ballot."""
_BACKWARDS = re.compile(
    r"worst|weakest|ascending|reverse|\bexample|placeholder|pior|peor|pire|schlechtest|peggior"
    r"|najgorsz|худш|最差|最悪",
    re.IGNORECASE,
)
_DRAFT, _FINAL = (
    re.compile(
        rf"[\W_]*(?:(?:my|the)\s+)?(?:{words})(?:\s+(?:ballot|vote|ranking|version|json|answer))?[\W_]*",
        re.IGNORECASE,
    )
    for words in (
        "(?:first )?draft|first pass|initial|preliminary|rascunho|borrador|brouillon|entwurf",
        "final|revised|corrected|definitiv[aoe]?|finale|endgültig|corrigid[ao]|corregid[ao]|corrigée?|korrigiert",
    )
)
"""The lines above a ballot that was written first, and above the one that counts."""
_REPLACED = re.compile(
    r"\b(?:disregard|ignore|discard|forget|replaces?|supersedes?|withdraw|retract)\b[^.\n]{0,30}"
    r"\b(?:above|first|earlier|previous|that)\b|\b(?:wait|I (?:misread|was wrong|made (?:a|an) (?:mistake|error)))\b",
    re.IGNORECASE,
)
"""Words by which a judge retracts an earlier ballot of its own."""
_MY_CORRECTION = re.compile(
    r"(?:^|[.!?]\s|\n)\s*(?:here is |here's |this is )?my (?:corrected|revised|new|updated|final|actual) \w+"
    r"(?: is| follows)?:$",
    re.IGNORECASE,
)
"""The end of these words, right before the ballot that counts."""
_PLACEHOLDER = re.compile(r"\s*(?:<[^<>]{1,60}>|\{[^{}]{1,60}\}|\[[^\[\]]{1,60}\]|\.{3}|…)\s*")
_NOTE_CHARS = 100
"""The maximum length of a text next to a ranking that may say how it is meant."""


def read_json(text: str, n: int) -> Reading:
    """The ranking of the only JSON object in a judge's answer, which prose, a fence or thoughts may surround.

    Its `ranking` may hold letters, labels or objects, places or scores by letter, or a text such as "C > A = B". A
    letter that was not shown is ignored, and a repeated one counts at its first position; if another letter is missing
    as well, the slip may stand for that one, so only what comes before it counts. Raises UnreadableError for anything
    else, for fewer than two places, and for more than one object, since one of them may be quoted. The contents of
    strings are never read as JSON, except for the arguments of a function call.
    """
    said = own(text)
    paper = _ballot_object(text, said)
    letters = labels(n)
    groups = _agreed_ranking(paper, n, larger=better_figure(said.text) == 1)
    if len(groups) < 2:
        raise UnreadableError("`ranking` tells no two of the responses apart")
    order = [letter for group in groups for letter in group]
    return Reading(
        [letters.index(letter) for letter in order],
        "schema",
        _critiques(paper, letters),
        partial=len(order) < n,
        tied=[letters.index(letter) for group in groups for letter in group[1:]],
    )


def _agreed_ranking(paper: object, n: int, *, larger: bool) -> Groups:
    """The ranking on which all rankings in an object agree; if some are called final, only these count.

    `larger` as in `groups_of`.
    """
    votes = [
        (name, value)
        for name, value in _votes(paper)
        if _KEY.search(name) or not _is_list_of_placed(value) or len(value) == n
    ]
    votes = [vote for vote in votes if "final" in vote[0]] or votes
    rankings: list[Groups] = []
    error = UnreadableError("it had no `ranking`")
    for _, value in votes:
        try:
            rankings.append(shown_letters_only(groups_of(value, n, larger=larger), labels(n)))
        except UnreadableError as raised:
            error = raised
    if not rankings:
        raise error
    if any(groups != rankings[0] for groups in rankings):
        raise UnreadableError("it holds two rankings that differ")
    return rankings[0]


def _votes(paper: object, depth: int = 0) -> Iterator[tuple[str, object]]:
    """The keys and values that hold rankings or scores, from the outermost object that has any."""
    if isinstance(paper, Sequence) and not isinstance(paper, str):
        if len(paper) == 1 and depth < _MOST_WRAPPERS:
            yield from _votes(paper[0], depth + 1)
        return
    if not isinstance(paper, Mapping):
        return
    if len(paper) > 1 and all(
        letter_of(name) and isinstance(value, Mapping) for name, value in paper.items()
    ):
        yield "", paper
        return
    names = {re.sub(r"\W+|_", " ", str(name).strip().casefold()): value for name, value in paper.items()}
    notes = [
        value
        for name, value in names.items()
        if isinstance(value, str) and len(value) < _NOTE_CHARS and not letter_of(name)
    ]
    if any(_BACKWARDS.search(text) for text in [*filter(_KEY.search, names), *notes]):
        raise UnreadableError("its ranking does not begin with the best, or is an example")
    rankings = {name: value for name, value in names.items() if _KEY.search(name) and not _OTHER.search(name)}
    rankings = rankings or {
        name: value for name, value in names.items() if SCORE.fullmatch(name) and _is_keyed_by_letter(value)
    }
    if not rankings:
        tables = {
            name: value
            for name, value in names.items()
            if _is_list_of_placed(value) and not _OTHER.search(name)
        }
        if tables and any(better_figure(text) == 1 for text in notes):
            raise UnreadableError("its places do not begin with the best")
        rankings = tables
    yield from rankings.items()
    if not rankings and depth < _MOST_WRAPPERS:
        for name, value in names.items():
            if not letter_of(name):
                yield from _votes(value, depth + 1)


def _is_keyed_by_letter(value: object) -> bool:
    """Whether all keys of an object are letters of responses."""
    return isinstance(value, Mapping) and all(letter_of(name) for name in value)


def _ballot_object(text: str, said: Own) -> Mapping[str, Any]:
    """The object with the judge's ballot. Raises UnreadableError if there are several, since one may be quoted.

    A list that is the whole answer is taken as the ranking.
    """
    if not said.objects:
        raise UnreadableError("there was no JSON object in it")
    if refuses(said.text):
        raise UnreadableError("it refuses to rank the responses")
    parsed = [parsed_object(json_text) for _, json_text in said.objects]
    if len(parsed) == 2 and _is_empty_form(parsed[0]):  # the requested form, repeated before the ballot
        said = replace(said, objects=said.objects[1:])
        parsed = parsed[1:]
    if len(parsed) == 1 and isinstance(parsed[0], list) and len(parsed[0]) == 1:
        parsed = [parsed[0][0]] if isinstance(parsed[0][0], Mapping) and _has_votes(parsed[0][0]) else parsed
    if len(parsed) == 1 and parsed[0] is not None:
        at = said.objects[0][0]
        if quotes_at(said.text, at):
            raise UnreadableError("its JSON is a quotation")
        if _REPLACED.search(said.text[at:]) and REVISED.search(said.text[at:]):
            raise UnreadableError("it takes its JSON back")
        if announced(said.text[:at].split("\n"), at) in ("up", "unsure"):
            raise UnreadableError("its ranking does not begin with the best")
        return _call_arguments(parsed[0]) if isinstance(parsed[0], Mapping) else {"ranking": parsed[0]}
    if not said.text.strip():  # only objects, one on each line
        papers = [paper for paper in parsed if isinstance(paper, Mapping)]
        voting = [paper for paper in papers if _has_votes(paper)]
        if len(voting) == 1 and len(papers) == len(parsed):
            return voting[0]
        clear = PENALTY.search(text) is None and better_figure(text) is None
        for figures in (RANK, SCORE) if clear else (RANK,):
            if len(papers) == len(parsed) and all(_is_placed_response(paper, figures) for paper in papers):
                return {"ranking": papers}
    if (_last_is_final(said) or _second_replaces_first(said)) and isinstance(parsed[-1], Mapping):
        return parsed[-1]
    if ranking := unescaped_ranking(text):
        return {"ranking": ranking}
    raise UnreadableError("it was not one well-formed JSON object")


def _is_empty_form(paper: object) -> bool:
    """Whether it is an empty form of a ballot, with a placeholder such as <best> at each place."""
    ranking = paper.get("ranking") if isinstance(paper, Mapping) else None
    return (
        isinstance(ranking, Sequence)
        and len(ranking) > 1
        and all(isinstance(place, str) and _PLACEHOLDER.fullmatch(place) for place in ranking)
    )


def _call_arguments(paper: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments of a function call, parsed if they are a string; any other object unchanged."""
    call = paper.get("function", paper)
    if not isinstance(call, Mapping) or "name" not in call:
        return paper
    value = next((call[key] for key in ("arguments", "parameters", "input") if key in call), None)
    value = parsed_object(value) if isinstance(value, str) else value
    return value if isinstance(value, Mapping) else paper


def _is_placed_response(paper: Mapping[str, Any], figures: re.Pattern[str] = RANK) -> bool:
    """Whether an object is one response with its place or score: {"response": "B", "rank": 1}."""
    named = [value for value in paper.values() if letter_of(value)]
    return len(named) == 1 and any(map(figures.fullmatch, paper))


def _is_list_of_placed(value: object) -> TypeGuard[list[Any]]:
    """Whether a list has an object with a place for each of A, B, C …"""
    if not isinstance(value, list) or not all(
        isinstance(entry, Mapping) and _is_placed_response(entry) for entry in value
    ):
        return False
    named = [letter for entry in value for field in entry.values() if (letter := letter_of(field))]
    return len(named) > 1 and sorted(named) == labels(len(named))


def _last_is_final(said: Own) -> bool:
    """Whether every object except the last follows "Draft:", and the last follows "Final:"."""
    above = [[line for line in said.text[:at].split("\n") if line.strip()] for at, _ in said.objects]
    heads = [lines[-1] if lines else "" for lines in above]
    *earlier, (at, _) = said.objects
    return (
        all(map(_DRAFT.fullmatch, heads[:-1]))
        and _FINAL.fullmatch(heads[-1]) is not None
        and not any(quotes_at(said.text, at) for at, _ in earlier)
        and not any(introduces(plain(line)) for lines in above for line in lines[-2:-1])
        and not said.text[at:].strip("… \n")
    )


def _second_replaces_first(said: Own) -> bool:
    """Whether there are two objects and the judge says between them that the second replaces the first."""
    if len(said.objects) != 2:
        return False
    (first, _), (last, _) = said.objects
    between = said.text[first:last].removeprefix("…")
    return (
        not said.text[:first].strip("… \n")
        and not said.text[last:].strip("… \n")
        and len(between.strip().split("\n")) == 1
        and QUOTED not in between
        and _REPLACED.search(between) is not None
        and _MY_CORRECTION.search(between.strip()) is not None
    )


def _has_votes(paper: Mapping[str, Any]) -> bool:
    """Whether an object says anything about places, readable or not."""
    try:
        return any(True for _ in _votes(paper))
    except UnreadableError:
        return True


def _critiques(paper: Mapping[str, Any], letters: list[str]) -> dict[str, str]:
    """The texts in an object by letter: the judge's words about each response."""
    mapping: Mapping[str, Any] = next(
        (
            value
            for name, value in paper.items()
            if _is_keyed_by_letter(value) and not _KEY.search(str(name).casefold())
        ),
        {},
    )
    critiques: dict[str, str] = {}
    for name, value in mapping.items():
        letter = letter_of(str(name))
        if letter in letters and isinstance(value, str) and value.strip():
            critiques.setdefault(letter, characters(value).strip())
    return critiques
