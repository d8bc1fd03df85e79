"""Reads the ranking of a judge that wrote no JSON: the list under its FINAL RANKING, in any usual form.

Knows lines but no quotations, which `judge_text` has removed. What is uncertain is not read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.works.council.ballot_lists import inline_items, listed, sign_of
from bot.works.council.ballot_words import BESTS, FINALS, NOUNS, RANKINGS, SPACELESS, VERDICTS, WORSTS
from bot.works.council.direction import DOUBTFUL, EXPLICIT, announced, direction, explained
from bot.works.council.judge_text import FINAL_RANKING, MINE, QUOTED, SAYS, before, introduces
from bot.works.council.mentions import heading, marked, named
from bot.works.council.places import Groups, Item, by_value, figure_of, ordered, ranks
from bot.works.council.reservations import ABOUT_ONE, HEDGED, OTHER, PENALTY, REVISED, disowned
from bot.works.council.rotation import labels

_FINAL = (
    rf"(?:(?:{FINALS})[ ]*)?(?:end|eind|gesamt)?(?:{RANKINGS}|(?<=[ ])(?:rank|order|ordem|orden"
    rf"|ordre))(?:[ ](?:{FINALS}))?"
    rf"|(?:ordem|orden|ordre)[ ]final|{VERDICTS}"
)
_HEADER = re.compile(
    rf"""[ ]{{0,3}}(?:\#+[ ]*|-[ ]+)?\[?(?:(?:\d{{1,2}}|[ivx]{{1,4}})[.)][ ]*)?
    (?:(?:私(?:自身|自分)?の|我(?:自己|本人)?的|본인의|나의|내)[ ]*|(?:मेरी|मेरा)[ ](?:(?:अपनी|अपना|स्वयं[ ]की)[ ])?)?
    (?:(?:so|thus|therefore|and|here[ ]is|here's|this[ ]is|my|the|our|portanto|assim|aqui[ ]est[áa]|eis|segue
        |[ao]|meu|minha|mein|meine|die|das|mon|le|mi|el|la|il|mijn|de|moja|moj|мой|моя|bu|benim
        |(?:cor+ected|revised|updated|amended|new|corrigid[ao]|revisad[ao]|corregid[ao]|corrigée?|révisée?|korrigierte
        |own|personal|independent|eigene[rns]?|persönliche[rns]?|propi[oa]|própri[oa]|propre|propri[oa]|pessoal
        |personnel(?:le)?|unabhängige[rns]?
        |überarbeitete|nov[ao]|nuev[ao]|nouveau|neue|corrett[ao]|nuov[ao]))[ ,:]+){{0,4}}
    (?:{_FINAL})\]?[ ]*
    (?P<how>\([^()]*\)|[, –-]*\b(?:from|of|best|worst|d[oa]s?|de|von|du|delle?|van|der)\b[^:]{{0,60}}(?=:))?[ ]*
    (?:(?:is|é|es|est|ist|è)[ ]*(?:(?:so|thus|then|therefore|donc|daher|also|portanto|então|pues|quindi|dunque)[ ]*)?
        (?:(?:as[ ]follows|the[ ]following|le[ ]suivant|[eo][ ]seguinte|el[ ]siguiente|la[ ]siguiente|wie[ ]folgt
        |der[ ]folgende|il[ ]seguente|la[ ]seguente)[ ]*)?(?=:|$))?(?:[:=]|-+[ ]|$)(?P<tail>.*)""",
    re.VERBOSE | re.IGNORECASE,
)
DIRECTED_CHARS = 400
_HINT = re.compile(rf"{RANKINGS}|order|ordem|orden|ordre|rank|{VERDICTS}", re.IGNORECASE)
_MINE = re.compile(
    rf"[ *#-]*(?:(?:so|thus|hence|therefore|this|that|all|in|gives|yields|leads|to|makes|leaves|us|me|with|I|arrive"
    rf"|at|get|my|the"
    r"|following|is|as|follows|damit|somit|daraus|also|ergibt|sich|folgende[rs]?|lautet|meine?|ist|die|das|der"
    r"|donc|voici|mon|le"
    r"|la|ce|qui|donne|suivant|d['’]où|así|mi|entonces|queda|resulta|el|siguiente|assim|portanto|minha|meu|fica"
    r"|chego|a|à"
    rf"|seguinte|quindi|ecco|mia|risulta|zo|kom|ik|tot|deze|mijn|{FINALS})\W+)*(?:{RANKINGS})\W*",
    re.IGNORECASE,
)
"""Words before a ranking that is the judge's own."""
_BEST = re.compile(rf"(?<![a-zà-ÿа-я])(?:{BESTS})", re.IGNORECASE)
_WORST = re.compile(rf"(?<![a-zà-ÿа-я])(?:{WORSTS})", re.IGNORECASE)
_NEUTRAL = re.compile(
    rf"(?<![^\W\d_{SPACELESS}])(?:{NOUNS}|(?:{BESTS}|{WORSTS})(?:[^\W{SPACELESS}]|[\u0900-\u0963])*|from|to"
    rf"|on|left|of"
    r"|the|all|my|in|by|order|quality"
    r"|first|last|is|are|with|points?|scores?|zuerst|vorne|oben|primeir[oa]|primer[oa]|d['’]abord|prim[ao]|eerst"
    r"|d[aeou]s?|a|ao|à|au|as|para|pela|do|la|le|les|el|los|al|en|y|e|von|vom|bis|zum?|zur|nach|der"
    r"|den|dem|die|du|des|il|dalla?|alla?"
    r"|un|van|naar|de|het|od|do|от|к|up|three|four|five|six|most|least|qualität|qualité|calidad"
    r"|qualidade|qualità"
    rf"|then|and|best|worst|I|would|say|out|\d+)(?![^\W\d_{SPACELESS}])"
    r"|(?<![\u0900-\u097f])(?:से|तक|का|की|के|पहले)(?![\u0900-\u097f])"
    r"|由|到|至|从|從|按|的|质量|質量|质|質|顺序|次序|順序|順番|顺|から|順|へ|まで|の|に|부터|순서|순으로|순|것",
    re.IGNORECASE,
)
"""What a header may say about its list without changing its meaning."""
_READS = re.compile(r"\b(?:should|to|must) (?:now )?(?:read|be)[ :]+(?P<order>[A-Z]\b[^.]*\.?)\s*$")
"""The end of a correction: "so it should read D, B, C, A"."""
_GOOD = rf"{BESTS}|sehr gut|very good|excellent|perfect|muito bo[ma]|excelente|muy bien|très bien|ottimo|eccellente"
_BAD = (
    rf"{WORSTS}|ungenügend|mangelhaft|fail(?:ed)?|(?:very )?(?:poor|bad)|useless|insuficiente|péssim[ao]|pésim[ao]"
    r"|insuffisant|insufficiente|pessim[oa]"
)
_LEGEND = re.compile(
    rf"(?P<a>\d{{1,2}})\s*(?:=|:|→|(?:points? |puntos? |pontos? |punkte? )?(?:is|é|for|means|para|pour|für|per"
    rf"|being))\s*"
    rf"(?:(?:the|o|a|el|la|le|die|das|il) )?(?P<a_is>{_GOOD}|{_BAD})|(?P<b_is>{_GOOD}"
    rf"|{_BAD})\w*\s*(?:=|:|→|is|é|gets|receives|recebe|recibe)\s*(?P<b>\d{{1,2}})",
    re.IGNORECASE,
)
"""A header's explanation of one figure: "4 = best"."""
_COUNTS = (
    "2|two|duas|dois|dos|deux|zwei|due|twee|dwie|две|два|iki",
    "3|three|três|tres|trois|drei|tre|drie|trzy|три|üç",
    "4|four|quatro|cuatro|quatre|vier|quattro|cztery|четыре|dört",
    "5|five|cinco|cinq|fünf|cinque|vijf|pięć|пять|beş",
)
_TOP = re.compile(
    rf"[ ]{{0,3}}(?:\#+[ ]*|-[ ]+)?(?:(?:my|the|our|o|a|as|os|meu|minhas?|mi|mis|las|los|el|mon|mes|le|les|meine?"
    rf"|die|il|la|mio|mia|mijn|de|moje|moja|moi|мой|benim|私の|我的|나의)[ ]*){{0,2}}"
    rf"(?:(?:personal|pessoal|personnel)[ ])?"
    rf"(?:(?:top|топ|トップ|ilk|en iyi)[ -]?(?P<count>{'|'.join(_COUNTS)}))[ ]*(?:[:=]|-+[ ]|$)",
    re.IGNORECASE,
)
"""A header for the best response only."""
_MOST_HEADERS = 6
"""How many headers are checked: each check reads the whole text."""
_OPENING = 60
"""The maximum length of a line that introduces the judge's words."""
_SHORT = 3
"""Up to this many words next to a response are a label ("worst of all"), more are a reason."""


def final_ranking(lines: Sequence[str], n: int, *, every: bool = False) -> Groups:
    """The letters under the judge's own last header, best first, ties together; perhaps incomplete, [] if there is
    none. `every`: [] if any line under the header cannot be read.

    A repeated response counts at its first position, and one that does not exist is ignored.
    """
    if order := _corrected(lines, n):
        return order
    tried = 0
    for at in range(len(lines) - 1, -1, -1):
        header = _header(lines, at)
        if header is None or is_introduced(lines, at):
            continue
        tried += 1
        if tried > _MOST_HEADERS:
            return []
        how, tail = header
        items, start, end = listed(lines, at, tail)
        if inside_quotes(lines, at, end) or too_early(lines, at, end):
            continue
        top = _top(lines[at])
        if OTHER.search(how) or (not items and not FINAL_RANKING.search(lines[at])):
            continue
        if (every and end < len(lines) - 1) or REVISED.search(" ".join(lines[end + 1 :])):
            return []
        if PENALTY.search(how) or (
            better_figure(how) is None and re.search(r"[^\W\d_]", _NEUTRAL.sub("", how))
        ):
            return []
        after = "\n".join(lines[end + 1 :])
        way = "" if _BEST.search(how) or _WORST.search(how) else announced(lines, at)
        if disowned(lines, end) or explained(lines, end) or way == "unsure":
            return []
        if way == "up" and EXPLICIT.match(lines[start]):
            return []
        if top and (
            sum(len(item.letters) for item in items) != top or top > n or not _whole(lines, start, end, top)
        ):
            return []
        if HEDGED.search(ABOUT_ONE.sub("", marked(after))) and all(
            item.letters == [letter] for item, letter in zip(items, "ABCDEFGHIJKL", strict=False)
        ):
            return []
        ways = [how, *(line for line in lines[at + 1 : start] if _both(line))]
        if (better := better_figure(how)) is not None:
            return _by_legend(items, n, better)
        if direction(lines[at]) == "down" and [item.numbers for item in items] == [
            [n - at] for at in range(n)
        ]:
            return []  # points, or contrary places
        upwards = way == "up" or any(map(_upwards, ways))
        sign = sign_of(tail if start == at else marked(lines[start])) if start == end else ""
        downwards = not upwards and "down" in (way, direction(lines[at]))
        if (upwards and sign == ">") or (downwards and sign == "<"):
            return []
        return _order(items, n, upwards=upwards and not sign)
    return []


def _corrected(lines: Sequence[str], n: int) -> Groups:
    """The complete order in the last line, if it corrects the judge's own list right above it."""
    at = max((at for at, line in enumerate(lines) if line.strip()), default=0)
    line = marked(lines[at]) if at and len(lines[at]) <= DIRECTED_CHARS else ""
    match = _READS.search(line)
    if match is None or named(line) or any(said.search(line[: match.start()]) for said in (DOUBTFUL, HEDGED)):
        return []
    if not (REVISED.search(line) and MINE.search(line)):
        return []
    above = max((above for above in range(at) if lines[above].strip()), default=0)
    if not (heading(lines[above]) or _header(lines, above)) or inside_quotes(lines, at, at):
        return []
    items = inline_items(match["order"].rstrip(" ."))
    letters = sorted(letter for item in items for letter in item.letters)
    whole = letters == sorted({letter for group in final_ranking(lines[:at], n) for letter in group})
    return [item.letters for item in items] if whole and len(letters) == n else []


def _header(lines: Sequence[str], at: int) -> tuple[str, str] | None:
    """What the header in a line says about its list, and the text after it; None for any other line. The last sentence
    of the text may also be a header.
    """
    line = marked(lines[at])
    if not line.strip() or line.count("|") > 1:
        return None
    if top := _TOP.match(line):
        return "", line[top.end() :]
    if _HINT.search(line):
        sentences = [line]
        if not any(map(str.strip, lines[at + 1 :])):
            sentences += re.split(r"(?<=[^.][.!?])\s+", line[-DIRECTED_CHARS:])[1:]
        for sentence in sentences:
            match = _HEADER.match(sentence)
            if match and not re.match(r"\s*[#№]?\d+\W*$", match["tail"]):
                tail, _, comment = match["tail"].partition("# ")
                return (match["how"] or "") + comment.partition(";")[0], tail
    said, colon, tail = line.rpartition(": ")
    if colon and len(line) <= DIRECTED_CHARS and _MINE.fullmatch(re.split(r"(?<=[^.][.!?])\s+", said)[-1]):
        last = not any(map(str.strip, lines[at + 1 :]))
        if last and not (named(said) or OTHER.search(said)):
            return "", tail
    said, colon, tail = line.partition(":")
    if colon and len(line) <= DIRECTED_CHARS and _both(said) and not named(said) and not SAYS.search(said):
        if better_figure(said) is not None:
            return said, tail
        return ("reverse" if OTHER.search(said) else "worst" if _upwards(said) else ""), tail
    return None


def _top(line: str) -> int:
    """How many responses the judge says that it names: "My top 3"; 0 if it does not say."""
    match = _TOP.match(marked(line))
    if match is None:
        return 0
    return next(
        at for at, words in enumerate(_COUNTS, 2) if re.fullmatch(words, match["count"], re.IGNORECASE)
    )


def _whole(lines: Sequence[str], start: int, end: int, top: int) -> bool:
    """Whether the list has just this many responses, and not merely in the order in which they were shown."""
    text = "\n".join(_TOP.sub("", marked(line)) for line in lines[start : end + 1])
    letters = re.findall(r"(?<![\w'’])[A-Z](?![\w'’])", text) if start == end else []
    ordered_by_signs = re.search(r"[>→≻<]|\d[.):]", text)
    return bool((start < end or len(letters) == top) and (ordered_by_signs or letters != sorted(letters)))


def _both(text: str) -> bool:
    """Whether the text says in which direction it lists: "From worst to best I would say"."""
    return len(text) <= DIRECTED_CHARS and bool(_BEST.search(text) and _WORST.search(text))


def is_introduced(lines: Sequence[str], at: int) -> bool:
    """Whether the line before introduces a response's words, or a block quotation continues into this line."""
    return (at > 0 and lines[at - 1] == QUOTED) or introduces(before(lines, at))


def inside_quotes(lines: Sequence[str], at: int, end: int) -> bool:
    """Whether quotation marks that were opened earlier are closed here or later."""
    head, text, tail = ("\n".join(part) for part in (lines[:at], lines[at : end + 1], lines[end + 1 :]))
    for opened, closed in ("“”", "«»"):
        around = head.rfind(opened) > head.rfind(closed) and 0 <= tail.find(closed) < (tail + opened).find(
            opened
        )
        if around or text.count(closed) > text.count(opened):
            return True
    return text.count('"') % 2 == 1


def too_early(lines: Sequence[str], at: int, end: int) -> bool:
    """Whether later text mentions responses that were not mentioned before: then the judge was not finished, and the
    ranking is a quotation. A text that begins with the ranking has not quoted anything yet.
    """
    earlier = {letter for line in lines[:at] for letter in [*named(line), heading(line)]}
    text_before = any(line.strip() and not _opens(line) for line in lines[:at])
    return text_before and any(letter not in earlier for line in lines[end + 1 :] for letter in named(line))


def contrary(items: Sequence[Item]) -> bool:
    """Whether the list calls its first item the worst, and its last the best."""
    return len(items) > 1 and bool(_WORST.search(items[0].remark) and _BEST.search(items[-1].remark))


def _opens(line: str) -> bool:
    """Whether a line is a heading, or only an opening such as "Here is my evaluation:"."""
    mine = len(line) < _OPENING and line.rstrip().endswith(":") and MINE.search(line)
    return line.startswith("#") or bool(mine and not SAYS.search(line))


def _upwards(how: str) -> bool:
    worst, best = _WORST.search(how), _BEST.search(how)
    return worst is not None and (best is None or worst.start() < best.start())


def better_figure(how: str) -> int | None:
    """Whether a header's legend says that the smaller (-1) or the larger (1) figure is better; None without a
    legend.
    """
    best, worst = None, None
    for match in _LEGEND.finditer(how) if re.search(r"\d", how) else ():
        figure = int(match["a"] or match["b"])
        if re.match(_GOOD, match["a_is"] or match["b_is"], re.IGNORECASE):
            best = figure
        else:
            worst = figure
    if best is None and worst is None:
        return None
    if best is not None and worst is not None:
        return 1 if best > worst else -1
    return 1 if worst == 1 or (best is not None and best > 1) else -1


def _by_legend(items: Sequence[Item], n: int, better: int) -> Groups:
    """The order of the figures, as the header explains them; [] if a response has none, or not every response occurs
    once.
    """
    figures = [item.numbers[0] if item.numbers else figure_of(item.remark) for item in items]
    letters = sorted(letter for item in items for letter in item.letters)
    if None in figures or letters != labels(n):
        return []
    return by_value(items, [-better * figure for figure in figures if figure is not None])


def _order(items: Sequence[Item], n: int, *, upwards: bool) -> Groups:
    letters = labels(n)
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
    """Whether a missing response has its place among these, in a form that is not read."""
    missing = set(letters) - {letter for item in items for letter in item.letters}
    beside = " ".join(item.remark for item in items if len(item.remark.split()) <= _SHORT)
    numbers = [float(item.numbers[0]) for item in items for _ in item.letters if item.numbers]
    gap = len(numbers) == sum(len(item.letters) for item in items) and len(set(numbers)) > 1
    if gap and not ranks(numbers, len(letters)):
        return True
    return bool(missing) and (any(re.search(rf"(?<!\w){letter}(?!\w)", beside) for letter in missing))


def _before_slip(items: Sequence[Item], letters: Sequence[str]) -> list[Item]:
    """If a letter is missing, the items before one that is repeated or was not shown, since that one may stand for
    it.
    """
    letters_seen: set[str] = set()
    items_kept = []
    for item in items:
        if letters_seen.intersection(item.letters) or not all(letter in letters for letter in item.letters):
            break
        letters_seen.update(item.letters)
        items_kept.append(item)
    return items_kept


def _labelled(item: Item, word: re.Pattern[str]) -> bool:
    """Whether the few words next to a response match this pattern."""
    return len(item.remark.split()) <= _SHORT and word.search(item.remark) is not None


def by_number(items: Sequence[Item]) -> list[Item]:
    """In the order of their numbers, with equal ones as a tie; as written if all have the same number."""
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
