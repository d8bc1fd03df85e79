"""Answers without a model: which part of a passage to quote, and how it reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.retrieval.content import content_terms
from bot.works.citing import sentences
from bot.works.markers import unmarked

if TYPE_CHECKING:
    from bot.retrieval.found import Passage

QUOTE_CHARS = 600
"""The most that is quoted of one passage."""


def excerpt(text: str, wanted: set[str], language: str, limit: int = QUOTE_CHARS) -> str:
    """A verbatim stretch of at most `limit` characters: whole sentences around those that say most.

    `wanted` are the content words of the question. A single sentence beyond the limit is cut at a word.
    """
    text = text.strip()
    if len(text) <= limit:
        return text
    spans, start = [], 0
    for sentence in sentences(text):
        begin = text.index(sentence, start)
        start = begin + len(sentence)
        spans.append((begin, start))
    gains = [len(wanted.intersection(content_terms(text[begin:end], language))) for begin, end in spans]
    best, best_gain = (0, min(limit, spans[0][1])), -1
    last = gain = 0
    for first in range(len(spans)):
        last = max(last, first)
        while last < len(spans) and spans[last][1] - spans[first][0] <= limit:
            gain += gains[last]
            last += 1
        if gain > best_gain and last > first:
            best, best_gain = (spans[first][0], spans[last - 1][1]), gain
        if last > first:
            gain -= gains[first]
    begin, end = best
    part = text[begin : max(end, begin)] if best_gain >= 0 else text[:limit].rsplit(" ", 1)[0]
    return part if len(part) <= limit else part[:limit].rsplit(" ", 1)[0]


def quoted(n: int, passage: Passage, part: str) -> str:
    """The excerpt as Markdown: its heading, its number, and the words as they stand in the book.

    What the book itself has in square brackets stands in round ones: only `[n]` is a marker.
    """
    lines = "\n".join(f"> {line}".rstrip() for line in unmarked(part).splitlines())
    heading = unmarked(f"**{passage.heading or passage.title}** · {passage.source}")
    return f"{heading} [{n}]\n\n{lines}\n\n"
