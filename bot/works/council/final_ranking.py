"""Reads the ranking of a judge that wrote no JSON: the list under its FINAL RANKING, in any usual form.

Knows lines, not quotations: `judge_text` has removed those. What is not certain is not read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.works.council.judge_text import (
    QUOTED,
    RANKS,
    SCORES,
    Groups,
    Item,
    before,
    by_value,
    figure_of,
    heading,
    introduces,
    marked,
    named,
    ordered,
    ranks,
)

_FINAL = (
    r"(?:final|overall)[ ]+rank(?:ing)?s?|ranking[ ]+(?:final|geral|général)|(?:classifica[çc][ãa]o|ordem)[ ]+final"
    r"|clasificaci[óo]n[ ]+final|orden[ ]+final|classement[ ]+final|classifica[ ]+finale|(?:end)?rangliste"
    r"|(?:(?:endgültige|finale|abschließende)[rs]?[ ]+)?(?:rangfolge|reihenfolge|rangliste)"
    r"|(?:endgültiges|finales|abschließendes)[ ]+ranking|итогов\w+[ ]+(?:рейтинг|порядок)|अंतिम[ ]+(?:रैंकिंग|क्रम)"
    r"|最終(?:順位|ランキング|排名|排序)|最终(?:排名|排序|顺序)"
)
_WORSTS = r"worst|weakest|bottom|lowest|pior|peor|pire|schlechtest|schwächst|peggior|ascending"
_BESTS = r"best|strongest|top|highest|melhor|mejor|meilleur|stärkst|miglior|descending"
_HEADER = re.compile(
    rf"""[ ]{{0,3}}(?:\#+[ ]*|-[ ]+)?(?:(?:\d{{1,2}}|[ivx]{{1,4}})[.)][ ]*)?
    (?:(?:so|thus|therefore|and|here[ ]is|here's|this[ ]is|my|the|our|portanto|assim|aqui[ ]est[áa]|eis|segue
        |[ao]|meu|minha|mein|meine|die|das|mon|le|mi|el|la)[ ,:]+){{0,4}}
    (?:{_FINAL})[ ]*
    (?P<how>\([^()]*\)|[, –-]*\b(?:from|of|best|worst|d[oa]s?|de|von|du)\b[^:]{{0,60}}(?=:))?[ ]*
    (?:(?:is|é)[ ]*(?:as[ ]follows[ ]*)?(?=:|$))?(?::|-+[ ]|$)(?P<tail>.*)""",
    re.VERBOSE | re.IGNORECASE,
)
_DIRECTED = re.compile(
    rf"""(?P<said>[^:]*\b(?P<how>(?:{_WORSTS})\w*[ ]*(?:to|-|→|up[ ]to|->|a|au|à|nach|bis|zu\w*|ao|al?)[ ]*
    (?:[a-zäöü]+[ ])?(?:{_BESTS})|(?:{_BESTS})\w*[ ]*(?:to|-|→|->|a|au|à|nach|bis|zu\w*|ao|al?)[ ]*
    (?:[a-zäöü]+[ ])?(?:{_WORSTS}))\w*\b[^:]*):(?P<tail>.*)""",
    re.VERBOSE | re.IGNORECASE,
)
"""A line that says in which direction it lists: "From worst to best I would say: B, A, C"."""
_DIRECTED_CHARS = 400
_HINT = re.compile(r"final|rank|rang|reihenfolge|итог|अंतिम|最[終终]", re.IGNORECASE)
_BEST = re.compile(rf"\b(?:{_BESTS})", re.IGNORECASE)
_WORST = re.compile(rf"\b(?:{_WORSTS})", re.IGNORECASE)

_PENALTY = re.compile(
    r"penalt|\b(?:fewer|lower|less|smaller|menos|menor)\b.{0,20}\b(?:better|best|melhor|mejor)", re.IGNORECASE
)
"""What a header says of figures that are no scores."""
_LEGEND = re.compile(
    rf"(?P<a>\d{{1,2}})\s*(?:=|:|is|é)\s*(?P<a_is>{_BESTS}|{_WORSTS})|(?P<b_is>{_BESTS}|{_WORSTS})\w*\s*(?:=|:|is|é)\s*(?P<b>\d{{1,2}})",
    re.IGNORECASE,
)
"""What a header says of one figure: "4 = best"."""

_SHORT = 3
"""As many words beside a response are a label for it ("worst of all"), and more are a reason."""

_LETTER = r"[(\[\"'“]*(?:⟦(?P<named>[A-Z])⟧|(?P<bare>[A-Z])(?![\w'’]))[)\]\"'”]*"
_ORDINALS = (
    "first|primeir[oa]|primer[oa]|erstens|premi[eè]re?|best|melhor|第一[名位]",
    "second|segund[oa]|zweitens|deuxi[eè]me|seconde?|第二[名位]",
    "third|terceir[oa]|tercer[oa]|drittens|troisi[eè]me|第三[名位]",
    "fourth|quart[oa]|cuart[oa]|viertens|quatri[eè]me|第四[名位]",
    "fifth|quint[oa]|fünftens|cinqui[eè]me|第五[名位]",
    "sixth|sext[oa]|sechstens|sixi[eè]me|第六[名位]",
    "seventh",
    "eighth",
)
_ORDINAL = re.compile(
    rf"^(\s*(?:-\s+)?)({'|'.join(_ORDINALS)})(?:\s+(?:place|lugar|platz))?\s*(?=[:–—-])", re.IGNORECASE
)
_NUMBER = re.compile(
    r"\s*(?:-\s+)?(?:(?:rank|place|platz|rang|lugar|posição|puesto|position)\s*|第)?[#=(]?\s*(?P<n>\d{1,2})"
    r"(?:st|nd|rd|th|er|ère|\.?[ºª]|[oaeº°位위名])?(?:[.]?\s+(?:place|platz|lugar|rang|puesto|position))?"
    r"(?:\s*[.):=–-]+|(?=\s|$))",
    re.IGNORECASE,
)
_ROMAN = re.compile(r"^(\s*(?:-\s+)?)(I{1,3}|IV|VI{0,3}|IX|X)(?=[.)]\s*⟦)")
_ROMANS = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X")
_HEADING = re.compile(r"^#+\s+(?=\d{1,2}[.)])")
_START = re.compile(rf"\s*{_LETTER}")
# After a bare letter: "A" and "E" are words, too.
_ENDED = re.compile(r"\s*$|\s*[.:;,(=/&~≈|–—-]|\s+(?:is|was|wins|and|e|é|foi|tied?)\b")
_TIED = re.compile(rf"\s*(?:[=/&~≈]+|\b(?:and|e|und|et|y)\b)\s*{_LETTER}")
_BESIDE = re.compile(rf"\s*,\s*{_LETTER}(?=\s*(?:$|[(,=/&–—-]|(?:and|e|und|tied?)\b))")
_TOKEN = re.compile(
    rf"""\s*(?:(?P<aside>\((?![A-Z]\))[^()]*\)|[:]\s*\d[\d.,]*(?:\s*/\s*\d+|%)?(?=\s*[,;>]|\s*$))
    |(?P<worse><+|≺|≤)|(?P<tie>[=~≈/&∼]+(?!>))|(?P<better>[>≻≥→⇒]+|[-=]+>)
    |(?P<list>[,;]|\b(?:and|e|und|et|y|then|depois|dann|puis|luego)\b)
    |\#?(?P<n>\d{{1,2}})(?:st|nd|rd|th|[oa°])?[.):-]?(?=\s)|{_LETTER})""",
    re.VERBOSE,
)
_ALONE = r"(?:⟦[A-Z]⟧|[A-Z](?![\w'’]))"
_GROUP = re.compile(rf"[({{\[]\s*({_ALONE}(?:\s*[,=/&~]\s*{_ALONE})+)\s*[)}}\]]")
_RULE = re.compile(r"\s*(?:[-=]\s*){3,}$")
_PROSE_BEFORE = 3
"""Lines of prose that may stand between the header and the list."""


def final_ranking(lines: Sequence[str], n: int, *, every: bool = False) -> Groups:
    """The letters under the last header that is the judge's own, best first, those of a tie together; perhaps not
    all, [] if none. `every`: [] where a line under the header is not read.

    A response that is named twice counts where it stands first, one that does not exist nowhere.
    """
    for at in range(len(lines) - 1, -1, -1):
        line = marked(lines[at])
        header = _HEADER.match(line) if _HINT.search(line) else None
        header = header or _directed(line)
        if header is None or _introduced(lines, at):
            continue
        items, start, end = listed(lines, at, header["tail"])
        if _inside_quotes(lines[at : end + 1]) or _too_early(lines, at, end):
            continue
        if every and end < len(lines) - 1:
            return []
        ways = [header["how"] or ""]
        if _PENALTY.search(ways[0]):
            return []
        ways += [match["how"] for before_ in lines[at + 1 : start] if (match := _directed(f"{before_}:"))]
        if (better := _better(ways[0])) is not None:
            return _by_legend(items, n, better)
        return _order(items, n, upwards=any(map(_upwards, ways)))
    return []


def _directed(line: str) -> re.Match[str] | None:
    return _DIRECTED.match(line) if ":" in line and len(line) <= _DIRECTED_CHARS else None


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
    text_before = any(line.strip() for line in lines[:at])
    return text_before and any(letter not in earlier for line in lines[end + 1 :] for letter in named(line))


def _upwards(how: str) -> bool:
    worst, best = _WORST.search(how), _BEST.search(how)
    return worst is not None and (best is None or worst.start() < best.start())


def _better(how: str) -> int | None:
    """Whether a header's legend makes the smaller (-1) or the larger (1) figure the better one; None without one."""
    best, worst = None, None
    for match in _LEGEND.finditer(how):
        figure = int(match["a"] or match["b"])
        if _BEST.match(match["a_is"] or match["b_is"]):
            best = figure
        else:
            worst = figure
    if best is None and worst is None:
        return None
    if best is not None and worst is not None:
        return 1 if best > worst else -1
    return 1 if worst == 1 or (best is not None and best > 1) else -1


def _by_legend(items: Sequence[Item], n: int, better: int) -> Groups:
    """By the figures, as the header explains them; [] where a response has none, or not each stands there once."""
    figures = [item.numbers[0] if item.numbers else figure_of(item.remark) for item in items]
    letters = sorted(letter for item in items for letter in item.letters)
    if None in figures or letters != [chr(ord("A") + at) for at in range(n)]:
        return []
    return by_value(items, [-better * figure for figure in figures if figure is not None])


def _order(items: Sequence[Item], n: int, *, upwards: bool) -> Groups:
    letters = [chr(ord("A") + at) for at in range(n)]
    if set(letters) - {letter for item in items for letter in item.letters}:
        items = _before_slip(items, letters)
    items = [item for item in items if any(letter in letters for letter in item.letters)]
    numbers = [item.numbers[0] for item in items if item.numbers]
    counted_down = len(numbers) == len(items) and numbers == sorted(numbers, reverse=True) != numbers[::-1]
    if not upwards and len(items) > 1 and _labelled(items[0], _WORST) and not _labelled(items[-1], _WORST):
        upwards = True
    if len(numbers) == len(items):
        items = by_number(items)
    groups = [[letter for letter in group if letter in letters] for group in ordered(items)]
    if upwards and not counted_down:
        groups = groups[::-1] if sum(map(len, groups)) == n else []
    return groups if len(groups) > 1 else []


def _before_slip(items: Sequence[Item], letters: Sequence[str]) -> list[Item]:
    """Where a letter is missing, those before one that comes again or was not shown: it may stand for the other."""
    letters_seen: set[str] = set()
    items_kept = []
    for item in items:
        if letters_seen.intersection(item.letters) or not all(letter in letters for letter in item.letters):
            break
        letters_seen.update(item.letters)
        items_kept.append(item)
    return items_kept


def _labelled(item: Item, word: re.Pattern[str]) -> bool:
    """Whether the few words beside a response are this one."""
    return len(item.remark.split()) <= _SHORT and word.search(item.remark) is not None


def listed(lines: Sequence[str], at: int, tail: str) -> tuple[list[Item], int, int]:
    """What is listed under the header in line `at`, and the first and the last line of it."""
    if items_found := _inline(tail):
        return items_found, at, at
    prose = 0
    for start in range(at + 1, len(lines)):
        line = _ordinal(marked(lines[start]))
        if not line.strip() or _RULE.match(line):
            continue
        if line == QUOTED or prose > _PROSE_BEFORE:
            break
        if line.count("|") > 1:
            items, end = _table(lines, start)
            return items, start, end
        number = _NUMBER.match(line)
        if (number or line.lstrip().startswith("- ")) and _item(line):
            items, end = _numbered(lines, start) if number else _listed(lines, start, bullets=True)
            return items, start, end
        if number and number[0].strip(" -0123456789"):
            break  # the first of a list, and it names no response
        if items_found := _inline(line):
            return items_found, start, start
        if _item(line, alone=True):
            items, end = _listed(lines, start, bullets=False)
            return items, start, end
        prose += 1
    return [], at, at


def ordinal(word: str) -> int | None:
    """The place that a word says, from 1: "first", "primeira"."""
    return next(
        (n for n, pattern in enumerate(_ORDINALS, 1) if re.fullmatch(pattern, word, re.IGNORECASE)), None
    )


def _ordinal(line: str) -> str:
    """ "First place: Response C" as "1. Response C"."""
    line = _HEADING.sub("", line)
    line = _ROMAN.sub(lambda roman: f"{roman[1]}{_ROMANS.index(roman[2]) + 1}", line)
    match = _ORDINAL.match(line)
    if match is None:
        return line
    return f"{match[1]}{ordinal(match[2])}. {line[match.end() :].lstrip(' :–—-')}"


def _item(line: str, *, alone: bool = False) -> Item | None:
    """The letters that a line of a list begins with. `alone`: nothing but a reason may follow them."""
    number = _NUMBER.match(line)
    rest = line[number.end() :] if number else line.lstrip().removeprefix("- ")
    letters, remark = [], ""
    match = _START.match(rest)
    if match and (match["named"] or _ENDED.match(rest, match.end())):
        at = match.end()
        letters.append(match["named"] or match["bare"])
        while tied := _TIED.match(rest, at) or _BESIDE.match(rest, at):
            if not (tied["named"] or _ENDED.match(rest, tied.end())):
                break
            letters.append(tied["named"] or tied["bare"])
            at = tied.end()
        remark = rest[at:]
        if alone and not re.match(r"\s*$|\s*[.:;,(–—-]", remark):
            return None
    elif number and len(set(named(line))) == 1:
        letters = named(line)[:1]
    return Item(letters, [int(number["n"])] if number else [], remark) if letters else None


def _numbered(lines: Sequence[str], start: int) -> tuple[list[Item], int]:
    """ "1. Response C": by the numbers, wherever they stand; a number without a response spoils the list."""
    items: list[Item] = []
    end = start
    depth = _depth(marked(lines[start]))
    for at in range(start, len(lines)):
        line = _ordinal(marked(lines[at]))
        number = _NUMBER.match(line)
        if line == QUOTED or re.match(r"#+\s", line):
            break
        if number is None or _depth(line) > depth + 1:
            continue
        item = _item(line)
        if item is None:
            if any(int(number["n"]) in earlier.numbers for earlier in items) or not number[0].strip(
                " -0123456789"
            ):
                break
            return [], end
        items.append(item)
        end = at
    return items, end


def by_number(items: Sequence[Item]) -> list[Item]:
    """In the order of their numbers, of equal ones as a tie; all with the same number stand as written."""
    letters_seen: set[str] = set()
    first = []
    for item in items:
        if not letters_seen.issuperset(item.letters):
            first.append(item)
        letters_seen.update(item.letters)
    if len({item.numbers[0] for item in first}) < 2:
        return first
    places: dict[int, Item] = {}
    for item in sorted(first, key=lambda item: item.numbers[0]):
        place = places.setdefault(item.numbers[0], Item([], item.numbers, item.remark))
        place.letters += item.letters
    return list(places.values())


def _listed(lines: Sequence[str], start: int, *, bullets: bool) -> tuple[list[Item], int]:
    """Lines that begin with a response each, up to the first that does not."""
    items: list[Item] = []
    end = start
    depth = _depth(marked(lines[start]))
    for at in range(start, len(lines)):
        line = marked(lines[at])
        if not line.strip() or (items and bullets and _depth(line) > depth + 1):
            continue
        item = _item(line, alone=not bullets)
        if item is None or line.lstrip().startswith("- ") != bullets:
            break
        items.append(item)
        end = at
    return items, end


def _table(lines: Sequence[str], start: int) -> tuple[list[Item], int]:
    """A row for each response: by the column that numbers the places, else by one of scores, else as they stand."""
    rows: list[Item] = []
    figures: list[list[float | None]] = []
    heads: list[str] = []
    end = start
    for at in range(start, len(lines)):
        line = marked(lines[at])
        if "|" not in line:
            break
        end = at
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        letters = [
            match["named"] or match["bare"] for cell in cells if (match := re.match(rf"{_LETTER}\W*$", cell))
        ]
        letters = letters or [letter for cell in cells for letter in named(cell)][:1]
        if letters:
            rows.append(Item(letters[:1]))
            figures.append([_figure(cell) for cell in cells])
        elif not rows and not heads:
            heads = cells
    columns = list(zip(*figures, strict=False))
    whole = {
        at: [item for item in column if item is not None]
        for at, column in enumerate(columns)
        if None not in column
    }
    places = [
        values
        for at, values in whole.items()
        if ranks(values, len(rows)) and (sorted(set(values)) == sorted(values) or _headed(heads, at, RANKS))
        and not _headed(heads, at, SCORES)
    ]  # fmt: skip
    if any(values != places[0] for values in places):
        return [], end
    if places:
        return [Item(group) for group in by_value(rows, places[0])], end
    scores = [values for at, values in whole.items() if _headed(heads, at, SCORES)]
    if len(scores) == 1:
        return [Item(group) for group in by_value(rows, [-score for score in scores[0]])], end
    return ([] if any(item is not None for column in columns for item in column) else rows), end


def _headed(heads: Sequence[str], at: int, words: str) -> bool:
    return at < len(heads) and re.search(rf"\b(?:{words})\b", heads[at], re.IGNORECASE) is not None


def _figure(cell: str) -> float | None:
    """A cell that holds a number: a place, or a score, perhaps of so many."""
    if match := _NUMBER.fullmatch(cell):
        return float(match["n"])
    score = re.fullmatch(r"(\d{1,3}(?:[.,]\d+)?)\s*(?:/\s*\d+|%)?", cell)
    return float(score[1].replace(",", ".")) if score else None


def _inline(text: str) -> list[Item]:
    """One line, "C > A = D > B" or "C, A, B" or "1. C 2. A 3. B"; with "<" from the worst. [] for anything else."""
    text = _GROUP.sub(lambda match: " " + re.sub(r"[,/&~]", "=", match[1]) + " ", text)
    text = text.strip().strip("[]{}").strip()
    if re.fullmatch(r"[A-Z](?:\s+[A-Z]){2,}", text):
        text = ", ".join(text.split())
    items: list[Item] = []
    signs: set[str] = set()
    link, number, at, end = "", 0, 0, 0
    while match := _TOKEN.match(text, at):
        letter = match["named"] or match["bare"]
        if letter and items and not link:
            break  # a word that follows a letter
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
    rest = text[end:].strip()
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
    return len(line) - len(line.lstrip())
