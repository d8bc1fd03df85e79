"""Markdown without its signs: what is left of it to be read aloud."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from bot.speech.spoken.language import Language

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_LEFT_OVER: Final = re.compile(
    r"\*+|~~|`+|(?<!\w)_+|_+(?!\w)|^\s*(?:[-*+•>#]|\d{1,3}[.)](?=\s*$))+\s*$", re.MULTILINE
)
"""Signs of emphasis that lost their partner where the text was cut into sentences."""
_SAID: Final = re.compile(r"[.!?…:;,。！？][\"'”’»)\]]*\s*$")
_PRODUCT: Final = re.compile(r"(?<=\d)\s?\*\s?(?=\d)")
_TAG: Final = re.compile(r"<[^<>]{0,400}>")


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable(["table", "strikethrough"])


def plain(text: str, language: Language | None) -> str:
    """Paragraphs and items as sentences, links by their words, and of what nobody reads out, what it is."""
    parts: list[str] = []
    tokens = _parser().parse(_PRODUCT.sub("×", text))
    at, numbers = 0, list[int | None]()
    while at < len(tokens):
        token = tokens[at]
        match token.type:
            case "fence" | "code_block":
                parts.append(language.code_block if language is not None else "")
            case "table_open":
                end = next(i for i in range(at, len(tokens)) if tokens[i].type == "table_close")
                rows = sum(token.type == "tr_open" for token in tokens[at:end]) - 1
                parts.append(_table(rows, language))
                at = end
            case "ordered_list_open":
                numbers.append(int(token.attrs.get("start", 1)))
            case "bullet_list_open":
                numbers.append(None)
            case "ordered_list_close" | "bullet_list_close":
                numbers.pop()
            case "list_item_open" if numbers and numbers[-1] is not None:
                parts.append(f"{numbers[-1]}:")
                numbers[-1] += 1
            case "html_block":
                parts.append(_ended(" ".join(_TAG.sub(" ", token.content).split())))
            case "inline":
                parts.append(_ended(_inline(token.children or (), language)))
        at += 1
    return " ".join(filter(None, parts))


def _table(rows: int, language: Language | None) -> str:
    if language is None:
        return ""
    singular, several = language.table
    return singular if rows == 1 else several.format(n=rows)


def _inline(tokens: Sequence[Token], language: Language | None) -> str:
    lines: list[str] = []
    for token in tokens:
        match token.type:
            case "softbreak" | "hardbreak":
                lines.append(" ")
            case "image":
                alt = _inline(token.children or (), language)
                lines.append(language.a_picture.format(alt=alt) if language is not None and alt else alt)
            case "html_inline":
                lines.append(" ")
            case "code_inline":
                lines.append(token.content)
            case "text":
                lines.append(_LEFT_OVER.sub("", token.content))
    return re.sub(r"\s+", " ", "".join(lines)).strip()


def _ended(text: str) -> str:
    """With a full stop where it has no end of its own, so that a voice rests behind headings and items."""
    return text if not text or _SAID.search(text) else f"{text}."


def link(address: str, language: Language | None) -> str:
    """What is said in place of an address."""
    try:
        host = urlsplit(address if "//" in address else f"//{address}").hostname or ""
    except ValueError:
        host = ""
    host = host.removeprefix("www.")
    if language is None or not host:
        return host
    return language.a_link.format(host=host.replace(".", f" {language.dot} "))
