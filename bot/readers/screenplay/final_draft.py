"""Final Draft's .fdx into a screenplay: scenes with the lengths that the file states, dual dialogue, notes, revisions.

The format has no published description; this reader follows the files of Final Draft 8 to 13 and of compatible
programs. Beats, tags, alternates, omitted scenes and settings are not part of the script and are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from bot.events import UserError
from bot.readers.archive import parsed
from bot.readers.document import Document, Progress, screenplay_document
from bot.readers.package import local, number
from bot.readers.screenplay.elements import (
    LEFT,
    MOST_EIGHTHS,
    RIGHT,
    Element,
    Kind,
    Screenplay,
    emphasised,
    lines,
    literal,
    title_page,
)

if TYPE_CHECKING:
    from lxml.etree import _Element as Node

_KINDS: Final[dict[str, Kind]] = {
    "scene heading": "heading",
    "action": "action",
    "character": "cue",
    "parenthetical": "parenthetical",
    "dialogue": "dialogue",
    "singing": "lyric",
    "lyrics": "lyric",
    "transition": "transition",
    "shot": "shot",
    "new act": "section",
    "cold opening": "section",
    "outline 1": "section",
    "outline 2": "section",
    "outline 3": "section",
    "outline body": "synopsis",
}
"""Kinds by a paragraph's Type; any other is "general"."""
_LENGTH: Final = re.compile(r"(?:(\d{1,4})\s+)?(\d{1,4})\s*/\s*([1248])|(\d{1,4})")
_STYLES: Final = (("Underline", "_"), ("Bold", "**"), ("Italic", "*"))


def read(name: str, data: bytes, progress: Progress) -> Document:
    """The script in `data`; blocking.

    Raises UserError: "library.file_damaged", "library.file_bomb", "library.file_declares" for any document type
    declaration, and "library.file_template" for a template without a script.
    """
    root = parsed(name, data)
    if root.getroottree().docinfo.doctype:
        raise UserError("library.file_declares", name=name)
    if local(root) != "FinalDraft":
        raise UserError("library.file_damaged", name=name)
    capitals = frozenset(_in_capitals(root))
    elements = tuple(
        element for part in root if local(part) == "Content" for element in _elements(part, [0], capitals)
    )
    if not any(element.text for element in elements) and root.get("Template", "").casefold() == "yes":
        raise UserError("library.file_template", name=name)
    screenplay = Screenplay(elements, title_page(_title_lines(root)))
    progress(1, 1)
    return screenplay_document(name, screenplay)


def _in_capitals(root: Node) -> Iterator[str]:
    """The types of paragraphs that the file's settings show in capitals."""
    for settings in root:
        if local(settings) == "ElementSettings":
            fonts = (font for font in settings if local(font) == "FontSpec")
            if any("AllCaps" in font.get("Style", "").split("+") for font in fonts):
                yield settings.get("Type", "").strip().casefold()


def _elements(node: Node, side: list[int], capitals: frozenset[str]) -> Iterator[Element]:
    """The elements of the paragraphs in a node. `side` holds the place of the next cue: LEFT first in a dual dialogue,
    then RIGHT; 0 outside. `capitals`: the types of paragraphs in capitals.
    """
    for part in node:
        if local(part) == "DualDialogue":
            yield from _elements(part, [LEFT], capitals)
        elif local(part) == "Paragraph":
            yield from _paragraph(part, side, capitals)
            yield from _elements(part, side, capitals)


def _paragraph(node: Node, side: list[int], capitals: frozenset[str]) -> Iterator[Element]:
    """A paragraph's own words, then its synopsis and notes; without words it is left out with everything else."""
    named = node.get("Type", "General").strip().casefold()
    kind = _KINDS.get(named, "general")
    texts = [part for part in node if local(part) == "Text"]
    words = lines("".join(map(_styled, texts)))
    if named in capitals:
        words = words.upper()
    if words and kind == "parenthetical":
        words = " ".join(words.split())
    if words:
        scene = next((part for part in node if local(part) == "SceneProperties"), None)
        heading = kind == "heading"
        yield Element(
            kind,
            " ".join(words.split()) if heading or kind in ("cue", "section") else words,
            number=" ".join(node.get("Number", "").split()) if heading else "",
            eighths=eighths(scene.get("Length", "")) if heading and scene is not None else None,
            dual=side[0] if kind == "cue" else 0,
            level=(int(named[-1]) if named[-1:].isdigit() else 1) if kind == "section" else 0,
            revision=max((number(text.get("RevisionID", "")) for text in texts), default=0),
        )
        if kind == "cue" and side[0]:
            side[0] = RIGHT
    for part in node:
        if local(part) == "ScriptNote" and (note := _own_text(part)):
            yield Element("note", note)
        elif local(part) == "SceneProperties":
            for summary in part:
                if local(summary) == "Summary" and (summary_text := _own_text(summary)):
                    yield Element("synopsis", " ".join(summary_text.split()))


def eighths(stated: str) -> int | None:
    """A scene's length: "2/8", "1 5/8" and "2" are 2, 13 and 16; None for anything else."""
    match = _LENGTH.fullmatch(stated.strip())
    if match is None:
        return None
    if match[4]:
        return min(int(match[4]) * 8, MOST_EIGHTHS)
    return min(int(match[1] or 0) * 8 + int(match[2]) * 8 // int(match[3]), MOST_EIGHTHS)


def _styled(node: Node) -> str:
    """The words of a run with marks of emphasis."""
    styles = node.get("Style", "").split("+")
    words = literal("".join(node.itertext()))
    if "AllCaps" in styles:
        words = words.upper()
    return emphasised(words, "".join(mark for style, mark in _STYLES if style in styles))


def _own_text(node: Node) -> str:
    """The words of all paragraphs in a node."""
    return lines("\n".join("".join(text.itertext()) for text in node.iter() if local(text) == "Text"))


def _title_lines(root: Node) -> list[str]:
    return [
        _own_text(paragraph)
        for page in root
        if local(page) == "TitlePage"
        for content in page
        if local(content) == "Content"
        for paragraph in content
        if local(paragraph) == "Paragraph"
    ]
