"""Reads the direction in which a judge says that it will list the responses, in a sentence above its list.

Uncertain cases are "unsure": a list below them is not read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.works.council.ballot_words import BESTS, COUNTER, RANKS, WORSTS
from bot.works.council.judge_text import QUOTED, SAYS
from bot.works.council.mentions import heading, marked, named

COUNTDOWN = re.compile(r"\bcount\w*(?: (?:them|these|those|it))?[ -]?down\b", re.IGNORECASE)
EXPLICIT = re.compile(
    rf"\s*(?:-\s+|\#+\s+)?(?:(?:{RANKS})[\W_]{{0,3}}\d|第|[#=]\d|\d{{1,2}}(?:st|nd|rd|th|er|ère|\.?[ºª°oa]"
    rf"|위|등|位|名)|\d{{1,2}}(?:{COUNTER})?\.?\s*(?:{RANKS})(?!\w))",
    re.IGNORECASE,
)
"""A number before a response that can only be its place."""
_BEGIN = r"(?<![^\W\d_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])"
_BETWEEN = (
    r"(?:(?!\b(?:and|or|vs|e|(?<!para )o|y|u|et|ou|und|oder|en|of|i|lub|и|или|ve|veya)\b)[^.;:,\n]){0,30}?"
)
_UP = re.compile(
    rf"{_BEGIN}(?:{WORSTS}){_BETWEEN}(?:{BESTS})"
    rf"|{_BEGIN}(?:{WORSTS})\w*(?: (?:one|answer|response|of (?:all|them)))? first\b"
    r"|\b(?:end|finish|clos|conclud|termin|acab|finis|ende|finir)\w* (?:with|com|con|par|mit)"
    rf"(?: (?:the|my|[oa]s?|el|la|le|les|il|de[rmn]))? (?:{BESTS})"
    rf"|{_BEGIN}(?:{BESTS})\w* (?:one |answer |response )?(?:for |is |comes |at )?(?:the )?"
    r"(?:last|end|por último|no fi[mn]al|al final|en dernier|zuletzt|zum schluss|per ultim[ao])\b"
    r"|\b(?:start|begin|open)(?:s|ing)? (?:off )?(?:with|from|at) (?:the |my )?"
    rf"(?:{WORSTS})"
    r"|\b(?:come[çc]\w+|partindo|empez\w+|empiez\w+|comenz\w+|comienz\w+|commen[çc]\w+|partant"
    r"|inizi\w+|cominci\w+|partendo|angefangen|beginnend|beginne\w*|begin\w*|zaczyna\w+|начин\w+)"
    r" (?:with|pel[oa]s?|com|[ao]s?|d[oa]s?|por|con|desde|de|du|par|dall?[ao']?|mit|bei[m]?|vom|met|od|с|со)"
    rf"(?: (?:[oa]s?|el|la|los?|las|les?|il|de[rmn]?|die|das|het))?[ ]*(?:{WORSTS})"
    rf"|\b(?:zuerst|primeiro|primero|d['’]abord|eerst|prima|najpierw|сначала)[ ](?:\w+ )?(?:{WORSTS})"
    r"|\bfrom (?:the )?(?:number |place |no\. ?|#)?(?!first|one|1|best|top|winner)\w{1,9}(?: place)?"
    r" (?:up )?to (?:the )?(?:winner|champion|number one|first place|#1|1st)\b"
    rf"|\b(?:{WORSTS})\w* (?:zuerst|primeiro|primero|d['’]abord|eerst|prima|najpierw|сначала)\b"
    r"|\b(?:ascending|increasing|rising)(?: order)?(?: of (?:quality|merit|worth|preference))?(?= *(?:$|[.:,;)]))"
    r"|\bord(?:em|en|re|ine) (?:crescente|ascendente|croissant)"
    r"(?: d[aei] (?:qualidade|calidad|qualité|qualità))?(?= *(?:$|[.:,;)]))"
    r"|\baufsteigend\w*(?: reihenfolge)?(?= *(?:$|[.:,;)]))"
    rf"|(?:{WORSTS})\w*den başla|從?从?(?:{WORSTS})的?(?:一?个)?(?:开始|開始)|(?:最悪|悪い)(?:もの)?(?:から|順)"
    r"|(?:최악|나쁜)(?: ?것)?부터|सबसे खराब से",
    re.IGNORECASE,
)
_DOWN = re.compile(rf"{_BEGIN}(?:{BESTS}){_BETWEEN}(?:{WORSTS})", re.IGNORECASE)
_PERHAPS = re.compile(
    r"\b(?:(?:least|menos|moins|meno|wenigsten|minst)\b[^.;:\n]{0,30}?\b(?:most|best|mais|más|plus|più|meisten|meest)"
    r"|count\w*(?: (?:them|these|those|it))?[ -]?down|revers\w+ (?:order|ranking)|backwards|way up|up from"
    r"|last (?:place )?to first|bottom[ -]up|from the bottom|(?:in|de|na) revers\w*"
    r"|ascending|increasing|contagem regressiva|cuenta (?:atrás|regresiva)|compte à rebours|conto alla rovescia"
    r"|ord(?:em|en|re|ine) (?:invers\w+|crescente|ascendente|croissant)|umgekehrt\w*|aufsteigend\w*"
    r"|de trás para (?:a )?frente|von hinten|rückwärts|omgekeerd\w*|aftell\w*|odwrotn\w+|обратн\w+)\b"
    r"|逆順|逆序|倒序|倒数|역순|उल्टे क्रम|tersten",
    re.IGNORECASE,
)
DOUBTFUL = re.compile(
    r"\b(?:not|never|n['’]t|não|no|nicht|ne|pas|non|niet|nie|не|instead|rather than|read|went|reviewed|opened"
    r"|discuss\w*|consider\w*|critiqu\w+|comment\w*|separat\w+|gap|differen\w+|should|asks?|asked|told|if|whether|claim\w*"
    r"|instruct\w*|li|leí|gelesen|lu|letto)\b",
    re.IGNORECASE,
)
"""Signs that the list may have another direction: a denial, a direction of reading, or somebody else's wish."""
_QUOTATION = re.compile(r"\"[^\"]*\"|“[^”]*”|«[^»]*»|`[^`]*`")
_NEAR = 5
"""How many lines without a response may come between the sentence and its list."""
_SHORTEST, _LONGEST = 3, 400
"""The minimum and maximum length of a line that may announce a direction."""


def direction(line: str) -> str:
    """The direction of a list that a line states: "up" (worst first), "down" (best first), "unsure", or "" for none."""
    if not _SHORTEST <= len(line) <= _LONGEST:
        return ""
    line = _QUOTATION.sub(" ", marked(line))
    up, down = _UP.search(line), _DOWN.search(line)
    if down and (not up or down.start() <= up.start()):
        return "" if DOUBTFUL.search(line) else "down"
    if up or _PERHAPS.search(line):
        return "unsure" if not up or DOUBTFUL.search(line) or SAYS.search(line) else "up"
    return ""


def announced(lines: Sequence[str], start: int) -> str:
    """The `direction` that the judge announces above the list at `start`; "" if it names a response in between."""
    lines_without_response = 0
    for line in reversed(lines[:start]):
        if line == QUOTED or lines_without_response >= _NEAR:
            break
        if line.strip():
            lines_without_response += 1
            if announcement := direction(line):
                return announcement
            if named(line) or heading(line):
                break
    return ""


def may_be_reversed(lines: Sequence[str], end: int) -> bool:
    """Whether the line after a list says that it may not begin with the best."""
    next_line = next((line for line in lines[end + 1 :] if line.strip() and line != QUOTED), "")
    return direction(next_line) in ("up", "unsure")
