"""Finds citation markers in a text that arrives in pieces: `[2]`, `[1, 3-5]`, `[2 "its own words"]`.

Models also write `【2†source】`, `[^2]`, `[Passage 2]`, `(Passage 2)`, `<cite>2</cite>`, `[II]`, `\\[2\\]` or
`&#91;2&#93;`: everything that a reader would see as a marker is one. Pure text work. The result does not depend on how
the text is cut into pieces.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

LONGEST = 480
"""The most characters of a marker with its quotations. Longer text is neither held back nor a marker."""

_WIDEST = 20  # of a range of numbers
_DIGITS = 3
_PASSAGE = {
    "citation", "citations", "excerpt", "excerpts", "passage", "passages", "source", "sources", "citação", "citações",
    "fonte", "fontes", "passagem", "passagens", "trecho", "trechos", "fuente", "fuentes", "pasaje", "pasajes", "quelle",
    "quellen",
}  # fmt: skip
"""Names of a passage; in parentheses one of them must precede the number."""
_LABELS = _PASSAGE | {
    "doc", "docs", "document", "documents", "footnote", "quote", "ref", "refs", "reference", "references", "documento",
    "documentos", "referência", "referências", "cita", "citas", "n", "no", "nr", "num",
}  # fmt: skip
_TAG = "(?:cite|citation|passage|ref|source)"
_FRAMES = {
    "bracket": (
        r"\\?[\[【［〔〚⟦❲⁅]|&(?:#0*91|#x0*5b|lbrack|lsqb);",
        r"\\?[\]】］〕〛⟧❳⁆]|&(?:#0*93|#x0*5d|rbrack|rsqb);",
    ),
    "parenthesis": (r"[(（]", r"[)）]"),
    "tag": (rf"<\s*{_TAG}\s*>", rf"<\s*/\s*{_TAG}\s*>"),
}
"""The opening and closing brackets of a marker."""
_QUOTE = "\"“”„‟«»‘’‚'＂"
# White space, invisible characters, emphasis, and the backslash of an escape.
_FILL = "[\\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff*_`~\\\\]*+"
_IGNORED = re.compile(_FILL)
_OPENING = re.compile(
    "|".join(f"(?P<{name}>{opening})" for name, (opening, _) in _FRAMES.items()), re.IGNORECASE
)
_CLOSINGS = {name: re.compile(closing, re.IGNORECASE) for name, (_, closing) in _FRAMES.items()}
_ANY_CLOSING = re.compile("|".join(closing for _, closing in _FRAMES.values()), re.IGNORECASE)
# An incomplete bracket: a backslash, an entity, a tag.
_BEGINNING = r"\\|&[#\w]{0,8}|<\s{0,2}/?\s{0,2}[a-z]{0,8}\s{0,2}"
_BRACKET_BEGUN = re.compile(rf"(?:{_BEGINNING})\Z", re.IGNORECASE)
_NEVER_FOLLOWS = tuple("[(.,;!?'\"/|=+")
_WORD = re.compile(r"[^\W\d_]+")
_WORD_END = re.compile(rf"{_FILL}[.:#]?{_FILL}")
_NUMBER = re.compile(r"\d+")
_ROMAN = re.compile(r"(?=[IVX])X{0,2}(?:IX|IV|V?I{0,3})(?![^\W_])")
_ROMAN_DIGITS = {"I": 1, "V": 5, "X": 10}
# Additions of models after a number: a full stop, or a position such as [4:0†source], [2†L1-L3].
_SUFFIX = re.compile(rf"{_FILL}(?:[./]|(?::\d{{1,3}})?{_FILL}[†‡][^\[\]【】［］\n&\\]*+)?{_FILL}")
_QUOTATION = re.compile(rf"[:,]?{_FILL}[{_QUOTE}]")
_SEPARATOR = re.compile(rf"(?:[,;–—-]|(?:and|und|et|e|y|&)(?![\w#])){_FILL}", re.IGNORECASE)
# An incomplete separator, position, quotation or closing bracket.
_INCOMPLETE = re.compile(rf"(?::[\s\d]*|a|an|u|un|{_BEGINNING}|[,:]{_FILL})\Z", re.IGNORECASE)
# A quotation ends at the first closing mark that is followed by the marker's end or the next number.
_QUOTATION_ENDS = {
    name: re.compile(rf"[{_QUOTE}](?={_FILL}(?:{closing}|[,;]{_FILL}\d))", re.IGNORECASE)
    for name, (_, closing) in _FRAMES.items()
}
_PARAGRAPH = re.compile(r"\n[ \t]*\n")

Entries = tuple[tuple[int, str | None], ...]


@dataclass(frozen=True, slots=True)
class Marker:
    """One marker as it was `written`: its numbers, each with the words it quotes; `space` precedes it.

    Without numbers it is the beginning of a false marker, which is left out.
    """

    entries: Entries
    space: str = ""
    written: str = ""


@dataclass(slots=True)
class Scanner:
    """Divides a text into plain text and markers; holds back what may still become a marker."""

    _pending: str = ""

    def feed(self, text: str, *, last: bool = False) -> list[str | Marker]:
        """The parts that are certain so far; with the `last` piece also the rest, without an unclosed marker."""
        text = self._pending + text
        parts: list[str | Marker] = []
        start = at = 0  # the text before `start` has been passed on
        while opening := _OPENING.search(text, at):
            verdict = _verdict(text, opening, last=last)
            if verdict is None:
                break
            length, entries = verdict
            if not length:
                at = opening.end()
                continue
            marker_start = opening.start()
            space = (
                text[marker_start - 1] if marker_start > start and text[marker_start - 1].isspace() else ""
            )
            before = text[start : marker_start - len(space)]
            start = at = marker_start + length
            if not entries:  # the beginning of a false marker
                before, space = before + ("" if last and start == len(text) else space), ""
            parts += [before, Marker(entries, space, text[marker_start:start])]
        unfinished = None if last else opening or _BRACKET_BEGUN.search(text, max(start, len(text) - 16))
        cut = unfinished.start() if unfinished else len(text)
        if not last and cut > start and text[cut - 1].isspace():
            cut -= 1  # removed together with a marker
        self._pending = text[cut:]
        return list(filter(None, [*parts, text[start:cut]]))


def has_open_marker(text: str) -> bool:
    """Whether a marker has begun at the end of `text`, so that the following text could close it."""
    for opening in _OPENING.finditer(text, max(0, len(text) - LONGEST)):
        only_opened = opening.lastgroup == "parenthesis" and not text[opening.end() :].strip()
        if not only_opened and _verdict(text, opening, last=False) is None:
            return True
    return False


def unmarked(text: str) -> str:
    """A book's own words with `[1]` as `(1)`, because readers would mistake square brackets for our marker."""
    scanner = Scanner()
    parts = [*scanner.feed(text), *scanner.feed("", last=True)]
    return "".join(
        part if isinstance(part, str) else part.space + _ANY_CLOSING.sub(")", _OPENING.sub("(", part.written))
        for part in parts
    )


def _verdict(text: str, opening: re.Match[str], *, last: bool) -> tuple[int, Entries] | None:
    """The meaning of the text from an opening bracket on, as (characters, entries); None while it is uncertain.

    (0, ()): no marker. (n, ()): n characters of a false marker, to be removed. Looks at LONGEST characters.
    """
    if text[opening.end() : opening.end() + 1] in _NEVER_FOLLOWS:
        return 0, ()
    rest = text[opening.start() : opening.start() + LONGEST]
    over = last or len(rest) == LONGEST
    if paragraph := _PARAGRAPH.search(rest):
        rest, over, last = rest[: paragraph.start()], True, False
    frame = str(opening.lastgroup)
    closing_pattern, quotation_end = _CLOSINGS[frame], _QUOTATION_ENDS[frame]
    labels = _PASSAGE if frame == "parenthesis" else _LABELS
    labelled = frame == "tag"
    entries: list[tuple[int, str | None]] = []
    ranging = False
    at = _end_of(_IGNORED, rest, len(opening[0]))
    while at < len(rest):
        if entries:  # a comma may come last
            if closing := closing_pattern.match(rest, at):
                return closing.end(), tuple(entries)
            if not over and _BRACKET_BEGUN.match(rest, at):
                return None
        word = _WORD.match(rest, at)
        roman = _ROMAN.match(rest, at) if word else None
        if word and not (roman and (labelled or entries or len(roman[0]) > 1)):
            name = word[0].casefold()
            may_be_label = (
                any(label.startswith(name) for label in labels) or set(word[0]) <= _ROMAN_DIGITS.keys()
            )
            if word.end() == len(rest) and not over and may_be_label:
                return None
            if name not in labels:
                return 0, ()
            labelled = True
            at = _end_of(_WORD_END, rest, word.end())
        elif rest[at] in "^#†":
            at = _end_of(_IGNORED, rest, at + 1)
        if frame == "parenthesis" and not labelled:
            return 0, ()
        number = _NUMBER.match(rest, at) or _ROMAN.match(rest, at)
        if number is None or number.end() == len(rest):
            if at < len(rest) and (number is None or (len(number[0]) > _DIGITS and number[0].isdecimal())):
                return 0, ()
            break
        if number[0].isdecimal() and len(number[0]) > _DIGITS:
            return 0, ()
        n, words = int(number[0]) if number[0].isdecimal() else _roman(number[0]), None
        at = _end_of(_SUFFIX, rest, number.end())
        if quotation := _QUOTATION.match(rest, at):
            end = quotation_end.search(rest, quotation.end())
            if end is None:
                return _unclosed(rest, quotation.end(), n, closing_pattern, last=last) if over else None
            words = rest[quotation.end() : end.start()]
            at = _end_of(_IGNORED, rest, end.end())
        if ranging and words is None and entries[-1][0] < n <= entries[-1][0] + _WIDEST:
            entries += [(between, None) for between in range(entries[-1][0] + 1, n)]
        entries.append((n, words))
        if closing := closing_pattern.match(rest, at):
            return closing.end(), tuple(entries)
        separator = _SEPARATOR.match(rest, at)
        if separator is None:
            if at < len(rest) and (over or not _INCOMPLETE.match(rest, at)):
                return 0, ()
            break
        ranging = separator[0][0] in "–—-"
        at = separator.end()
    if not over:
        return None
    return (0, ()) if frame == "parenthesis" and not entries else (len(rest), ())


def _roman(number: str) -> int:
    """The value of a Roman number up to XXIX."""
    values = [_ROMAN_DIGITS[letter] for letter in number]
    return sum(
        -value if value < following else value
        for value, following in zip(values, [*values[1:], 0], strict=True)
    )


def _unclosed(
    rest: str, quotation: int, n: int, closes: re.Pattern[str], *, last: bool
) -> tuple[int, Entries]:
    """The result for a marker whose quotation never ends: it ends at the first bracket, if there is one."""
    if closing := closes.search(rest, quotation):
        return closing.end(), ((n, rest[quotation : closing.start()]),)
    return len(rest) if last else quotation, ()


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    """The end of the pattern's match at this offset; the offset itself if it does not match."""
    match = pattern.match(text, at)
    return match.end() if match else at
