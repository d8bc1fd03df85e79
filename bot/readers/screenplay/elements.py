"""The elements of a screenplay, whatever its file format.

Words keep Fountain's marks of emphasis (`*slanted*`, `**bold**`, `_underlined_`; a literal mark has a backslash before
it); `plain` removes them. Independent of file formats and works.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

Kind = Literal[
    "heading", "action", "cue", "parenthetical", "dialogue", "lyric", "transition", "shot", "centered", "general",
    "page_break", "section", "synopsis", "note",
]  # fmt: skip
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
SPOKEN: Final = frozenset({"parenthetical", "dialogue", "lyric"})
"""The kinds of elements below a cue."""
UNPRINTED: Final = frozenset({"section", "synopsis", "note"})
"""The kinds that are not printed."""

_OMITTED: Final = re.compile(
    r"\W*(?:(?:scenes?|cenas?)\s+)?(?:omitted|omit|omitid[oa]s?|cortad[oa]s?)\W*", re.IGNORECASE
)
"""A heading that keeps the number of a scene that was cut."""
MOST_EIGHTHS: Final = 80_000
"""The longest scene: 10,000 pages."""

LEFT: Final = 1
RIGHT: Final = 2

CREDIT: Final = re.compile(
    r"(?:\w+ ){0,3}by|(?:escrito|roteiro|argumento|história)?(?: \w+){0,2} ?(?:por|de)", re.I
)
"""The line before the author's name on a title page."""

_MARK: Final = re.compile(r"\\[*_\[]|\*{1,3}|_")
_UNSAFE: Final = re.compile(r"[*_]|(?<=\\)\[")


@dataclass(frozen=True, slots=True)
class Element:
    """A paragraph of the page, or an unprinted element. No line of `text` has blanks at its ends.

    `number` is a heading's scene number ("12A"), `eighths` the length in eighths of a page that the file gives its
    scene. `dual`: a cue is LEFT or RIGHT of another's. `level`: of a section, from 1. `revision`: the number of the
    last set of revisions that changed it, 0 for none.
    """

    kind: Kind
    text: str
    number: str = ""
    eighths: int | None = None
    dual: int = 0
    level: int = 0
    revision: int = 0


def omitted(element: Element) -> bool:
    """Whether it only says that a scene was cut whose number stays."""
    return element.kind == "heading" and bool(_OMITTED.fullmatch(plain(element.text)))


@dataclass(frozen=True, slots=True)
class Screenplay:
    """A screenplay. `title_page` has pairs of a key ("Title", "Author" …) and its text. `guessed`: the kinds of
    elements do not come from the file, but from their positions on its pages.
    """

    elements: tuple[Element, ...]
    title_page: tuple[tuple[str, str], ...] = ()
    guessed: bool = False

    @property
    def title(self) -> str:
        """The title on one line; "" if there is none."""
        words = next((text for key, text in self.title_page if key.casefold() == "title"), "")
        return " ".join(plain(words).split())


def plain(text: str) -> str:
    """The words without the marks of emphasis, in linear time.

    A mark opens before a word and closes after one, on the same line (fountain.io/syntax, "Emphasis"). After a
    backslash it is an ordinary character; so is a bracket, which could begin a note.
    """
    if "*" not in text and "_" not in text and "\\[" not in text:
        return text
    return "\n".join(map(_plain_line, text.split("\n")))


def _plain_line(line: str) -> str:
    open_at: dict[str, int] = {}
    marks = [(match.start(), match[0]) for match in _MARK.finditer(line)]
    removed: set[int] = set()
    for place, (at, mark) in enumerate(marks):
        if mark[0] == "\\":
            continue
        end = at + len(mark)
        if mark in open_at and not line[at - 1].isspace():
            removed |= {open_at.pop(mark), place}
        elif end < len(line) and not line[end].isspace():
            open_at[mark] = place
    parts, last = [], 0
    for place, (at, mark) in enumerate(marks):
        if mark[0] == "\\" or place in removed:
            parts.append(line[last:at])
            last = at + (1 if mark[0] == "\\" else len(mark))
    return "".join([*parts, line[last:]])


def literal(text: str) -> str:
    """Words without emphasis, escaped so that `plain` returns them unchanged."""
    return _UNSAFE.sub(r"\\\g<0>", text)


def emphasised(words: str, marks: str) -> str:
    """Words with marks of emphasis around them, inside the blanks at their ends; unchanged if they span
    several lines.
    """
    bare = words.strip()
    if not marks or not bare or "\n" in bare:
        return words
    start = len(words) - len(words.lstrip())
    return f"{words[:start]}{marks}{bare}{marks[::-1]}{words[start + len(bare) :]}"


def lines(text: str) -> str:
    """The text without the blanks at the ends of its lines, and without empty lines."""
    return "\n".join(line for raw in text.split("\n") if (line := raw.strip()))


def title_page(texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The pairs of a title page whose lines have no keys: the first line is the title, the author follows "written by",
    the rest are notes.
    """
    remaining = [" ".join(text.split()) for text in texts if text.strip()]
    if not remaining:
        return ()
    pairs = [("Title", literal(remaining.pop(0)))]
    for place, text in enumerate(remaining[:-1]):
        if CREDIT.fullmatch(text):
            pairs += [("Credit", text), ("Author", literal(remaining[place + 1]))]
            del remaining[place : place + 2]
            break
    if remaining:
        pairs.append(("Notes", literal("\n".join(remaining))))
    return tuple(pairs)


def numbered(elements: Sequence[Element]) -> list[str]:
    """The number of each scene heading, in order: its own, else its place among them from 1."""
    headings = [heading for heading in elements if heading.kind == "heading"]
    return [heading.number or str(place) for place, heading in enumerate(headings, 1)]
