"""Makes Word files by hand, part by part, because no library here can write them."""

from __future__ import annotations

import io
import zipfile

from docx.document import Document as Made

from bot.readers.document import Document
from bot.readers.docx.reader import read

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
SPACES = (
    f'xmlns:w="{W}" xmlns:r="{OFFICE}"'
    ' xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    ' xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"'
    ' xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"'
    ' xmlns:v="urn:schemas-microsoft-com:vml"'
    ' xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
)
STYLES = "".join(
    f'<w:style w:type="paragraph" w:styleId="H{level}"><w:name w:val="heading {level}"/></w:style>'
    for level in range(1, 7)
)


def word(body: str, **parts: str | bytes) -> bytes:
    """A file with that body. `parts` by their names: "styles", "numbering", "footnotes", "endnotes" are elements
    in the part's root; "core" is the content of the properties; others are whole members, "__" for a slash."""
    members: dict[str, str | bytes] = {
        "_rels/.rels": _relations(
            ("officeDocument", "word/document.xml"), ("metadata/core-properties", "docProps/core.xml")
        ),
        "word/document.xml": f"<w:document {SPACES}><w:body>{body}</w:body></w:document>",
    }
    related = [name for name in ("styles", "numbering", "footnotes", "endnotes") if name in parts]
    members["word/_rels/document.xml.rels"] = _relations(*((name, f"{name}.xml") for name in related))
    for name, inside in parts.items():
        if name in related:
            members[f"word/{name}.xml"] = f"<w:{name} {SPACES}>{inside!s}</w:{name}>"
        elif name == "core":
            members["docProps/core.xml"] = (
                '<cp:coreProperties xmlns:cp="urn:core" xmlns:dc="http://purl.org/dc/elements/1.1/">'
                f"{inside!s}</cp:coreProperties>"
            )
        else:
            members[name.replace("__", "/")] = inside
    return packed(members)


def packed(members: dict[str, str | bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, inside in members.items():
            archive.writestr(name, inside)
    return file.getvalue()


def _relations(*related: tuple[str, str]) -> str:
    rows = "".join(
        f'<Relationship Id="r{at}" Type="{OFFICE}/{kind}" Target="{target}"/>'
        for at, (kind, target) in enumerate(related)
    )
    space = "http://schemas.openxmlformats.org/package/2006/relationships"
    return f'<Relationships xmlns="{space}">{rows}</Relationships>'


def book(body: str, **parts: str | bytes) -> Document:
    return read("book.docx", word(body, **parts), lambda done, total: None)


def said(body: str, **parts: str | bytes) -> str:
    return book(body, **parts).text


def p(text: str, style: str = "", properties: str = "") -> str:
    """A paragraph of one run."""
    return inside(r(text), style, properties)


def inside(content: str, style: str = "", properties: str = "") -> str:
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{named}{properties}</w:pPr>{content}</w:p>"


def r(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def numbered(which: int, level: int = 0) -> str:
    return f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{which}"/></w:numPr>'


def turn(kind: str) -> str:
    return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'


def code(text: str) -> str:
    return f"<w:r><w:instrText>{text}</w:instrText></w:r>"


def table(*rows: str) -> str:
    return f"<w:tbl>{''.join(rows)}</w:tbl>"


def tr(*cells: str, properties: str = "") -> str:
    made = "".join(cell if cell.startswith("<w:tc>") else tc(p(cell)) for cell in cells)
    return f"<w:tr><w:trPr>{properties}</w:trPr>{made}</w:tr>"


def tc(content: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{content}</w:tc>"


def opened(data: bytes, name: str = "a book.docx") -> Document:
    return read(name, data, lambda done, total: None)


def saved(document: Made) -> bytes:
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def headings(document: Document) -> list[tuple[int, str]]:
    return [(section.level, section.title) for section in document.sections if section.title]


def style(name: str, inherits: str = "", level: int | None = None, name_of: str = "") -> str:
    based = f'<w:basedOn w:val="{inherits}"/>' if inherits else ""
    outline = "" if level is None else f'<w:pPr><w:outlineLvl w:val="{level}"/></w:pPr>'
    named = f'<w:name w:val="{name_of or name}"/>'
    return f'<w:style w:type="paragraph" w:styleId="{name}">{named}{based}{outline}</w:style>'


def level(at: int, form: str, pattern: str, more: str = "") -> str:
    counted = f'<w:start w:val="1"/><w:numFmt w:val="{form}"/>{more}<w:lvlText w:val="{pattern}"/>'
    return f'<w:lvl w:ilvl="{at}">{counted}</w:lvl>'


def lists(*levels: str, nums: str = "") -> str:
    return (
        f'<w:abstractNum w:abstractNumId="0">{"".join(levels)}</w:abstractNum>'
        f'<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>{nums}'
    )
