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

from bot.llm.fields import characters

QUOTED = "\0"
"""The line that stands for lines that are quoted."""

NOUNS = (
    "responses?|answers?|options?|candidates?|submissions?|respostas?|respuestas?|réponses?|risposta|antwort|antwoord"
    "|odpowiedź|svar|ответ|відповідь|回答|答案|응답|답변"
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
_MARKS = str.maketrans(
    {"🥇": "1. ", "🥈": "2. ", "🥉": "3. ", "\ufe0f": None, "\u20e3": ".", "⟦": "[", "⟧": "]"}
)
_BULLET = re.compile(r"^(\s*)[*+•·–—‣-]\s+")
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
        line = _TEX_SIGN.sub(lambda match: _TEX_SIGNS[match[1]], _TEX_WORDS.sub(r"\1", line))
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
