"""The footer below a stage's text: notes, status, failure, sources and buttons; and the pages that show the sources in
full.

Pure. Each platform defines how it writes and measures text. Does not depend on what a press does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
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
"""The longest address of a source; longer ones are left out, because a cut address is useless."""
PASSING = 240
BAR = 10

QUOTE_CHARS = 1_300
"""The most characters of a full quotation: it fits on a page even if every second character begins a line, which
doubles it.
"""
MOST = 999
"""The most pages of sources that a button's custom_id can count."""

# Patterns of the buttons' custom_ids, at most 100 characters (Discord's limit); a run's id is 32 hexadecimal digits.
# Pages of sources are counted from 0, and so are choices: among all of the run's, or among those shown while a stage
# grows.
RUN = r"(?P<run>[0-9a-f]{32})"
STOP = rf"stop:{RUN}"
RETRY = rf"retry:{RUN}"
SOURCES = rf"sources:{RUN}"
SOURCES_PAGE = rf"sources:{RUN}:(?P<page>\d{{1,3}})"
SHARE = rf"share:{RUN}"
FURTHER = rf"further:{RUN}"
CHOICE = rf"choice:{RUN}:(?P<n>\d{{1,3}})"
MEANWHILE = rf"meanwhile:{RUN}:(?P<n>\d{{1,3}})"
FEEDBACK = rf"feedback:{RUN}:(?P<verdict>up|down)"

BY = 30
"""The longest name of the person who has taken a choice, on its button."""
PER_ROW = 5
"""Buttons in one action row on Discord (its documentation, "Action Row"); Slack's rows hold more."""

MOST_CHOICES = 10
SHORT = 24
"""Units of a button's label where the choices are listed in full above the buttons."""
TAKEN = "✓"
MOST_GROUPS = 4
"""The most groups of choices: a message on Discord without layout has five rows, and one is for the controls."""

Source = tuple[str, str]
"""A citation's source as it is shown: without its quotation, and with it unless the text above contains that."""


@dataclass(frozen=True, slots=True)
class Button:
    custom_id: str
    label: str = ""
    emoji: str = ""
    loud: bool = False
    disabled: bool = False


@dataclass(frozen=True, slots=True)
class Offer:
    """A row of choices under its prompt, which is one line; "" if the row continues the previous one.

    `over`: none of them can be pressed any more. `taken` is the chosen one's label, in the first row. `listed` has the
    group's labels in full, in the first row, if one of them is too long for a button.
    """

    prompt: str
    buttons: tuple[Button, ...]
    over: bool = False
    taken: str = ""
    listed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Footer:
    """A platform's format of the footer.

    `literal` escapes words and cuts them to a number of characters, `line` makes one such line out of Markdown. A line
    begins with `mark`, a source with `number`, in which {} is the number n of [n], and a quotation with `quote`.
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
        """The lasting lines. `links` are the stage's, already cut; `left_out` are sentences about files."""
        say = context.say
        anew = stage.replaces and stage.growing and not context.ended
        notes = [f"{self.mark}↻ {say('page.replaces')}"] if anew else []
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
        """The sentence about a failure and the run's id; empty if nothing failed."""
        text = stage.failed
        if not text and context.last and context.ended == "failed":
            text = context.say("page.failed")
        if not text:
            return []
        run = context.say("page.run", run=context.run[:8])
        return [self.line(text, 2 * NOTE), f"{self.mark}`{run}`"]

    def passing(self, stage: StageContent, context: PageContext, *, wordless: bool) -> str:
        """The status line, with a bar where the total is known. `wordless`: no text is shown yet."""
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

    def sources(self, citations: Mapping[int, Citation], text: str, say: Words) -> list[Source]:
        """The citations in the order of their numbers. `text` is the stage's."""
        letters_shown = letters(text)
        listed = []
        for n, cited in sorted(citations.items()):
            source_text = clean(cited.source)
            if cited.heading:
                source_text += f" › {clean(cited.heading)}"
            source_text = f"{self.number.format(n)} {self.literal(source_text, WHERE)}"
            if cited.page is not None:
                source_text += f", {say('page.leaf', n=cited.page)}"
            if cited.link.startswith(("https://", "http://")) and len(cited.link) <= LINK:
                source_text += f" · {self.line(linked(cited.link, say), 2 * LINK)}"
            quote = self.literal(_MARKERS.sub("", clean(cited.quote)), QUOTE)
            quoted = not quote or letters(cited.quote) in letters_shown
            listed.append((source_text, source_text if quoted else f"{source_text}\n{self.quote}“{quote}”"))
        return listed

    def fitting(self, sources: list[Source], room: int, say: Words, *, quotes: bool) -> tuple[str, int]:
        """As much of the list as fits in `room` units, and how many sources are left out."""
        if not sources:
            return "", 0
        lines: list[str] = []
        free = room - self.size(self.mark + say("page.more", n=len(sources))) - 1
        for at, (where, quotation) in enumerate(sources):
            text = quotation if quotes else where
            if self.size(text) + 1 > free:
                text = where
            if self.size(text) + 1 > free:
                hidden = len(sources) - at
                more_line = self.mark + say("page.more", n=hidden)
                return "\n".join([*lines, more_line]) if room > 40 else "", hidden
            lines.append(text)
            free -= self.size(text) + 1
        return "\n".join(lines), 0

    def as_fit(self, lines: Sequence[str], room: int) -> list[str]:
        """The first of the lines, as many as fit in `room` units."""
        fitting_lines = []
        for line in lines:
            room -= self.size(line) + 1
            if room < 0:
                break
            fitting_lines.append(line)
        return fitting_lines


def linked(link: str, say: Words) -> str:
    """A source's address as Markdown."""
    return f"[{say('page.open')}]({link.replace('(', '%28').replace(')', '%29')})"


def letters(text: str) -> str:
    """The letters and digits of the text; two texts with the same ones say the same."""
    return "".join(filter(str.isalnum, text))


def citations(stored: Sequence[str]) -> list[Citation]:
    """The sources that a run has stored as offers, each number once, in order of their numbers."""
    numbered = {citation.n: citation for citation in (Citation(**json.loads(item)) for item in stored)}
    return [numbered[n] for n in sorted(numbered)]


def pages(sources: Sequence[Citation], say: Words, room: int) -> list[str]:
    """The sources in full, each with its quotation: Markdown, at most `room` characters a page (at least 2,700, the
    length of a quotation).

    A source that fits on one page is not split.
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
    """One source with its quotation; a very long quotation continues in further blocks."""
    source_line = _line(source.source)
    if source.heading:
        source_line += f" › {_line(source.heading)}"
    if source.page is not None:
        source_line += say("buttons.page_of_book", page=source.page)
    source_line = source_line[:800]
    if source.link.startswith(("https://", "http://")):
        source_line += f" · {linked(source.link, say)}"
    parts = split(neutralise(clean(source.quote)), QUOTE_CHARS)
    quoted = ["\n".join(f"> {line}" for line in part.splitlines()) for part in parts]
    return ["\n".join([f"**[{source.n}]** {source_line}", *quoted[:1]]), *quoted[1:]]


def _line(text: str) -> str:
    return " ".join(neutralise(clean(text)).split())


def label(text: str, most: int, size: Callable[[str], int] = len) -> str:
    """The text without Markdown, for a button: at most `most` units."""
    words = _plain_line(text)
    if size(words) <= most:
        return words
    while size(words) > most - 1:
        words = words[:-1]
    return words.rstrip() + "…"


def _plain_line(text: str) -> str:
    return " ".join(clean(text).split()) or "…"


def button_labels(
    texts: Sequence[str], votes: Sequence[int], most: int, size: Callable[[str], int] = len
) -> list[str]:
    """The labels of a group's buttons, at most `most` units each, with the number of votes where there are any.

    If a text is too long for its button, all labels are numbered and shortened, and the group is listed in full above
    them.
    """
    listed = too_long(texts, most, size)
    buttons = []
    for n, (text, count) in enumerate(zip(texts, votes, strict=True), 1):
        behind = f" · {count}" if count else ""
        room = (SHORT if listed else most) - size(behind)
        buttons.append(label(f"{n}. {text}" if listed else text, room, size) + behind)
    return buttons


def too_long(texts: Sequence[str], most: int, size: Callable[[str], int] = len) -> bool:
    """Whether one of the texts is too long for a button of `most` units."""
    return any(size(_plain_line(text)) > most for text in texts)


def offers(stage: StageContent, run: str, most: int, size: Callable[[str], int] = len) -> list[Offer]:
    """The stage's first ten choices, by prompt; labels of at most `most` units."""
    rows: list[Offer] = []
    number, count = stage.first_choice, 0
    for group in stage.choices:
        over = group.taken is not None
        texts = [choice.label for choice in group.choices]
        votes = [stage.counts.get(number + n, 0) for n in range(len(texts))]
        labels = button_labels(texts, votes, most, size)
        listed = tuple(map(_plain_line, texts)) if too_long(texts, most, size) else ()
        taken = ""
        if group.taken is not None and group.taken >= 0:
            by = f" · {shortened(' '.join(clean(group.by).split()), BY, size)}" if group.by else ""
            labels[group.taken] = label(f"{TAKEN} {labels[group.taken]}", most - size(by), size) + by
            taken = f"{TAKEN} {listed[group.taken]}{by}" if listed else labels[group.taken]
        buttons = [
            Button(f"choice:{run}:{number + n}", text, disabled=over)
            for n, text in enumerate(labels[: MOST_CHOICES - count])
        ]
        listed = listed[: len(buttons)]
        number, count = number + len(texts), count + len(buttons)
        for at in range(0, len(buttons), PER_ROW):
            row = tuple(buttons[at : at + PER_ROW])
            if at == 0:
                prompt = " ".join(clean(group.prompt).split())
                rows.append(Offer(prompt, row, over, taken, listed))
            else:
                rows.append(Offer("", row, over))
    return rows[:MOST_GROUPS]


def controls(stage: StageContent, context: PageContext, *, more: bool) -> tuple[Button, ...]:
    """The buttons of the run itself. `more`: the page has no room for all sources."""
    say, run = context.say, context.run
    sources = Button(f"sources:{run}", say("page.sources"), "📖")
    meanwhile = [Button(*stage.meanwhile)] if stage.meanwhile is not None else []
    if not context.last:
        return (sources,) if more else ()
    if not context.ended:
        return (Button(f"stop:{run}", say("page.stop"), "⏹️"), *meanwhile)
    row = meanwhile if context.ended != "done" else []
    if context.retry:
        row.append(Button(f"retry:{run}", say("page.retry"), "🔁"))
    if stage.citations:
        row.append(sources)
    if context.feedback and stage.answer:
        row.append(Button(f"feedback:{run}:up", "", "👍"))
        row.append(Button(f"feedback:{run}:down", "", "👎"))
    if context.further and context.ended == "done":
        row.append(Button(f"further:{run}", say("page.further"), "💬"))
    if context.private and context.ended != "failed":
        row.append(Button(f"share:{run}", say(context.share), "📣"))
    return tuple(row)
