"""Word files (.docx) into Documents: headings, lists, tables, boxes and notes, as people see them.

Reads the XML itself (see `blocks`): python-docx leaves out what stands in controls, boxes and notes, and takes ten
times as long. Macros, comments, headers and footers are not looked at, nor charts and diagrams, whose words are not in
the text. Where a page ends is for each printer to say, so there are none.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Final

from bot.events import Sorry
from bot.readers.document import Document
from bot.readers.docx.blocks import Block, blocks
from bot.readers.docx.guess import guess
from bot.readers.docx.parts import Parts
from bot.readers.markdown import title_from_name
from bot.readers.writer import Writer, flow

if TYPE_CHECKING:
    from bot.readers.document import Progress

_TABS: Final = re.compile(r"[ \t]*\t[ \t]*")
_BLANKS: Final = re.compile(r" {2,}")


def read(name: str, data: bytes, progress: Progress) -> Document:
    """The document in `data`; blocking.

    Raises Sorry: "library.file_damaged", "library.file_scanned" for pictures alone, and as `Archive` does.
    """
    parts = Parts(name, data)
    made = blocks(parts, progress)
    heads = [one for one in made if one.kind == "heading"]
    if heads in ([], made[:1]):
        guess(made, parts.styles, below=heads[0].level if heads else 0)
    writer = Writer()
    _write(made, writer)
    if writer.empty and parts.pictures:
        raise Sorry("library.file_scanned", name=name)
    return writer.document(parts.title() or _headline(made) or title_from_name(name))


def _write(made: list[Block], writer: Writer) -> None:
    places = _places(made)
    heading = ""
    for code, group in groupby(made, lambda one: one.kind == "code"):
        alike = list(group)
        if code:
            writer.code("\n".join(one.text for one in alike))
        for one in alike:
            if one.kind in ("heading", "title"):
                heading = flow(one.text)
                writer.heading(one.level, heading)
            elif one.kind == "item":
                writer.item(one.text, depth=one.level, number=one.number)
            elif one.kind == "quote":
                writer.quote(_spaced(one.text))
            elif one.kind == "table":
                writer.table(one.rows)
            elif one.kind == "paragraph":
                writer.paragraph(_spaced(one.text))
            for target in one.targets:
                if (place := places.get(target, heading)) != heading:
                    writer.see(place)


def _places(made: list[Block]) -> dict[str, str]:
    """The headings that bookmarks stand in or under, by their names."""
    places: dict[str, str] = {}
    heading = ""
    for one in made:
        if one.kind in ("heading", "title"):
            heading = flow(one.text)
        for anchor in one.anchors:
            places.setdefault(anchor, heading)
    return places


def _headline(made: list[Block]) -> str:
    """The first paragraph in the style of a title, else the first heading if all others stand under it."""
    titles = [one.text for one in made if one.kind == "title"]
    heads = [one for one in made if one.kind == "heading"]
    if not titles and heads and all(one.level > heads[0].level for one in heads[1:]):
        titles = [heads[0].text]
    return flow(titles[0]) if titles else ""


def _spaced(text: str) -> str:
    """One blank where there are many, one tab where there are any."""
    return _BLANKS.sub(" ", _TABS.sub("\t", text))
