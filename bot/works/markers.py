"""Finds citation markers in a text that comes in pieces: `[2]`, `[1, 3-5]`, `[2 "its own words"]`.

Pure text work. How the text is cut into pieces makes no difference to what is found.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

LONGEST = 480
"""Characters of a marker with its quotations. Nothing longer is held back, or taken for one."""

_BRACKETS = "[【"
_OPEN, _CLOSE = r"[\[【]", r"[\]】]"
_QUOTE = "\"“”„‟«»‘’‚'＂"
# An entry's quotation ends at the first closing mark after which the marker ends or the next number comes.
# Atomic groups: whatever is read once is not read another way, so that no text makes this slow.
_ENTRY = rf"(?>\d{{1,3}}(?:\s*[:,]?\s*[{_QUOTE}](?>.*?[{_QUOTE}](?=\s*(?:{_CLOSE}|[,;]\s*\d))))?)"
_MARKER = re.compile(rf"{_OPEN}{_ENTRY}(?>\s*[,;–-]\s*{_ENTRY})*\s*{_CLOSE}", re.DOTALL)
_ENTRIES = re.compile(
    rf"\s*([,;–-])?\s*(\d{{1,3}})(?:\s*[:,]?\s*[{_QUOTE}](.*?)[{_QUOTE}](?=\s*(?:{_CLOSE}|[,;]\s*\d)))?",
    re.DOTALL,
)
_NUMBERS_BEGUN = re.compile(rf"{_OPEN}(?:\d[\d\s,;:–-]*)?")
_QUOTE_BEGUN = re.compile(rf"{_OPEN}(?:\d[\d\s,;–-]*[,;–-]\s*)?(\d{{1,3}})\s*[:,]?\s*[{_QUOTE}]")
_END = re.compile(_CLOSE)
_PARAGRAPH = re.compile(r"\n[ \t]*\n")
_WIDEST = 20  # of a range of numbers


@dataclass(frozen=True, slots=True)
class Marker:
    """One marker: its numbers, each with the words it quotes; `space` is the white space before it.

    Without numbers it stands for what began a marker, was none, and is left out.
    """

    entries: tuple[tuple[int, str | None], ...]
    space: str = ""


class Scanner:
    """Cuts a text into what is plain and what is a marker; holds back what may yet become one."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> list[str | Marker]:
        return self._scan(text, last=False)

    def finish(self) -> list[str | Marker]:
        """The rest; a marker that was never closed is left out."""
        return self._scan("", last=True)

    def _scan(self, text: str, *, last: bool) -> list[str | Marker]:
        text = self._held + text
        parts: list[str | Marker] = []
        start = at = 0  # what comes before `start` has been passed on
        while (opened := _next_open(text, at)) >= 0:
            rest = text[opened : opened + LONGEST]
            verdict = _verdict(rest, last=last)
            if verdict is None:
                break
            length, marker = verdict
            if not length:
                at = opened + 1
                continue
            space = text[opened - 1] if opened > start and text[opened - 1].isspace() else ""
            before = text[start : opened - len(space)]
            start = at = opened + length
            if marker is not None:
                parts += [before, Marker(marker, space)]
            else:  # the beginning of a marker that is none
                parts += [before + ("" if last and start == len(text) else space), Marker(())]
        cut = opened if opened >= 0 else len(text)
        if not last and cut > start and text[cut - 1].isspace():
            cut -= 1  # it goes with a marker that is taken out
        self._held = text[cut:]
        return [one for one in [*parts, text[start:cut]] if one]


def _next_open(text: str, at: int) -> int:
    places = [place for one in _BRACKETS if (place := text.find(one, at)) >= 0]
    return min(places, default=-1)


Entries = tuple[tuple[int, str | None], ...]


def _verdict(rest: str, *, last: bool) -> tuple[int, Entries | None] | None:
    """What the text from an opening bracket on is, as (characters, entries); None while it cannot be told.

    (0, None): no marker. (n, None): n characters that began one and go. Looks at LONGEST characters.
    """
    over = last or len(rest) >= LONGEST
    if paragraph := _PARAGRAPH.search(rest):
        rest, over, last = rest[: paragraph.start()], True, False
    quoting = _QUOTE_BEGUN.match(rest)
    for end in _END.finditer(rest):
        # The first bracket at which it is a marker: more text cannot change that.
        if _MARKER.fullmatch(rest, 0, end.end()):
            return end.end(), _entries(rest[: end.end()])
        if quoting is None:
            return 0, None
    if quoting is None and _NUMBERS_BEGUN.fullmatch(rest) is None:
        return 0, None
    if not over:
        return None
    if quoting is None:
        return len(rest), None
    # Its quotation was never closed: it ends at the first bracket, if there is one.
    if closed := _END.search(rest, quoting.end()):
        return closed.end(), ((int(quoting[1]), rest[quoting.end() : closed.start()]),)
    return len(rest) if last else quoting.end(), None


def _entries(marker: str) -> Entries:
    """The numbers of `[1, 3-5]`, each with its quotation."""
    found: list[tuple[int, str | None]] = []
    at = 1
    while entry := _ENTRIES.match(marker, at):
        n, quote = int(entry[2]), entry[3]
        if entry[1] in ("–", "-") and found and quote is None and found[-1][0] < n <= found[-1][0] + _WIDEST:
            found += [(one, None) for one in range(found[-1][0] + 1, n)]
        found.append((n, quote))
        at = entry.end()
    return tuple(found)
