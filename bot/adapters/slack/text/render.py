"""A stage as it stands right now, to the messages that show it on Slack. Pure; knows no client and no channel.

Text fills one message after another, each so short that its plain form, without blocks, holds it too. What stands
under the text (notes, sources, buttons) goes with the last of them; files are messages of their own.


Where a message ends depends only on what it holds and what comes next, not on what follows later: so a growing text
never takes anything out of a message that has been shown.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from bot.adapters.buttons_row import Offer, controls, offers
from bot.adapters.footer import NOTE, PASSING, Footer
from bot.adapters.markdown import clean, file_name, shortened
from bot.adapters.slack.text.inline import cost, size, words
from bot.adapters.slack.text.markdown import Piece, pieces
from bot.adapters.slack.text.mrkdwn import converted, line, literal
from bot.adapters.slack.text.page import (
    LABEL,
    SMALL,
    TEXT,
    Block,
    Page,
    Task,
    actions_of,
    plan_of,
    rows_of,
    section,
    small,
)
from bot.adapters.stage_content import PageContext, StageContent
from bot.events import Picture
from bot.words import Words

SPARE = 12
"""Characters kept free of the limit, for line ends between the parts."""
TITLE = 200
NAME = 80
"""Of a speaker's name."""
CALLS = 25
"""People who are called by name in one message."""
SOURCES = 1_900
PROMPT = 120
ASKED = 2_400
ALT = 1_000
"""Of what is said of a picture; Slack takes 1,000 (its documentation, "files.getUploadURLExternal")."""
FOOTER = Footer(literal, line, size, number="*[{}]*")
_MEMBER = re.compile(r"[UW][A-Z0-9]+")
_UNSAFE = re.compile(r"[^\w .()-]+")
"""What in a file's name might call somebody, or not every system takes."""

BODY = 3_200
"""Of a message's text, as `cost` counts. Its plain form, which chat.update holds to 4,000 characters, then says all
of it, with some room for what stands below; and in a thread three screens are as much as anybody wants in one.
"""
BLOCK, LINE, SENTENCE, WORD = 2_500, 2_800, 3_000, 3_100
"""From where on a message ends before the next block, or line, or sentence, or word."""

CLOSING = "\n```"
_cost = lru_cache(8192)(cost)
"""Of words, most of which come again: a growing text is filled in anew each time."""
_SENTENCE = re.compile(r"[.!?…。！？][\"'”’)\]*_]*\Z")


@dataclass(slots=True)
class Filled:
    """A message's text. `code`: it ends in code that is still open."""

    text: str = ""
    used: int = 0
    code: bool = False

    @property
    def closed(self) -> str:
        return self.text + CLOSING if self.code else self.text


def pages(stage: StageContent, context: PageContext) -> list[Page]:
    """The stage's messages in order, at least one.

    While the text grows, each page's body is the beginning of what it will be later, and only the last one changes.
    A page may end, and its text go on, in the middle of code: it is closed there, and opened again.
    """
    made = _pages(stage, context)
    if not (names := _names(stage))[0]:
        return made
    first, *others = (replace(one, speaker=stage.speaker) for one in made)
    return [replace(first, names=names), *others]


def _names(stage: StageContent) -> tuple[str, str]:
    """The line that says who speaks, as Markdown and as mrkdwn; "" where that is the bot."""
    named = words(shortened(stage.speaker.name, NAME, size)) if stage.speaker is not None else ""
    return (f"**{named}**", converted(f"**{named}**")) if named else ("", "")


def _pages(stage: StageContent, context: PageContext) -> list[Page]:
    growing = stage.growing and not context.ended
    *full, last = _texts(stage, growing)
    made = [Page(one.closed, plain=_full(one.closed)) for one in full]
    # What failed is told at the end: beside a text that grows, with its passing line, there may be no room for it.
    called = [f"<@{id}>" for id in stage.calls if _MEMBER.fullmatch(id)][:CALLS]
    links = [*([" ".join(called)] if called else []), *(one for one in stage.links if size(one) <= NOTE)]
    notes = FOOTER.notes(stage, context, links)
    fixed = [] if growing else FOOTER.failed(stage, context)
    offered = [] if growing else _offered(stage, context.run)
    room = TEXT - SPARE - _length([*fixed, *(one.prompt for one in offered)])
    files = [] if growing or context.no_files else _files(stage)
    if growing:
        notes_shown = FOOTER.as_fit(notes, room - cost(last.closed) - PASSING)
        return [*made, _last(stage, context, last, notes_shown, [], [], [])]
    if cost(last.text) + _length(notes) > room:  # then what stands below goes on in messages of its own
        made += [Page(last.closed, plain=_full(last.closed))] if last.text else []
        *packed, notes = _packed(notes, room)
        made += [Page("", closing=(small(said),), plain=said) for said in map("\n".join, packed)]
        last = Filled()
    names = [literal(one.name, 100) for one in stage.files] if files and not made else []
    return [*made, _last(stage, context, last, notes, fixed, offered, names), *files]


def asked(asked: str, who: str, say: Words, *, tasks: Sequence[Task] = (), title: str = "") -> Page:
    """Who asked what, and under it the plan of `tasks`, called `title`. `who` is a name, and calls nobody."""
    lines = [say("page.asked", who=f"**{words(who) or '…'}**")]
    room = ASKED
    for one in filter(None, map(words, shortened(clean(asked), ASKED, size).split("\n"))):
        room -= cost(one) + 3
        if room < 0:
            lines.append("> …")
            break
        lines.append(f"> {one}")
    body = "\n".join(lines)
    plan = (plan_of(tasks, title or say("slack_page.plan")),) if tasks else ()
    return Page(body, closing=plan, plain=converted(body))


def _texts(stage: StageContent, growing: bool) -> list[Filled]:
    """The title and the text, at least one page of them."""
    title = words(shortened(" ".join(clean(stage.title).split()), TITLE, size))
    found = pieces(stage.text, whole=not growing)
    titled = [Piece(f"### {title}")] if title else []
    name, _ = _names(stage)
    if name:
        titled.append(Piece(name, lead="\n", glued=True) if titled else Piece(name))
    if titled and found:
        found[0] = replace(found[0], lead="\n\n" if name else "\n", glued=True)
    # What comes before a cut is what was shown of the text when it had come so far, but not the title alone.
    breaks = {len(titled) + max(1, _settled(stage.text[:at])) for at in stage.cuts}
    return fill([*titled, *found], breaks) or [Filled()]


@lru_cache(64)
def _settled(text: str) -> int:
    """The pieces of it that stay however it goes on."""
    return len(pieces(text, whole=False))


_full = lru_cache(256)(converted)
"""Of the messages that are full already, as long as the last one grows."""


def _offered(stage: StageContent, run: str) -> list[Offer]:
    made = []
    for one in offers(stage, run, LABEL, size):
        prompt = one.prompt and literal(one.prompt, PROMPT)
        if one.over:  # Slack knows no button that cannot be pressed
            prompt = "\n".join(filter(None, [prompt, literal(one.taken)]))
        made.append(replace(one, prompt=prompt, buttons=() if one.over else one.buttons))
    return made


def _last(
    stage: StageContent,
    context: PageContext,
    text: Filled,
    notes: list[str],
    failed: list[str],
    offered: list[Offer],
    names: list[str],
) -> Page:
    growing = stage.growing and not context.ended
    body = text.text if growing else text.closed
    plain = converted(text.closed)
    # What there is of the text may be held back.
    passing = FOOTER.passing(stage, context, wordless=Page(body, names=_names(stage)).wordless)
    prompts = [one.prompt for one in offered]
    used = SPARE + size(plain) + _length([*notes, passing, *failed, *prompts])
    found = FOOTER.sources(stage.citations, stage.text, context.say)
    listed, hidden = FOOTER.fitting(found, SOURCES, context.say, quotes=True)
    closing = [small(listed)] if listed else []
    quoted, short = FOOTER.fitting(found, TEXT - used, context.say, quotes=True)
    plainly, left_out = FOOTER.fitting(found, TEXT - used, context.say, quotes=False)
    if short == left_out:
        plainly = quoted
    if not (body or notes or failed or offered or closing or passing):
        notes = [f"📎 {shortened(', '.join(names), NOTE, size)}"] if names else [context.say("page.nothing")]
    blocks = [*closing, *map(small, filter(None, map("\n".join, _packed(notes, SMALL))))]
    rows: list[Block] = []
    for one in offered:
        blocks += [small(one.prompt)] if one.prompt else []
        if one.buttons:
            blocks.append(actions_of(one.buttons))
            rows.append(actions_of(one.buttons))
    if failed:
        blocks += [section(failed[0]), small(failed[1])]
    buttons = list(rows_of(controls(stage, context, more=bool(hidden or left_out)), context.run, context.say))
    says = [plain, plainly, *notes, passing, *prompts, *failed]
    return Page(
        body,
        passing,
        (*blocks, *buttons),
        "\n".join(filter(None, says)) or "…",
        (*rows, *buttons),
        growing,
    )


def _files(stage: StageContent) -> list[Page]:
    """A message for each file. They come once the stage is closed, so that nothing is uploaded twice."""
    made: list[Page] = []
    taken: set[str] = set()
    for file in stage.files:
        name = file_name(file.name, taken, _UNSAFE)
        alt = shortened(words(file.alt), ALT, size) if isinstance(file, Picture) else ""
        made.append(Page(alt, plain=converted(alt) or literal(name), file=(name, file.data)))
    return made


def _packed(lines: list[str], room: int) -> list[list[str]]:
    """The lines in groups of at most `room` characters; at least one group."""
    most = min(room, SMALL)
    groups: list[list[str]] = [[]]
    for one in lines:
        if groups[-1] and _length(groups[-1]) + size(one) > most:
            groups.append([])
        groups[-1].append(one)
    return groups


def _length(lines: Sequence[str]) -> int:
    shown = list(filter(None, lines))
    return sum(map(size, shown)) + len(shown)


def fill(found: Iterable[Piece], breaks: Collection[int] = ()) -> list[Filled]:
    """The pieces in messages of at most BODY. At each of `breaks`, counted in pieces, or soon after, another begins."""
    made: list[Filled] = []
    wanted = False
    for at, piece in enumerate(found):
        wanted = wanted or at in breaks
        length = len(piece.lead) + _cost(piece.text)
        if not made or (wanted and not piece.glued) or _ends(made[-1], piece, length):
            wanted = False
            if made and made[-1].code:
                made[-1] = Filled(made[-1].closed)
            made.append(Filled(piece.head + piece.text, cost(piece.head + piece.text), piece.code))
        else:
            page = made[-1]
            page.text += piece.lead + piece.text
            page.used += length
            page.code = piece.code
    return made


def _ends(page: Filled, piece: Piece, length: int) -> bool:
    """Whether the piece begins another message."""
    if page.used < BLOCK and page.used + length <= BODY - len(CLOSING):
        return False
    if page.code and not piece.code:
        return False
    closing = len(CLOSING) if piece.code else 0
    if page.used + length + closing > BODY:
        return True
    if piece.glued or not piece.lead:
        return False
    if "\n" in piece.lead:
        enough = SENTENCE if page.code else BLOCK if "\n\n" in piece.lead else LINE
    else:
        enough = SENTENCE if _SENTENCE.search(page.text[-8:]) else WORD
    return page.used >= enough
