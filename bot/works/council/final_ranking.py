"""The order that a judge without JSON gives: the list under its FINAL RANKING, in whatever form it wrote one.

Knows lines, not quotations: `own_words` has taken those out. What is not certain is not read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bot.works.council.own_words import QUOTED, before, heading, introduces, marked, named

_HEADER = re.compile(
    r"""[ ]{0,3}(?:\#+[ ]*|-[ ]+)?(?:(?:\d{1,2}|[ivx]{1,4})[.)][ ]*)?
    (?:(?:so|thus|therefore|and|here[ ]is|here's|this[ ]is|my|the|our|portanto|assim|aqui[ ]est[áa]|eis|segue|
        [ao]|meu|minha)[ ,:]+){0,4}
    (?:final[ ]+rank(?:ing)?s?|ranking[ ]+final|(?:classifica[çc][ãa]o|ordem)[ ]+final)[ ]*
    (?P<how>\([^()]*\)|[, ]*\b(?:from|of|best|worst|d[oa]s?|de)\b[^:]{0,60}(?=:))?[ ]*
    (?:(?:is|é)[ ]*(?=:|$))?(?::|-+[ ]|$)(?P<tail>.*)""",
    re.VERBOSE | re.IGNORECASE,
)
_BEST = re.compile(r"\b(?:best|strongest|top|melhor)", re.IGNORECASE)
_WORST = re.compile(r"\b(?:worst|weakest|bottom|pior)", re.IGNORECASE)

_LETTER = r"[(\[\"'“]*(?:⟦(?P<named>[A-Z])⟧|(?P<bare>[A-Z])(?![\w'’]))[)\]\"'”]*"
_NUMBER = re.compile(
    r"\s*(?:-\s+)?(?:(?:rank|place|lugar|posição)\s*)?#?\s*(?P<n>\d{1,2})(?:st|nd|rd|th|[oa°])?(?:\s+(?:place|lugar))?"
    r"(?:\s*[.):–-]+|(?=\s|$))",
    re.IGNORECASE,
)
_START = re.compile(rf"\s*{_LETTER}")
# After a bare letter: "A" and "E" are words, too.
_ENDED = re.compile(r"\s*$|\s*[.:;,(=/&~≈|–—-]|\s+(?:is|was|wins|and|e|é|foi)\b")
_TIED = re.compile(rf"\s*(?:[=/&~≈]+|\b(?:and|e)\b)\s*{_LETTER}")
_TOKEN = re.compile(
    rf"""\s*(?:(?P<aside>\((?![A-Z]\))[^()]*\))|(?P<worse><+|≺|≤)|(?P<tie>[=~≈]+(?!>))|(?P<better>[>≻≥→⇒]+|[-=]+>)
    |(?P<list>[,;/&]|\b(?:and|e|then|depois)\b)|\#?(?P<n>\d{{1,2}})(?:st|nd|rd|th|[oa°])?[.):-]?(?=\s)|{_LETTER})""",
    re.VERBOSE,
)
_RULE = re.compile(r"\s*(?:[-=]\s*){3,}$")
_PROSE_BEFORE = 3
"""Lines of prose that may stand between the header and the list."""


@dataclass(slots=True)
class _Item:
    """The letters that share a place, and the numbers that stand with them: a list's, or each of a table's."""

    letters: list[str]
    numbers: list[int]


def final_ranking(lines: Sequence[str], n: int) -> list[int]:
    """Display positions, best first, under the last header that is the judge's own; perhaps not all, [] if none.

    Ties: what comes before the first one is kept, since no more of an order was said. A response that is named
    twice counts where it stands first, one that does not exist nowhere.
    """
    for at in range(len(lines) - 1, -1, -1):
        header = _HEADER.match(marked(lines[at])) if "final" in lines[at].casefold() else None
        if header is None or _introduced(lines, at):
            continue
        items, end = _items(lines, at, header["tail"])
        if _inside_quotes(lines[at : end + 1]) or _too_early(lines, at, end):
            continue
        return _order(items, n, upwards=_upwards(header["how"] or ""))
    return []


def _introduced(lines: Sequence[str], at: int) -> bool:
    """Whether the line before says that a response speaks, or a block quotation goes on into this line."""
    return (at > 0 and lines[at - 1] == QUOTED) or introduces(before(lines, at))


def _inside_quotes(lines: Sequence[str]) -> bool:
    """Whether quotation marks are closed here that were opened earlier."""
    text = "\n".join(lines)
    return text.count('"') % 2 == 1 or text.count("”") > text.count("“") or text.count("»") > text.count("«")


def _too_early(lines: Sequence[str], at: int, end: int) -> bool:
    """Whether responses are spoken of afterwards that were not spoken of before: the judge was not yet done, so
    that the ranking is one that it quotes. What begins with the ranking quotes nothing yet.
    """
    earlier = {letter for line in lines[:at] for letter in [*named(line), heading(line)]}
    begun = any(line.strip() for line in lines[:at])
    return begun and any(letter not in earlier for line in lines[end + 1 :] for letter in named(line))


def _upwards(how: str) -> bool:
    worst, best = _WORST.search(how), _BEST.search(how)
    return worst is not None and (best is None or worst.start() < best.start())


def _order(items: Sequence[_Item], n: int, *, upwards: bool) -> list[int]:
    known = [chr(ord("A") + at) for at in range(n)]
    order: list[str] = []
    seen = {letter for one in items for letter in one.letters if letter in known}
    for one in items:
        fresh = [letter for letter in dict.fromkeys(one.letters) if letter in known and letter not in order]
        if len(fresh) > 1:
            break
        order += fresh
    if upwards:
        order = order[::-1] if len(order) == n else []
    enough = len(order) > 1 or len(seen) == n
    return [known.index(letter) for letter in order] if enough else []


def _items(lines: Sequence[str], at: int, tail: str) -> tuple[list[_Item], int]:
    """What is listed under the header in line `at`, best first, and the last line of it."""
    if found := _inline(tail):
        return found, at
    prose = 0
    for start in range(at + 1, len(lines)):
        line = marked(lines[start])
        if not line.strip() or _RULE.match(line):
            continue
        if line == QUOTED or prose > _PROSE_BEFORE:
            break
        if line.count("|") > 1:
            return _table(lines, start)
        number = _NUMBER.match(line)
        if (number or line.lstrip().startswith("- ")) and _item(line):
            return _numbered(lines, start) if number else _listed(lines, start, bullets=True)
        if number and number[0].strip(" -0123456789"):
            break  # the first of a list, and it names no response
        if found := _inline(line):
            return found, start
        if _item(line, alone=True):
            return _listed(lines, start, bullets=False)
        prose += 1
    return [], at


def _item(line: str, *, alone: bool = False) -> _Item | None:
    """The letters that a line of a list begins with. `alone`: nothing but a reason may follow them."""
    number = _NUMBER.match(line)
    rest = line[number.end() :] if number else line.lstrip().removeprefix("- ")
    letters = []
    found = _START.match(rest)
    if found and (found["named"] or _ENDED.match(rest, found.end())):
        at = found.end()
        letters.append(found["named"] or found["bare"])
        while tied := _TIED.match(rest, at):
            if not (tied["named"] or _ENDED.match(rest, tied.end())):
                break
            letters.append(tied["named"] or tied["bare"])
            at = tied.end()
        if alone and not re.match(r"\s*$|\s*[.:;,(–—-]", rest[at:]):
            return None
    elif number and len(set(named(line))) == 1:
        letters = named(line)[:1]
    return _Item(letters, [int(number["n"])] if number else []) if letters else None


def _numbered(lines: Sequence[str], start: int) -> tuple[list[_Item], int]:
    """ "1. Response C": by the numbers, wherever they stand; a number without a response spoils the list."""
    items: list[_Item] = []
    end = start
    depth = _depth(marked(lines[start]))
    for at in range(start, len(lines)):
        line = marked(lines[at])
        number = _NUMBER.match(line)
        if line == QUOTED or re.match(r"#+\s", line):
            break
        if number is None or _depth(line) > depth + 1:
            continue
        one = _item(line)
        if one is None:
            if any(int(number["n"]) in other.numbers for other in items) or not number[0].strip(
                " -0123456789"
            ):
                break
            return [], end
        items.append(one)
        end = at
    return _by_number(items), end


def _by_number(items: Sequence[_Item]) -> list[_Item]:
    """In the order of their numbers, of equal ones as a tie; all with the same number stand as written."""
    seen: set[str] = set()
    first = []
    for one in items:
        if not seen.issuperset(one.letters):
            first.append(one)
        seen.update(one.letters)
    if len({one.numbers[0] for one in first}) < 2:
        return first
    places: dict[int, _Item] = {}
    for one in sorted(first, key=lambda one: one.numbers[0]):
        places.setdefault(one.numbers[0], _Item([], [])).letters += one.letters
    return list(places.values())


def _listed(lines: Sequence[str], start: int, *, bullets: bool) -> tuple[list[_Item], int]:
    """Lines that begin with a response each, up to the first that does not."""
    items: list[_Item] = []
    end = start
    depth = _depth(marked(lines[start]))
    for at in range(start, len(lines)):
        line = marked(lines[at])
        if not line.strip() or (items and bullets and _depth(line) > depth + 1):
            continue
        one = _item(line, alone=not bullets)
        if one is None or line.lstrip().startswith("- ") != bullets:
            break
        items.append(one)
        end = at
    return items, end


def _table(lines: Sequence[str], start: int) -> tuple[list[_Item], int]:
    """A row for each response: in the order of the column that numbers them from 1, else of the rows."""
    rows: list[_Item] = []
    end = start
    for at in range(start, len(lines)):
        line = marked(lines[at])
        if "|" not in line:
            break
        end = at
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        letters = [
            found["named"] or found["bare"] for cell in cells if (found := re.match(rf"{_LETTER}\W*$", cell))
        ]
        letters = letters or [letter for cell in cells for letter in named(cell)][:1]
        numbers = [int(found["n"]) if (found := _NUMBER.fullmatch(cell)) else -1 for cell in cells]
        if letters:
            rows.append(_Item(letters[:1], numbers))
    columns = [list(column) for column in zip(*(row.numbers for row in rows), strict=False)]
    places = [column for column in columns if sorted(column) == list(range(1, len(rows) + 1))]
    if any(column != places[0] for column in places):
        return [], end
    if not places:
        scored = any(number >= 0 for column in columns for number in column)
        return ([] if scored else rows), end
    return [row for _, row in sorted(zip(places[0], rows, strict=True), key=lambda pair: pair[0])], end


def _inline(text: str) -> list[_Item]:
    """One line, "C > A > B" or "C, A, B" or "1. C 2. A 3. B"; with "<" from the worst. [] for anything else."""
    text = text.strip().strip("[]").strip()
    items: list[_Item] = []
    signs: set[str] = set()
    link, number, at, end = "", 0, 0, 0
    while found := _TOKEN.match(text, at):
        letter = found["named"] or found["bare"]
        if letter and items and not link:
            break  # a word that follows a letter
        if letter and link == "tie":
            items[-1].letters.append(letter)
        elif letter:
            items.append(_Item([letter], [number] if number else []))
        elif found["n"]:
            number, link = int(found["n"]), link or "n"
        elif not found["aside"] and not items:
            break
        elif not found["aside"] and link != "tie":
            link = str(found.lastgroup)
        at = found.end()
        if letter:
            signs.add(link)
            link = ""
        if letter or found["aside"]:
            end = at
    rest = text[end:].strip()
    strong = bool(signs & {"better", "worse"})
    if len(items) + len(signs & {"tie"}) < 2 or {"better", "worse"} <= signs:
        return []
    if rest.strip(" .,;!") and not (strong and rest[0] in ",.;:(–—-"):
        return []
    if "list" in signs and strong:
        return []  # "C > A, B" may be a tie, or a slip
    if all(one.numbers for one in items) and not strong:
        return _by_number(items)
    return items[::-1] if "worse" in signs else items


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
