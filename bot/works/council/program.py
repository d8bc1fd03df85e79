"""Reads the ranking of a judge that writes a program: scores by label, and the output of its last line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.works.council.ballot_lists import inline_items
from bot.works.council.ballot_words import RANKINGS, SCORES
from bot.works.council.direction import announced, direction
from bot.works.council.final_ranking import better_figure, is_introduced, too_early
from bot.works.council.judge_text import QUOTED, introduces
from bot.works.council.mentions import heading, named, plain
from bot.works.council.places import Groups, Item, by_value
from bot.works.council.reservations import PENALTY, REVISED, disowned, hedged
from bot.works.council.rotation import labels

_NAME = rf"(?:final[ _]?)?(?:{RANKINGS}|rank|order|ordered|orden|ordem|ordre)(?:[ _](?:final|list))?"
_PRINTS = re.compile(
    rf"\s*(?:>>>\s*)?(?:(?:print|pprint|console\.log|puts|echo|println!?)\s*[( ]\s*(?P<printed>[^\n]{{1,120}}?)\)?;?"
    rf"|(?<=>>> )(?P<name>{_NAME}))\s*(?:(?:#|//)\s*(?P<beside>.*))?$",
    re.IGNORECASE,
)
"""The line of a program that prints a ranking."""
_RANKING = re.compile(rf"(?<![^\W\d])(?:{_NAME})(?![^\W\d])|sorted\(|\bsort", re.IGNORECASE)
_RESULT = re.compile(
    r"\s*(?:#+|//|--|=+>|→|-+>)?\s*(?:(?:output|prints?|result|ausgabe|salida|saída|sortie|risultato|結果|出力|输出|आउटपुट)"
    r"\s*[:=]\s*|=+>\s*|→\s*|-+>\s*)?(?P<list>.+?)\s*$",
    re.IGNORECASE,
)
_SCORES = re.compile(
    rf"\s*\w*(?:{SCORES}|puntos|wertung)\w*\s*=\s*(?:\[|dict\(|sorted\(\[)(?P<pairs>.*)$", re.IGNORECASE
)
_FIGURE = r"(\d{1,3}(?:\.\d+)?)"
_PAIR = re.compile(rf"[(\[]\s*[\"']([A-L])[\"']\s*,\s*{_FIGURE}\s*[)\]]|(?<!\w)([A-L])\s*=\s*{_FIGURE}")
_DESCENDING = re.compile(r"reverse\s*=\s*True|key\s*=\s*lambda[^:]{1,20}:\s*-")
_ASSIGNED = re.compile(
    rf"\s*(?:my[_ ])?(?:{_NAME})\s*(?::[^=]{{0,40}})?=\s*[\[(](?P<list>[^\[\]()]{{3,120}})[\])]"
    r"\s*;?\s*(?:(?:\#|//)(?P<beside>.*))?$",
    re.IGNORECASE,
)
"""The line of a program that assigns a list of all labels to a name for a ranking."""
_QUOTED_LABEL = re.compile(r"\s*[\"']([A-L])[\"']\s*")
_LINE_CHARS = 400
"""The maximum length of a program line that is read."""


def printed(lines: Sequence[str], n: int) -> Groups:
    """The output of the program's last line: all responses in one order that its scores do not contradict, or else the
    order of the scores if the program sorts them with the largest first. [] for anything else.
    """
    letters = labels(n)
    filled = [at for at, line in enumerate(lines) if line.strip()]
    if not filled or PENALTY.search("\n".join(lines)) or better_figure(" ".join(lines)) == -1:
        return []
    at = next((at for at in reversed(filled) if len(lines[at]) <= _LINE_CHARS and _prints(lines[at])), None)
    if at is None or is_introduced(lines, at) or _is_quoted_program(lines, at) or too_early(lines, at, at):
        return []
    match = _PRINTS.match(plain(lines[at]).replace("_", " "))
    next_line = next((lines[behind] for behind in filled if behind > at), "")
    output = (match and match["beside"]) or next_line
    result = _RESULT.match(plain(output)) if len(output) <= _LINE_CHARS else None
    items = inline_items(result["list"]) if result else []
    after = "\n".join([output, *lines[at + 1 :]])
    if hedged(after) or disowned(lines, at) or REVISED.search(after):
        return []
    by_scores = _by_scores(lines[:at], letters)
    descending = any(_DESCENDING.search(line) for line in lines[: at + 1] if len(line) <= _LINE_CHARS)
    order = [item.letters for item in items]
    if sorted(letter for group in order for letter in group) != letters:
        return by_scores if descending and not re.search(r"[A-L]\W+[A-L](?!\w)", output) else []
    if not by_scores:
        return order if len(order) > 1 else []
    flat = [letter for group in by_scores for letter in group]
    return by_scores if descending and flat == [letter for group in order for letter in group] else []


def assigned(lines: Sequence[str], n: int) -> Groups:
    """The ranking in the program's only line that assigns one: all labels once, the best first. [] for anything
    else.
    """
    assignments = [at for at, line in enumerate(lines) if len(line) <= _LINE_CHARS and _ASSIGNED.match(line)]
    if len(assignments) != 1 or PENALTY.search("\n".join(lines)):
        return []
    (at,) = assignments
    match = _ASSIGNED.match(lines[at])
    assert match is not None, "the pattern selected this line"
    if (
        is_introduced(lines, at)
        or _is_quoted_program(lines, at)
        or too_early(lines, at, at)
        or disowned(lines, at)
    ):
        return []
    after = "\n".join([match["beside"] or "", *lines[at + 1 :]])
    if hedged(after) or REVISED.search(after) or direction(match["beside"] or "") in ("up", "unsure"):
        return []
    if announced(lines, at) in ("up", "unsure"):
        return []
    ranking = [label[1] for part in match["list"].split(",") if (label := _QUOTED_LABEL.fullmatch(part))]
    complete = sorted(ranking) == labels(n) and len(ranking) == match["list"].count(",") + 1
    return [[letter] for letter in ranking] if complete else []


def _is_quoted_program(lines: Sequence[str], at: int) -> bool:
    """Whether the last earlier line about a response introduces the program as that response's."""
    above = next((line for line in reversed(lines[:at]) if named(line) or heading(line)), "")
    return introduces(plain(above)) or QUOTED in lines[at : at + 3]


def _prints(line: str) -> bool:
    match = _PRINTS.match(plain(line).replace("_", " "))
    return bool(match and _RANKING.search(match["printed"] or match["name"] or ""))


def _by_scores(lines: Sequence[str], letters: Sequence[str]) -> Groups:
    """The order of the scores that a line of the program assigns to the labels, the largest first; [] without such a
    line.
    """
    for line in reversed(lines):
        match = _SCORES.match(line) if len(line) <= _LINE_CHARS else None
        matches = _PAIR.findall(match["pairs"]) if match else []
        pairs = [
            (label or other_label, float(score or other_score))
            for label, score, other_label, other_score in matches
        ]
        if sorted(letter for letter, _ in pairs) == list(letters):
            return by_value([Item([letter]) for letter, _ in pairs], [-score for _, score in pairs])
    return []
