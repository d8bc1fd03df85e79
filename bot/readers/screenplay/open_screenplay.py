"""Open Screenplay Format (.osf, and Fade In's .fadein, a zip with one in it) into a screenplay.

Versions 1.2 to 4, following the header file and the sample documents of github.com/OpenScreenplayFormat/osf-sdk.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from bot.events import UserError
from bot.readers.archive import Archive, parsed
from bot.readers.document import Document, Progress, screenplay_document
from bot.readers.package import number
from bot.readers.screenplay.elements import (
    CREDIT,
    LEFT,
    RIGHT,
    SPOKEN,
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
    "lyrics": "lyric",
    "singing": "lyric",
    "transition": "transition",
    "shot": "shot",
    "act": "section",
    "act break": "section",
    "new act": "section",
    "end of act": "section",
}
"""Kinds by the name of a paragraph's style, else of its first base style in this table; any other is "general"."""
_KEYS: Final = {
    "title": "Title",
    "author": "Author",
    "copyright": "Copyright",
    "draft": "Draft date",
    "contact": "Contact",
}
"""Keys by the bookmark of a paragraph on the title page."""
_OLD_KEYS: Final = {
    "title": "Title",
    "written_by": "Author",
    "copyright": "Copyright",
    "drafts": "Draft date",
    "contact": "Contact",
}
"""Keys by the attribute of `info` in versions without a title page of their own."""
_MARKS: Final = (("underline", "_"), ("bold", "**"), ("italic", "*"))
_CAPITALS: Final = 1
"""The bit for capitals in a style's effects (SCRIPT_ATTR_EFFECT_CAPITALS in osfdefs.h)."""
_DEEPEST: Final = 20
"""The longest chain of base styles."""
_TAGGED_BEFORE: Final = 20
"""The first version with a run's formatting in its attributes; earlier ones have tags in its words."""
_TAG: Final = re.compile(
    r'<(/?)(b|i|u|strike|font|size|color|bgcolor|revision|link)(?:="[^"<>]{0,200}")?>', re.IGNORECASE
)


def read(name: str, data: bytes, progress: Progress) -> Document:
    """The script in `data`; blocking.

    Raises UserError: "library.file_damaged", "library.file_bomb", "library.file_locked", "library.file_declares".
    """
    zipped = PurePath(name).suffix.lower() == ".fadein"
    root = Archive(name, data).xml("document.xml") if zipped else parsed(name, data)
    if root.getroottree().docinfo.doctype:
        raise UserError("library.file_declares", name=name)
    if root.tag != "document" or not root.get("type", "").startswith("Open Screenplay Format"):
        raise UserError("library.file_damaged", name=name)
    tagged = 0 < number(root.get("version")) < _TAGGED_BEFORE
    styles = _Styles.of(root)
    elements = _with_dual(
        [
            element
            for paragraph in _paragraphs(root, "paragraphs")
            for element in _paragraph(paragraph, styles, tagged=tagged)
        ]
    )
    progress(1, 1)
    return screenplay_document(name, Screenplay(tuple(elements), _titles(root)))


@dataclass(frozen=True, slots=True)
class _Styles:
    """The styles. `below`: the base style of each style. `capitals`: whether a style is set in capitals,
    if it says so.
    """

    bases: dict[str, str]
    capitals: dict[str, bool]

    @classmethod
    def of(cls, root: Node) -> _Styles:
        below, capitals = {}, {}
        for style in root.iterfind("styles/style"):
            named = _named(style.get("name", ""))
            below[named] = _base(style)
            if "allcaps" in style.attrib or "effects" in style.attrib:
                capitals[named] = style.get("allcaps") == "1" or bool(
                    number(style.get("effects", "")) & _CAPITALS
                )
        return cls(below, capitals)

    def chain(self, named: str) -> Iterator[str]:
        """A style and its base styles."""
        for _ in range(_DEEPEST):
            if not named:
                return
            yield named
            named = self.bases.get(named, "")

    def kind(self, named: str) -> Kind:
        return next((_KINDS[style] for style in self.chain(named) if style in _KINDS), "general")

    def in_capitals(self, named: str) -> bool:
        return next((self.capitals[style] for style in self.chain(named) if style in self.capitals), False)


def _named(style: str) -> str:
    return " ".join(style.split()).casefold()


def _base(style: Node) -> str:
    return _named(style.get("basestyle") or style.get("basestylename") or "")


def _paragraphs(root: Node, part: str) -> Iterator[Node]:
    for content in root.iterfind(part):
        yield from content.iterfind("para")


def _paragraph(node: Node, styles: _Styles, *, tagged: bool) -> Iterator[Element]:
    """A paragraph's element, then its synopsis and note. A cue that begins a dual dialogue is LEFT."""
    style = node.find("style")
    look: Mapping[str, str] = dict(style.attrib) if style is not None else {}
    named = _base(style) if style is not None else ""
    kind: Kind = styles.kind(named)
    if look.get("align") == "center" and kind in ("action", "general"):
        kind = "centered"
    if look.get("pagebreakbefore") == "1":
        yield Element("page_break", "")
    texts = node.findall("text")
    words = lines("".join(_tagged(_text(text)) if tagged else _styled(text) for text in texts))
    if styles.in_capitals(named):
        words = words.upper()
    if kind in ("heading", "cue", "section", "parenthetical"):
        words = " ".join(words.split())
    if kind == "parenthetical" and words and not words.startswith("("):
        words = f"({words})"
    if words:
        yield Element(
            kind,
            words,
            number=" ".join((node.get("number") or node.get("scene_number") or "").split())
            if kind == "heading"
            else "",
            dual=LEFT if kind == "cue" and look.get("dualdialogue") == "1" else 0,
            level=1 if kind == "section" else 0,
            revision=max((number(text.get("revision", "")) for text in texts), default=0),
        )
    if synopsis := " ".join(node.get("synopsis", "").split()):
        yield Element("synopsis", synopsis)
    if note := lines(node.get("note", "")):
        yield Element("note", note)


def _text(node: Node) -> str:
    return "".join(map(str, node.itertext()))


def _styled(text: Node) -> str:
    return emphasised(literal(_text(text)), "".join(mark for look, mark in _MARKS if text.get(look) == "1"))


def _tagged(words: str) -> str:
    """The words of a run whose formatting is given by tags such as "<b>"."""
    parts, at, on = [], 0, {"b": False, "i": False, "u": False}

    def add(end: int) -> None:
        marks = "".join(mark for look, mark in _MARKS if on[look[0]])
        parts.append(emphasised(literal(words[at:end]), marks))

    for tag in _TAG.finditer(words):
        add(tag.start())
        at = tag.end()
        if (named := tag[2].lower()) in on:
            on[named] = not tag[1]
    add(len(words))
    return "".join(parts)


def _with_dual(elements: list[Element]) -> list[Element]:
    """The elements, with the cue after a LEFT one, and its words, on the right."""
    left = False
    for place, element in enumerate(elements):
        if element.kind == "cue":
            if left and not element.dual:
                elements[place] = Element("cue", element.text, dual=RIGHT, revision=element.revision)
            left = element.dual == LEFT
        elif element.kind not in SPOKEN and element.kind != "note":
            left = False
    return elements


def _titles(root: Node) -> tuple[tuple[str, str], ...]:
    """The title page's pairs, by its paragraphs' bookmarks, or by their order if it has none."""
    page = [
        (_KEYS.get(node.get("bookmark", "").casefold(), ""), _page_text(node))
        for node in _paragraphs(root, "titlepage")
    ]
    page = [(key, text) for key, text in page if text]
    if any(key == "Title" for key, _ in page):
        return tuple(
            (key or ("Credit" if CREDIT.fullmatch(text) else "Notes"), literal(text)) for key, text in page
        )
    if page:
        return title_page([text for _, text in page])
    info = root.find("info")
    if info is None:
        return ()
    fields = ((key, lines(info.get(attribute, ""))) for attribute, key in _OLD_KEYS.items())
    return tuple(
        (key, literal(text)) for key, text in fields if text and text not in ("Untitled", "Written by")
    )


def _page_text(node: Node) -> str:
    return lines("".join(map(_text, node.iterfind("text"))))
