"""The parts of an Office file (ECMA-376 part 2) by their relationships, and its XML by names without namespaces.

Independent of document formats.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from lxml.etree import _Element

from bot.events import UserError

if TYPE_CHECKING:
    from bot.readers.archive import Archive

Element = _Element

_NO_TITLE: Final = re.compile(
    r"(?:|(?:microsoft )?word document|(?:new |blank )?document|documento(?: do word)?|template|normal|title|título"
    r"|(?:untitled|sem t[ií]tulo)(?: document| documento)?|(?:microsoft )?powerpoint[ -]\w+"
    r"|apresentação do (?:microsoft )?powerpoint|présentation powerpoint|slide|folie) ?[\d-]*"
    r"|microsoft (?:office )?word - .*|.*\.(?:do[ct][xm]?|od[tps]|rtf|pp[ts][xm]?|xls[xm]?)",
    re.IGNORECASE,
)
"""Titles that programs and templates set, not people."""
_MOST_TITLE: Final = 200


class Related(NamedTuple):
    """The last word of a relationship's type, and the member that it points to."""

    kind: str
    member: str


def local(element: Element) -> str:
    """An element's name without its namespace; "" for comments and entities."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def attribute(element: Element, name: str) -> str:
    """An attribute by its name, in any namespace; those with a namespace come first."""
    without_namespace = element.get(name, "")
    return next(
        (str(value) for key, value in element.items() if str(key).endswith("}" + name)), without_namespace
    )


def child(element: Element | None, *names: str) -> Element | None:
    """The first child of the first name, the first of the next name in that, and so on."""
    for name in names:
        if element is None:
            return None
        element = next((inner for inner in element if local(inner) == name), None)
    return element


def children(element: Element | None, *names: str) -> list[Element]:
    """The children of the element that `child` finds."""
    element_found = child(element, *names)
    return [] if element_found is None else list(element_found)


def within(element: Element | None, name: str) -> Iterator[Element]:
    """All elements with that name, at any depth."""
    return (inner for inner in element.iter() if local(inner) == name) if element is not None else iter(())


def number(text: str | None, otherwise: int = 0) -> int:
    """A whole number of at most nine digits."""
    plain = (text or "").removeprefix("-")
    return int(text or "") if plain.isascii() and plain.isdigit() and len(plain) <= 9 else otherwise


def relations(archive: Archive, source: str) -> dict[str, Related]:
    """The relationships of a part ("" for the package) within the archive, by their ids."""
    folder, base = posixpath.split(source)
    root = part(archive, posixpath.join(folder, "_rels", f"{base}.rels"))
    related: dict[str, Related] = {}
    for element in root if root is not None else ():
        to = posixpath.join("/", folder, element.get("Target", ""))
        member = posixpath.normpath(to).lstrip("/")
        if member in archive:
            kind = element.get("Type", "").rpartition("/")[2]
            related[element.get("Id", "")] = Related(kind, member)
    return related


def first(related: dict[str, Related], kind: str) -> str:
    """The first member of a kind, else ""."""
    return next((one.member for one in related.values() if one.kind == kind), "")


def part(archive: Archive, member: str) -> Element | None:
    """A part's root; None for a missing or broken part, so that the rest can still be read."""
    if member not in archive:
        return None
    try:
        return archive.xml(member)
    except UserError as error:
        if error.key != "library.file_damaged":
            raise
        return None


def title(root: Element | None) -> str:
    """The title in a file's properties; "" if a program set it or it is empty."""
    words = next(within(root, "title"), None)
    return persons_title(words.text or "") if words is not None else ""


def persons_title(words: str) -> str:
    """A title on one line; "" for titles that programs and templates set."""
    one_line = " ".join(words.split())
    return "" if len(one_line) > _MOST_TITLE or _NO_TITLE.fullmatch(one_line) else one_line
