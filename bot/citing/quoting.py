"""Answers without a model: selects the part of a passage to quote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.citing.gate import sentences
from bot.citing.markers import unmarked
from bot.readers.lines import blocks, split_lines
from bot.retrieval.lexical import content_terms

if TYPE_CHECKING:
    from bot.retrieval.results import Passage
    from bot.words import Words

QUOTE_CHARS = 600
"""The most characters that are quoted from one passage."""


def why_quoted(say: Words, answerer: str | None, *, demo: bool, introduced: bool, cites: bool) -> str:
    """The sentence that says why passages are quoted in place of an answer by `answerer`, None for no model."""
    if answerer is None:
        return say("rules.extractive")
    if demo and not introduced:
        return say("rules.demo")
    if not cites and not demo:
        return say("rules.uncertain_model", model=answerer)
    return say("rules.extractive_instead")


def excerpt(text: str, terms: set[str], language: str, limit: int = QUOTE_CHARS) -> str:
    """A verbatim stretch of at most `limit` characters: whole sentences or rows around the most relevant ones.

    `terms` are the content words of the question. A single sentence beyond the limit is cut at a word. Rows of a table
    get its heading.
    """
    text = text.strip()
    if len(text) <= limit:
        return text
    heads = _heads(text, limit)
    room = limit - max((rows - start for start, rows, _ in heads), default=0)
    spans = _spans(text, heads)
    gains = [
        0
        if any(start <= begin < rows for start, rows, _ in heads)  # with the table's heading
        else len(terms.intersection(content_terms(text[begin:end], language)))
        for begin, end in spans
    ]
    best, best_gain = (0, min(room, spans[0][1])), -1
    last = gain = 0
    for first in range(len(spans)):
        last = max(last, first)
        while last < len(spans) and spans[last][1] - spans[first][0] <= room:
            gain += gains[last]
            last += 1
        if gain > best_gain and last > first:
            best, best_gain = (spans[first][0], spans[last - 1][1]), gain
        if last > first:
            gain -= gains[first]
    begin, end = best
    part = text[begin : max(end, begin)] if best_gain >= 0 else text[:limit].rsplit(" ", 1)[0]
    head = next((text[start:rows] for start, rows, stop in heads if rows <= begin < stop), "")
    part = head + part
    return part if len(part) <= limit else part[:limit].rsplit(" ", 1)[0]


def _heads(text: str, limit: int) -> list[tuple[int, int, int]]:
    """Where tables begin, where their rows begin, and where they end; only tables whose heading leaves
    room for rows.
    """
    lines = split_lines(text)
    heads = [
        (lines[table.first].start, lines[table.first + table.head].start, lines[table.last - 1].end)
        for table in blocks(lines)
        if table.kind in ("pipe", "rule") and table.first + table.head < table.last
    ]
    return [head for head in heads if head[1] - head[0] <= limit // 2]


def _spans(text: str, tables: list[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """The offsets of sentences and of table lines; in order, none empty."""
    spans: list[tuple[int, int]] = []
    at = 0
    for start, _, stop in [*tables, (len(text), 0, len(text))]:
        for sentence in sentences(text[at:start]):
            begin = text.index(sentence, at)
            at = begin + len(sentence)
            spans.append((begin, at))
        spans += [(line.start, line.end) for line in split_lines(text) if start <= line.start < stop]
        at = stop
    return spans


def quoted(n: int, passage: Passage, part: str) -> str:
    """The excerpt as Markdown: its heading, its number, and the words as they are in the book.

    Square brackets of the book become round ones, because only `[n]` is a marker.
    """
    lines = "\n".join(f"> {line}".rstrip() for line in unmarked(part).splitlines())
    heading = unmarked(f"**{passage.heading or passage.title}** · {passage.source}")
    return f"{heading} [{n}]\n\n{lines}\n\n"
