"""Reads diagrams whose arrows say which response is better, as sentences."""

from __future__ import annotations

import re
from itertools import pairwise

from bot.works.council.ballot_words import NOUNS

DRAWN = re.compile(r"\s*[`~]{3,}\s*(?:mermaid|dot|graphviz)\b", re.IGNORECASE)
"""The first line of a block with a diagram."""
_BETTER = r"(?:better|beats?|stronger|preferred|wins?|defeats?|outranks?|ahead|above|superior)\b"
_FORWARD = re.compile(
    rf"\b(?:arrows?|edges?)\W{{1,4}}(?:\w{{1,12}}\W{{1,3}}){{0,3}}?(?:means?|stands? for|reads?|says?|is)\W{{1,4}}"
    rf"(?:is\W{{1,3}})?{_BETTER}"
    rf"|\b(?:arrows?|edges?)\b[^.\n]{{0,40}}\bfrom (?:the |a )?{_BETTER}[^.\n]{{0,30}}\bto\b",
    re.IGNORECASE,
)
_BACK = re.compile(
    r"\b(?:arrows?|edges?)\b[^.\n]{0,60}\b(?:to|at|towards?) (?:the |a )?(?:better|strong|winner|best|preferred)",
    re.IGNORECASE,
)
_ARROW = re.compile(r"\s*(?:-+>|=+>|-\.+->)\s*(?:\|(?P<says>[^|\n]*)\|)?\s*")
_SAYS = re.compile(rf"\W*(?:is )?{_BETTER}(?: than| to| over| against| of)?\W*", re.IGNORECASE)
_NODE = re.compile(
    r"\s*\"?(?P<name>\w{1,40}(?: [A-Z])?)\"?\s*(?:[\[({]{1,2}\"?(?P<label>[^\])}\"\n]{1,80})\"?[\])}]{1,2})?\s*;?\s*"
)
_CALLED = re.compile(rf"(?:(?:{NOUNS})[ _-]?)?([A-L])", re.IGNORECASE)
_ABOUT_ONE = re.compile(rf"\W*(?:(?:{NOUNS})\s*)?[A-L](?![\w'’])", re.IGNORECASE)
_NAMES = re.compile(rf"\b(?i:{NOUNS})\s+[A-L](?!\w)")
_MOST, _LONGEST = 60, 400
"""The maximum number of a diagram's lines, and of characters in a line."""


def comparisons(diagram: str, words: str) -> str:
    """The arrows as text: "C[Response C] --> B" as "Response C > Response B", one line for each. Returns "" unless the
    judge's last own `words` before the diagram, apart from those about single responses, say that arrows start at the
    better one.
    """
    about_all = [line for line in words.split("\n") if line.strip() and not _ABOUT_ONE.match(line)]
    explained = about_all[-1] if about_all else ""
    if not _FORWARD.search(explained) or _BACK.search(explained) or _NAMES.search(explained):
        return ""
    lines = [line for line in diagram.split("\n") if "->" in line or "=>" in line or _NODE.fullmatch(line)]
    if len(lines) > _MOST or any(len(line) > _LONGEST for line in lines):
        return ""
    labels_of_arrows = [match["says"] or "" for line in lines for match in _ARROW.finditer(line)]
    if not all(_SAYS.fullmatch(text) for text in labels_of_arrows if text):
        return ""
    rows = [[_NODE.fullmatch(part) for part in _ARROW.sub("\n", line).split("\n")] for line in lines]
    labels = {node["name"]: node["label"].strip() for row in rows for node in row if node and node["label"]}
    sentences: list[str] = []
    for row in rows:
        names = [_CALLED.fullmatch(labels.get(node["name"], node["name"])) if node else None for node in row]
        for better, worse in pairwise(names):
            if better is None or worse is None:
                return ""
            sentences.append(f"Response {better[1].upper()} > Response {worse[1].upper()}")
    return "\n".join(sentences)
