"""Cuts text that is still being written into sentences, so that a voice can begin before the end is known.

Pure. The sentences do not depend on the pieces in which the text arrived.
"""

from __future__ import annotations

import re

LONGEST = 400
"""The most characters of a piece: about half a minute of speech. A sentence without an end is cut at a comma, else
between words.
"""

_END = re.compile(
    r"""
    \n[^\S\n]*+\n\s*+                             # an empty line
    | \n(?=\s*+(?:[-*+•>\#]|\d{1,3}[.)])\s)         # the next line of a list, a heading
    | [。！？｡]+[”’»」』）)\]"']*                     # no space follows in Chinese and Japanese
    | (?<![.!?…])[.!?…]++[”’»)\]"'*_]*+(?=\s)
    """,
    re.VERBOSE,
)
_EMPTY_LINE = re.compile(r"\n[^\S\n]*\n\s*\Z")
_WORD = re.compile(r"[\w.]+$")
_ABBREVIATED = re.compile(
    r"""
    mr|mrs|ms|dr|st|prof|sr|jr|vs|etc|no|vol|fig|ca|cf|pp?|eds?|approx|dept|est|min|max|sec|ch|inc|ltd|[ei]\.[eg]|[ap]\.m
    | sra|dra|srta|profa|págs?|caps?|arts?|séc|núm|tel|av|ex|obs|aprox|p\.ex|[ad]\.c
    | jan|fev|feb|mar|abr|apr|jun|jul|ago|aug|set|sept?|out|oct|nov|dez|dec
    """,
    re.VERBOSE | re.IGNORECASE,
)
_PAUSE = re.compile(r"[,;:–—]\s")
_NEXT = re.compile(r"\S")


class Sentences:
    """The sentences of one text: `feed` its pieces, then call `end`."""

    def __init__(self) -> None:
        self._text = ""
        self._read = 0
        """How far the text contains no end of a sentence."""

    def feed(self, text: str) -> list[str]:
        """The sentences that are complete now, stripped."""
        if text.isspace() and (not self._text or _EMPTY_LINE.search(self._text)):
            return []  # a longer gap: a model may write nothing but blanks
        self._text = self._text + text if self._text else text.lstrip()
        return self._cut(ended=False)

    def end(self) -> list[str]:
        """The remaining sentences."""
        remainder = self._cut(ended=True)
        self._text = ""
        return remainder

    def _cut(self, *, ended: bool) -> list[str]:
        sentences: list[str] = []
        while (at := self._first_end(ended)) is not None:
            sentence, self._text = self._text[:at].strip(), self._text[at:].lstrip()
            self._read = 0
            if sentence:
                sentences.append(sentence)
            if not self._text:
                break
        return sentences

    def _first_end(self, ended: bool) -> int | None:
        """Where the first sentence ends; None while that is uncertain."""
        remainder = self._text
        for end in _END.finditer(remainder, self._read, 2 * LONGEST):
            if end.start() >= LONGEST:
                break
            next_sign = _NEXT.search(remainder, end.end())
            follows = next_sign[0] if next_sign else ""
            if not follows and not ended:  # what follows decides
                return None
            if _ends(remainder[: end.start()], end[0], follows):
                return end.end()
            self._read = end.end()
        if len(remainder) > LONGEST + 1 or (ended and len(remainder) > LONGEST):
            return _in_between(remainder)
        return len(remainder) if ended else None


def _ends(before: str, end: str, follows: str) -> bool:
    """Whether a sentence ends with `end`, which must be neither an abbreviation's full stop nor a pause within the
    sentence.

    `follows` is the next character that is not a blank, "" at the end of the text.
    """
    if end[0] == "\n" or end[0] in "。！？｡" or not follows:
        return True
    if end.rstrip("”’»)]\"'*_").endswith((".", "…")):
        if follows.islower():
            return False
        word = _WORD.search(before)
        name = word[0] if word else ""
        if end[0] == "." and len(end) == 1:
            initial = len(name) == 1 and name.isupper() and name != "I"
            numbered = name.isdigit() and before[: -len(name)].rstrip(" ")[-1:] in ("", "\n")
            return not (initial or numbered or _ABBREVIATED.fullmatch(name) is not None)
    return True


def _in_between(text: str) -> int:
    """Where a sentence that is too long is cut: after its last pause, else between words, else anywhere."""
    pauses = [pause.end() for pause in _PAUSE.finditer(text, LONGEST // 2, LONGEST)]
    return pauses[-1] if pauses else text.rfind(" ", 1, LONGEST) + 1 or LONGEST
