"""The order that a judge without JSON gives: the list under its FINAL RANKING, in whatever form it wrote one.

Knows lines, not quotations: `own_words` has taken those out. What is not certain is not read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.works.council.listing import by_number, listed
from bot.works.council.own_words import QUOTED, before, heading, introduces, marked, named
from bot.works.council.places import Groups, Item, ordered

_FINAL = (
    r"(?:final|overall)[ ]+rank(?:ing)?s?|ranking[ ]+(?:final|geral|général)|(?:classifica[çc][ãa]o|ordem)[ ]+final"
    r"|clasificaci[óo]n[ ]+final|orden[ ]+final|classement[ ]+final|classifica[ ]+finale|(?:end)?rangliste"
    r"|(?:(?:endgültige|finale|abschließende)[rs]?[ ]+)?(?:rangfolge|reihenfolge|rangliste)"
    r"|(?:endgültiges|finales|abschließendes)[ ]+ranking"
)
_WORSTS = r"worst|weakest|bottom|lowest|pior|peor|pire|schlechtest|schwächst|peggior|ascending"
_BESTS = r"best|strongest|top|highest|melhor|mejor|meilleur|stärkst|miglior|descending"
_HEADER = re.compile(
    rf"""[ ]{{0,3}}(?:\#+[ ]*|-[ ]+)?(?:(?:\d{{1,2}}|[ivx]{{1,4}})[.)][ ]*)?
    (?:(?:so|thus|therefore|and|here[ ]is|here's|this[ ]is|my|the|our|portanto|assim|aqui[ ]est[áa]|eis|segue
        |[ao]|meu|minha|mein|meine|die|das|mon|le|mi|el|la)[ ,:]+){{0,4}}
    (?:{_FINAL})[ ]*
    (?P<how>\([^()]*\)|[, –-]*\b(?:from|of|best|worst|d[oa]s?|de|von|du)\b[^:]{{0,60}}(?=:))?[ ]*
    (?:(?:is|é)[ ]*(?=:|$))?(?::|-+[ ]|$)(?P<tail>.*)""",
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
_HINT = re.compile(r"final|rank|rang|reihenfolge", re.IGNORECASE)
_BEST = re.compile(rf"\b(?:{_BESTS})", re.IGNORECASE)
_WORST = re.compile(rf"\b(?:{_WORSTS})", re.IGNORECASE)

_PENALTY = re.compile(
    r"penalt|\b(?:fewer|lower|less|smaller|menos|menor)\b.{0,20}\b(?:better|best|melhor|mejor)", re.IGNORECASE
)
"""What a header says of figures that are no scores."""
_SHORT = 3
"""As many words beside a response are a label for it ("worst of all"), and more are a reason."""


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
        ways += [found["how"] for before_ in lines[at + 1 : start] if (found := _directed(f"{before_}:"))]
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
    begun = any(line.strip() for line in lines[:at])
    return begun and any(letter not in earlier for line in lines[end + 1 :] for letter in named(line))


def _upwards(how: str) -> bool:
    worst, best = _WORST.search(how), _BEST.search(how)
    return worst is not None and (best is None or worst.start() < best.start())


def _order(items: Sequence[Item], n: int, *, upwards: bool) -> Groups:
    known = [chr(ord("A") + at) for at in range(n)]
    if set(known) - {letter for one in items for letter in one.letters}:
        items = _before_slip(items, known)
    items = [one for one in items if any(letter in known for letter in one.letters)]
    numbers = [one.numbers[0] for one in items if one.numbers]
    counted_down = len(numbers) == len(items) and numbers == sorted(numbers, reverse=True) != numbers[::-1]
    if not upwards and len(items) > 1 and _labelled(items[0], _WORST) and not _labelled(items[-1], _WORST):
        upwards = True
    if len(numbers) == len(items):
        items = by_number(items)
    groups = [[letter for letter in group if letter in known] for group in ordered(items)]
    if upwards and not counted_down:
        groups = groups[::-1] if sum(map(len, groups)) == n else []
    return groups if len(groups) > 1 else []


def _before_slip(items: Sequence[Item], known: Sequence[str]) -> list[Item]:
    """Where a letter is missing, those before one that comes again or was not shown: it may stand for the other."""
    seen: set[str] = set()
    made = []
    for one in items:
        if seen.intersection(one.letters) or not all(letter in known for letter in one.letters):
            break
        seen.update(one.letters)
        made.append(one)
    return made


def _labelled(one: Item, word: re.Pattern[str]) -> bool:
    """Whether the few words beside a response are this one."""
    return len(one.said.split()) <= _SHORT and word.search(one.said) is not None
