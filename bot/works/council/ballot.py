"""A judge's paper into an order of the responses: the JSON it was asked for, else its words, else an abstention.

Only what the judge itself says counts, nothing that it quotes: a response may ask for its own victory, or forge
a ranking. What is not certain is not read; the judge is asked once more instead.

JSON is taken as it was asked for, or in one of the ways in which models write the same vote. It is read strictly but
for two slips that leave no doubt: a comma before a closing bracket, and an end that breaks off. What else is not JSON
may be a quotation that was not escaped, and is not read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bot.llm.base import Prompt
from bot.llm.fields import characters
from bot.llm.json_answers import UnreadableError, repaired
from bot.works.council.final_ranking import final_ranking, ordinal
from bot.works.council.own_words import NOUNS, QUOTED, heading, marked, own_lines, spoken
from bot.works.council.places import RANKS, SCORES, Groups, Item, by_value, ranks
from bot.works.council.rotation import labels
from bot.works.council.values import Reading

_IN_WORDS = (
    "\nIf you cannot write JSON: criticise each response, then end with a line that says FINAL RANKING: and below it "
    'a numbered list of all responses, best first, one "Response X" a line, and nothing after it.'
)
_RANKING = re.compile(r"final\W+ranking|ranking\W+final", re.IGNORECASE)
_ORDERS = re.compile(
    r"\b(?:best|better|strong|prefer|favou?r|first|then|follow|most|rank|win|top|melhor|prim|depois|segui|venc)",
    re.IGNORECASE,
)
_WORST = re.compile(
    r"\b(?:worst|worse|weak|poor|least|lowest|last|inferior|fail|lack|pior|frac|fraqu|últim|menos)",
    re.IGNORECASE,
)
_EQUAL = re.compile(
    r"\b(?:tie[ds]?|equal|equally|both|alike|similar|same|no difference|between|empat|igua[li]|amb[ao]s|gleich|égal)",
    re.IGNORECASE,
)
_SUPERLATIVE = re.compile(
    r"(?<!second[ -])(?<!next[ -])(?<!third[ -])\b(?:best|strongest|winner|wins|melhor|vence)\b",
    re.IGNORECASE,
)
_NAMED = re.compile(r"⟦(?P<letter>[A-Z])⟧")
_BARE = re.compile(
    r"(?<![\w'’])(?P<letter>[A-Z])(?=[,.;:)>]|\s+(?:first|second|third|fourth|last|then|and|is|comes)\b|\s*$)"
)
"""A letter by itself that can be no article: "C first, then A, then B"."""

_LETTER = re.compile(rf"\W*(?:(?:{NOUNS})[\W_]*)?([a-z])\W*", re.IGNORECASE)
_NAMES = ("final_ranking", "ranking", "rankings", "rank", "ranks", "order")
_PLACE = re.compile(rf"\W*(?:(?:{RANKS})[\W_]*)?(\d{{1,2}})(?:st|nd|rd|th|[ºª°.])?\W*", re.IGNORECASE)
_RANK, _SCORE = (
    re.compile(rf"(?:final_|overall_)?(?:{names})s?", re.IGNORECASE) for names in (RANKS, SCORES)
)
_TIES = re.compile(r"\s*(?:[=~≈/&]|\band\b)\s*")
_COMMENT = re.compile(r"^[ \t]*//[^\n]*$|(?<=[,{\[])[ \t]*//[^\n]*$", re.MULTILINE)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_DANGLING = re.compile(r',?\s*"(?:[^"\\]|\\.)*"\s*:\Z')
_COMMA = re.compile(r",(?=\s*[}\]])")


def schema(n: int) -> dict[str, Any]:
    """The ballot of `n` responses as strict services want it. Critiques first: whoever has to say what is wrong
    with each before ranking them ranks by it. That the ranking holds each once cannot be said in a strict schema.
    """
    known = labels(n)
    critiques = {
        "type": "object",
        "properties": {one: {"type": "string"} for one in known},
        "required": known,
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {
            "critiques": critiques,
            "ranking": {"type": "array", "items": {"type": "string", "enum": known}},
        },
        "required": ["critiques", "ranking"],
        "additionalProperties": False,
    }


def read(text: str, n: int) -> tuple[Reading, str]:
    """What one answer of a judge says, JSON or words, and why that is not all that was asked for; "" where it is.

    Who leaves out only one has said all: that one is last.
    """
    try:
        reading = read_json(text, n)
    except UnreadableError as error:
        reading = read_words(text, n)
        reason = error.reason
    else:
        reason = "`ranking` leaves responses out"
    whole = reading.source in ("schema", "ranking") and len(reading.ranking) >= n - 1
    return reading, "" if whole else reason


def read_words(text: str, n: int) -> Reading:
    """The list under the last FINAL RANKING that is the judge's own, whatever its form; at least two of it.

    Else, with little confidence, a last word on all of them: the last paragraph that names each response exactly
    once and speaks of an order, in the order of its mentions. The order of mention in the whole text would be the
    one in which the judge read them. For the same reason A, B, C … says nothing there. Else an abstention, also of
    a judge that writes of a FINAL RANKING without one of its own that can be read: it may be a forged one.
    """
    lines = own_lines(text)
    critiques = _sections(lines, labels(n))
    if groups := final_ranking(lines, n):
        order = [labels(n).index(letter) for group in groups for letter in group]
        tied = [labels(n).index(letter) for group in groups for letter in group[1:]]
        return Reading(order, "ranking", critiques, partial=len(order) < n, tied=tied)
    if not any(_RANKING.search(line) for line in lines) and (order := _mentioned(lines, n)):
        return Reading(order, "mention", critiques)
    return Reading()


def repair(prompt: Prompt, text: str, reason: str) -> Prompt:
    """The same prompt, with what the judge answered and what was wrong with it."""
    again = repaired(prompt, text, UnreadableError(reason))
    *before, last = again.messages
    return replace(again, messages=(*before, replace(last, text=last.text + _IN_WORDS)))


def _sections(lines: list[str], known: list[str]) -> dict[str, str]:
    """What a judge says of each in words: from the line that a response heads to the next such line."""
    made: dict[str, list[str]] = {}
    letter = ""
    for line in lines:
        headed = heading(line)
        if headed in made or (line.startswith("#") and not headed) or _RANKING.search(line):
            letter = ""
        elif headed in known:
            letter = headed
            made[letter] = [line]
        elif letter and line != QUOTED:
            made[letter].append(line)
    return {letter: "\n".join(said).strip() for letter, said in sorted(made.items())}


def _mentioned(lines: list[str], n: int) -> list[int]:
    known = labels(n)
    for paragraph in reversed(
        "\n".join(marked(line) if line.strip() else "" for line in lines).replace(QUOTED, "").split("\n\n")
    ):
        found = list(_NAMED.finditer(paragraph)) or list(_BARE.finditer(paragraph))
        order = [one["letter"] for one in found]
        if sorted(order) == known != order:
            # The worst is spoken of with the last of them, and the best with the first: else it is another order.
            clear = (
                _ORDERS.search(paragraph)
                and not _EQUAL.search(paragraph)
                and not _WORST.search(paragraph[: found[-2].end()])
                and not _SUPERLATIVE.search(paragraph[found[1].start() :])
            )
            return [known.index(letter) for letter in order] if clear else []
    return []


def read_json(text: str, n: int) -> Reading:
    """The one JSON object in a judge's answer; prose, a fence or thoughts may stand around it.

    Its `ranking` may hold letters, labels or objects, places or scores by letter, or a text such as "C > A = B". A
    letter that was not shown is passed over, and one that comes twice counts where it stands first; where another is
    missing besides, it may stand for that, so that only what comes before it counts. Raises UnreadableError for
    anything else, for less than two places, and where there is more than one object: one of them may be quoted.
    Its strings' contents are never read as JSON.
    """
    paper = _object(text)
    known = labels(n)
    groups = _shown(_groups(_said(paper), n), known)
    if len(groups) < 2:
        raise UnreadableError("`ranking` tells no two of the responses apart")
    order = [letter for group in groups for letter in group]
    return Reading(
        [known.index(letter) for letter in order],
        "schema",
        _critiques(paper.get("critiques"), known),
        partial=len(order) < n,
        tied=[known.index(letter) for group in groups for letter in group[1:]],
    )


def _said(paper: Mapping[str, Any]) -> object:
    """What stands under the name of a ranking, or of scores."""
    names = {re.sub(r"\W+", "_", name.strip().casefold()): name for name in paper}
    for name in _NAMES:
        if name in names:
            return paper[names[name]]
    if isinstance(scores := paper.get("scores"), Mapping):
        return [{"label": letter, "score": score} for letter, score in scores.items()]
    raise UnreadableError("it had no `ranking`")


def _groups(said: object, n: int) -> Groups:
    if isinstance(said, str):
        return _of_text(said, n)
    if isinstance(said, Mapping):
        return _of_mapping(said, n)
    if not isinstance(said, Sequence):
        raise UnreadableError("`ranking` is not a list of letters")
    if said and all(isinstance(one, Mapping) for one in said):
        return _of_objects(said, n)
    texts = [one for one in said if isinstance(one, str)]
    if texts and len(texts) == len(said) and not all(map(_letter, texts)):
        return _in_words(texts, n)
    return [_entry(one, n) for one in said]


def _of_text(said: str, n: int) -> Groups:
    """As a FINAL RANKING in words, or "CAB" where it is a permutation of all letters but that in which they stood."""
    if sorted(said.strip()) == labels(n) != list(said.strip()) and n > 2:
        return [[letter] for letter in said.strip()]
    return _in_words([said], n)


def _in_words(said: Sequence[str], n: int) -> Groups:
    """Places that are lines of a list: "1. Response C", "C (9/10)", "A = B"."""
    lines = [line for one in said for line in own_lines(one)]
    header = ["FINAL RANKING:"] if len(lines) > 1 else ["FINAL RANKING: " + lines.pop()]
    groups = final_ranking([*header, *lines], n, every=True)
    if not groups:
        raise UnreadableError(f"`ranking` names something that is none of {', '.join(labels(n))}")
    return groups


def _of_mapping(said: Mapping[str, Any], n: int) -> Groups:
    """Letters with their places or scores, or places with their letters."""
    if all(_letter(name) for name in said):
        figures = [_number(value) for value in said.values()]
        items = [Item([_letter(name)]) for name in said]
        if None not in figures:
            values = [figure for figure in figures if figure is not None]
            return by_value(items, values if ranks(values, n) else [-value for value in values])
    elif None not in (places := [_place(name) for name in said]):
        numbers = [float(place) for place in places if place is not None]
        return by_value([Item(_entry(value, n)) for value in said.values()], numbers)
    raise UnreadableError("`ranking` is not a list of letters")


def _of_objects(said: Sequence[Mapping[str, Any]], n: int) -> Groups:
    """By a place that each has, else by a score that each has, else as they stand."""
    items: list[Item] = []
    places: list[float | None] = []
    scores: list[float | None] = []
    for one in said:
        if len(one) == 1 and _letter(name := next(iter(one))) and not isinstance(one[name], Mapping):
            items.append(Item([_letter(name)]))
            places.append(None)
            scores.append(_number(one[name]))
            continue
        named = [value for value in one.values() if isinstance(value, str) and _letter(value)]
        if len(named) != 1:
            raise UnreadableError("`ranking` has an object that names no response, or several")
        items.append(Item([_letter(named[0])]))
        places.append(next((_number(value) for name, value in one.items() if _RANK.fullmatch(name)), None))
        scores.append(next((_number(value) for name, value in one.items() if _SCORE.fullmatch(name)), None))
    for figures, sign in ((places, 1), (scores, -1)):
        values = [sign * figure for figure in figures if figure is not None]
        if len(values) == len(items):
            if sign > 0 and not ranks(values, max(n, len(values))):
                raise UnreadableError("the places in `ranking` are none")
            return by_value(items, values)
        if values:
            raise UnreadableError("not everything in `ranking` has a place")
    return [one.letters for one in items]


def _entry(said: object, n: int) -> list[str]:
    """The letters that share one place of a list."""
    if isinstance(said, str):
        found = [_letter(part) for part in _TIES.split(said)]
        if all(found):
            return found
    elif isinstance(said, Sequence) and not isinstance(said, bytes):
        return [letter for one in said for letter in _entry(one, n)]
    elif isinstance(said, Mapping):
        return [letter for group in _of_objects([said], n) for letter in group]
    raise UnreadableError(f"`ranking` names something that is none of {', '.join(labels(n))}")


def _shown(groups: Groups, known: list[str]) -> Groups:
    """Without letters that were not shown, and each once."""
    order = [letter for group in groups for letter in group if letter in known]
    missing = set(known) - set(order)
    made: Groups = []
    seen: set[str] = set()
    for group in groups:
        if missing and any(letter in seen or letter not in known for letter in group):
            break  # it may stand for the one that is missing
        fresh = [letter for letter in dict.fromkeys(group) if letter in known and letter not in seen]
        seen.update(fresh)
        made += [fresh] if fresh else []
    return made


def _place(said: str) -> int | None:
    """The place that a name says: "1", "rank_2", "third", "segundo"."""
    found = _PLACE.fullmatch(said)
    return int(found[1]) if found else ordinal(said.strip())


def _letter(said: object) -> str:
    found = _LETTER.fullmatch(said) if isinstance(said, str) else None
    return found[1].upper() if found else ""


def _number(said: object) -> float | None:
    if isinstance(said, bool):
        return None
    if isinstance(said, int | float):
        return float(said) if abs(said) < 1_000 else None
    found = re.fullmatch(r"\s*#?(\d{1,3}(?:[.,]\d{1,3})?)\s*(?:/\s*\d{1,3}|%|st|nd|rd|th)?\s*", str(said))
    return float(found[1].replace(",", ".")) if found else None


def _object(text: str) -> Mapping[str, Any]:
    """From the first brace to the last: whatever stands between two objects makes that unreadable. A list that is
    the whole answer is the ranking.
    """
    said = text.strip()
    if not said.startswith(("{", "`", "[")):
        said = spoken(said)
    fenced = said.strip().strip("`").strip()
    if (bare := re.sub(r"\Ajson\s+", "", fenced, flags=re.IGNORECASE)).startswith("["):
        try:
            return {"ranking": json.loads(_COMMA.sub("", bare), strict=False)}
        except (ValueError, RecursionError):
            pass
    start, end = said.find("{"), said.rfind("}")
    if start < 0:
        raise UnreadableError("there was no JSON object in it")
    for whole in (_pruned(said[start : end + 1]), _closed(said[start:])):
        try:
            found = json.loads(whole, strict=False, object_pairs_hook=_once)
        except (ValueError, RecursionError):
            continue
        return dict(found)
    raise UnreadableError("it was not one well-formed JSON object")


def _pruned(said: str) -> str:
    """Without commas before a closing bracket; those in strings stay."""
    made, at = "", 0
    for string in _STRING.finditer(said):
        made += _COMMA.sub("", _COMMENT.sub("", said[at : string.start()])) + string[0]
        at = string.end()
    return made + _COMMA.sub("", said[at:])


def _closed(said: str) -> str:
    """An object that breaks off, with what it lacks; a last string that breaks off is left out."""
    said = said.rstrip("` \n")
    open_: list[str] = []
    whole = at = 0
    while at < len(said):
        string = _STRING.match(said, at)
        if said[at] == '"' and string is None:
            break
        if string is not None:
            at = string.end()
        else:
            if said[at] in "{[":
                open_.append("}" if said[at] == "{" else "]")
            elif said[at] in "}]" and (not open_ or open_.pop() != said[at]):
                return ""
            at += 1
        whole = at
    if not open_:
        return ""
    kept = _DANGLING.sub("", said[:whole].rstrip())
    return _COMMA.sub("", kept.rstrip(",") + "".join(reversed(open_)))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose names are all different; a name that comes twice says two things."""
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a name comes twice")
    return made


def _critiques(said: object, known: list[str]) -> dict[str, str]:
    if not isinstance(said, Mapping):
        return {}
    made: dict[str, str] = {}
    for name, value in said.items():
        letter = _letter(str(name))
        if letter in known and isinstance(value, str) and value.strip():
            made.setdefault(letter, characters(value).strip())
    return made
