"""Reads one paragraph of a Word document: its visible words and its attachments.

Deleted and hidden text, a field's code, a table of contents and a control's "click here" are left out; inserted text, a
field's result, controls and equations are read. Independent of paragraph styles and blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from bot.readers.docx.styles import Styles
from bot.readers.docx.xml import Element, child, kind, own_text, switch, value

THROUGH: Final = frozenset({"ins", "moveTo", "smartTag", "customXml", "sdtContent", "bdo", "dir"})
"""Elements that only describe their content."""
_SIGNS: Final = str.maketrans(
    dict.fromkeys((0xAD, 0x200B, 0x2060, 0xFEFF, *range(0xF000, 0xF100)), None)
    | {0xA0: " ", 0x202F: " ", 0x2011: "-"}
)
"""Soft hyphens and zero-width marks are removed, as are the pictures of symbol fonts (U+F000 to U+F0FF)."""
_BETWEEN: Final = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_MATH: Final = {"m:den": "/", "m:sup": "^", "m:sub": "_"}
_NESTED: Final = 100
"""The deepest nesting of fields; a deeper one does not count as a field."""
_LEFT_OUT: Final = ("TOC", "TOA", "INDEX")
"""Fields that list other parts of the document with page numbers, which a .docx does not have."""


@dataclass(slots=True)
class Line:
    """A paragraph's line. `notes` are its notes, `boxes` its text boxes, `pictures` the descriptions of its pictures,
    `anchors` the bookmarks in it, `targets` those that it points to.
    """

    parts: list[str] = field(default_factory=list)
    notes: list[tuple[str, int]] = field(default_factory=list)
    boxes: list[Element] = field(default_factory=list)
    pictures: list[str] = field(default_factory=list)
    anchors: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.parts)

    @property
    def within_a_word(self) -> bool:
        """Whether following letters would continue the last word."""
        return bool(self.parts) and self.parts[-1][-1:].isalnum()

    @property
    def size(self) -> int:
        """The number of text parts, boxes, pictures and notes so far."""
        return len(self.parts) + len(self.boxes) + len(self.pictures) + len(self.notes)


@dataclass(slots=True)
class _Field:
    code: str = ""
    coding: bool = True
    left_out: bool = False


class Fields:
    """The open fields; one may begin in a paragraph and end in another (17.16.18)."""

    def __init__(self, paired: bool) -> None:
        """Unless all fields that begin also end, none is left out, because it would remove the rest of the document."""
        self._paired = paired
        self._open: list[_Field] = []
        self.quiet = False

    def code(self, text: str) -> None:
        if self._open and self._open[-1].coding and len(self._open[-1].code) < 1000:
            self._open[-1].code += text

    def turn(self, turn_kind: str | None) -> str | None:
        """Begin a field, separate its code from its result, or end it. Returns the bookmark that its
        result points to.
        """
        target = None
        if turn_kind == "begin" and len(self._open) < _NESTED:
            self._open.append(_Field())
        elif turn_kind == "separate" and self._open:
            last = self._open[-1]
            last.coding = False
            name, target = pointed(last.code)
            last.left_out = self._paired and name in _LEFT_OUT
        elif turn_kind == "end" and self._open:
            self._open.pop()
        self._heed()
        return None if self.quiet else target

    def settle(self) -> None:
        """A paragraph ends, and with it any open code."""
        for open_field in self._open:
            open_field.coding = False
        self._heed()

    def _heed(self) -> None:
        self.quiet = any(field.coding or field.left_out for field in self._open)


def pointed(code: str) -> tuple[str, str | None]:
    """A field's name, and the bookmark that it points to."""
    words = code.split()
    name = words[0].upper() if words else ""
    if name == "REF" and len(words) > 1:
        return name, words[1].strip('"')
    if name == "HYPERLINK" and "\\l" in words[:-1]:
        return name, words[words.index("\\l") + 1].strip('"')
    return name, None


class Reader:
    """Reads lines, one after another."""

    def __init__(self, styles: Styles, fields: Fields) -> None:
        self._styles = styles
        self.fields = fields

    def line(self, paragraph: Element, line_read: Line) -> Line:
        """`line_read`, continued by the words of the paragraph."""
        self._all(paragraph, line_read)
        self.fields.settle()
        return line_read

    def _all(self, element: Element, line: Line) -> None:
        for part in element:
            name = kind(part)
            if name == "r":
                self._run(part, line)
            elif name in THROUGH or (name == "sdt" and not prompting(part)):
                self._all(part if name != "sdt" else sdt_content(part), line)
            elif name == "hyperlink":
                self._point(value(part, "anchor"), line)
                self._all(part, line)
            elif name == "fldSimple":
                field_name, target = pointed(value(part, "instr") or "")
                if field_name not in _LEFT_OUT:
                    self._point(target, line)
                    self._all(part, line)
            elif name == "bookmarkStart":
                line.anchors.append(value(part, "name") or "")
            elif name == "mc:AlternateContent":
                self._alternative(part, line, self._all)
            elif name in ("m:oMath", "m:oMathPara"):
                self._say(_equation(part), line)

    def _run(self, run: Element, line: Line) -> None:
        hidden = raised = False
        for part in run:
            name = kind(part)
            if name == "rPr":
                hidden = self._hidden(part)
                raised = value(child(part, "vertAlign")) == "superscript"
            elif name == "t":
                if not hidden:
                    text = own_text(part).translate(_SIGNS)
                    power = raised and text[:1].isdigit() and line.within_a_word
                    self._say(f"^{text}" if power else text, line)
            elif name == "fldChar":
                self._point(self.fields.turn(value(part, "fldCharType")), line)
            elif name == "instrText":
                self.fields.code(own_text(part))
            elif hidden or self.fields.quiet:
                continue
            elif name in _BETWEEN:
                line.parts.append(_BETWEEN[name])
            elif name in ("footnoteReference", "endnoteReference"):
                note_id = value(part, "id") or ""
                if note_id.isascii() and note_id.isdigit() and len(note_id) <= 6:
                    line.notes.append((name, int(note_id)))
            elif name in ("drawing", "pict", "object"):
                self._drawn(part, line)
            elif name == "mc:AlternateContent":
                self._alternative(part, line, self._run)
            elif name == "ruby":
                self._all(base, line) if (base := child(part, "rubyBase")) is not None else None
            elif name == "sym":
                code = value(part, "char") or ""
                if len(code) == 4 and all(digit in "0123456789abcdefABCDEF" for digit in code):
                    line.parts.append(chr(int(code, 16)).translate(_SIGNS))

    def _alternative(self, element: Element, line: Line, read: Callable[[Element, Line], None]) -> None:
        """Read one of two alternatives for newer and older programs: the newer, or the older if the newer
        has no text.
        """
        for part in element:
            if kind(part) in ("mc:Choice", "mc:Fallback"):
                before = line.size
                read(part, line)
                if line.size > before:
                    return

    def _drawn(self, element: Element, line: Line) -> None:
        """Read text boxes and the descriptions of pictures, in order. The content of a box is read later."""
        for part in element:
            name = kind(part)
            if name == "txbxContent":
                line.boxes.append(part)
            elif name == "mc:AlternateContent":
                self._alternative(part, line, self._drawn)
            else:
                if words := _described(part, name):
                    line.pictures.append(words)
                self._drawn(part, line)

    def _hidden(self, properties: Element) -> bool:
        off = switch(child(properties, "vanish"))
        if off is None and (style := value(child(properties, "rStyle"))):
            return self._styles.of(style).hidden
        return bool(off)

    def _say(self, text: str, line: Line) -> None:
        if text and not self.fields.quiet:
            line.parts.append(text)

    def _point(self, target: str | None, line: Line) -> None:
        if target and not self.fields.quiet:
            line.targets.append(target)


def prompting(control: Element) -> bool:
    """Whether a content control shows only a placeholder, or is a table of contents."""
    properties = child(control, "sdtPr")
    gallery = value(child(child(properties, "docPartObj"), "docPartGallery")) or ""
    return bool(switch(child(properties, "showingPlcHdr"))) or gallery.lower() == "table of contents"


def sdt_content(control: Element) -> Element:
    """The element with a content control's content; the control itself if it has none."""
    content = child(control, "sdtContent")
    return control if content is None else content


def _described(element: Element, name: str) -> str:
    """A picture's description, as its author wrote it."""
    if name == "wp:docPr":
        decorative = any(
            inner.get("val") in ("1", "true") for inner in element.iter() if kind(inner) == "adec:decorative"
        )
        words = "" if decorative or element.get("hidden") in ("1", "true") else element.get("descr", "")
    elif name == "v:shape":
        words = element.get("alt", "")
    elif name == "v:textpath":
        words = element.get("string", "")
    else:
        return ""
    words = " ".join(words.replace("Description automatically generated", "").split())
    return words if " " in words or "." not in words else ""  # a file name describes nothing


def _equation(element: Element) -> str:
    """An equation on one line: its characters in order, with signs between fractions and indices."""
    parts: list[str] = []
    for inner in element.iter():
        name = kind(inner)
        if name in _MATH:
            parts.append(_MATH[name])
        elif name == "m:t":
            parts.append(own_text(inner))
    return "".join(parts).translate(_SIGNS)
