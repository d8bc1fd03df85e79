"""Converts tiers and grades in letters, which could be mistaken for responses, into numbers."""

from __future__ import annotations

import re

from bot.works.council.ballot_lists import item_of
from bot.works.council.judge_text import QUOTED
from bot.works.council.mentions import marked

_TIER = re.compile(
    r"\s*(?:-\s+|#+\s+)?(?:tier[ -]+(?P<behind>S|[A-F][+-]?)|(?P<before>S|[A-F][+-]?)[ -]?tier)(?!\w)"
    r"\s*(?:\([^()]{0,80}\))?\s*(?::|\.|=|[–—-]\s|$)\s*(?P<rest>.*)$",
    re.IGNORECASE,
)
_GRADE_WORD = r"grade|mark|note|nota|cijfer|ocena|оценка"
_GRADE = re.compile(
    rf"(?P<head>^[\s#-]*⟦[A-Z]⟧[\s:(,=–—-]*)(?P<word>(?:{_GRADE_WORD})\W{{0,4}})?(?P<grade>[A-F][+−-]?)(?![\w'’]|\s*[=>≻/])",
    re.IGNORECASE,
)
_HEAD = re.compile(rf"[\W_]*(?:(?:letter|overall|final) )?(?:{_GRADE_WORD})s?[\W_]*", re.IGNORECASE)
_CELL = re.compile(r"[\s*_]*([A-F][+−-]?)[\s*_]*", re.IGNORECASE)
_LEGEND = re.compile(
    r"(?<!\w)A\+?\s*(?:is|being|=|:|for)\s*(?:the )?(?:best|highest|top|excellent|outstanding)\b",
    re.IGNORECASE,
)
_LETTERS = "SABCDEF"


def in_numbers(lines: list[str]) -> list[str]:
    """The lines with "S tier: Response C" as "Tier 1: Response C", and "Response C, grade: B+" as "Response C, score:
    43".
    """
    return _with_scores(_with_tier_numbers(lines))


def _with_tier_numbers(lines: list[str]) -> list[str]:
    """The lines with numbers, from 1 for the best, in place of the letters of tiers."""
    numbered = list(lines)
    heads: list[tuple[int, str]] = []  # lines, and the tier of each
    for at, line in enumerate(lines):
        match = _TIER.match(marked(line)) if "tier" in line.casefold() else None
        if match and (not match["rest"].strip() or item_of(match["rest"])):
            heads.append((at, match["behind"] or match["before"]))
            numbered[at] = match["rest"]
    tiers = [tier.upper() for _, tier in heads]
    if len(set(tiers)) < max(2, len(tiers)):
        return lines
    places = {tier: at for at, tier in enumerate(sorted(set(tiers), key=_grade_points, reverse=True), 1)}
    for (at, _), tier, (end, _) in zip(heads, tiers, [*heads[1:], (len(lines), "")], strict=True):
        if numbered[at].strip():
            numbered[at] = f"Tier {places[tier]}: {numbered[at]}"
            continue
        for below in range(at + 1, end):
            if lines[below] == QUOTED or lines[below].startswith("#"):
                break
            line = marked(lines[below])
            if line.lstrip().startswith("- ") and item_of(line):
                numbered[below] = f"Tier {places[tier]}: {line.lstrip(' -')}"
    return numbered


def _with_scores(lines: list[str]) -> list[str]:
    """The lines with scores in place of letter grades, in tables and next to responses."""
    legend = any(_LEGEND.search(line) for line in lines)
    scored = list(lines)
    column = -1
    for at, line in enumerate(lines):
        cells = line.split("|")
        heads = [place for place, cell in enumerate(cells) if _HEAD.fullmatch(cell)]
        column = heads[0] if heads and len(cells) > 2 else column if len(cells) > 2 else -1
        grade = _CELL.fullmatch(cells[column]) if 0 < column < len(cells) else None
        if grade:
            scored[at] = "|".join(
                [*cells[:column], f" {_grade_points(grade[1].upper())} ", *cells[column + 1 :]]
            )
            continue
        match = _GRADE.match(marked(line)) if line != QUOTED else None
        if match and (match["word"] or legend):
            scored[at] = (
                f"{match['head']}score: {_grade_points(match['grade'].upper())}{marked(line)[match.end() :]}"
            )
    return scored


def _grade_points(grade: str) -> int:
    """A tier or a grade as points; more are better."""
    return 10 * (len(_LETTERS) - _LETTERS.index(grade[0])) + {"+": 3, "": 0}.get(grade[1:], -3)
