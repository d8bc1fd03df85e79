"""Splits a Markdown text into blocks, for the writers of `books`. Knows no output format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markdown_it.token import Token

Run = tuple[str, bool, bool]
"""A run of text: words, bold, italic."""


@dataclass(frozen=True, slots=True)
class Block:
    """`kind`: heading, paragraph, item, quote, code or table. `level` is a heading's (1 …) or an item's depth (0 …)."""

    kind: str
    runs: tuple[Run, ...] = ()
    level: int = 0
    mark: str = ""
    rows: tuple[tuple[tuple[Run, ...], ...], ...] = ()

    @property
    def words(self) -> str:
        return "".join(words for words, _, _ in self.runs)


def blocks(tokens: Sequence[Token]) -> Iterator[Block]:
    """The blocks of the text; a nested block (a list in a quote) has its innermost kind."""
    lists: list[int | None] = []
    quoted, mark = 0, ""
    rows: list[list[tuple[Run, ...]]] = []
    for before, token in zip([None, *tokens], tokens, strict=False):
        kind = token.type
        if kind in ("bullet_list_open", "ordered_list_open"):
            lists.append(int(token.attrGet("start") or 1) if kind.startswith("ordered") else None)
        elif kind in ("bullet_list_close", "ordered_list_close"):
            lists.pop()
        elif kind == "list_item_open":
            number = lists[-1]
            mark = "•" if number is None else f"{number}."
            lists[-1] = None if number is None else number + 1
        elif kind in ("blockquote_open", "blockquote_close"):
            quoted += 1 if token.nesting > 0 else -1
        elif kind == "tr_open":
            rows.append([])
        elif kind == "table_close":
            yield Block("table", rows=tuple(tuple(row) for row in rows))
            rows = []
        elif kind in ("fence", "code_block"):
            yield Block("code", ((token.content.rstrip("\n"), False, False),))
        elif kind == "inline" and before is not None:
            block_runs = tuple(runs(token.children or []))
            if before.type in ("th_open", "td_open"):
                rows[-1].append(block_runs)
            elif before.type == "heading_open":
                yield Block("heading", block_runs, int(before.tag[1]))
            elif lists and mark:
                yield Block("item", block_runs, len(lists) - 1, mark)
                mark = ""
            else:
                yield Block("quote" if quoted else "paragraph", block_runs)


def runs(tokens: Sequence[Token]) -> Iterator[Run]:
    bold = italic = 0
    for token in tokens:
        bold += token.nesting if token.type.startswith("strong") else 0
        italic += token.nesting if token.type.startswith("em_") else 0
        words = {"softbreak": " ", "hardbreak": "\n"}.get(token.type, token.content)
        if words and token.type != "html_inline":
            yield words, bold > 0, italic > 0
