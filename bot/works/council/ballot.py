"""Reads a judge's ballot as a ranking of the responses: from its JSON, otherwise from its prose; otherwise it is an
abstention.

Only the judge's own words count, never its quotations: a response may ask for its own victory, or forge a ranking. What
is uncertain is not read; the judge is asked once more instead.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bot.llm.base import Prompt
from bot.llm.json_answers import UnreadableError, repaired
from bot.works.council.ballot_json import read_json
from bot.works.council.ballot_lists import with_joined_places
from bot.works.council.ballot_words import BESTS
from bot.works.council.direction import direction
from bot.works.council.final_ranking import final_ranking
from bot.works.council.judge_text import FINAL_RANKING, QUOTED, own
from bot.works.council.mentions import forget_lines, heading, marked, named
from bot.works.council.places import TIE, Groups
from bot.works.council.program import assigned, printed
from bot.works.council.refusal import refuses
from bot.works.council.reservations import HEDGED, OTHER, disowned
from bot.works.council.rotation import labels
from bot.works.council.scales import in_numbers
from bot.works.council.stated_order import REPORTED, stated_order, stated_places
from bot.works.council.unheaded_ranking import unheaded
from bot.works.council.values import Reading

_PROSE_INSTRUCTION = (
    "\nIf you cannot write JSON: criticise each response, then end with a line that says FINAL RANKING: and below it "
    'a numbered list of all responses, best first, one "Response X" a line, and nothing after it.'
)
_ORDERS = re.compile(
    r"(?:가장 (?:좋|뛰어)|最も(?:優|良|い)|次に|그다음|其次|次之|फिर|क्रम|順位|순위|排名)"
    rf"|\b(?:{BESTS}|best"
    r"|better|strong|prefer|favou?r"
    rf"|first|then|follow|most|rank|win|top|melhor|prim|depois"
    rf"|segui|venc"
    r"|mejor|luego|en cabeza|meilleur|premi|puis|enfin|ensuite|en tête|devant|in testa|vorne|zuerst|danach"
    r"|auf platz|gefolgt)",
    re.IGNORECASE,
)
_WORST = re.compile(
    r"\b(?:worst|worse|weak|poor|least|lowest|last|inferior|fail|lack|pior|frac|fraqu|últim|menos)",
    re.IGNORECASE,
)
_EQUAL = re.compile(
    r"\b(?:tie[ds]?|equal|equally|both|alike|similar|same|no difference|between|empat|igua[li]"
    rf"|amb[ao]s|gleich|égal)|{TIE.pattern}",
    re.IGNORECASE,
)
_NOT = re.compile(
    r"\b(?:not|cannot|nicht|kein\w*|não|no (?:es|ranking)|pas|non|niet|nie|не)\b|n['’]t\b|\b(?:moins"
    r"|menos|meno) b",
    re.IGNORECASE,
)
_SUPERLATIVE = re.compile(
    r"(?<!second[ -])(?<!next[ -])(?<!third[ -])\b(?:best|strongest|winner|wins|melhor|vence|mejor"
    r"|meilleure?)\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\b(?:if you|if we|if one|if \w{1,12} (?:counts?|matters?)|depending"
    r"|for those who|at (?:style|accuracy|clarity|depth)|(?:best"
    r"|worst) \w+(?:ed|ten)"
    r"|(?:mejor|melhor|meilleure?|migliore|beste)\b[^.;\n]{0,30}\b(?:sería|seria|serait|wäre|sarebbe)"
    r"|(?:sería|seria|serait|wäre|sarebbe)\b[^.;\n]{0,30}\b(?:mejor|melhor|meilleure?|migliore|beste)"
    r"|se você|si usted|wenn man|was told|I (?:read|saw|opened))\b",
    re.IGNORECASE,
)
_NAMED = re.compile(r"⟦(?P<letter>[A-Z])⟧")
_BARE = re.compile(
    r"(?<![\w'’])(?P<letter>[A-Z])(?=[,.;:)>]|\s+(?:first|second|third|fourth|last|then|and|is|comes|gets|takes|wins|follows)\b|\s*$)"
)
"""A letter by itself that cannot be an article: "C first, then A, then B"."""


def schema(n: int) -> dict[str, Any]:
    """The JSON schema of a ballot on `n` responses, as strict services require it.

    Critiques come before the ranking, so that the judge ranks by the faults that it has named. A strict schema cannot
    require that the ranking contains each response once.
    """
    letters = labels(n)
    critiques = {
        "type": "object",
        "properties": {letter: {"type": "string"} for letter in letters},
        "required": letters,
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {
            "critiques": critiques,
            "ranking": {"type": "array", "items": {"type": "string", "enum": letters}},
        },
        "required": ["critiques", "ranking"],
        "additionalProperties": False,
    }


def read(text: str, n: int) -> tuple[Reading, str]:
    """The ranking in a judge's answer (JSON or prose), and why it is incomplete; "" for a complete one.

    A ranking that leaves out only one response is complete: that one is last.
    """
    try:
        reading = read_json(text, n)
    except UnreadableError as error:
        reading = read_words(text, n)
        reason = error.reason
    else:
        reason = "`ranking` leaves responses out"
        if _differ(reading.ranking, read_words(text, n).ranking):
            return Reading(), "its JSON and its words rank the responses differently"
    complete = reading.source in ("schema", "ranking") and len(reading.ranking) >= n - 1
    return reading, "" if complete else reason


def _differ(order: Sequence[object], other: Sequence[object]) -> bool:
    """Whether two orders of the same responses contradict each other; nothing contradicts an empty one."""
    return [seat for seat in order if seat in other] != [seat for seat in other if seat in order]


def read_words(text: str, n: int) -> Reading:
    """The ranking in a judge's prose; an empty reading (an abstention) if there is none.

    These are tried in turn: the list under the judge's last FINAL RANKING header; places, scores or signs next to the
    responses; sentences that say which response is the best, the second or the last; and the last paragraph that names
    each response once and speaks of an order. The last two give a reading of low confidence. Alphabetical order says
    nothing, since the judge read the responses in that order. With a header but no readable list below it the judge
    abstains, since a list elsewhere in the text may be forged.
    """
    try:
        return _read_lines(in_numbers(with_joined_places(own(text).lines)), n)
    finally:
        forget_lines()


def _read_lines(lines: list[str], n: int) -> Reading:
    """`read_words` for the lines of the judge's own text."""
    if refuses("\n".join(lines)):
        return Reading()
    critiques = _critiques(lines, labels(n))
    has_header = any(FINAL_RANKING.search(line) for line in lines)
    may_be_reversed = any(direction(line) in ("up", "unsure") for line in lines)
    sentence_order = [] if may_be_reversed else stated_order(lines, n)
    ranking = (
        final_ranking(lines, n)
        or printed(lines, n)
        or assigned(lines, n)
        or ([] if has_header else unheaded(lines, n))
    )
    if ranking and sentence_order and not has_header:
        if _differ(
            *([letter for group in groups for letter in group] for groups in (ranking, sentence_order))
        ):
            return Reading()
        ranking = max(ranking, sentence_order, key=lambda groups: sum(map(len, groups)))
    if ranking and not sentence_order:
        ranking = _with_stated_places(ranking, lines, n)
    if not (ranking or sentence_order or has_header or may_be_reversed):
        ranking = unheaded(_with_place_lines(lines, n), n)
    if groups := ranking or sentence_order:
        order = [labels(n).index(letter) for group in groups for letter in group]
        tied = [labels(n).index(letter) for group in groups for letter in group[1:]]
        return Reading(
            order, "ranking" if ranking else "mention", critiques, partial=len(order) < n, tied=tied
        )
    if not has_header and not may_be_reversed and (order := _order_of_mention(lines, n)):
        return Reading(order, "mention", critiques)
    return Reading()


def _with_stated_places(ranking: Groups, lines: Sequence[str], n: int) -> Groups:
    """The ranking, extended by the responses whose last places a sentence states: "fourth is Response C"."""
    order = [letter for group in ranking for letter in group]
    missing = [letter for letter in labels(n) if letter not in order]
    places = stated_places(lines, n) if len(missing) > 1 else {}
    last_places = sorted((places[letter], letter) for letter in missing if letter in places)
    consecutive = [place for place, _ in last_places] == list(range(len(order) + 1, n + 1))
    agrees = all(places.get(letter, at) == at for at, letter in enumerate(order, 1))
    return [*ranking, *([letter] for _, letter in last_places)] if consecutive and agrees else ranking


def _with_place_lines(lines: Sequence[str], n: int) -> Sequence[str]:
    """The lines, with the last places that sentences state written as lines of a list."""
    places = sorted((place, letter) for letter, place in stated_places(lines, n).items())
    if not 1 < len(places) < n or [place for place, _ in places] != list(range(n - len(places) + 1, n + 1)):
        return lines
    letters = {letter for _, letter in places}
    at = next((at for at in reversed(range(len(lines))) if letters <= set(named(lines[at]))), len(lines))
    listed = [f"{place}th Response {letter}" for place, letter in places]
    return [*lines[:at], *listed, *lines[at + 1 :]]


def repair(prompt: Prompt, text: str, reason: str) -> Prompt:
    """The prompt that asks a judge again, with its answer and a sentence about the mistake."""
    repeated = repaired(prompt, text, UnreadableError(reason))
    *before, last = repeated.messages
    return replace(repeated, messages=(*before, replace(last, text=last.text + _PROSE_INSTRUCTION)))


def _critiques(lines: list[str], letters: list[str]) -> dict[str, str]:
    """The judge's paragraphs by the letter of the response that heads them."""
    paragraphs: dict[str, list[str]] = {}
    letter = ""
    for line in lines:
        headed = heading(line)
        if headed in paragraphs or (line.startswith("#") and not headed) or FINAL_RANKING.search(line):
            letter = ""
        elif headed in letters:
            letter = headed
            paragraphs[letter] = [line]
        elif letter and line != QUOTED:
            paragraphs[letter].append(line)
    return {letter: "\n".join(paragraph).strip() for letter, paragraph in sorted(paragraphs.items())}


def _order_of_mention(lines: list[str], n: int) -> list[int]:
    """The display positions in the order in which a paragraph names all responses; [] if there is no clear order."""
    if disowned(lines, -1):
        return []
    letters = labels(n)
    text = "\n".join(marked(line) if line.strip() else "" for line in lines).replace(QUOTED, "")
    candidates: list[tuple[str, list[re.Match[str]]]] = []
    for paragraph in text.split("\n\n"):
        mentions = list(_NAMED.finditer(paragraph)) or list(_BARE.finditer(paragraph))
        # "E is ahead, so E gets my vote" counts as one mention.
        mentions = [
            mention
            for before, mention in zip([None, *mentions], mentions, strict=False)
            if before is None
            or before["letter"] != mention["letter"]
            or re.search(r"[.:;\n]", paragraph[before.end() : mention.start()])
        ]
        order = [mention["letter"] for mention in mentions]
        if sorted(order) == letters != order:
            candidates.append((paragraph, mentions))
    orders = [[mention["letter"] for mention in mentions] for _, mentions in candidates]
    if not candidates or any(order != orders[0] for order in orders):
        return []  # perhaps one order by accuracy, and another by style
    clear = any(_is_order_of_merit(paragraph, mentions) for paragraph, mentions in candidates)
    return [letters.index(letter) for letter in orders[-1]] if clear else []


def _is_order_of_merit(paragraph: str, mentions: Sequence[re.Match[str]]) -> bool:
    """Whether the paragraph names the responses from the best to the worst, without doubts or conditions."""
    return bool(
        _ORDERS.search(paragraph)
        and not _EQUAL.search(paragraph)
        and not any(pattern.search(paragraph) for pattern in (HEDGED, OTHER, REPORTED, _CONDITION))
        and not _NOT.search(paragraph[: mentions[1].start()])
        and not _WORST.search(paragraph[: mentions[-2].end()])
        and not _SUPERLATIVE.search(paragraph[mentions[1].start() :])
    )
