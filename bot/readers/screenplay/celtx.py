"""Celtx's .celtx into a screenplay: the desktop program's zip, or HTML saved under that name.

The format has no published description: each script of the project is an HTML file "script-….html", whose paragraphs'
classes give their kinds. All scripts of a project are read, in the order of the archive.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from bot.events import UserError
from bot.readers.archive import Archive
from bot.readers.document import Document, Progress, screenplay_document
from bot.readers.screenplay.elements import Element, Kind, Screenplay, emphasised, lines, literal
from bot.readers.web.html import text_of
from bot.readers.web.markup import tree

if TYPE_CHECKING:
    from lxml.etree import _Element as Node

_KINDS: Final[dict[str, Kind]] = {
    "sceneheading": "heading",
    "action": "action",
    "character": "cue",
    "parenthetical": "parenthetical",
    "dialog": "dialogue",
    "transition": "transition",
    "shot": "shot",
    "text": "general",
    "act": "section",
}
"""Kinds by a paragraph's class; any other class is an action, as in Celtx."""
_CAPITALS: Final = frozenset({"heading", "cue", "transition", "shot", "section"})
"""Kinds that Celtx shows in capitals, whatever was typed."""
_ONE_LINE: Final = frozenset({"heading", "cue", "section", "parenthetical"})
_MARKS: Final = {"u": "_", "b": "**", "strong": "**", "i": "*", "em": "*"}
_UNNAMED: Final = frozenset({"", "screenplay", "script", "untitled"})
"""Default titles of Celtx."""
_META: Final = {"Author": "Author", "DC.source": "Source", "DC.rights": "Copyright", "CX.contact": "Contact"}
_BLANKS: Final = re.compile(r"[ \t\r\n\f]+")
_ZIP: Final = b"PK"


def read(name: str, data: bytes, progress: Progress) -> Document:
    """The scripts in `data`; blocking. Raises UserError as `Archive` and `text_of` do, and "cli.no_script"."""
    pages = [data]
    if data.startswith(_ZIP):
        archive = Archive(name, data)
        scripts = [member for member in archive.names if _is_script(member)]
        if not scripts:
            raise UserError("cli.no_script", name=name)
        pages = [archive.read(member) for member in scripts]
    roots = [tree(text_of(name, page).encode("utf-8", "replace")) for page in pages]
    elements: list[Element] = []
    for root in roots:
        if len(roots) > 1 and (title := _title(root)):
            elements.append(Element("section", literal(title), level=1))
        elements += _elements(root)
    progress(1, 1)
    return screenplay_document(name, Screenplay(tuple(elements), tuple(_title_page(roots[0]))))


def _is_script(member: str) -> bool:
    path = PurePosixPath(member)
    return path.name.startswith("script") and path.suffix.lower() in (".html", ".htm")


def _elements(root: Node) -> Iterator[Element]:
    numbering = _meta(root, "CX.sceneNumbering")
    for node in root.iter("p"):
        kind = _KINDS.get((node.get("class") or "action").split()[0].lower(), "action")
        words = lines("\n".join(_BLANKS.sub(" ", line) for line in _words(node).split("\v")))
        if kind in _ONE_LINE:
            words = " ".join(words.split())
        if kind in _CAPITALS:
            words = words.upper()
        if words:
            numbered = kind == "heading" and numbering not in ("", "none")
            yield Element(
                kind,
                words,
                number=" ".join(node.get("scenenumber", "").split()) if numbered else "",
                level=2 if kind == "section" else 0,
            )


def _words(paragraph: Node) -> str:
    """The words of a paragraph, with marks of emphasis, and "\v" for each of its own line ends."""
    from lxml import etree

    parts: list[str] = []
    looks: list[str] = []

    def add(text: str | None) -> None:
        parts.append(emphasised(literal(_BLANKS.sub(" ", text or "")), "".join(dict.fromkeys(looks))))

    for event, node in etree.iterwalk(paragraph, events=("start", "end")):
        mark = _MARKS.get(str(node.tag), "")
        if event == "start":
            parts.append("\v" if node.tag == "br" else "")
            looks.append(mark)
            add(node.text)
        else:
            looks.pop()
            if node is not paragraph:
                add(node.tail)
    return "".join(parts)


def _title_page(root: Node) -> Iterator[tuple[str, str]]:
    if title := _title(root):
        yield "Title", literal(title)
    author = _meta(root, "Author")
    if author and (byline := _meta(root, "CX.byline")):
        yield "Credit", byline
    for named, key in _META.items():
        if text := _meta(root, named):
            yield key, literal(text)


def _title(root: Node) -> str:
    title = next(root.iter("title"), None)
    words = " ".join((title.text or "").split()) if title is not None else ""
    return "" if words.casefold() in _UNNAMED else words


def _meta(root: Node, named: str) -> str:
    content = next((node.get("content", "") for node in root.iter("meta") if node.get("name") == named), "")
    return " ".join(content.split())
