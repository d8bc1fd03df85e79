"""A judge's own text: without its reasoning, and without its quotations from the responses.

A response may forge a ranking and a judge may quote it, so that quotations are left out before anything is
read. Knows no ranking.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from bot.llm.fields import characters

QUOTED = "\0"
"""The line that stands for lines that are quoted."""

NOUNS = (
    "responses?|answers?|options?|candidates?|submissions?|respostas?|respuestas?|réponses?|risposta|antwort|antwoord"
    "|odpowiedź|svar|ответ|відповідь|回答|答案|उत्तर|응답|답변"
)
"""What judges call a response in the languages that they write."""

_LABEL = re.compile(
    rf"(?<![^\W\d_])(?i:{NOUNS})[\s:#-]{{0,3}}[(\[\"'“]?"
    r"(?P<letter>[A-Z])(?![0-9A-Za-zÀ-ɏ_])(?!['’](?!s\b))[)\]\"'”]?"
)

_SMALL = re.compile(rf"^\W*(?:\d{{1,2}}\W+)?(?:{NOUNS})\s+[a-z]\W*$", re.IGNORECASE)
_HEADED = re.compile(
    r"[\s#|-]*(?:\d+[.)]\s*)?[(\[]?(?:⟦(?P<named>[A-Z])⟧|(?P<bare>[A-Z])[)\]]?(?=\s*(?:[:.–—|)-]|$)))"
)
_THOUGHT = re.compile(r"\A\s*<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_HALF_THOUGHT = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_FENCE = re.compile(r"\s*(?:[-*+]\s+|\d+[.)]\s+)?(`{3,}(?=[^`]*$)|~{3,})")
_QUOTE = re.compile(r"\s*(?:(?:[-*+]|\d+[.)])\s+)?>")
_FENCE_MARK = re.compile(r"^\s*(?:`{3,}|~{3,})\w*")
_OPEN_TAG, _CLOSE_TAG = (
    re.compile(rf"<{end}(?:response|answer|candidate)\b", re.IGNORECASE) for end in ("", "/")
)
_GOES_ON = re.compile(r"\s*[,;\"'”»’]|\s+[a-zà-ÿ]")
"""What follows a quotation within a sentence."""
_MARKS = str.maketrans(
    {"🥇": "1. ", "🥈": "2. ", "🥉": "3. ", "\ufe0f": None, "\u20e3": ".", "⟦": "[", "⟧": "]"}
)
_BULLET = re.compile(r"^(\s*)(?:[*+•·–—‣-]|\\item)\s+")
_TEX_BLOCK = re.compile(r"\\(?:begin|end)\s*\{[^{}]*\}")
_OBJECT = re.compile(r"^[ \t]*(?P<object>\{\s*\")", re.MULTILINE)
_DECODER = json.JSONDecoder(strict=False)
_TEX_WORDS = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathit|operatorname)\s*\{([^{}]*)\}")
_TEX_BOX = re.compile(r"^[\s$*\\(\[]*\\boxed\s*\{([^{}]*)\}[\s$*.\\)\]]*$")
_TEX_SIGNS = {
    **dict.fromkeys(("succ", "succsim", "succeq", "gt", "gg"), " > "),
    **dict.fromkeys(("prec", "precsim", "preceq", "lt", "ll"), " < "),
    **dict.fromkeys(("sim", "approx", "simeq", "equiv", "eq"), " = "),
    **dict.fromkeys(("rightarrow", "to", "Rightarrow"), " → "),
    **dict.fromkeys(("quad", "qquad", "left", "right"), " "),
}
_TEX_SIGN = re.compile(rf"\\({'|'.join(_TEX_SIGNS)})(?![A-Za-z])")
_TAG = re.compile(r"</?[a-z]\w*\s*/?>", re.IGNORECASE)

Groups = list[list[str]]
"""Letters, best first; those of one group share a place."""

RANKS = r"rank|place|position|platz|rang|lugar|posi[çc][ãa]o|puesto|posici[óo]n|posto|posizione|colocação|№"
SCORES = r"score|points?|pts|grade|rating|marks?|nota|pontos?|pontuação|puntos?|puntuación|punkte?|note|punti"

_RANK = re.compile(
    rf"""[\s:(=–—-]*(?:(?:{RANKS})\b[\s:#=]*(?P<after>\d{{1,2}})|\#(?P<hash>\d{{1,2}})
    |(?P<th>\d{{1,2}})(?:st|nd|rd|th|º|ª|°|er|ère|e|[.]?\s*(?:{RANKS}))(?![\w/]))""",
    re.VERBOSE | re.IGNORECASE,
)
_SCORE = re.compile(
    rf"""[\s:(=–—-]*(?:
    (?:{SCORES})\b[\s:=]*(?P<after>\d{{1,3}}(?:[.,]\d+)?)
    |(?P<of>\d{{1,3}}(?:[.,]\d+)?)\s*(?:/|out\ of|of|von|de|sur|su)\s*\d+
    |(?P<unit>\d{{1,3}}(?:[.,]\d+)?)\s*(?:%|(?:{SCORES})\b)
    |(?P<stars>[★⭐]+)
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_BARE = re.compile(r"[\s:(=–—-]*(?P<n>\d{1,3}(?:[.,]\d+)?)\s*(?=$|[)(–—;,.|-](?!\d))")
_TIE = re.compile(r"\b(?:tie|tied|ties|equal|equally|empat\w*|igual\w*|gleich\w*|ex\s+aequo|égal\w*)\b", re.I)


def own_lines(text: str) -> list[str]:
    """The lines, QUOTED in place of block quotations and of fenced blocks, without objects of JSON.

    A block that ends the whole text is the judge's own, unless the line before introduces it as a response's.
    Thoughts are cut off where they begin the text; later tags of the kind are quoted from somewhere.
    """
    lines: list[str] = []
    block: list[str] | None = None
    closing, last, at = "", list[str](), 0
    for line in _outside_json(without_thoughts(_normal(text))).split("\n"):
        fence = _FENCE.match(line)
        if block is None and fence is None:
            lines.append(_unless_quoted(line))
        elif block is None and fence is not None:
            block, closing = [], fence[1]
            at = len(lines)
            lines.append(QUOTED)
        elif block is not None and fence and fence[1].startswith(closing) and line.strip() == fence[1]:
            last, block = block, None
        elif block is not None:
            block.append(line)
    if block is not None:
        last = block
    if last and not any(line.strip() for line in lines[at + 1 :]) and not introduces(before(lines, at)):
        lines[at:] = [_unless_quoted(line) for line in last]
    return lines


def without_thoughts(text: str) -> str:
    """The text without the reasoning before the answer."""
    whole = _THOUGHT.match(text)
    if whole:
        return text[whole.end() :]
    half = _HALF_THOUGHT.search(text)
    if half is None:
        return text
    line = text[text.rfind("\n", 0, half.start()) + 1 : half.start()]
    # What goes on in the middle of a line begins none, so that no header can stand there.
    return ("… " if line.strip() else "…\n") + text[half.end() :]


def plain(line: str) -> str:
    """A line without emphasis, its bullet as "- ", LaTeX's signs as they are typed."""
    line = _BULLET.sub(r"\1- ", line)
    if "\\" in line or "$" in line:
        line = _TEX_WORDS.sub(r"\1", _TEX_BLOCK.sub("", line))
        line = _TEX_SIGN.sub(lambda match: _TEX_SIGNS[match[1]], line)
        # A box is what a mathematician ends with.
        boxed = _TEX_BOX.match(line)
        line = f"FINAL RANKING: {boxed[1]}" if boxed else re.sub(r"\\boxed\s*|\\[()\[\]]|\$", "", line)
    return re.sub(r"[*`~\\]", "", _TAG.sub(" ", line)).replace("_", " ").rstrip()


def marked(line: str) -> str:
    """`plain`, each response that it names as ⟦C⟧."""
    return _LABEL.sub(r"⟦\g<letter>⟧", _SMALL.sub(lambda match: match[0].upper(), plain(line)))


def named(line: str) -> list[str]:
    """The letters of the responses that a line names, as often as it does: "Response C". They are capitals,
    since "resposta a isto" names none.
    """
    return re.findall(r"⟦([A-Z])⟧", marked(line))


def heading(line: str) -> str:
    """The letter of the response that a line is headed by: "**Response C** is …", "### C", "C: …"; else ""."""
    match = _HEADED.match(marked(line)) if line.strip() else None
    return (match["named"] or match["bare"]) if match else ""


def introduces(line: str) -> bool:
    """Whether what follows this line is said to be a response's: "Response B writes:"."""
    return line.rstrip().endswith((":", ",")) and len(set(named(line))) == 1


def quotes_at(text: str, start: int, end: int) -> bool:
    """Whether the judge quotes what stands there: in quotation marks, a block quotation or a response's tags, after
    words that introduce a response's, in the middle of a sentence, or before it speaks of further responses.
    """
    head, tail = text[:start], text[end:]
    *earlier, line = [_FENCE_MARK.sub("", line) for line in head.split("\n")]
    rest = tail.split("\n", 1)[0]
    previous = before(earlier, len(earlier))
    names_before = {letter for line in earlier for letter in [*named(line), heading(line)] if letter}
    return bool(
        _QUOTE.match(line)
        or named(line)
        or line.count('"') % 2
        or line.count("`") % 2
        or any(head.count(opened) > head.count(closed) for opened, closed in ("“”", "«»"))
        or len(_OPEN_TAG.findall(head)) > len(_CLOSE_TAG.findall(head))
        or _GOES_ON.match(rest)
        or (not line.strip() and introduces(previous))
        or (names_before and not names_before.issuperset(named(tail)))
    )


def before(lines: Sequence[str], at: int) -> str:
    """The last line before `at` in which there is something, plain; QUOTED where that was quoted."""
    for line in reversed(lines[:at]):
        if line.strip():
            return plain(line)
    return ""


def _normal(text: str) -> str:
    text = unicodedata.normalize("NFKC", characters(html.unescape(text)).translate(_MARKS))
    text = "\n".join(text.splitlines())
    return "".join(character for character in text if unicodedata.category(character) != "Cf")


def _outside_json(text: str) -> str:
    """Without objects, whose strings quote; one that breaks off takes along all that follows."""
    outside, at = "", 0
    while match := _OBJECT.search(text, at):
        outside += text[at : match.start()]
        try:
            _, at = _DECODER.raw_decode(text, match.start("object"))
        except (ValueError, RecursionError):
            return outside
    return outside + text[at:]


def _unless_quoted(line: str) -> str:
    return QUOTED if _QUOTE.match(line) else line


@dataclass(slots=True)
class Item:
    """The letters that share a place, its number in a list or table, and the text beside them."""

    letters: list[str]
    numbers: list[int] = field(default_factory=list)
    remark: str = ""

    @property
    def tied(self) -> bool:
        return bool(_TIE.search(self.remark))


def ordered(items: Sequence[Item]) -> Groups:
    """The items in the judge's order, best first; [] where the judge contradicts itself.

    Scores or places beside every response decide where the responses stand in the order in which they were
    shown: nobody ranks them so by accident, and a score in the list of another order has to agree with it. Words
    beside each, in that order and without numbers, are a verdict on each and no ranking.
    """
    items = _once(items)
    letters = [letter for item in items for letter in item.letters]
    alphabetical = letters == sorted(letters) and len(letters) > 1
    figures = _figures([item.remark for item in items])
    if (
        figures is None
        and alphabetical
        and all(item.remark.strip(" .") and not item.numbers for item in items)
    ):
        return []  # verdicts, one by one
    if figures is None:
        return [list(item.letters) for item in items]
    falling = [-figure for figure in figures]
    if all(low <= high for low, high in pairwise(falling)):
        if all(item.numbers for item in items):
            return [list(item.letters) for item in items]
    elif not alphabetical:
        return []
    return by_value(items, falling)


def by_value(items: Sequence[Item], values: Sequence[float]) -> Groups:
    """The smallest value first, equal ones together."""
    places: dict[float, list[str]] = {}
    for value, item in sorted(zip(values, items, strict=True), key=lambda pair: pair[0]):
        places.setdefault(value, []).extend(item.letters)
    return list(places.values())


def ranks(values: Sequence[float], n: int) -> bool:
    """Whether these can be the places of so many: whole, from 1 on, and none left out but behind a tie."""
    sorted_values = sorted(values)
    steps = all(
        place in (before, before + 1, at) for at, (before, place) in enumerate(pairwise(sorted_values), 2)
    )
    return (
        bool(sorted_values)
        and sorted_values[0] == 1
        and sorted_values[-1] <= n
        and steps
        and all(value == int(value) for value in sorted_values)
    )


def _figures(texts: Sequence[str]) -> list[float] | None:
    """For each text its figure, the larger, the better; None where not every text begins with one of a kind."""
    for kind in (_RANK, _SCORE, _BARE):
        matches = [kind.match(text) for text in texts]
        if not all(matches):
            continue
        values = [_value(match) for match in matches if match]
        if kind is _RANK or (kind is _BARE and ranks(values, len(values))):
            return [-value for value in values]
        return values
    return None


def figure_of(text: str) -> float | None:
    """The figure that a text begins with, place or score; None where there is none."""
    match = next((match for kind in (_RANK, _SCORE, _BARE) if (match := kind.match(text))), None)
    return _value(match) if match else None


def _value(match: re.Match[str]) -> float:
    text = next(value for value in match.groups() if value is not None)
    return float(len(text)) if text[0] in "★⭐" else float(text.replace(",", "."))


def _once(items: Sequence[Item]) -> list[Item]:
    """Each letter at its first mention; neighbours that are both marked as ties share a place."""
    letters_seen: set[str] = set()
    items_made: list[Item] = []
    before: Item | None = None
    for item in items:
        new_letters = [letter for letter in dict.fromkeys(item.letters) if letter not in letters_seen]
        letters_seen.update(new_letters)
        if new_letters and before is not None and before.tied and item.tied:
            items_made[-1].letters += new_letters
        elif new_letters:
            items_made.append(Item(new_letters, item.numbers, item.remark))
        before = item
    return items_made
