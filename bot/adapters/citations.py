"""The list of sources under an answer: where each [n] is from, and the words it stands on.

Pure. How a platform writes and measures it is the platform's to say.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from bot.adapters.draft import Size, clean
from bot.events import Citation
from bot.words import Words

_MARKERS = re.compile(r"^[ \t]*(?:(?:>|[-*+]|#{1,6})[ \t]+)+", re.MULTILINE)

QUOTE = 240
WHERE = 180


@dataclass(frozen=True, slots=True)
class Source:
    """One citation as it is shown: where it is from, and the quotation, "" where the text has just said it."""

    where: str
    quote: str

    def __str__(self) -> str:
        return f"{self.where}\n{self.quote}" if self.quote else self.where


@dataclass(frozen=True, slots=True)
class SourceList:
    """A platform's way to write the list.

    `literal` makes words of at most so many characters that are no markup. A source begins with `number`, in which
    {} is the n of [n], a quotation with `quote`, and the line that counts what is left out with `more`.
    """

    literal: Callable[[str, int], str]
    size: Size
    number: str
    quote: str = ""
    more: str = ""

    def sources(self, citations: list[Citation], text: str, say: Words) -> list[Source]:
        """The citations by number, each once. `text` is what the stage has shown."""
        said, numbered = _letters(text), {one.n: one for one in citations}
        found = []
        for n in sorted(numbered):
            cited = numbered[n]
            where = clean(cited.source)
            if cited.heading:
                where += f" › {clean(cited.heading)}"
            where = self.literal(where, WHERE)
            if cited.page is not None:
                where += f", {say('page.leaf', n=cited.page)}"
            quote = self.literal(_MARKERS.sub("", clean(cited.quote)), QUOTE)
            quoted = not quote or _letters(cited.quote) in said
            found.append(
                Source(f"{self.number.format(n)} {where}", "" if quoted else f"{self.quote}“{quote}”")
            )
        return found

    def fitting(self, found: list[Source], room: int, say: Words, *, quotes: bool) -> tuple[str, int]:
        """As much of the list as `room` units hold, and how many sources stay out of it."""
        if not found:
            return "", 0
        lines: list[str] = []
        left = room - self.size(self._more(len(found), say)) - 1
        for at, one in enumerate(found):
            text = str(one) if quotes else one.where
            if self.size(text) + 1 > left:
                text = one.where
            if self.size(text) + 1 > left:
                hidden = len(found) - at
                return "\n".join([*lines, self._more(hidden, say)]) if room > 40 else "", hidden
            lines.append(text)
            left -= self.size(text) + 1
        return "\n".join(lines), 0

    def _more(self, hidden: int, say: Words) -> str:
        return self.more + say("page.more", n=hidden)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))
