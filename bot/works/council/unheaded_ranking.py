"""Reads the ranking of a judge that wrote neither JSON nor a header: places, scores or signs next to the responses.

What is uncertain is not read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from bot.works.council.ballot_lists import inline_items, item_of, table_items, with_number
from bot.works.council.ballot_words import FINALS, NOUNS, RANKINGS, VERDICTS
from bot.works.council.direction import (
    COUNTDOWN,
    DOUBTFUL,
    EXPLICIT,
    announced,
    direction,
    may_be_reversed,
)
from bot.works.council.final_ranking import (
    DIRECTED_CHARS,
    better_figure,
    contrary,
    inside_quotes,
    is_introduced,
    too_early,
)
from bot.works.council.judge_text import QUOTED, SAYS, before
from bot.works.council.mentions import marked, named, plain
from bot.works.council.places import Groups, Item, by_value, figure_of, figures_within, ranks
from bot.works.council.reservations import HEDGED, PENALTY, REVISED, counts_faults, disowned, hedged
from bot.works.council.rotation import labels

_NEXT = re.compile(rf"(?:[;,:/]|(?<=\))|^)\s+(?=(?:(?i:{NOUNS})\s)?[A-Z]\s*(?:[:=(]|[–—-]\s)\s*[\d★])")
_LABEL = re.compile(
    rf"^[ *#-]*(?:tl;?dr|summary|in short|in sum|overall|my|the|order|preference|ballot|vote|own|actual|real|honest"
    rf"|merit|of|result|conclusion|resumo"
    rf"|em resumo"
    rf"|resumen|en resumen|en bref|kurz|in breve|{FINALS}|{RANKINGS}|{VERDICTS}|\s){{1,6}}\W*[:=]\s*",
    re.IGNORECASE,
)
"""Text before signs that does not change their meaning."""
_FEWER = re.compile(
    r"\b(?:fewer|lower|less|smaller|fewest|lowest|menos|menor|moins|weniger|niedriger|meno|minder)\b[^.\n]{0,30}"
    r"\b(?:better|best|wins|melhor|mejor|mieux|meilleur|besser|meglio|migliore|beter)\b",
    re.IGNORECASE,
)
_MORE = re.compile(
    r"\b(?:more|higher|larger|bigger)"
    r"(?: (?:points?|numbers?|scores?|figures?|marks?|stars?|is|are|means?|meaning|the|an?)){0,4},? (?:better|best)\b"
    r"|\b(?:mais|más|plus de|mehr) (?:pontos|puntos|points|punkte)\b[^.\n]{0,16}"
    r"\b(?:melhor|mejor|meilleur|besser)",
    re.IGNORECASE,
)
_FAULTS = re.compile(
    r"[\s:(=–—-]*(\d{1,3})\s+(?:\w+\s+)?(?:mistakes?|errors?|faults?|slips?|penalty points?"
    r"|penalt(?:y|ies)|erros?|errores"
    r"|error|erreurs?|fautes?|fehler|strafpunkte?|errori|errore|fouten|fout)\b",
    re.IGNORECASE,
)
_OUT_OF = re.compile(r"[\s:(=\[–—-]*(?:★|\d{1,3}(?:[.,]\d+)?\s*(?:/|out of|of|von|de|sur|su)\s*\d)")
"""A score with its maximum, next to a response."""
_SCHOOL = re.compile(r"\b(?:schul)?noten?\b", re.IGNORECASE)
"""School grades, for which a legend says which is the best."""
_RUNNING = re.compile(r"^[\s#-]*(?P<head>[^\W\d_][\w ]{0,30}):\s*(?P<list>[A-L](?:\s*[,>]\s*[A-L])*)[\s.]*$")
"""A list of letters that may grow from line to line."""
_SMALL_HEAD = re.compile(r"^(\s*(?:-\s+)?\(?)([a-l])(?=[).:]\s)")


def unheaded(lines: Sequence[str], n: int) -> Groups:
    """The order in the judge's own words without a header: by places or scores next to each response, by a table of
    them, or by signs on a line of its own. [] if two of these contradict each other.
    """
    rankings = [
        groups for read in (_by_figures, _by_table, _by_signs, _by_growth) if (groups := read(lines, n))
    ]
    places = [{letter: at for at, group in enumerate(groups) for letter in group} for groups in rankings]
    return rankings[0] if rankings and all(place == places[0] for place in places) else []


def _by_figures(lines: Sequence[str], n: int) -> Groups:
    """The order by the text about each response, from the line that it heads: every response, once, with one place or
    one score each.
    """
    letters = [chr(ord("A") + at) for at in range(n)]
    sections: list[Item] = []
    starts: list[int] = []
    lines = [part for line in _capitals(lines, letters) for part in _pieces(line, n)]
    for at, line in enumerate(lines):
        line_read = with_number(marked(line))
        item = item_of(line_read.lstrip("# ")) if line != QUOTED and line.count("|") < 2 else None
        if item:
            sections.append(item)
            starts.append(at)
        elif line == QUOTED or line.startswith("#"):
            sections.append(Item([]))
            starts.append(at)
        elif sections and line.strip():
            sections[-1].remark += "\n" + marked(line)
    placed = [
        at for at, item in enumerate(sections) if item.numbers and EXPLICIT.match(marked(lines[starts[at]]))
    ]
    if rest := _above(lines, [sections[at] for at in placed], letters):
        first, end = starts[placed[0]], starts[placed[-1]]
        unclear = (
            inside_quotes(lines, first, end) or is_introduced(lines, first) or _around(lines, first, end)
        )
        return [] if unclear else [rest, *(sections[at].letters for at in reversed(placed))]
    if sorted(letter for at in placed for letter in sections[at].letters) == letters:  # and prose follows
        sections, starts = [sections[at] for at in placed], [starts[at] for at in placed]
    last: list[Item] = []
    named_in_last: list[str] = []
    for section in reversed(sections):
        if not set(section.letters).isdisjoint(named_in_last):
            break
        last.insert(0, section)
        named_in_last += section.letters
        if sorted(named_in_last) == letters:
            break
    start = starts[len(sections) - len(last)] if last else 0
    last = [item for item in last if item.letters]
    if sorted(named_in_last) != letters or len(last) < 2:
        return []
    if (
        inside_quotes(lines, start, starts[-1])
        or is_introduced(lines, start)
        or _around(lines, start, starts[-1])
    ):
        return []
    explicit = any(
        EXPLICIT.match(lines[at]) or with_number(marked(lines[at])) != marked(lines[at])
        for at in starts
        if at >= start
    )
    listed = [letter for item in last for letter in item.letters]
    counted = [item.numbers[:1] for item in last] == [[place] for place in range(1, n + 1)]
    head = before(lines, start)
    way = announced(lines, start)
    down = [item.numbers[:1] for item in last] == [[n - at] for at in range(n)]
    counting = down and COUNTDOWN.search(head) is not None and not DOUBTFUL.search(head)
    if (
        (way == "unsure" and not counting)
        or (counted and contrary(last) and way != "up")
        or (way == "up" and counted and explicit)
    ):
        return []
    upwards = way == "up" and counted
    explicit = explicit or (way == "up" and down) or counting
    if counted and listed != letters and (upwards or not head.endswith(":") or _LABEL.fullmatch(head)):
        explicit = True  # nobody numbers remarks in such an order by accident
    ways: list[Groups] = []
    if way and listed != letters and direction(head) == way and not any(item.numbers for item in last):
        ways.append([item.letters for item in (last[::-1] if way == "up" else last)])
    better = better_figure(" ".join(lines)) or (1 if any(map(_more, lines)) else None)
    if explicit and all(item.numbers for item in last):
        numbers = [float(item.numbers[0]) for item in last]
        ways += (
            [by_value(last, [number * (-1 if upwards else -(better or -1)) for number in numbers])]
            if _fits(last, numbers, n)
            else []
        )
    places, scores = zip(*(figures_within(item.remark) for item in last), strict=True)
    if all(len(said) == 1 for said in places) and _fits(last, values := [min(said) for said in places], n):
        ways.append(by_value(last, [value * -(better or -1) for value in values]))
    if not ways and (counts := _faults(lines[:start], last)):
        return by_value(last, counts)
    text = "\n".join(lines)
    out_of = all(_OUT_OF.match(item.remark) for item in last) and not any(map(_FEWER.search, lines))
    if counts_faults(text if better is None else _SCHOOL.sub("", text), scores=out_of or better == 1):
        return ways[0] if ways and not any(_inverted(way, ways[0]) for way in ways) else []
    figures = [figure_of(item.remark) for item in last]
    if better is not None and not ways and None not in figures:
        ways.append(by_value(last, [-better * figure for figure in figures if figure is not None]))
    if all(len(said) == 1 for said in scores):
        ways.append(by_value(last, [min(said) * -(better or 1) for said in scores]))
    elif any(scores) and not ways:
        return []
    if any(_inverted(way, ways[0]) for way in ways) or not ways or len(ways[0]) < 2:
        return []
    return ways[0]


def _above(lines: Sequence[str], placed: Sequence[Item], letters: Sequence[str]) -> list[str]:
    """The responses above those that have the last places, where the text breaks off; otherwise []."""
    placed_letters = [letter for item in placed for letter in item.letters]
    missing = [letter for letter in letters if letter not in placed_letters]
    last_places = list(range(len(letters), len(missing), -1))
    if len(placed_letters) < 2 or [item.numbers[0] for item in placed] != last_places:
        return []
    breaks_off = not re.search(r"[.!?)\]*…]\s*$", "\n".join(lines).rstrip())
    return missing if breaks_off and len(missing) == len(letters) - len(placed_letters) else []


def _faults(head: Sequence[str], items: Sequence[Item]) -> list[float]:
    """The number of faults next to each response, if the judge says above that fewer are better; otherwise []."""
    said = [
        sentence.replace(" instead of ", " ")
        for line in head
        for sentence in re.split(r"(?<=[.!?])\s+", line)
        if _FEWER.search(sentence)
    ]
    if not said or any(pattern.search(line) for line in said for pattern in (DOUBTFUL, SAYS, HEDGED)):
        return []
    if any(named(line) for line in said):
        return []
    matches = [_FAULTS.match(item.remark) for item in items]
    return [float(match[1]) for match in matches if match] if all(matches) else []


def _more(line: str) -> bool:
    """Whether the line says that the larger figure is better."""
    sentences = re.split(r"(?<=[.!?])\s+", line)
    return any(_MORE.search(said) and not DOUBTFUL.search(said) and not named(said) for said in sentences)


def _fits(items: Sequence[Item], values: Sequence[float], n: int) -> bool:
    """Whether the values, one for each item, can be the places of `n` responses."""
    return ranks([value for item, value in zip(items, values, strict=True) for _ in item.letters], n)


def _inverted(groups: Groups, others: Groups) -> bool:
    """Whether the two put a pair of responses in opposite orders."""
    place = {letter: at for at, group in enumerate(others) for letter in group}
    return any(
        place[behind] < place[ahead]
        for at, group in enumerate(groups)
        for ahead in group
        for later in groups[at + 1 :]
        for behind in later
    )


def _capitals(lines: Sequence[str], letters: Sequence[str]) -> Sequence[str]:
    """The lines, with capitals in place of small letters if these head one line for each response ("a) 7/10")."""
    small = [match[2].upper() for line in lines if (match := _SMALL_HEAD.match(line))]
    if sorted(small) != list(letters):
        return lines
    return [_SMALL_HEAD.sub(lambda match: match[1] + match[2].upper(), line) for line in lines]


def _around(lines: Sequence[str], start: int, end: int) -> bool:
    """Whether the judge says around this part that it is not its vote."""
    text = "\n".join([before(lines, start), *lines[end + 1 :]])
    revised = REVISED.search("\n".join(lines[start:]))
    return bool(hedged(text) or disowned(lines, end) or revised or may_be_reversed(lines, end))


def _pieces(line: str, n: int) -> list[str]:
    """Splits "A: 7/10, B: 9/10, C: 4/10" into one line for each."""
    pieces = _NEXT.split(line) if len(line) <= DIRECTED_CHARS else []
    return pieces if len(pieces) >= n > 1 else [line]


def _by_table(lines: Sequence[str], n: int) -> Groups:
    """The order of the last table that contains all responses and gives each a place or a score."""
    at = len(lines) - 1
    while at >= 0 and lines[at].count("|") < 2:
        at -= 1
    start = at
    while start >= 0 and "|" in lines[start]:
        start -= 1
    if (
        at < 0
        or is_introduced(lines, start + 1)
        or inside_quotes(lines, start + 1, at)
        or too_early(lines, start + 1, at)
    ):
        return []
    rows, _ = table_items(lines, start + 1)
    text = "\n".join(lines)
    figures = any(re.search(r"\d|★", re.sub(r"⟦.⟧", "", line)) for line in lines[start + 1 : at + 1])
    if not figures or _around(lines, start + 1, at):
        return []
    if all(row.numbers for row in rows):
        if better_figure(text) == 1 or announced(lines, start + 1) in ("up", "unsure"):
            return []
    elif PENALTY.search(text) or better_figure(text) == -1:
        return []
    complete = sorted(letter for row in rows for letter in row.letters) == labels(n)
    return [row.letters for row in rows] if complete and len(rows) > 1 else []


def _by_signs(lines: Sequence[str], n: int) -> Groups:
    """The order of lines that contain only "C > A > B"; all such lines must agree."""
    orders: list[Groups] = []
    for at, line in enumerate(lines):
        if not re.search(r"[><≻≺→]", line) or line == QUOTED or len(line) > DIRECTED_CHARS:
            continue
        items = inline_items(_LABEL.sub("", marked(line)))
        letters = sorted(letter for item in items for letter in item.letters)
        if letters == labels(n):
            if (
                is_introduced(lines, at)
                or inside_quotes(lines, at, at)
                or too_early(lines, at, at)
                or _around(lines, at, at)
                or announced(lines, at) in (("down",) if "<" in line else ("up", "unsure"))
            ):
                return []
            orders.append([item.letters for item in items])
    return orders[0] if orders and all(order == orders[0] for order in orders) and len(orders[0]) > 1 else []


def _by_growth(lines: Sequence[str], n: int) -> Groups:
    """The order of a list that the judge writes again for each response that it inserts, with the best first."""
    versions = [
        (at, match["head"], re.findall("[A-L]", match["list"]))
        for at, line in enumerate(lines)
        if len(line) < DIRECTED_CHARS and (match := _RUNNING.match(plain(line)))
    ]
    if len(versions) < 3 or sorted(versions[-1][2]) != labels(n):
        return []
    grown = all(
        head == versions[-1][1]
        and len(longer) == len(shorter) + 1
        and [letter for letter in longer if letter in shorter] == shorter
        for (_, head, shorter), (_, _, longer) in pairwise(versions)
    )
    start, end = versions[0][0], versions[-1][0]
    directions = {direction(line) for line in lines} - {""}
    quoted = is_introduced(lines, start) or inside_quotes(lines, start, end) or _around(lines, end, end)
    return [[letter] for letter in versions[-1][2]] if grown and directions == {"down"} and not quoted else []
