"""Reads the ranking of a judge that wrote no JSON: the list under its FINAL RANKING, in any usual form.

Knows lines, not quotations: `judge_text` has removed those. What is not certain is not read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.works.council.ballot_words import (
    BESTS,
    COUNTER,
    FINALS,
    NOUNS,
    ORDINALS,
    RANKINGS,
    RANKS,
    SCORES,
    VERDICTS,
    WORSTS,
)
from bot.works.council.judge_text import QUOTED, SAYS, before, heading, introduces, marked, named
from bot.works.council.places import (
    TIE,
    Groups,
    Item,
    by_value,
    figure_of,
    figures_within,
    ordered,
    ordinal,
    ranks,
)

_FINAL = (
    rf"(?:(?:{FINALS})[ ]*)?(?:end|eind|gesamt)?(?:{RANKINGS}|(?<=[ ])(?:rank|order|ordem|orden"
    rf"|ordre))(?:[ ](?:{FINALS}))?"
    rf"|(?:ordem|orden|ordre)[ ]final|{VERDICTS}"
)
_HEADER = re.compile(
    rf"""[ ]{{0,3}}(?:\#+[ ]*|-[ ]+)?\[?(?:(?:\d{{1,2}}|[ivx]{{1,4}})[.)][ ]*)?
    (?:(?:so|thus|therefore|and|here[ ]is|here's|this[ ]is|my|the|our|portanto|assim|aqui[ ]est[áa]|eis|segue
        |[ao]|meu|minha|mein|meine|die|das|mon|le|mi|el|la|il|mijn|de|moja|moj|мой|моя|bu|benim
        |(?:cor+ected|revised|updated|amended|new|corrigid[ao]|revisad[ao]|corregid[ao]|corrigée?|révisée?|korrigierte
        |überarbeitete|nov[ao]|nuev[ao]|nouveau|neue|corrett[ao]|nuov[ao]))[ ,:]+){{0,4}}
    (?:{_FINAL})\]?[ ]*
    (?P<how>\([^()]*\)|[, –-]*\b(?:from|of|best|worst|d[oa]s?|de|von|du|delle?|van|der)\b[^:]{{0,60}}(?=:))?[ ]*
    (?:(?:is|é|es|est|ist|è)[ ]*(?:(?:so|thus|then|therefore|donc|daher|also|portanto|então|pues|quindi|dunque)[ ]*)?
        (?:(?:as[ ]follows|the[ ]following|le[ ]suivant|[eo][ ]seguinte|el[ ]siguiente|la[ ]siguiente|wie[ ]folgt
        |der[ ]folgende|il[ ]seguente|la[ ]seguente)[ ]*)?(?=:|$))?(?:[:=]|-+[ ]|$)(?P<tail>.*)""",
    re.VERBOSE | re.IGNORECASE,
)
_DIRECTED_CHARS = 400
_HINT = re.compile(rf"{RANKINGS}|order|ordem|orden|ordre|rank|{VERDICTS}", re.IGNORECASE)
_RANKING = re.compile(r"final\W+ranking|ranking\W+final", re.IGNORECASE)
_BEST = re.compile(rf"(?<![a-zà-ÿа-я])(?:{BESTS})", re.IGNORECASE)
_WORST = re.compile(rf"(?<![a-zà-ÿа-я])(?:{WORSTS})", re.IGNORECASE)
OTHER = re.compile(
    r"\b(?:other|another|previous|earlier|draft|initial|provisional|preliminary|example|vorläufig\w*"
    r"|provis\w+|anterior|alphabetical|lengths?|longest|shortest|words|errors?|mistakes?|harmful"
    r"|risk\w*|costs?|price|reverse\w*|invers\w*|umgekehrt\w*)\b",
    re.I,
)
"""What a header says of a ranking that is not the judge's last word."""
_NEUTRAL = re.compile(
    rf"(?<![^\W\d_])(?:{NOUNS}|(?:{BESTS}|{WORSTS})[\w\u0900-\u0963]*|from|to|on|left|of|the|all|my|in|by|order|quality"
    rf"|first|last|is|are|with|points?|scores?|zuerst|vorne|oben|primeir[oa]|primer[oa]|d['’]abord|prim[ao]|eerst"
    r"|d[aeou]s?|a|ao|à|au|as|para|pela|do|la|le|les|el|los|al|en|y|e|von|vom|bis|zum?|zur|nach|der"
    r"|den|dem|die|du|des|il|dalla?|alla?"
    r"|un|van|naar|de|het|od|do|от|к|up|three|four|five|six|most|least|qualität|qualité|calidad"
    r"|qualidade|qualità"
    r"|then|and|best|worst|I|would|say|out|\d+)(?![^\W\d_])|(?<![\u0900-\u097f])(?:से|तक|का|की|के|पहले)(?![\u0900-\u097f])|由|到|从|から|順|へ|まで|부터|순|것",
    re.IGNORECASE,
)
"""What a header may say of its list without changing what it means."""
HEDGED = re.compile(
    r"\b(?:cannot|can['’]?t|can not|won['’]t|will not|not going to|declin\w+|disagree|abstain\w*|refus\w+|unfair"
    r"|would be|could|might|no ranking|not (?:a |my )?rank\w*"
    r"|not a vote|hypothetical\w*|placeholder|example|format|ranking like|não posso|no puedo"
    r"|ne peux pas|kann nicht|weigere|enthalte|non posso"
    r"|kan niet|nie mogę|не могу|воздерж\w+)\b|できません|无法|不能|할 수 없",
    re.IGNORECASE,
)
"""What a judge says around a list that is not its vote."""
_REVISED = re.compile(
    r"\b(?:wait|hold on|on (?:second thoughts?|reflection)|reconsider\w*|scratch that|correct(?:ion"
    r"| myself)|swap\w*|switch\w*"
    r"|pensando (?:melhor|bem)|troc[oa]|invert[oa]|j['’]inverse|en relisant|réflexion faite"
    r"|korrigiere|tausche|doch lieber"
    r"|pensándolo (?:mejor|bien)|intercambi\w*|corrijo|ripensandoci|scambio|bij nader inzien|wissel"
    r"|po namyśle|zamieniam"
    r"|поразмыслив|подумав|меняю|düşününce|değiştir\w*)\b|다시 생각|바꾸|訂正|修正|考え直|重新考虑|更正|पुनर्विचार",
    re.IGNORECASE,
)
"""What a judge says that changes its mind."""

_PENALTY = re.compile(
    r"penalt|(?:^|[\s:(])[-−]\d|\b(?:los(?:es|t)|deduct\w*|minus)\b|\b(?:fewer|lower|less|smaller"
    r"|fewest|lowest|menos|menor|moins|weniger|niedriger|kleiner|meno|minder|lager|mniej|niż"
    r"|меньше|ниже|düşük|az)\b[^.\n]{0,30}\b(?:better|best|wins|melhor|mejor|mieux|meilleur|besser"
    r"|meglio|migliore|beter|lepi?ej"
    r"|lepszy|лучше|iyi)|\b(?:errors|mistakes|faults|fehler|erros|errores)\b[^\n]{0,12}:\s*\d"
    r"|schulnote|\bnoten?\b[\s:=]*[1-6]\b(?!\s*/)",
    re.IGNORECASE,
)
"""What says of figures that they are no scores."""
_LEGEND = re.compile(
    rf"(?P<a>\d{{1,2}})\s*(?:=|:|is|é)\s*(?P<a_is>{BESTS}|{WORSTS})|(?P<b_is>{BESTS}"
    rf"|{WORSTS})\w*\s*(?:=|:|is|é)\s*(?P<b>\d{{1,2}})",
    re.IGNORECASE,
)
"""What a header says of one figure: "4 = best"."""

_SHORT = 3
"""As many words beside a response are a label for it ("worst of all"), and more are a reason."""

_LETTER = r"[(\[\"'“]*(?:⟦(?P<named>[A-Z])⟧|(?P<bare>[A-Z])(?![\w'’]))[)\]\"'”]*"
_ORDINAL = re.compile(
    rf"^(\s*(?:-\s+"
    rf"|\#+\s+)?)(?:(?:{RANKS})\s+)?({ORDINALS})(?:[\s-]*(?:{RANKS}))?(?:\s*{TIE.pattern})?\s*(?=[:=.)(–—-]|⟦)",
    re.IGNORECASE,
)
_NUMERAL = re.compile(r"^(\s*(?:-\s+)?第?)([一二三四五六七八九十])(?=[、,.)位名等])")
_NUMBER = re.compile(
    rf"\s*(?:-\s+)?(?:(?:{RANKS})\s*|第)?[#=(\[]?\s*(?P<n>\d{{1,2}})(?:{COUNTER})?(?:[.]?\s*(?:{RANKS})(?!\w))?"
    rf"(?:\s*[(]?(?:{TIE.pattern})[)]?)?(?:\s*[.):=、,・|\]–—-]+|(?=\s|$|⟦))",
    re.IGNORECASE,
)
_EXPLICIT = re.compile(
    rf"\s*(?:-\s+|\#+\s+)?(?:(?:{RANKS})\W{{0,3}}\d|第|[#=]\d|\d{{1,2}}(?:st|nd|rd|th|er|ère|\.?[ºª°oa]"
    rf"|위|등|位|名)|\d{{1,2}}\.?\s*(?:{RANKS})(?!\w))",
    re.IGNORECASE,
)
"""A number before a response that can be nothing but its place."""
_ROMAN = re.compile(r"^(\s*(?:-\s+)?)(I{1,3}|IV|VI{0,3}|IX|X)(?=[.)]\s*⟦)")
_ROMANS = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X")
_HEADING = re.compile(r"^#+\s+(?=\d{1,2}[.)])")
_START = re.compile(rf"\s*{_LETTER}")
# After a bare letter: "A" and "E" are words, too.
_ENDED = re.compile(
    r"\s*$|\s*[.:;,(=/&~≈|–—-]|\s+\d[\d.,]*\s*(?:%|/|$)|\s+★|\s+(?:is|was|wins|and|e|é|foi|tied?)\b"
)
_TIED = re.compile(rf"\s*(?:[=/&~≈]+|\b(?:and|e|und|et|y|en|i|и|ve|og)\b|[와과と和]|ও|और|و)\s*{_LETTER}")
_BESIDE = re.compile(rf"\s*,\s*{_LETTER}(?=\s*(?:$|[(,=/&–—-]|(?:and|e|und|tied?)\b))")
_TOKEN = re.compile(
    rf"""\s*(?:(?P<aside>\((?![A-Z]\))[^()]*\)|[:]\s*\d[\d.,]*(?:\s*/\s*\d+|%)?(?=\s*[,;>]|\s*$))
    |(?P<worse><+|≺|≤)|(?P<tie>[=~≈/&∼]+(?!>))|(?P<better>[>≻≥→⇒]+|[-=]+>)
    |(?P<list>[,;、]|\b(?:and|e|und|et|y|i|en|и|ve|then|depois|dann|puis|luego|ensuite|poi|dan|potem|затем|потом|sonra|ثم)\b)
    |\#?(?P<n>\d{{1,2}})(?:st|nd|rd|th|[oa°])?[.):-]?(?=\s)|{_LETTER})""",
    re.VERBOSE,
)
_NEXT = re.compile(rf"(?:[;,:/]|(?<=\))|^)\s+(?=(?:(?i:{NOUNS})\s)?[A-Z]\s*(?:[:=(]|[–—-]\s)\s*[\d★])")
_SMALL_HEAD = re.compile(r"^(\s*(?:-\s+)?\(?)([a-l])(?=[).:]\s)")
_TOTAL = r"total|overall|final|gesamt|totaal|totale|suma|итог\w*|toplam|합계|総合|総計|总分|总计"
_ALONE = r"(?:⟦[A-Z]⟧|[A-Z](?![\w'’]))"
_GROUP = re.compile(rf"[({{\[]\s*({_ALONE}(?:\s*[,=/&~]\s*{_ALONE})+)\s*[)}}\]]")
_LAST = re.compile(
    r"\s*(?:(?:is|comes|in|em|en|op|na|an)\s+)*(?:last(?: place)?|por último|último|al final|dernier"
    r"|zuletzt|ultimo|laatste?|końcu|последн\w+)\b",
    re.IGNORECASE,
)
_RULE = re.compile(r"\s*(?:[-=]\s*){3,}$")
_PROSE_BEFORE = 3
"""Lines of prose that may stand between the header and the list."""


def final_ranking(lines: Sequence[str], n: int, *, every: bool = False) -> Groups:
    """The letters under the last header that is the judge's own, best first, those of a tie together; perhaps not
    all, [] if none. `every`: [] where a line under the header is not read.

    A response that is named twice counts where it stands first, one that does not exist nowhere.
    """
    for at in range(len(lines) - 1, -1, -1):
        header = _header(lines, at)
        if header is None or _introduced(lines, at):
            continue
        how, tail = header
        items, start, end = listed(lines, at, tail)
        if _inside_quotes(lines, at, end) or _too_early(lines, at, end):
            continue
        if OTHER.search(how) or (not items and not _RANKING.search(lines[at])):
            continue
        if (every and end < len(lines) - 1) or _REVISED.search(" ".join(lines[end + 1 :])):
            return []
        if _PENALTY.search(how) or (_better(how) is None and re.search(r"[^\W\d_]", _NEUTRAL.sub("", how))):
            return []
        after = "\n".join(lines[end + 1 :])
        if HEDGED.search(after) and all(
            item.letters == [letter] for item, letter in zip(items, "ABCDEFGHIJKL", strict=False)
        ):
            return []
        ways = [how, *(line for line in lines[at + 1 : start] if _both(line))]
        if (better := _better(how)) is not None:
            return _by_legend(items, n, better)
        return _order(items, n, upwards=any(map(_upwards, ways)))
    return []


def _header(lines: Sequence[str], at: int) -> tuple[str, str] | None:
    """What the header in a line says of its list, and what stands behind it; None for any other line. The last
    sentence of all may be one, too.
    """
    line = marked(lines[at])
    if not line.strip() or line.count("|") > 1:
        return None
    if _HINT.search(line):
        sentences = [line]
        if not any(map(str.strip, lines[at + 1 :])):
            sentences += re.split(r"(?<=[^.][.!?])\s+", line[-_DIRECTED_CHARS:])[1:]
        for sentence in sentences:
            match = _HEADER.match(sentence)
            if match and not re.match(r"\s*[#№]?\d+\W*$", match["tail"]):
                tail, _, comment = match["tail"].partition("# ")
                return (match["how"] or "") + comment.partition(";")[0], tail
    said, colon, tail = line.partition(":")
    if colon and len(line) <= _DIRECTED_CHARS and _both(said) and not named(said) and not SAYS.search(said):
        return ("reverse" if OTHER.search(said) else "worst" if _upwards(said) else ""), tail
    return None


def _both(text: str) -> bool:
    """Whether it says in which direction it lists: "From worst to best I would say"."""
    return len(text) <= _DIRECTED_CHARS and bool(_BEST.search(text) and _WORST.search(text))


def _introduced(lines: Sequence[str], at: int) -> bool:
    """Whether the line before says that a response speaks, or a block quotation goes on into this line."""
    return (at > 0 and lines[at - 1] == QUOTED) or introduces(before(lines, at))


def _inside_quotes(lines: Sequence[str], at: int, end: int) -> bool:
    """Whether quotation marks are closed here, or behind it, that were opened earlier."""
    head, text, tail = ("\n".join(part) for part in (lines[:at], lines[at : end + 1], lines[end + 1 :]))
    for opened, closed in ("“”", "«»"):
        around = head.rfind(opened) > head.rfind(closed) and 0 <= tail.find(closed) < (tail + opened).find(
            opened
        )
        if around or text.count(closed) > text.count(opened):
            return True
    return text.count('"') % 2 == 1


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
    if _unread(items, letters):
        return []
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


def _unread(items: Sequence[Item], letters: Sequence[str]) -> bool:
    """Whether a response that is missing has its place among these, in a form that is not read."""
    missing = set(letters) - {letter for item in items for letter in item.letters}
    beside = " ".join(item.remark for item in items if len(item.remark.split()) <= _SHORT)
    numbers = [float(item.numbers[0]) for item in items for _ in item.letters if item.numbers]
    gap = len(numbers) == sum(len(item.letters) for item in items) and len(set(numbers)) > 1
    if gap and not ranks(numbers, len(letters)):
        return True
    return bool(missing) and (any(re.search(rf"(?<!\w){letter}(?!\w)", beside) for letter in missing))


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


def _ordinal(line: str) -> str:
    """ "First place: Response C" as "1. Response C"."""
    line = _HEADING.sub("", line)
    line = _ROMAN.sub(lambda roman: f"{roman[1]}{_ROMANS.index(roman[2]) + 1}", line)
    line = _NUMERAL.sub(lambda numeral: f"{numeral[1]}{'一二三四五六七八九十'.index(numeral[2]) + 1}", line)
    match = _ORDINAL.match(line)
    if match is None:
        return line
    return f"{match[1].replace('#', '')}{ordinal(match[2])}. {line[match.end() :].lstrip(' :=.)–—-')}"


def _item(line: str, *, alone: bool = False) -> Item | None:
    """The letters that a line of a list begins with. `alone`: nothing but a reason may follow them."""
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


def _numbered(lines: Sequence[str], start: int) -> tuple[list[Item], int]:
    """ "1. Response C": by the numbers, wherever they stand; a number without a response spoils the list."""
    items: list[Item] = []
    end, prose = start, False
    depth = _depth(marked(lines[start]))
    for at in range(start, len(lines)):
        line = _ordinal(marked(lines[at]))
        number = _NUMBER.match(line)
        if line == QUOTED or re.match(r"#+\s", line):
            break
        if number is None or _depth(line) > depth + 1:
            prose = prose or bool(line.strip())
            continue
        item = _item(line)
        if item is not None and prose and number["n"] == "1" and items and items[-1].numbers[0] > 1:
            break  # another list
        if item is None:
            if len(line[number.end() :].split()) < 2 and not any(map(str.strip, lines[at + 1 :])):
                break  # it is cut off
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
    starred: dict[int, bool] = {}
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
        if _counts(heads, at) and ranks(values, len(rows)) and (sorted(set(values)) == sorted(values) or _headed(heads, at, RANKS))  # noqa: E501
        and not _headed(heads, at, SCORES)
    }  # fmt: skip
    if named_places := [values for at, values in places.items() if _headed(heads, at, RANKS)]:
        candidates = named_places
    else:
        candidates = list(places.values())
    if any(values != candidates[0] for values in candidates):
        return [], end
    if candidates:
        return [Item(group) for group in by_value(rows, candidates[0])], end
    scores = {at: values for at, values in whole.items() if at not in places}
    for words in (_TOTAL, SCORES, ""):
        columns_named = [values for at, values in scores.items() if not words or _headed(heads, at, words)]
        if len(columns_named) == 1 and (words or starred[next(iter(scores))]):
            return [Item(group) for group in by_value(rows, [-score for score in columns_named[0]])], end
        if columns_named and words == SCORES:
            break
    return ([] if any(item is not None for column in columns for item in column) else rows), end


def _counts(heads: Sequence[str], at: int) -> bool:
    """Whether a column may hold places: by its head, or as the first one."""
    return (
        at == 0
        or at >= len(heads)
        or not re.search(r"[^\W\d_]", heads[at])
        or _headed(heads, at, f"{RANKS}|{RANKINGS}")
    )


def _headed(heads: Sequence[str], at: int, words: str) -> bool:
    return at < len(heads) and re.search(rf"(?<!\w)(?:{words})(?!\w)", heads[at], re.IGNORECASE) is not None


def _figure(cell: str) -> float | None:
    """A cell that holds a number: a place, or a score, perhaps of so many."""
    if match := _NUMBER.fullmatch(cell):
        return float(match["n"])
    if place := ordinal(cell):
        return float(place)
    if re.fullmatch(r"★+(?:\.5)?", cell):
        return figure_of(cell)
    score = re.fullmatch(r"(\d{1,3}(?:[.,]\d+)?)\s*(?:/\s*\d+|%)?", cell)
    return float(score[1].replace(",", ".")) if score else None


def unheaded(lines: Sequence[str], n: int) -> Groups:
    """The order that the judge's own words say without a header: by places or scores beside each response, by a
    table of them, or by signs on a line of its own. [] if two of these contradict each other.
    """
    found = [groups for read in (_by_figures, _by_table, _by_signs) if (groups := read(lines, n))]
    orders = [{letter: at for at, group in enumerate(groups) for letter in group} for groups in found]
    return found[0] if found and all(order == orders[0] for order in orders) else []


def _by_figures(lines: Sequence[str], n: int) -> Groups:
    """By what is said of each response, from the line that it heads on: all of them, each once, with one place or
    one score each.
    """
    letters = [chr(ord("A") + at) for at in range(n)]
    sections: list[Item] = []
    starts: list[int] = []
    explicit = False
    lines = [part for line in _capitals(lines, letters) for part in _pieces(line, n)]
    for at, line in enumerate(lines):
        line_read = _ordinal(marked(line))
        item = _item(line_read.lstrip("# ")) if line != QUOTED and line.count("|") < 2 else None
        if item:
            sections.append(item)
            starts.append(at)
        elif line == QUOTED or line.startswith("#"):
            sections.append(Item([]))
            starts.append(at)
        elif sections and line.strip():
            sections[-1].remark += "\n" + marked(line)
    last: list[Item] = []
    for section in reversed(sections):
        if set(section.letters) & {letter for item in last for letter in item.letters}:
            break
        last.insert(0, section)
        if sorted(letter for item in last for letter in item.letters) == letters:
            break
    start = starts[len(sections) - len(last)] if last else 0
    last = [item for item in last if item.letters]
    if sorted(letter for item in last for letter in item.letters) != letters or len(last) < 2:
        return []
    if (
        _inside_quotes(lines, start, starts[-1])
        or _introduced(lines, start)
        or _around(lines, start, starts[-1])
        or _PENALTY.search("\n".join(lines))
    ):
        return []
    explicit = any(
        _EXPLICIT.match(lines[at]) or _ordinal(marked(lines[at])) != marked(lines[at])
        for at in starts
        if at >= start
    )
    ways: list[Groups] = []
    better = _better(" ".join(lines))
    if explicit and all(item.numbers for item in last):
        numbers = [float(item.numbers[0]) for item in last]
        ways += (
            [by_value(last, [number * -(better or -1) for number in numbers])]
            if _fits(last, numbers, n)
            else []
        )
    places, scores = zip(*(figures_within(item.remark) for item in last), strict=True)
    if all(len(said) == 1 for said in places) and _fits(last, values := [min(said) for said in places], n):
        ways.append(by_value(last, [value * -(better or -1) for value in values]))
    if all(len(said) == 1 for said in scores):
        ways.append(by_value(last, [min(said) * -(better or 1) for said in scores]))
    elif any(scores) and not ways:
        return []
    figures = [figure_of(item.remark) for item in last]
    if better is not None and not ways and None not in figures:
        ways.append(by_value(last, [-better * figure for figure in figures if figure is not None]))
    if any(_inverted(way, ways[0]) for way in ways) or not ways or len(ways[0]) < 2:
        return []
    return ways[0]


def _fits(items: Sequence[Item], values: Sequence[float], n: int) -> bool:
    return ranks([value for item, value in zip(items, values, strict=True) for _ in item.letters], n)


def _inverted(groups: Groups, others: Groups) -> bool:
    """Whether one puts a response before another that the other puts behind it."""
    place = {letter: at for at, group in enumerate(others) for letter in group}
    return any(
        place[behind] < place[ahead]
        for at, group in enumerate(groups)
        for ahead in group
        for later in groups[at + 1 :]
        for behind in later
    )


def _capitals(lines: Sequence[str], letters: Sequence[str]) -> Sequence[str]:
    """The lines, where small letters head one for each response ("a) 7/10") with those as capitals."""
    small = [match[2].upper() for line in lines if (match := _SMALL_HEAD.match(line))]
    if sorted(small) != list(letters):
        return lines
    return [_SMALL_HEAD.sub(lambda match: match[1] + match[2].upper(), line) for line in lines]


def _around(lines: Sequence[str], start: int, end: int) -> bool:
    """Whether the judge says around what stands there that it is not its vote."""
    text = "\n".join([before(lines, start), *lines[end + 1 :]])
    return bool(HEDGED.search(text) or _REVISED.search("\n".join(lines[start:])))


def _pieces(line: str, n: int) -> list[str]:
    """ "A: 7/10, B: 9/10, C: 4/10" as a line for each."""
    pieces = _NEXT.split(line) if len(line) <= _DIRECTED_CHARS else []
    return pieces if len(pieces) >= n > 1 else [line]


def _by_table(lines: Sequence[str], n: int) -> Groups:
    """By the last table that holds them all and gives each a place or a score."""
    at = len(lines) - 1
    while at >= 0 and lines[at].count("|") < 2:
        at -= 1
    start = at
    while start >= 0 and "|" in lines[start]:
        start -= 1
    if (
        at < 0
        or _introduced(lines, start + 1)
        or _inside_quotes(lines, start + 1, at)
        or _too_early(lines, start + 1, at)
    ):
        return []
    rows, _ = _table(lines, start + 1)
    text = "\n".join(lines)
    figures = any(re.search(r"\d|★", re.sub(r"⟦.⟧", "", line)) for line in lines[start + 1 : at + 1])
    if not figures or _PENALTY.search(text) or _around(lines, start + 1, at) or _better(text) == -1:
        return []
    whole = sorted(letter for row in rows for letter in row.letters) == [
        chr(ord("A") + at) for at in range(n)
    ]
    return [row.letters for row in rows] if whole and len(rows) > 1 else []


def _by_signs(lines: Sequence[str], n: int) -> Groups:
    """By lines that are nothing but "C > A > B"; all such lines have to say the same."""
    orders: list[Groups] = []
    for at, line in enumerate(lines):
        if not re.search(r"[><≻≺→]", line) or line == QUOTED or len(line) > _DIRECTED_CHARS:
            continue
        items = _inline(marked(line))
        letters = sorted(letter for item in items for letter in item.letters)
        if letters == [chr(ord("A") + at) for at in range(n)]:
            if (
                _introduced(lines, at)
                or _inside_quotes(lines, at, at)
                or _too_early(lines, at, at)
                or _around(lines, at, at)
            ):
                return []
            orders.append([item.letters for item in items])
    return orders[0] if orders and all(order == orders[0] for order in orders) and len(orders[0]) > 1 else []


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
    return len(line) - len(line.lstrip())
