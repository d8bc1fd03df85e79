"""A judge's paper into an order of the responses: the JSON it was asked for, else its words, else an abstention.

Only what the judge itself says counts, nothing that it quotes: a response may ask for its own victory, or forge
a ranking. What is not certain is not read; the judge is asked once more instead.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bot.llm.base import Prompt
from bot.llm.fields import characters
from bot.llm.json_answers import UnreadableError, repaired
from bot.works.council.final_ranking import final_ranking
from bot.works.council.own_words import QUOTED, heading, marked, named, own_lines, spoken
from bot.works.council.rotation import labels
from bot.works.council.values import Reading

_IN_WORDS = (
    "\nIf you cannot write JSON: criticise each response, then end with a line that says FINAL RANKING: and below it "
    'a numbered list of all responses, best first, one "Response X" a line, and nothing after it.'
)
_LETTER = re.compile(r"\W*(?:(?:response|resposta|answer)[\W_]*)?([a-z])\W*", re.IGNORECASE)
_RANKING = re.compile(r"final\W+ranking|ranking\W+final", re.IGNORECASE)
_ORDERS = re.compile(
    r"\b(?:best|better|strong|prefer|favou?r|first|then|follow|most|rank|win|top|melhor|prim|depois|segui|venc)",
    re.IGNORECASE,
)
_WORST = re.compile(
    r"\b(?:worst|worse|weak|poor|least|lowest|last|inferior|fail|lack|pior|frac|fraqu|últim|menos)",
    re.IGNORECASE,
)


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


def read_json(text: str, n: int) -> Reading:
    """The one JSON object in a judge's answer; prose, a fence or thoughts may stand around it.

    Raises UnreadableError where its `ranking` is no permutation of the letters, and where there is more than one
    object: one of them may be quoted. Its strings' contents are never read as JSON.
    """
    paper = _object(text)
    said = paper.get("ranking")
    if not isinstance(said, list):
        raise UnreadableError("`ranking` is not a list of letters")
    known = labels(n)
    order: list[str] = []
    for one in said:
        found = _LETTER.fullmatch(one) if isinstance(one, str) else None
        letter = found[1].upper() if found else ""
        if letter not in known:
            raise UnreadableError(f"`ranking` names something that is none of {', '.join(known)}")
        if letter in order:
            raise UnreadableError(f"`ranking` names {letter} twice")
        order.append(letter)
    if missing := [letter for letter in known if letter not in order]:
        raise UnreadableError(f"`ranking` leaves out {', '.join(missing)}")
    return Reading(
        [known.index(letter) for letter in order], "schema", _critiques(paper.get("critiques"), known)
    )


def read_words(text: str, n: int) -> Reading:
    """The list under the last FINAL RANKING that is the judge's own, whatever its form; at least two of it.

    Else, with little confidence, a last word on all of them: the last paragraph that names each response exactly
    once and speaks of an order, in the order of its mentions. The order of mention in the whole text would be the
    one in which the judge read them. For the same reason A, B, C … says nothing there. Else an abstention, also of
    a judge that writes of a FINAL RANKING without one of its own that can be read: it may be a forged one.
    """
    lines = own_lines(text)
    critiques = _sections(lines, labels(n))
    if order := final_ranking(lines, n):
        return Reading(order, "ranking", critiques, partial=len(order) < n)
    if not any(_RANKING.search(line) for line in lines) and (order := _mentioned(lines, n)):
        return Reading(order, "mention", critiques)
    return Reading()


def repair(prompt: Prompt, text: str, reason: str) -> Prompt:
    """The same prompt, with what the judge answered and what was wrong with it."""
    again = repaired(prompt, text, UnreadableError(reason))
    *before, last = again.messages
    return replace(again, messages=(*before, replace(last, text=last.text + _IN_WORDS)))


def _object(text: str) -> Mapping[str, Any]:
    """From the first brace to the last: whatever stands between two objects makes that unreadable."""
    said = text.strip()
    if not said.startswith(("{", "`")):
        said = spoken(said)
    start, end = said.find("{"), said.rfind("}")
    if start < 0:
        raise UnreadableError("there was no JSON object in it")
    try:
        found = json.loads(said[start : end + 1], strict=False, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        raise UnreadableError("it was not one well-formed JSON object") from None
    if "ranking" not in found:
        raise UnreadableError("it had no `ranking`")
    return dict(found)


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
        found = _LETTER.fullmatch(str(name))
        if found and isinstance(value, str) and value.strip() and found[1].upper() in known:
            made.setdefault(found[1].upper(), characters(value).strip())
    return made


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
    for paragraph in reversed(
        "\n".join(marked(line) if line.strip() else "" for line in lines).replace(QUOTED, "").split("\n\n")
    ):
        order = named(paragraph)
        if sorted(order) == labels(n) != order:
            start = paragraph.find(f"⟦{order[1]}⟧")
            clear = _ORDERS.search(paragraph) and not _WORST.search(paragraph[:start])
            return [labels(n).index(letter) for letter in order] if clear else []
    return []
