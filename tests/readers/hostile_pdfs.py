"""Makes PDFs (ISO 32000-1) by hand: a correct one, and others that contain cycles, lie, or nest too deeply."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from textwrap import wrap


def pdf(objects: Sequence[bytes], trailer: bytes = b"") -> bytes:
    """Objects 1, 2, … with a table of where they are; object 1 is the catalogue."""
    made = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
    starts = []
    for number, one in enumerate(objects, 1):
        starts.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    table = len(made)
    made += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    made += b"".join(b"%010d 00000 n \n" % start for start in starts)
    made += b"trailer\n<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1,
        trailer,
        table,
    )
    return bytes(made)


CATALOGUE = b"<</Type/Catalog/Pages 2 0 R>>"
FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"


def stream(data: bytes, entries: bytes = b"") -> bytes:
    return b"<</Length %d%s>>\nstream\n%s\nendstream" % (len(data), entries, data)


def words(text: str, size: int = 12) -> bytes:
    """The contents of a page that shows a text, 80 letters a line."""
    shown = " ".join(f"({line}) Tj T*" for line in wrap(text, 80))
    return f"BT /F 1 Tf {size} 0 0 {size} 40 780 Tm 1.2 TL {shown} ET".encode("cp1252")


def page(contents: int, font: int = 4, parent: int = 2) -> bytes:
    return (
        b"<</Type/Page/Parent %d 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F %d 0 R>>>>/Contents %d 0 R>>"
        % (parent, font, contents)
    )


STORY = "The keeper of the lighthouse counts the lanterns each night before the ferry leaves."


def honest_pdf(text: str = STORY) -> bytes:
    return pdf([
        CATALOGUE, b"<</Type/Pages/Kids[3 0 R]/Count 1>>", page(5), FONT, stream(words(text)),
    ])  # fmt: skip


def pdf_of(contents: bytes, entries: bytes = b"") -> bytes:
    """A PDF with one page with these bytes as contents, compressed as `entries` say."""
    return pdf([
        CATALOGUE, b"<</Type/Pages/Kids[3 0 R]/Count 1>>", page(5), FONT, stream(contents, entries),
    ])  # fmt: skip


def pdf_of_pages(count: int) -> bytes:
    """A PDF that shows one page `count` times."""
    pages = b"".join(b"%d 0 R " % (5 + n) for n in range(count))
    return pdf([
        CATALOGUE, b"<</Type/Pages/Kids[%s]/Count %d>>" % (pages, count), FONT, stream(words(STORY)),
        *[page(4, 3)] * count,
    ])  # fmt: skip


def scanned_pdf() -> bytes:
    """A PDF with a page that is a picture of 8 by 8 dots."""
    picture = stream(
        bytes(64), b"/Type/XObject/Subtype/Image/Width 8/Height 8/ColorSpace/DeviceGray/BitsPerComponent 8"
    )
    return pdf([
        CATALOGUE, b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</XObject<</P 4 0 R>>>>/Contents 5 0 R>>",
        picture, stream(b"595 0 0 842 0 0 cm /P Do"),
    ])  # fmt: skip


def deflated(size: int, times: int = 1) -> tuple[bytes, bytes]:
    """`size` blanks compressed `times` times, and the entries that declare it."""
    packing = zlib.compressobj(9)
    head = packing.compress(b" " * 1_000_000) + packing.flush(zlib.Z_FULL_FLUSH)
    # After a full flush a block refers to nothing before it, so it may be said again and again (RFC 1951).
    block = packing.compress(b" " * 1_000_000) + packing.flush(zlib.Z_FULL_FLUSH)
    data = head + block * (size // 1_000_000 - 1) + packing.flush()
    for _ in range(times - 1):
        data = zlib.compress(data, 9)
    return data, b"/Filter[%s]" % (b"/FlateDecode" * times)


def _before_itself() -> bytes:
    data = honest_pdf()
    return data.replace(b"/Root 1 0 R", b"/Root 1 0 R/Prev %d" % data.rfind(b"xref\n0 "))


def odd_pdfs() -> dict[str, bytes]:
    """Structures that contain cycles, lie, or nest too deeply."""
    leaf = [page(5), FONT, stream(words(STORY))]
    action = b"/Dest[3 0 R/Fit]"
    deep = [b"<</Type/Pages/Kids[%d 0 R]/Count 1>>" % (7 + n) for n in range(5_000)]
    return {
        "pages in a circle": pdf([CATALOGUE, b"<</Type/Pages/Kids[2 0 R 3 0 R]/Count 2>>", *leaf]),
        "pages of themselves": pdf([
            CATALOGUE, b"<</Type/Pages/Kids[6 0 R]/Count 3>>", *leaf,
            b"<</Type/Pages/Kids[2 0 R 6 0 R 3 0 R]/Count 3/Parent 2 0 R>>",
        ]),
        "a million pages by its word": pdf([CATALOGUE, b"<</Type/Pages/Kids[3 0 R]/Count 1000000>>", *leaf]),
        "fewer than no pages": pdf([CATALOGUE, b"<</Type/Pages/Kids[3 0 R]/Count -5>>", *leaf]),
        "pages 5,000 deep": pdf([CATALOGUE, b"<</Type/Pages/Kids[6 0 R]/Count 1>>", *leaf, *deep]),
        "an outline in a circle": pdf([
            b"<</Type/Catalog/Pages 2 0 R/Outlines 6 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>", *leaf,
            b"<</First 7 0 R/Last 7 0 R/Count 1>>",
            b"<</Title(One)/Parent 6 0 R/Next 8 0 R/First 8 0 R%s>>" % action,
            b"<</Title(Two)/Parent 6 0 R/Next 7 0 R/First 7 0 R%s>>" % action,
        ]),
        "an outline 3,000 deep": pdf([
            b"<</Type/Catalog/Pages 2 0 R/Outlines 6 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>", *leaf,
            b"<</First 7 0 R/Last 7 0 R/Count 1>>",
            *[b"<</Title(Deeper)/Parent %d 0 R/First %d 0 R%s>>" % (6 + n, 8 + n, action) for n in range(3_000)],
        ]),
        "a form of itself": pdf([
            CATALOGUE, b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</XObject<</P 4 0 R>>>>/Contents 5 0 R>>",
            stream(b"/P Do", b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</P 4 0 R>>>>"),
            stream(b"/P Do"),
        ]),
        "arrays 100,000 deep": pdf_of(words(STORY) + b"[" * 100_000),
        "a table that comes before itself": _before_itself(),
        "a page without bounds": pdf([
            CATALOGUE, b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
            page(5).replace(b"595 842", b"1e30 -1e30"), FONT, stream(words(STORY)),
        ]),
        "letters of no size": pdf_of(words(STORY, 0)),
        "letters that are nowhere": pdf_of(b"BT /F 1e30 Tf 1e30 0 0 1e30 -1e30 nan Tm (words) Tj ET"),
        "no page": pdf([CATALOGUE, b"<</Type/Pages/Kids[]/Count 0>>"]),
        "no catalogue": pdf([b"<<>>"]),
        "nothing behind its mark": b"%PDF-1.7\n",
        "a stream longer than the file": honest_pdf().replace(b"/Length ", b"/Length 99999"),
    }  # fmt: skip
