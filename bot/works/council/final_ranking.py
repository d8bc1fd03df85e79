"""Reads the ranking of a judge that wrote no JSON: the list under its FINAL RANKING, in any usual form.

Knows lines but no quotations, which `judge_text` has removed. What is uncertain is not read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.works.council.ballot_lists import inline_items, list_items, sign_of
from bot.works.council.ballot_words import BESTS, FINALS, NOUNS, RANKINGS, SPACELESS, VERDICTS, WORSTS
from bot.works.council.direction import DOUBTFUL, EXPLICIT, announced, direction, may_be_reversed
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
"""The maximum length of a line that may state a direction or an order."""
_HINT = re.compile(rf"{RANKINGS}|order|ordem|orden|ordre|rank|{VERDICTS}", re.IGNORECASE)
_OWN_RANKING = re.compile(
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
_CORRECTED_ORDER = re.compile(r"\b(?:should|to|must) (?:now )?(?:read|be)[ :]+(?P<order>[A-Z]\b[^.]*\.?)\s*$")
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
_TOP_HEADER = re.compile(
    rf"[ ]{{0,3}}(?:\#+[ ]*|-[ ]+)?(?:(?:my|the|our|o|a|as|os|meu|minhas?|mi|mis|las|los|el|mon|mes|le|les|meine?"
    rf"|die|il|la|mio|mia|mijn|de|moje|moja|moi|мой|benim|私の|我的|나의)[ ]*){{0,2}}"
    rf"(?:(?:personal|pessoal|personnel)[ ])?"
    rf"(?:(?:top|топ|トップ|ilk|en iyi)[ -]?(?P<count>{'|'.join(_COUNTS)}))[ ]*(?:[:=]|-+[ ]|$)",
    re.IGNORECASE,
)
"""A header for the best two to five responses."""
_MOST_HEADERS = 6
"""How many headers are checked: each check reads the whole text."""
_OPENING_CHARS = 60
"""The maximum length of a line that introduces the judge's words."""
_LABEL_WORDS = 3
"""The most words next to a response that count as a label ("worst of all"); more are a reason."""


def final_ranking(lines: Sequence[str], n: int, *, every: bool = False) -> Groups:
    """The ranking under the judge's own last header: groups of letters, best first; [] if none can be read.

    It may leave letters out. A repeated letter counts at its first position; a letter that was not shown is ignored.
    With `every` the result is [] as soon as one line under the header cannot be read.
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
        remark, tail = header
        items, start, end = list_items(lines, at, tail)
        if inside_quotes(lines, at, end) or too_early(lines, at, end):
            continue
        top_count = _top_count(lines[at])
        if OTHER.search(remark) or (not items and not FINAL_RANKING.search(lines[at])):
            continue
        if (every and end < len(lines) - 1) or REVISED.search(" ".join(lines[end + 1 :])):
            return []
        if PENALTY.search(remark) or (
            better_figure(remark) is None and re.search(r"[^\W\d_]", _NEUTRAL.sub("", remark))
        ):
            return []
        after = "\n".join(lines[end + 1 :])
        announcement = "" if _BEST.search(remark) or _WORST.search(remark) else announced(lines, at)
        if disowned(lines, end) or may_be_reversed(lines, end) or announcement == "unsure":
            return []
        if announcement == "up" and EXPLICIT.match(lines[start]):
            return []
        if top_count and (
            sum(len(item.letters) for item in items) != top_count
            or top_count > n
            or not _is_short_list(lines, start, end, top_count)
        ):
            return []
        if HEDGED.search(ABOUT_ONE.sub("", marked(after))) and all(
            item.letters == [letter] for item, letter in zip(items, "ABCDEFGHIJKL", strict=False)
        ):
            return []
        directions = [remark, *(line for line in lines[at + 1 : start] if _names_both_ends(line))]
        if (better := better_figure(remark)) is not None:
            return _by_legend(items, n, better)
        if direction(lines[at]) == "down" and [item.numbers for item in items] == [
            [n - at] for at in range(n)
        ]:
            return []  # points, or contrary places
        upwards = announcement == "up" or any(map(_worst_first, directions))
        sign = sign_of(tail if start == at else marked(lines[start])) if start == end else ""
        downwards = not upwards and "down" in (announcement, direction(lines[at]))
        if (upwards and sign == ">") or (downwards and sign == "<"):
            return []
        return _ordered_groups(items, n, upwards=upwards and not sign)
    return []


def _corrected(lines: Sequence[str], n: int) -> Groups:
    """The complete order in the last line, if it corrects the judge's own list right above it."""
    at = max((at for at, line in enumerate(lines) if line.strip()), default=0)
    line = marked(lines[at]) if at and len(lines[at]) <= DIRECTED_CHARS else ""
    match = _CORRECTED_ORDER.search(line)
    if (
        match is None
        or named(line)
        or any(pattern.search(line[: match.start()]) for pattern in (DOUBTFUL, HEDGED))
    ):
        return []
    if not (REVISED.search(line) and MINE.search(line)):
        return []
    above = max((above for above in range(at) if lines[above].strip()), default=0)
    if not (heading(lines[above]) or _header(lines, above)) or inside_quotes(lines, at, at):
        return []
    items = inline_items(match["order"].rstrip(" ."))
    letters = sorted(letter for item in items for letter in item.letters)
    same_letters = letters == sorted({letter for group in final_ranking(lines[:at], n) for letter in group})
    return [item.letters for item in items] if same_letters and len(letters) == n else []


def _header(lines: Sequence[str], at: int) -> tuple[str, str] | None:
    """The remark in a header about its list ("from best to worst"), and the text after the header.

    None for a line without a header. The last sentence of the whole text may also be a header.
    """
    line = marked(lines[at])
    if not line.strip() or line.count("|") > 1:
        return None
    if top := _TOP_HEADER.match(line):
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
    intro, colon, tail = line.rpartition(": ")
    if (
        colon
        and len(line) <= DIRECTED_CHARS
        and _OWN_RANKING.fullmatch(re.split(r"(?<=[^.][.!?])\s+", intro)[-1])
    ):
        last = not any(map(str.strip, lines[at + 1 :]))
        if last and not (named(intro) or OTHER.search(intro)):
            return "", tail
    intro, colon, tail = line.partition(":")
    if (
        colon
        and len(line) <= DIRECTED_CHARS
        and _names_both_ends(intro)
        and not named(intro)
        and not SAYS.search(intro)
    ):
        if better_figure(intro) is not None:
            return intro, tail
        return ("reverse" if OTHER.search(intro) else "worst" if _worst_first(intro) else ""), tail
    return None


def _top_count(line: str) -> int:
    """How many responses the judge says that it names: "My top 3"; 0 if it does not say."""
    match = _TOP_HEADER.match(marked(line))
    if match is None:
        return 0
    return next(
        at for at, words in enumerate(_COUNTS, 2) if re.fullmatch(words, match["count"], re.IGNORECASE)
    )


def _is_short_list(lines: Sequence[str], start: int, end: int, top: int) -> bool:
    """Whether the list has exactly `top` responses, and an order other than the alphabetical one or signs for it."""
    text = "\n".join(_TOP_HEADER.sub("", marked(line)) for line in lines[start : end + 1])
    letters = re.findall(r"(?<![\w'’])[A-Z](?![\w'’])", text) if start == end else []
    ordered_by_signs = re.search(r"[>→≻<]|\d[.):]", text)
    return bool((start < end or len(letters) == top) and (ordered_by_signs or letters != sorted(letters)))


def _names_both_ends(text: str) -> bool:
    """Whether the text names both ends of a ranking: "From worst to best I would say"."""
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
    """Whether the text after the ranking names a response for the first time: such a ranking is a quotation.

    False if nothing comes before the ranking, since the judge cannot have quoted yet.
    """
    earlier = {letter for line in lines[:at] for letter in [*named(line), heading(line)]}
    text_before = any(line.strip() and not _is_opening(line) for line in lines[:at])
    return text_before and any(letter not in earlier for line in lines[end + 1 :] for letter in named(line))


def contrary(items: Sequence[Item]) -> bool:
    """Whether the list labels its first item as the worst, and its last as the best."""
    return len(items) > 1 and bool(_WORST.search(items[0].remark) and _BEST.search(items[-1].remark))


def _is_opening(line: str) -> bool:
    """Whether a line is a heading, or only an opening such as "Here is my evaluation:"."""
    mine = len(line) < _OPENING_CHARS and line.rstrip().endswith(":") and MINE.search(line)
    return line.startswith("#") or bool(mine and not SAYS.search(line))


def _worst_first(text: str) -> bool:
    """Whether the text names the worst before the best, or only the worst."""
    worst, best = _WORST.search(text), _BEST.search(text)
    return worst is not None and (best is None or worst.start() < best.start())


def better_figure(text: str) -> int | None:
    """1 if the text's legend says that larger figures are better, -1 for smaller ones, None without a legend."""
    best, worst = None, None
    for match in _LEGEND.finditer(text) if re.search(r"\d", text) else ():
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
    """The items by their figures (`better` as in `better_figure`); [] unless each of `n` responses has a figure."""
    figures = [item.numbers[0] if item.numbers else figure_of(item.remark) for item in items]
    letters = sorted(letter for item in items for letter in item.letters)
    if None in figures or letters != labels(n):
        return []
    return by_value(items, [-better * figure for figure in figures if figure is not None])


def _ordered_groups(items: Sequence[Item], n: int, *, upwards: bool) -> Groups:
    """The groups of letters in a list, best first; `upwards` if the list begins with the worst."""
    letters = labels(n)
    if set(letters) - {letter for item in items for letter in item.letters}:
        items = _before_slip(items, letters)
    items = [item for item in items if any(letter in letters for letter in item.letters)]
    if _has_unread_response(items, letters):
        return []
    numbers = [item.numbers[0] for item in items if item.numbers]
    counted_down = len(numbers) == len(items) and numbers == sorted(numbers, reverse=True) != numbers[::-1]
    if not upwards and len(items) > 1 and _labelled(items[0], _WORST) and not _labelled(items[-1], _WORST):
        upwards = True
    if len(numbers) == len(items):
        items = _by_number(items)
    groups = [[letter for letter in group if letter in letters] for group in ordered(items)]
    if upwards and not counted_down:
        groups = groups[::-1] if sum(map(len, groups)) == n else []
    return groups if len(groups) > 1 else []


def _has_unread_response(items: Sequence[Item], letters: Sequence[str]) -> bool:
    """Whether a response that is missing from the items has a place among them, in a form that is not read."""
    missing = set(letters) - {letter for item in items for letter in item.letters}
    labels_text = " ".join(item.remark for item in items if len(item.remark.split()) <= _LABEL_WORDS)
    numbers = [float(item.numbers[0]) for item in items for _ in item.letters if item.numbers]
    gap = len(numbers) == sum(len(item.letters) for item in items) and len(set(numbers)) > 1
    if gap and not ranks(numbers, len(letters)):
        return True
    return bool(missing) and (any(re.search(rf"(?<!\w){letter}(?!\w)", labels_text) for letter in missing))


def _before_slip(items: Sequence[Item], letters: Sequence[str]) -> list[Item]:
    """The items before the first one that is repeated or was not shown, which may stand for a missing letter."""
    letters_seen: set[str] = set()
    items_kept = []
    for item in items:
        if letters_seen.intersection(item.letters) or not all(letter in letters for letter in item.letters):
            break
        letters_seen.update(item.letters)
        items_kept.append(item)
    return items_kept


def _labelled(item: Item, pattern: re.Pattern[str]) -> bool:
    """Whether the few words next to a response match this pattern."""
    return len(item.remark.split()) <= _LABEL_WORDS and pattern.search(item.remark) is not None


def _by_number(items: Sequence[Item]) -> list[Item]:
    """The items by their numbers, equal numbers tied; in the written order if all have the same number."""
    letters_seen: set[str] = set()
    unique = []
    for item in items:
        if not letters_seen.issuperset(item.letters):
            unique.append(item)
        letters_seen.update(item.letters)
    if len({item.numbers[0] for item in unique}) < 2:
        return unique
    places: dict[int, Item] = {}
    for item in sorted(unique, key=lambda item: item.numbers[0]):
        place = places.setdefault(item.numbers[0], Item([], item.numbers, item.remark))
        place.letters += item.letters
    return list(places.values())
