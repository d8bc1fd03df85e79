"""A zip archive (Word, EPUB) and XML, read in memory and within limits; no member is ever written to disk.

Independent of document formats.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from typing import TYPE_CHECKING, Final

from bot.events import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import XMLSyntaxError
    from lxml.etree import _Element as Element

MEMBERS: Final = 10_000
UNPACKED_BYTES: Final = 200_000_000
"""The most bytes of all members together, as declared and as read. A 20 MB file of text alone unpacks to about half of
that.
"""
MEMBER_BYTES: Final = 64_000_000
RATIO: Final = 200
"""The largest ratio of unpacked to packed size beyond `SMALL_BYTES`. Text is packed to a tenth, Word's XML to a
thirtieth; deflate can reach 1032 (RFC 1951's longest match), but only with meaningless data.
"""
SMALL_BYTES: Final = 10_000_000

_ENTRY: Final = b"PK\x01\x02"
"""The beginning of a member's row in the directory (PKWARE's APPNOTE, 4.3.12)."""
_ENCRYPTED: Final = 0x1
"""Bit 0 of a member's flags (4.4.4): it is encrypted."""
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""The only methods that Office Open XML (ISO/IEC 29500-2, annex C) and EPUB (OCF, 4.2) allow; with others `zipfile` may
unpack more than requested.
"""
_FAULTS: Final = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    struct.error,
    EOFError,
    KeyError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
)


class Archive:
    """A file's members by name. No member yields more bytes than the archive's directory says."""

    def __init__(self, name: str, data: bytes) -> None:
        """Raises UserError: "library.file_damaged", "library.file_locked", "library.file_bomb"."""
        self._name = name
        # Checked before `zipfile` makes an object of each.
        if data.count(_ENTRY) > MEMBERS:
            raise UserError("library.file_bomb", name=name)
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except _FAULTS as fault:
            raise UserError("library.file_damaged", name=name) from fault
        members = self._zip.infolist()
        if any(member.flag_bits & _ENCRYPTED for member in members):
            raise UserError("library.file_locked", name=name)
        unpacked = sum(member.file_size for member in members)
        if unpacked > min(UNPACKED_BYTES, max(SMALL_BYTES, RATIO * len(data))):
            raise UserError("library.file_bomb", name=name)
        self._members = {member.filename: member for member in members}
        self._bytes_left = UNPACKED_BYTES

    def __contains__(self, member: str) -> bool:
        return member in self._members

    @property
    def names(self) -> list[str]:
        """All member names, in the order of the archive's directory."""
        return list(self._members)

    def read(self, member: str) -> bytes:
        """A member's bytes. Raises UserError, "library.file_damaged" also if there is no such member."""
        try:
            info = self._members[member]
            # Members may overlap, and a document may name one of them often.
            self._bytes_left -= info.file_size
            if info.file_size > MEMBER_BYTES or self._bytes_left < 0:
                raise UserError("library.file_bomb", name=self._name)
            if info.compress_type not in _METHODS:
                raise NotImplementedError("no method of a document's")
            with self._zip.open(info) as file:
                # With a size, because without one `zipfile` unpacks everything before it checks the size.
                return file.read(info.file_size + 1)
        except _FAULTS as fault:
            raise UserError("library.file_damaged", name=self._name) from fault

    def xml(self, member: str) -> Element:
        """A member's root element; entities stay unresolved, and nothing external is loaded. Raises UserError."""
        return parsed(self._name, self.read(member))

    def elements(self, member: str, *names: str) -> Iterator[Element]:
        """A large member's elements with these names, one by one; each is freed once the next is requested.

        Raises UserError as `xml` does.
        """
        from lxml import etree

        source = io.BytesIO(self.read(member))
        tags = [f"{{*}}{name}" for name in names]
        try:
            for _, element in etree.iterparse(source, tag=tags, resolve_entities=False, no_network=True):
                yield element
                element.clear()
                parent = element.getparent()
                while parent is not None and (before := element.getprevious()) is not None:
                    parent.remove(before)
        except etree.XMLSyntaxError as fault:
            raise _fault(self._name, fault) from fault


def parsed(name: str, data: bytes) -> Element:
    """The root element of the XML in `data`; entities stay unresolved, and nothing external is loaded.

    Raises UserError: "library.file_bomb", "library.file_damaged".
    """
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as fault:
        raise _fault(name, fault) from fault


def _fault(name: str, fault: XMLSyntaxError) -> Exception:
    from lxml import etree

    if fault.code == etree.ErrorTypes.ERR_NO_MEMORY:
        return MemoryError()
    # Nested entities, or elements nested 256 deep.
    limit = fault.code in (etree.ErrorTypes.ERR_RESOURCE_LIMIT, etree.ErrorTypes.ERR_ENTITY_LOOP)
    return UserError(f"library.file_{'bomb' if limit else 'damaged'}", name=name)
