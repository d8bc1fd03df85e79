"""Reads a list of responses in a judge's ballot: numbered lines, bullets, a table, or a chain within a line.

Knows no headers, and not what the order of a list means.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.works.council.ballot_words import COUNTER, LASTS, ORDINALS, RANKINGS, RANKS, SCORES
from bot.works.council.judge_text import QUOTED
from bot.works.council.mentions import marked, named, plain
from bot.works.council.places import TIE, Item, by_value, figure_of, ordinal, ranks

_LETTER = r"[(\[\"'“]*(?:⟦(?P<named>[A-Z])⟧|(?P<bare>[A-Z])(?![\w'’]))[)\]\"'”]*"
_ORDINAL = re.compile(
    rf"^(\s*(?:-\s+"
    rf"|\#+\s+)?)(?:(?:{RANKS})\s+)?({ORDINALS})(?:[\s-]*(?:{RANKS}))?(?:[\s,(]*(?:{TIE.pattern})[)]?)?\s*(?=[:=.)(–—-]|⟦)",
    re.IGNORECASE,
)
_NUMERAL = re.compile(r"^(\s*(?:-\s+)?第?)([一二三四五六七八九十])(?=[、,.)位名等])")
_NUMBER = re.compile(
    rf"\s*(?:-\s+)?(?:(?:{RANKS})[\s-]*|第)?[#=(\[]?\s*(?P<n>\d{{1,2}})(?:{COUNTER})?(?:[.]?\s*(?:{RANKS})(?!\w))?"
    rf"(?:\s*[(]?(?:{TIE.pattern})[)]?)?(?:\s*[.):=、,・|\]–—>→⇒-]+|(?=\s|$|⟦))",
    re.IGNORECASE,
)
_ROMAN = re.compile(r"^(\s*(?:-\s+)?)(I{1,3}|IV|VI{0,3}|IX|X)(?=[.)]\s*⟦)")
_ROMANS = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X")
_CARDINAL = re.compile(r"^(\s*(?:-\s+)?)([a-zà-ÿ]{2,6})(?=\s*[:.)=–—-]\s*⟦)", re.IGNORECASE)
_CARDINALS = (
    ("one", "um", "uma", "uno", "un", "une", "eins"), ("two", "dois", "duas", "dos", "deux", "zwei", "due"),
    ("three", "três", "tres", "trois", "drei", "tre"), ("four", "quatro", "cuatro", "quatre", "vier", "quattro"),
    ("five", "cinco", "cinq", "fünf", "cinque"), ("six", "seis", "sechs", "sei"),
)  # fmt: skip
_LAST_PLACE = re.compile(rf"^(\s*(?:-\s+)?)(?:{LASTS})(?:\s+(?:{RANKS}))?\s*[:=–—-]+\s*", re.IGNORECASE)
_JOINT = re.compile(
    rf"^(\s*(?:-\s+)?)(?:{TIE.pattern})[ -]*(?=第?(?:\d{{1,2}}(?:{COUNTER})|{ORDINALS})\s*[:.)–—-])",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^#+\s+(?=\d{1,2}[.)])")
_START = re.compile(rf"\s*{_LETTER}")
# After a bare letter: "A" and "E" are also words.
_ENDED = re.compile(
    r"\s*$|\s*[.:;,(=/&~≈|–—-]|\s+\d[\d.,]*\s*(?:%|/|$)|\s+★|\s+(?:is|was|wins|and|e|é|foi|tied?)\b"
)
_TIED = re.compile(rf"\s*(?:[=/&~≈]+|\b(?:and|e|und|et|y|en|i|и|ve|og)\b|[와과と和]|ও|और|و)\s*{_LETTER}")
_BESIDE = re.compile(rf"\s*[,、]\s*{_LETTER}(?=\s*(?:$|[(,、=/&–—-]|(?:and|e|und|tied?)\b))")
_TOKEN = re.compile(
    rf"""\s*(?:(?P<aside>\((?![A-Z]\))[^()]*\)|[:]\s*\d[\d.,]*(?:\s*/\s*\d+|%)?(?=\s*[,;>]|\s*$))
    |(?P<worse><+|≺|≤)|(?P<tie>[=~≈/&∼]+(?!>))|(?P<better>[>≻≥→⇒]+|[-=]+>)
    |(?P<list>[,;、]|\b(?:and|e|und|et|y|i|en|и|ve|then|depois|dann|puis|luego|ensuite|poi|dan|potem|затем|потом|sonra|ثم
        |followed\ by|finally|lastly|seguid[oa]\ (?:de|por)|finalmente|por\ (?:fim|fin|último)|suivie?\ (?:de|par)|enfin
        |gefolgt\ von|danach|schließlich|zuletzt|seguit[oa]\ da|infine)\b)
    |\#?(?P<n>\d{{1,2}})(?:st|nd|rd|th|[oa°])?[.):-]?(?=\s)|{_LETTER})""",
    re.VERBOSE,
)
_SIGN = re.compile(r"[≺≤≻≥]|<(?![-=])|(?<![-=])>")
_TOTAL = r"total|overall|final|gesamt|totaal|totale|suma|итог\w*|toplam|합계|総合|総計|总分|总计"
_ONE_LETTER = r"(?:⟦[A-Z]⟧|[A-Z](?![\w'’]))"
_GROUP = re.compile(rf"[({{\[]\s*({_ONE_LETTER}(?:\s*[,=/&~]\s*{_ONE_LETTER})+)\s*[)}}\]]")
_LAST = re.compile(
    r"\s{0,3}(?:(?:is|comes|in|em|en|op|na|an)\s{1,3}){0,3}(?:last(?: place)?|por último|último|al final|dernier"
    r"|zuletzt|ultimo|laatste?|końcu|последн\w+)\b",
    re.IGNORECASE,
)
_ALONE_PLACE = re.compile(rf"(?:{_NUMBER.pattern})\s*⟦A⟧", re.IGNORECASE)
_POINTED = re.compile(rf"{_ONE_LETTER}(?:\s*([./|·•])\s*{_ONE_LETTER})(?:\s*\1\s*{_ONE_LETTER})+[\s.]*")
"""Letters with the same sign between all of them, which cannot mean ties."""
_RULE = re.compile(r"\s*(?:[-=]\s*){3,}$")
_PLACE_LINE_CHARS = 40
"""The maximum length of a line that may hold only a place."""
_PROSE_BEFORE = 3
"""How many lines of prose may come between the header and the list."""


def list_items(lines: Sequence[str], at: int, tail: str) -> tuple[list[Item], int, int]:
    """The items below the header in line `at`, and the numbers of the list's first and last lines.

    `tail` is the text after the header in its line.
    """
    if items_found := inline_items(tail):
        return items_found, at, at
    prose = 0
    for start in range(at + 1, len(lines)):
        line = with_number(marked(lines[start]))
        if not line.strip() or _RULE.match(line):
            continue
        if line == QUOTED or prose > _PROSE_BEFORE:
            break
        if line.count("|") > 1:
            items, end = table_items(lines, start)
            return items, start, end
        number = _NUMBER.match(line)
        if (number or line.lstrip().startswith("- ")) and item_of(line):
            items, end = (
                _numbered_items(lines, start) if number else _bulleted_items(lines, start, bullets=True)
            )
            return items, start, end
        if number and number[0].strip(" -0123456789"):
            break  # the first item of a list, without a response
        if items_found := inline_items(line):
            return items_found, start, start
        if item_of(line, alone=True):
            items, end = _bulleted_items(lines, start, bullets=False)
            return items, start, end
        prose += 1
    return [], at, at


def with_number(line: str) -> str:
    """The line with a number for its place: "First place: Response C" becomes "1. Response C"."""
    line = _JOINT.sub(_first, _HEADING.sub("", line))
    line = _ROMAN.sub(lambda roman: f"{roman[1]}{_ROMANS.index(roman[2]) + 1}", line)
    line = _NUMERAL.sub(lambda numeral: f"{numeral[1]}{'一二三四五六七八九十'.index(numeral[2]) + 1}", line)
    if (cardinal := _CARDINAL.match(line)) is not None:
        for place, names in enumerate(_CARDINALS, 1):
            if cardinal[2].casefold() in names:
                return f"{cardinal[1]}{place}. {line[cardinal.end() :].lstrip(' :=.)–—-')}"
    match = _ORDINAL.match(line)
    if match is None:
        return line
    return f"{match[1].replace('#', '')}{ordinal(match[2])}. {line[match.end() :].lstrip(' :=.)–—-')}"


def _first(match: re.Match[str]) -> str:
    """The first group. The template "\\1" takes ten times as long, because it is looked up by the whole pattern."""
    return match[1]


def with_joined_places(lines: Sequence[str]) -> list[str]:
    """The lines, with a line that holds only a place ("- #1") joined to the response on the next line."""
    joined: list[str] = []
    for line in lines:
        place = joined[-1] if joined and re.search("[A-Z]", line) and re.search(r"\w", joined[-1]) else ""
        alone = (
            place
            and len(place) < _PLACE_LINE_CHARS
            and _ALONE_PLACE.fullmatch(with_number(plain(place) + " ⟦A⟧"))
        )
        if alone and line != QUOTED and re.match(r"\s*(?:-\s+)?⟦", marked(line)):
            joined[-1] = f"{joined[-1].rstrip()} {plain(line).lstrip(' -')}"
        else:
            joined.append(line)
    return joined


def item_of(line: str, *, alone: bool = False) -> Item | None:
    """The letters at the beginning of a list's line. `alone`: only a reason may follow them."""
    number = _NUMBER.match(line)
    rest = line[number.end() :] if number else line.lstrip().removeprefix("- ")
    if number and (again := _NUMBER.match(rest)) and rest.strip()[:1].isdigit():
        if again["n"] != number["n"]:
            return None
        rest = rest[again.end() :]
    letters, remark = [], ""
    match = _START.match(rest)
    if match and (match["named"] or match[0][-1] in ")]" or _ENDED.match(rest, match.end())):
        at = match.end()
        letters.append(match["named"] or match["bare"])
        while tied := _TIED.match(rest, at) or _BESIDE.match(rest, at):
            if not (tied["named"] or _ENDED.match(rest, tied.end())):
                break
            letters.append(tied["named"] or tied["bare"])
            at = tied.end()
        remark = rest[at:]
        if alone and match[0][-1] not in ")]" and not re.match(r"\s*$|\s*[.:;,(–—-]", remark):
            return None
    elif number and len(set(named(line))) == 1:
        letters = named(line)[:1]
    return Item(letters, [int(number["n"])] if number else [], remark) if letters else None


def _numbered_items(lines: Sequence[str], start: int) -> tuple[list[Item], int]:
    """Items such as "1. Response C" and the list's last line; [] if a number has no response."""
    items: list[Item] = []
    end, prose = start, False
    depth = _depth(marked(lines[start]))
    for at in range(start, len(lines)):
        line = with_number(marked(lines[at]))
        number = _NUMBER.match(line)
        if line == QUOTED or re.match(r"#+\s", line):
            break
        last = _LAST_PLACE.match(line) if number is None and at == end + 1 else None
        if last and (item := item_of("- " + line[last.end() :])):
            items.append(Item(item.letters, [items[-1].numbers[0] + 1], item.remark))
            end = at
            continue
        if number is None and at == end + 1 and line.lstrip().startswith("- ") and _depth(line) == depth:
            item = item_of(line, alone=True)  # there are three medals
            if item and not any(set(item.letters) & set(earlier.letters) for earlier in items):
                items.append(Item(item.letters, [items[-1].numbers[0] + 1], item.remark))
                end = at
                continue
        if number is None or _depth(line) > depth + 1:
            prose = prose or bool(line.strip())
            continue
        item = item_of(line)
        if item is not None and prose and number["n"] == "1" and items and items[-1].numbers[0] > 1:
            break  # another list
        if item is None:
            if len(line[number.end() :].split()) < 2 and not any(map(str.strip, lines[at + 1 :])):
                break  # the text is cut off
            if any(int(number["n"]) in earlier.numbers for earlier in items) or not number[0].strip(
                " -0123456789"
            ):
                break
            return [], end
        items.append(item)
        end = at
    return items, end


def _bulleted_items(lines: Sequence[str], start: int, *, bullets: bool) -> tuple[list[Item], int]:
    """Items of consecutive lines that each begin with a response, and the last of these lines."""
    items: list[Item] = []
    end = start
    depth = _depth(marked(lines[start]))
    for at in range(start, len(lines)):
        line = marked(lines[at])
        if not line.strip() or (items and bullets and _depth(line) > depth + 1):
            continue
        item = item_of(line, alone=not bullets)
        if item is None or line.lstrip().startswith("- ") != bullets:
            break
        items.append(item)
        end = at
    return items, end


def table_items(lines: Sequence[str], start: int) -> tuple[list[Item], int]:
    """The items of a table and its last line: by the column of places, or of scores, or else as written."""
    rows: list[Item] = []
    figures: list[list[float | None]] = []
    heads: list[str] = []
    starred: dict[int, bool] = {}
    end = start
    grid: list[list[str]] = []
    for at in range(start, len(lines)):
        line = marked(lines[at])
        if "|" not in line:
            break
        end = at
        grid.append([cell.strip() for cell in line.strip().strip("|").split("|")])
    for cells in map(list, _response_rows(grid)):
        letters = _letter_cells(cells) or [letter for cell in cells for letter in named(cell)][:1]
        if letters:
            rows.append(Item(letters[:1]))
            figures.append([_figure(cell) for cell in cells])
            starred |= {at: "★" in cell or "/" in cell for at, cell in enumerate(cells)}
        elif not rows and not heads:
            heads = cells
    columns = list(zip(*figures, strict=False))
    whole = {
        at: [item for item in column if item is not None]
        for at, column in enumerate(columns)
        if None not in column
    }
    places = {
        at: values
        for at, values in whole.items()
        if _may_hold_places(heads, at) and ranks(values, len(rows)) and (sorted(set(values)) == sorted(values) or _head_matches(heads, at, RANKS))  # noqa: E501
        and not _head_matches(heads, at, SCORES)
    }  # fmt: skip
    if named_places := [values for at, values in places.items() if _head_matches(heads, at, RANKS)]:
        candidates = named_places
    else:
        candidates = list(places.values())
    if any(values != candidates[0] for values in candidates):
        return [], end
    if candidates:
        groups = by_value(rows, candidates[0])
        return [Item(group, [place]) for place, group in enumerate(groups, 1)], end
    scores = {at: values for at, values in whole.items() if at not in places}
    for words in (_TOTAL, SCORES, ""):
        columns_named = [
            values for at, values in scores.items() if not words or _head_matches(heads, at, words)
        ]
        if len(columns_named) == 1 and (words or starred[next(iter(scores))]):
            return [Item(group) for group in by_value(rows, [-score for score in columns_named[0]])], end
        if columns_named and words == SCORES:
            break
    return ([] if any(item is not None for column in columns for item in column) else rows), end


def _letter_cells(cells: Sequence[str]) -> list[str]:
    """The letters of the cells that hold nothing but a letter."""
    matches = [re.match(rf"{_LETTER}\W*$", cell) for cell in cells]
    return [match["named"] or match["bare"] for match in matches if match]


def _response_rows(grid: list[list[str]]) -> Sequence[Sequence[str]]:
    """The rows of a table, turned if each response is a column: "| Place | 1 | 2 |" above "| Response | C | A |"."""
    rows = [row for row in grid if not all(re.fullmatch(r":?-*:?", cell) for cell in row)]
    across = [
        letters for row in rows if len(letters := _letter_cells(row[1:])) > 1 and len(letters) == len(row) - 1
    ]
    same_width = len({len(row) for row in rows}) == 1
    if len(rows) > 1 and same_width and len(across) == 1 and len(set(across[0])) == len(across[0]):
        return list(zip(*rows, strict=True))
    return grid


def _may_hold_places(heads: Sequence[str], at: int) -> bool:
    """Whether a column may hold places, by its head or because it is the first one."""
    return (
        at == 0
        or at >= len(heads)
        or not re.search(r"[^\W\d_]", heads[at])
        or _head_matches(heads, at, f"{RANKS}|{RANKINGS}")
    )


def _head_matches(heads: Sequence[str], at: int, words: str) -> bool:
    """Whether the head of column `at` contains one of the words, which are a regular expression."""
    return at < len(heads) and re.search(rf"(?<!\w)(?:{words})(?!\w)", heads[at], re.IGNORECASE) is not None


def _figure(cell: str) -> float | None:
    """The number in a cell: a place, or a score, perhaps out of a maximum."""
    cell = re.sub(r"^(\d{1,2})(?:st|nd|rd|th)\s+(?=\1$)", "", cell)  # a medal, and the number
    if match := _NUMBER.fullmatch(cell):
        return float(match["n"])
    if place := ordinal(cell):
        return float(place)
    if re.fullmatch(r"★+(?:\.5)?", cell):
        return figure_of(cell)
    score = re.fullmatch(r"(\d{1,3}(?:[.,]\d+)?)\s*(?:/\s*\d+|%)?", cell)
    return float(score[1].replace(",", ".")) if score else None


def sign_of(text: str) -> str:
    """The sign of a chain, "<" or ">", which shows the better side; "" without one, and for arrows."""
    signs = {"<" if match[0] in "<≺≤" else ">" for match in _SIGN.finditer(text)}
    return signs.pop() if len(signs) == 1 else ""


def inline_items(text: str) -> list[Item]:
    """The items of one line, "C > A = D > B" or "C, A, B" or "1. C 2. A 3. B"; "<" begins with the worst. [] for
    anything else.
    """
    text = _GROUP.sub(lambda match: " " + re.sub(r"[,/&~]", "=", match[1]) + " ", text)
    text = re.sub(r"'([A-Z])'", r"\1", text.strip().strip("[]{}").strip())
    if re.fullmatch(r"[A-Z](?:\s+[A-Z]){2,}", text):
        text = ", ".join(text.split())
    if _POINTED.fullmatch(text):
        text = re.sub(r"[./|·•]", ",", text).rstrip(", ")
    items: list[Item] = []
    signs: set[str] = set()
    link, number, at, end = "", 0, 0, 0
    while match := _TOKEN.match(text, at):
        letter = match["named"] or match["bare"]
        if letter and items and not link:
            break  # a letter followed by a word
        if letter and link == "tie":
            items[-1].letters.append(letter)
        elif letter:
            items.append(Item([letter], [number] if number else []))
        elif match["n"]:
            number, link = int(match["n"]), link or "n"
        elif match["aside"] and items and not link:
            items[-1].remark = match["aside"]
        elif not match["aside"] and not items:
            break
        elif not match["aside"] and link != "tie":
            link = str(match.lastgroup)
        at = match.end()
        if letter:
            signs.add(link)
            link = ""
        if letter or match["aside"]:
            end = at
    rest = _LAST.sub("", text[end:]).strip()
    strong = bool(signs & {"better", "worse"})
    if len(items) + len(signs & {"tie"}) < 2 or {"better", "worse"} <= signs:
        return []
    if rest.strip(" .,;!") and not (strong and rest[0] in ",.;:(–—-"):
        return []
    if "list" in signs and strong:
        return []  # "C > A, B" may be a tie, or a slip
    if strong:
        items = [Item(item.letters, [], "") for item in items]
    return items[::-1] if "worse" in signs else items


def _depth(line: str) -> int:
    """The number of spaces before a line."""
    return len(line) - len(line.lstrip())
