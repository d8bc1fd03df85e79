"""The parts of a Word file that its words need, found by the package's relationships (ECMA-376 part 2).

Targets of relationships are looked up only in the archive.
"""

from __future__ import annotations

import posixpath

from bot.events import UserError
from bot.readers.archive import Archive
from bot.readers.docx.numbering import Numbering
from bot.readers.docx.styles import Styles
from bot.readers.docx.xml import Element, child, children, kind, number
from bot.readers.package import persons_title


class Parts:
    """A file's body, styles, lists and notes."""

    def __init__(self, name: str, data: bytes) -> None:
        """Raises UserError: "library.file_damaged" and what `Archive` raises."""
        self._archive = Archive(name, data)
        main = self._related("", "officeDocument") or "word/document.xml"
        root = self._archive.xml(main)
        body = child(root, "body")
        if kind(root) != "document" or body is None:
            raise UserError("library.file_damaged", name=name)
        self.body = body
        self.styles = Styles(self._part(self._related(main, "styles")))
        self.numbering = Numbering(self._part(self._related(main, "numbering")))
        self.notes = {
            (f"{note_kind}Reference", which): note
            for note_kind in ("footnote", "endnote")
            for note in children(self._part(self._related(main, f"{note_kind}s")), note_kind)
            if (which := number(note, "id")) is not None
        }
        """By the kind of element that refers to a note, and the note's id."""

    @property
    def pictures(self) -> bool:
        """Whether the file has any pictures."""
        return any("/media/" in name for name in self._archive.names)

    def title(self) -> str:
        """The title in the file's properties; "" if a program set it or it is empty."""
        root = self._part(self._related("", "core-properties") or "docProps/core.xml")
        words = child(root, "dc:title")
        return persons_title(words.text or "") if words is not None else ""

    def _part(self, name: str | None) -> Element | None:
        """The part; None for a missing or broken one, because the words are in the body."""
        if name is None or name not in self._archive:
            return None
        try:
            return self._archive.xml(name)
        except UserError as error:
            if error.key != "library.file_damaged":
                raise
            return None

    def _related(self, source: str, kind: str) -> str | None:
        """The name of the first member with this relationship to a part, or to the package ("")."""
        folder, base = posixpath.split(source)
        for element in children(
            self._part(posixpath.join(folder, "_rels", f"{base}.rels")), "rel:Relationship"
        ):
            if element.get("Type", "").rpartition("/")[2] != kind:
                continue
            member = posixpath.normpath(posixpath.join("/", folder, element.get("Target", ""))).lstrip("/")
            if member in self._archive:
                return member
        return None
