"""Escapes text as Markdown, and turns Markdown into plain text or HTML.

Imports none of our modules; each platform's adapter knows how it shows Markdown.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from markdown_it import MarkdownIt

TAGS: Final = (
    "a|abbr|b|big|blockquote|br|center|cite|code|dd|del|details|div|dl|dt|em|figcaption|figure|font|h[1-6]|hr|i|"
    "iframe|img|ins|kbd|li|mark|ol|p|pre|q|s|samp|script|section|small|span|strike|strong|style|sub|summary|sup|"
    "table|tbody|td|tfoot|th|thead|tr|tt|u|ul|var|video|wbr"
)
"""HTML elements that count as markup; anything else between angle brackets is text."""
CELL_CHARS: Final = 60
"""The most characters of a long text in a table."""
_MARKUP: Final = re.compile(rf"<!--|</?(?:{TAGS})(?![\w-])", re.IGNORECASE)


def harmless(words_of_a_file: str) -> str:
    """The words with all Markdown syntax escaped."""
    return re.sub(r"([\\`*_{}\[\]<>|~])", r"\\\1", words_of_a_file)


def harmless_values(values: Mapping[str, str | int] | None) -> dict[str, str | int]:
    """The values of a sentence, such as names that people have chosen, with all Markdown syntax escaped."""
    return {
        key: harmless(value) if isinstance(value, str) else value for key, value in (values or {}).items()
    }


def code(text: str) -> str:
    """The text as inline code; "" for an empty text."""
    line = " ".join(text.split()).replace("`", "´")
    return f"`{line}`" if line else ""


def one_line(text: str, most: int = CELL_CHARS) -> str:
    """The text on one line, cut to at most `most` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def table_row(*cells: str) -> str:
    """A row of a Markdown table."""
    return "| " + " | ".join(cell.replace("\n", " ").replace("|", "\\|") for cell in cells) + " |"


def harmless_link(link: str) -> str:
    """An address for use between parentheses."""
    return link.replace("(", "%28").replace(")", "%29")


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("strikethrough")


def plain(line: str, *, addresses: bool = False) -> str:
    """The text of a line of Markdown; links are replaced by their labels, with `addresses` followed by their URLs."""
    words: list[str] = []
    targets: list[str] = []
    for token in _parser().parseInline(line)[0].children or ():
        match token.type:
            case "link_open":
                targets.append(str(token.attrs["href"]) if addresses and token.info != "auto" else "")
            case "link_close":
                words.append(f" ({target})" if (target := targets.pop()) else "")
            case "image":
                words.append(f"{token.content} ({token.attrs['src']})" if addresses else token.content)
            case "html_inline" if _MARKUP.match(token.content):
                words.append(" " if token.content[1:3].lower() == "br" else "")
            case "softbreak" | "hardbreak":
                words.append(" ")
            case _:
                words.append(token.content)
    return " ".join("".join(words).split())


@cache
def _html_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")


def as_html(text: str) -> str:
    """Markdown as HTML for a browser: HTML in it is shown as text, and pictures, which would be loaded, as links."""
    return str(_html_parser().render(text))
