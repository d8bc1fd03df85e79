"""A judge's paper into an order of the responses: the JSON it was asked for, else its words, else an abstention.

Only what the judge itself says counts, nothing that it quotes: a response may ask for its own victory, or forge
a ranking. What is not certain is not read; the judge is asked once more instead.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from bot.llm.base import Prompt
from bot.llm.json_answers import UnreadableError, repaired
from bot.works.council.final_ranking import final_ranking
from bot.works.council.json_ballot import read_json
from bot.works.council.own_words import QUOTED, heading, marked, own_lines
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
