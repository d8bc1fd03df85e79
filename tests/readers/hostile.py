"""Makes Word files, EPUBs and web pages with one fault each, and mutations of any file."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

from tests.readers.hostile_pdfs import STORY
from tests.readers.hostile_zips import LAUGHS, OUTSIDE, SECRET, packed, unpacked

_SECRET = SECRET.as_uri().encode()

# Word (ISO/IEC 29500-1)

W = b'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_TYPES = (
    b'<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    b'<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    b'<Default Extension="xml" ContentType="application/xml"/>'
    b'<Override PartName="/word/document.xml" ContentType='
    b'"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
_RELS = (
    b'<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    b'<Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/'
    b'officeDocument" Target="word/document.xml"/></Relationships>'
)


def paragraph(text: str = STORY) -> bytes:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>".encode()


def docx(body: bytes, before: bytes = b"", **parts: bytes) -> bytes:
    """A document with this body; `before` is put between the declaration and the root."""
    return packed(
        {
            "[Content_Types].xml": _TYPES,
            "_rels/.rels": _RELS,
            "word/document.xml": b'<?xml version="1.0"?>%s<w:document %s><w:body>%s</w:body></w:document>'
            % (before, W, body),
            **{
                name.replace("__", "/").replace("_xml", ".xml").replace("_bin", ".bin"): part
                for name, part in parts.items()
            },
        }
    )


def odd_docxs() -> dict[str, bytes]:
    cell = b"<w:tbl><w:tr><w:tc>%s</w:tc></w:tr></w:tbl>"
    nested = paragraph()
    for _ in range(40):
        nested = cell % (nested + paragraph())
    spans = (
        b"<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val='100000000'/></w:tcPr>%s</w:tc></w:tr>"
        b"<w:tr><w:tc><w:p/></w:tc><w:tc><w:p/></w:tc></w:tr></w:tbl>"
    )
    numbered = (
        b"<w:p><w:pPr><w:numPr><w:ilvl w:val='%b'/><w:numId w:val='7'/></w:numPr></w:pPr>"
        b"<w:r><w:t>words</w:t></w:r></w:p>"
    )
    return {
        "outside": docx(b"<w:p><w:r><w:t>a&e;b</w:t></w:r></w:p>" + paragraph(), OUTSIDE),
        "laughs": docx(b"<w:p><w:r><w:t>&a9;</w:t></w:r></w:p>", LAUGHS),
        "macros": docx(paragraph(), word__vbaProject_bin=b"Sub AutoOpen()"),
        "tables in tables": docx(nested),
        "too deep": docx(b"<w:sdt>" * 5_000 + b"</w:sdt>" * 5_000),
        "a cell over 100,000,000 columns": docx(spans % paragraph() + paragraph()),
        "2,000 cells over 1,000 columns": docx(
            b"<w:tbl>%s</w:tbl>"
            % (b"<w:tr><w:tc><w:tcPr><w:gridSpan w:val='1000'/></w:tcPr><w:p/></w:tc></w:tr>" * 2_000)
            + paragraph()
        ),
        "lists at depths that are none": docx(
            b"".join(numbered % level for level in (b"-1", b"999999999", b"x", b"")) + paragraph()
        ),
        "no body": docx(b"").replace(b"w:body", b"w:bodi"),
        "not a document": packed({"[Content_Types].xml": _TYPES, "_rels/.rels": _RELS, "word/document.xml": b"<a/>"}),
        "no document": packed({"[Content_Types].xml": _TYPES, "_rels/.rels": _RELS, "word/other.xml": b"<a/>"}),
        "a document elsewhere": packed({
            "[Content_Types].xml": _TYPES,
            "_rels/.rels": _RELS.replace(b'"word/document.xml"', b'"%s" TargetMode="External"' % _SECRET),
            "word/document.xml": b"<a/>",
        }),
        "styles in a circle": docx(
            b'<w:p><w:pPr><w:pStyle w:val="A"/></w:pPr><w:r><w:t>words</w:t></w:r></w:p>' + paragraph(),
            word__styles_xml=b'<w:styles %s><w:style w:styleId="A"><w:basedOn w:val="B"/></w:style>'
            b'<w:style w:styleId="B"><w:basedOn w:val="A"/></w:style></w:styles>' % W,
        ),
    }  # fmt: skip


# EPUB (3.3)

_CONTAINER = (
    b'<?xml version="1.0"?>%s<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
    b'<rootfiles><rootfile full-path="%s" media-type="application/oebps-package+xml"/></rootfiles></container>'
)
_OPF = (
    b'<?xml version="1.0"?>%s<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata '
    b'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Lanterns</dc:title><dc:language>en</dc:language>'
    b"</metadata><manifest>%s</manifest><spine>%s</spine></package>"
)
CHAPTER = b'<html xmlns="http://www.w3.org/1999/xhtml"><body><h1>The ferry</h1><p>%s</p></body></html>'
_ITEM = b'<item id="c" href="c.xhtml" media-type="application/xhtml+xml"/>'
_REF = b'<itemref idref="c"/>'


def epub(
    chapter: bytes = CHAPTER % STORY.encode(),
    *,
    container: bytes = b"",
    before: bytes = b"",
    path: bytes = b"O/c.opf",
    manifest: bytes = _ITEM,
    spine: bytes = _REF,
    more: Mapping[str, bytes] | None = None,
) -> bytes:
    return packed(
        {
            "mimetype": b"application/epub+zip",
            "META-INF/container.xml": _CONTAINER % (container, path),
            "O/c.opf": _OPF % (before, manifest, spine),
            "O/c.xhtml": chapter,
            **(more or {}),
        }
    )


def odd_epubs() -> dict[str, bytes]:
    nav = b'<item id="n" href="n.xhtml" properties="nav" media-type="application/xhtml+xml"/>'
    deep = b"<li><a href='c.xhtml'>x</a><ol>" * 3_000
    return {
        "outside in the container": epub(container=OUTSIDE),
        "outside in the package": epub(before=OUTSIDE, manifest=_ITEM + b"&e;"),
        "outside in a chapter": epub(OUTSIDE + CHAPTER % (b"a&e;b " + STORY.encode())),
        "laughs in the container": epub(container=LAUGHS.replace(b"<!DOCTYPE l", b"<!DOCTYPE container"), path=b"&a9;"),
        "laughs in the package": epub(before=LAUGHS, manifest=b"&a9;"),
        "laughs in a chapter": epub(LAUGHS + CHAPTER % b"&a9;"),
        "a package outside": epub(path=b"../" * 20 + _SECRET[8:]),
        "a chapter outside": epub(manifest=_ITEM.replace(b"c.xhtml", b"../" * 20 + _SECRET[8:])),
        "a chapter of the machine's": epub(manifest=_ITEM.replace(b"c.xhtml", _SECRET)),
        "a chapter of the web's": epub(manifest=_ITEM.replace(b"c.xhtml", b"http://127.0.0.1:9/c.xhtml")),
        "one chapter 50,000 times": epub(CHAPTER % (STORY.encode() * 100), spine=_REF * 50_000),
        "no spine": epub(spine=b""),
        "a chapter that is missing": epub(manifest=_ITEM.replace(b"c.xhtml", b"d.xhtml")),
        "contents 3,000 deep": epub(
            manifest=_ITEM + nav,
            more={"O/n.xhtml": b'<html xmlns:epub="e"><nav epub:type="toc"><ol>%s</ol></nav></html>' % deep},
        ),
        "a locked chapter": epub(more={
            "META-INF/encryption.xml": b'<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container" '
            b'xmlns:e="http://www.w3.org/2001/04/xmlenc#"><e:EncryptedData><e:EncryptionMethod '
            b'Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/><e:CipherData><e:CipherReference '
            b'URI="O/c.xhtml"/></e:CipherData></e:EncryptedData></encryption>',
        }),
    }  # fmt: skip


# HTML


def odd_htmls() -> dict[str, bytes]:
    told = f"<p>{STORY}</p>".encode()
    return {
        "20,000 deep": b"<div>" * 20_000 + told,
        "inline 20,000 deep": b"<p>" + b"<b><i>" * 10_000 + STORY.encode(),
        "lists 2,000 deep": b"<ul><li>x" * 2_000 + told,
        "tables 2,000 deep": b"<table><tr><td>x" * 2_000 + told,
        "quotes 5,000 deep": b"<blockquote>x" * 5_000 + told,
        "a cell over a billion columns": b"<table><tr><td colspan=1000000000 rowspan=1000000000>x</table>" + told,
        "2,000 cells over 1,000 columns and rows": b"<table>"
        + b"<tr><td colspan=1000 rowspan=65534>x" * 2_000
        + b"</table>"
        + told,
        "a list from beyond": b"<ol start=" + b"9" * 5_000 + b"><li>x</ol>" + told,
        "20,000 attributes": b"<p " + b" ".join(b"a%d=1" % n for n in range(20_000)) + b">" + told,
        "a heading of 250,000 letters": b"<h1>" + b"word " * 50_000 + b"</h1>" + b"<h2>below</h2>" * 2_000 + told,
        "headings of a level that is none": b"<p role=heading aria-level=-9999999999>x</p>" + told,
        "a circle of references": b'<p id=a><a href="#b">b</a><p id=b><a href="#a">a</a>' + told,
        "one line": b"<p>" + b"word " * 100_000,
        "only tags": b"<" * 100_000 + told,
        "only ampersands": b"&" * 500_000 + told,
        "entities of nothing": b"&#0;&#xD800;&#x110000;&#99999999999999;&nothing;" + told,
        "a comment without an end": told + b"<!--" * 100_000,
        "laughs in a page": LAUGHS.replace(b"<!DOCTYPE l", b"<!DOCTYPE html") + b"<p>&a9;</p>" + told,
        "outside": OUTSIDE.replace(b"<!DOCTYPE x", b"<!DOCTYPE html") + b"<p>&e;</p>" + told,
        "a nul in the middle": told + b"\x00" + told,
        **{
            f"letters by {codec}": f'<html><meta charset="{codec}">'.encode() + told
            for codec in ("zlib", "idna", "punycode", "undefined", "unicode_escape", "utf-7", "utf-16", "x" * 500)
        },
        "long and by idna": b'<html><meta charset="idna"><p>' + b"a" * 200_000,
        "long and by punycode": b'<html><meta charset="punycode"><p>' + b"a" * 200_000 + b"-" + b"b" * 200_000,
    }  # fmt: skip


def swelling(suffix: str) -> bytes:
    """A file within every limit of archives that becomes many times as large when a parser builds elements."""
    ballast = {"ballast": random.Random(1).randbytes(400_000)}
    if suffix == ".docx":
        return packed(unpacked(docx(b"<w:p/>" * 10_000_000)) | ballast)
    if suffix == ".epub":
        return epub(CHAPTER % (b"<b>x</b>" * 7_500_000), more=ballast)
    return b"<b>x</b>" * 2_500_000


def mutations(data: bytes, count: int, seed: int) -> Iterator[bytes]:
    """The file with some bytes changed, doubled, cut out or put elsewhere, `count` times; of a zip, every other time
    a member's bytes, so that its sums are right and what is wrong is found only when the member is read."""
    chance = random.Random(seed)
    members = unpacked(data)
    names = sorted(members, key=lambda name: (len(members[name]), name))[-6:]
    for n in range(count):
        if members and n % 2:
            name = chance.choice(names)
            yield packed({**members, name: _mutated(members[name], chance)})
        else:
            yield _mutated(data, chance)


def _mutated(data: bytes, chance: random.Random) -> bytes:
    made = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 5, 30))):
        at = chance.randrange(len(made) + 1)
        length = chance.choice((1, 1, 4, 40, 400))
        match chance.randrange(5):
            case 0:
                made[at : at + 1] = bytes(one ^ 1 << chance.randrange(8) for one in made[at : at + 1])
            case 1:
                made[at : at + length] = chance.randbytes(length)
            case 2:
                del made[at : at + length]
            case 3:
                made[at:at] = made[at : at + length]
            case _:
                made[at : at + length] = chance.choice((b"\xff", b"\x00", b"9")) * length
    return bytes(made)


def cuts(data: bytes, count: int, seed: int) -> Iterator[bytes]:
    """The file cut off at `count` places."""
    chance = random.Random(seed)
    for _ in range(count):
        yield data[: chance.randrange(1, len(data))]
