"""What stands below a stage's text: notes, how far it is, what failed, where its words are from; and those sources in
full, for whoever asks to see them.

Pure. How a platform writes and measures it is the platform's to say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bot.adapters.markdown import Size, clean, neutralise, shortened, split
from bot.adapters.stage_content import PageContext, StageContent
from bot.events import Citation
from bot.words import Words

_MARKERS = re.compile(r"^[ \t]*(?:(?:>|[-*+]|#{1,6})[ \t]+)+", re.MULTILINE)

QUOTE = 240
WHERE = 180
NOTE = 600
LINK = 500
"""Of a source's address, which is no use if it is cut."""
PASSING = 240
BAR = 10

QUOTE_CHARS = 1_300
"""Of a quotation in full: short enough for a page even if every other character begins a line, which doubles it."""
MOST = 999
"""Pages of sources that a button's custom_id can count."""

Source = tuple[str, str]
"""Where a citation is from, as it is shown: alone, and above its quotation, unless the text has just said that."""


@dataclass(frozen=True, slots=True)
class Footer:
    """A platform's way to write what stands below.

    `literal` makes words of at most so many characters that are no markup, `line` one such line out of Markdown. A line
    begins with `mark`, a source with `number`, in which {} is the n of [n], and a quotation with `quote`.
    """

    literal: Callable[[str, int], str]
    line: Callable[[str, int], str]
    size: Size
    number: str
    mark: str = ""
    quote: str = ""

    def notes(
        self, stage: StageContent, context: PageContext, links: Sequence[str], left_out: Sequence[str] = ()
    ) -> list[str]:
        """What stays. `links` are the stage's, as long as they may be; `left_out` are sentences on files."""
        say = context.say
        notes = [f"{self.mark}↻ {say('page.replaces')}"] if stage.replaces else []
        notes += links
        notes += [f"{self.mark}ⓘ {self.line(notice, NOTE)}" for notice in stage.notices]
        if stage.files and context.no_files:
            names = ", ".join(self.literal(clean(file.name), 100) for file in stage.files)
            names = shortened(names, NOTE // 2, self.size)
            notes.append(f"{self.mark}ⓘ {say('page.no_files', names=names, permission=context.no_files)}")
        notes += [f"{self.mark}ⓘ {sentence}" for sentence in left_out]
        if context.last and context.ended == "stopped":
            notes.append(f"{self.mark}⏹ {say('page.stopped')}")
        if context.last and context.ended and context.hint:
            notes.append(self.mark + self.line(context.hint, NOTE))
        return notes

    def failed(self, stage: StageContent, context: PageContext) -> list[str]:
        """The sentence of a failure and the run to ask about; nothing where nothing failed."""
        text = stage.failed
        if not text and context.last and context.ended == "failed":
            text = context.say("page.failed")
        if not text:
            return []
        run = context.say("page.run", run=context.run[:8])
        return [self.line(text, 2 * NOTE), f"{self.mark}`{run}`"]

    def passing(self, stage: StageContent, context: PageContext, *, wordless: bool) -> str:
        """The line that goes away again, with a bar where the total is known. `wordless`: no text is shown yet."""
        if not stage.growing or context.ended:
            return ""
        status = stage.status
        if status is None:
            return self.mark + context.say("page.working") if wordless else ""
        text = self.mark + self.line(status.text, PASSING - 40)
        if status.done is None or not status.total:
            return text
        filled = int(min(max(status.done / status.total, 0.0), 1.0) * BAR)
        return f"{text}  {'▰' * filled}{'▱' * (BAR - filled)} {status.done}/{status.total}"

    def sources(self, citations: Sequence[Citation], text: str, say: Words) -> list[Source]:
        """The citations by number, each once. `text` is what the stage has shown."""
        said, numbered = _letters(text), {citation.n: citation for citation in citations}
        found = []
        for n in sorted(numbered):
            cited = numbered[n]
            where = clean(cited.source)
            if cited.heading:
                where += f" › {clean(cited.heading)}"
            where = f"{self.number.format(n)} {self.literal(where, WHERE)}"
            if cited.page is not None:
                where += f", {say('page.leaf', n=cited.page)}"
            where += self._linked(cited.link, say)
            quote = self.literal(_MARKERS.sub("", clean(cited.quote)), QUOTE)
            quoted = not quote or _letters(cited.quote) in said
            found.append((where, where if quoted else f"{where}\n{self.quote}“{quote}”"))
        return found

    def _linked(self, link: str, say: Words) -> str:
        """A way to the source itself, where it has one that a line has room for."""
        if not link.startswith(("https://", "http://")) or len(link) > LINK:
            return ""
        return f" · {self.line(linked(link, say), 2 * LINK)}"

    def fitting(self, found: list[Source], room: int, say: Words, *, quotes: bool) -> tuple[str, int]:
        """As much of the list as `room` units hold, and how many sources stay out of it."""
        if not found:
            return "", 0
        lines: list[str] = []
        left = room - self.size(self.mark + say("page.more", n=len(found))) - 1
        for at, (where, whole) in enumerate(found):
            text = whole if quotes else where
            if self.size(text) + 1 > left:
                text = where
            if self.size(text) + 1 > left:
                hidden = len(found) - at
                more = self.mark + say("page.more", n=hidden)
                return "\n".join([*lines, more]) if room > 40 else "", hidden
            lines.append(text)
            left -= self.size(text) + 1
        return "\n".join(lines), 0

    def as_fit(self, lines: Sequence[str], room: int) -> list[str]:
        """The first of the lines, as many as `room` units hold."""
        kept = []
        for line in lines:
            room -= self.size(line) + 1
            if room < 0:
                break
            kept.append(line)
        return kept


def linked(link: str, say: Words) -> str:
    """A source's address as Markdown."""
    return f"[{say('page.open')}]({link.replace('(', '%28').replace(')', '%29')})"


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def cited(kept: Sequence[str]) -> list[Citation]:
    """The sources that a run keeps as offers, each number once, in order of the numbers."""
    found = {one.n: one for one in (Citation(**json.loads(item)) for item in kept)}
    return [found[n] for n in sorted(found)]


def pages(sources: Sequence[Citation], say: Words, room: int) -> list[str]:
    """The sources in full, each where it is from, then its words: Markdown, at most `room` characters a page (2,700 at
    least, for a quotation).

    A source stays on one page wherever it fits.
    """
    full: list[str] = []
    for source in sources:
        for block in _blocks(source, say):
            if full and len(full[-1]) + 2 + len(block) <= room:
                full[-1] += "\n\n" + block
            else:
                full.append(block)
    return full[:MOST]


def _blocks(source: Citation, say: Words) -> list[str]:
    """One source: where it stands, with its quotation; a very long quotation goes on in further blocks."""
    where = _line(source.source)
    if source.heading:
        where += f" › {_line(source.heading)}"
    if source.page is not None:
        where += say("buttons.page_of_book", page=source.page)
    where = where[:800]
    if source.link.startswith(("https://", "http://")):
        where += f" · {linked(source.link, say)}"
    parts = split(neutralise(clean(source.quote)), QUOTE_CHARS)
    quoted = ["\n".join(f"> {line}" for line in part.splitlines()) for part in parts]
    return ["\n".join([f"**[{source.n}]** {where}", *quoted[:1]]), *quoted[1:]]


def _line(text: str) -> str:
    return " ".join(neutralise(clean(text)).split())
