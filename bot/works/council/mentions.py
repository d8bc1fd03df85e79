"""How a judge names the responses in a line: rewrites each as ⟦C⟧, without emphasis and LaTeX, and finds the one that
heads the line.
"""

from __future__ import annotations

import re
from functools import cache

from bot.works.council.ballot_words import AND, NOUNS, SPACELESS

_LABEL = re.compile(
    rf"(?<![^\W\d_{SPACELESS}])(?i:{NOUNS})[\s:#-]{{0,3}}[(\[\"'“]?"
    r"(?!I\s+(?!is\b|was\b|and\b|comes\b|wins\b)[a-z])"  # "the first response I read"
    r"(?P<letter>[A-Z])(?![0-9A-Za-zÀ-ɏ_])(?!['’](?!s\b))[)\]\"'”]?"
)
_BEHIND = re.compile(
    rf"(?<![\w'’⟦])(?P<letter>[A-Z])(?:['’]?s?[ -]|の|)(?i:{NOUNS})(?![\w⟦])(?![\s:#-]{{0,3}}[A-Z]\b)"
)
_PLURAL = re.compile(rf"(⟦[A-Z]⟧(?:\s*,\s*[A-Z])*\s*(?:{AND}|[,/&=]))\s*(?P<letter>[A-Z])(?![\w'’])")

_SMALL = re.compile(rf"^\W*(?:\d{{1,2}}\W+)?(?:{NOUNS})\s+[(\[]?[a-z]\W*$", re.IGNORECASE)
_HEADED = re.compile(
    r"[\s#|-]*(?:\d+[.)]\s*)?[(\[]?(?:⟦(?P<named>[A-Z])⟧|(?P<bare>[A-Z])[)\]]?(?=\s*(?:[:.–—|)-]|$)))"
)
_BULLET = re.compile(r"^(\s*)(?:[*+•·–—‣▪●○◦➤►-]\s+|\\item\b\s*)")
_CHECKED = re.compile(r"^(\s*-\s+)\[[ xX✓✔]\]\s+")
_TEX_BLOCK = re.compile(r"\\(?:begin|end)\s*\{[^{}]*\}(?:\[[^\[\]]*\])?")
_TEX_HEADING = re.compile(r"\\(?:sub)*(?:section|paragraph)\*?\s*\{([^{}]*)\}")
_TEX_WORDS = re.compile(r"\\(?:text|textbf|textit|emph|mathrm|mathbf|mathit|operatorname)\s*\{([^{}]*)\}")
_TEX_BOX = re.compile(r"^[\s$*\\(\[]*\\boxed\s*\{([^{}]*)\}[\s$*.\\)\]]*$")
_TEX_SIGNS = {
    **dict.fromkeys(("succ", "succsim", "succeq", "gt", "gg"), " > "),
    **dict.fromkeys(("prec", "precsim", "preceq", "lt", "ll"), " < "),
    **dict.fromkeys(("sim", "approx", "simeq", "equiv", "eq"), " = "),
    **dict.fromkeys(("rightarrow", "to", "Rightarrow"), " → "),
    **dict.fromkeys(("quad", "qquad", "left", "right"), " "),
    **dict.fromkeys(("star", "bigstar"), "★"),
}
_TEX_SIGN = re.compile(rf"\\({'|'.join(_TEX_SIGNS)})(?![A-Za-z])")
_TAG = re.compile(r"</?[a-z]\w*\s*/?>", re.IGNORECASE)


@cache
def plain(line: str) -> str:
    """A line without emphasis, with "- " as its bullet, and LaTeX's signs as plain characters."""
    line = _CHECKED.sub(r"\1", _BULLET.sub(r"\1- ", re.sub(r"~~[^~]*~~", " ", line)))
    if "\\" in line or "$" in line:
        line = _TEX_WORDS.sub(r"\1", _TEX_HEADING.sub(r"# \1", _TEX_BLOCK.sub("", line)))
        line = re.sub(r"\\[,;:!](?=[\s\\A-Z])", " ", line)
        line = _TEX_SIGN.sub(lambda match: _TEX_SIGNS[match[1]], line)
        # Mathematicians put the final result into a box.
        boxed = _TEX_BOX.match(line)
        line = f"FINAL RANKING: {boxed[1]}" if boxed else re.sub(r"\\boxed\s*|\\[()\[\]]|\$", "", line)
    return re.sub(r"[*`~\\]", "", _TAG.sub(" ", line)).replace("_", " ").rstrip()


_PICTURES = "\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf\u2b00-\u2bff\ufe0f\U0001f300-\U0001faff"
_SIGNS = re.compile(rf"^( {{0,3}}(?:#+ +)?)[{_PICTURES}][{_PICTURES} ]*(?=[^\W\d_a-z]|#)")
"""Pictograms before a line's first word."""
_PLACED = re.compile(r"^\s*\d{1,2}[.)]\s+[\[(]?[a-l][\])]?\s*$")
"""A small letter that makes up a whole list line."""


@cache
def marked(line: str) -> str:
    """`plain`, with each response that it names as ⟦C⟧."""
    if not line.strip():
        return line
    line = _SIGNS.sub(r"\1", _PLACED.sub(lambda match: match[0].upper(), plain(line)))
    line = _LABEL.sub(r"⟦\g<letter>⟧", _SMALL.sub(lambda match: match[0].upper(), line))
    line = _BEHIND.sub(r"⟦\g<letter>⟧", line)
    for _ in range(3 if "⟦" in line else 0):
        line = _PLURAL.sub(r"\1 ⟦\g<letter>⟧", line)
    return line


def named(line: str) -> list[str]:
    """The letters of the responses that a line names ("Response C"), with repetitions. They are capitals, since
    "resposta a isto" names none.
    """
    return re.findall(r"⟦([A-Z])⟧", marked(line))


def heading(line: str) -> str:
    """The letter of the response at the head of a line: "**Response C** is …", "### C", "C: …"; otherwise ""."""
    match = _HEADED.match(marked(line)) if line.strip() else None
    return (match["named"] or match["bare"]) if match else ""


def forget_lines() -> None:
    """Free the cached lines of a ballot, which its readers asked for one after another."""
    plain.cache_clear()
    marked.cache_clear()
