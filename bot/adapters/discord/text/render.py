"""Renders the present content of a stage to pages, or that of a whole run to one page. Pure; independent of clients.

Text fills one message after another, each short enough for its plain form without layout. Status, notices, sources and
buttons are on the last one.

As a guest the bot may send few messages, so one edited message has all stages (`folded`): earlier stages have a line
each, and what does not fit becomes a file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bot.adapters.discord.received.commands import as_shown
from bot.adapters.discord.text.markdown import divided, hidden, inline, literal, pieces, size
from bot.adapters.discord.text.page import (
    ALT,
    ANSWER,
    CONTENT,
    CURSOR,
    FAILED,
    STOPPED,
    TEXT,
    WORKING,
    Card,
    Page,
    Part,
    Rule,
    Shown,
)
from bot.adapters.footer import NOTE, PASSING, TAKEN, Footer, Offer, controls, offers
from bot.adapters.markdown import Piece, clean, file_name, pack, shortened, split
from bot.adapters.stage_content import PageContext, StageContent
from bot.events import Attachment, Citation, Picture
from bot.words import Words

if TYPE_CHECKING:
    from bot.adapters.discord.received.placing import Origin

BODY = 1_850
"""Units of a message's text: together with the cursor it fits a plain message."""

SPARE = 12
"""Units kept free of each limit for line ends between the parts."""

SOURCES = 1_900
LABEL = 80
"""The most units of a button's label (Discord's documentation, "Button")."""
LISTED = 200
"""The most units of a choice that is listed above its button."""

FILES = 10
"""Files per message (Discord's documentation, "Create Message")."""

FILE_BYTES = 10 * 1024 * 1024
"""The most bytes of one file on a guild without boosts (Discord's documentation, "Uploading Files")."""

REQUEST_BYTES = 24 * 1024 * 1024

NAME = 80
"""The most units of a speaker's name."""
CALLS = 25
"""The most people mentioned in one message."""
LINE = 120
"""The most characters of an earlier stage's line."""
SHORT = 400
"""An earlier stage's text up to this length is left out; a longer one makes a file of the whole answer."""
ROOMS = (1_400, 1_000, 600, 200)
"""Characters of text to try, largest first, because the length of the other parts is not known beforehand."""

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
"""Characters that Discord would change in a file's name, so that the layout could not refer to it."""


def line(markdown: str, most: int) -> str:
    """Markdown as one line of at most `most` units."""
    return shortened(" ".join(inline(" ".join(clean(markdown).split())).split()), most, size)


FOOTER = Footer(literal, line, size, number="-# `[{}]`", mark="-# ", quote="> -# ")


def pages(stage: StageContent, context: PageContext) -> list[Page]:
    """The stage's pages in order, at least one.

    While the text grows, the pages before the last do not change, with one exception: a block that has become too long,
    or its end, moves to the next page with its heading.
    """
    growing = stage.growing and not context.ended
    name = _name(stage)
    body = _body(stage, name, growing)
    called = tuple(map(int, filter(str.isdecimal, stage.calls)))[:CALLS]
    mentions = [" ".join(f"<@{id}>" for id in called)] if called else []
    links = [*mentions, *(shortened(link, NOTE, size) for link in stage.links)]
    batches, unsendable = uploads(stage) if stage.files else ([], [])
    left_out = [
        context.say(
            "page.too_large", name=literal(clean(file.name), 100), size=f"{len(file.data) / 2**20:.0f}"
        )
        for file in unsendable
    ]
    notes = FOOTER.notes(stage, context, links, left_out)
    failed = FOOTER.failed(stage, context)
    choices = offers(stage, context.run, LABEL, size) if stage.choices and not growing else []
    offered = [replace(offer, prompt="\n".join(_prompt(offer))) for offer in choices]
    fixed = [*failed, *(offer.prompt for offer in offered)]
    room = CONTENT - SPARE - sum(size(part) + 1 for part in fixed if part)
    lasting = "\n".join(notes)
    if size(body[-1]) + size(lasting) + 1 > room:
        body = [part for part in body if part] + pack([Piece(part, "\n") for part in notes], BODY, size)
        lasting = ""
    if size(body[-1]) > room:
        body.append("")
    room -= sum(size(part) + 1 for part in (body[-1], lasting) if part)
    if growing or context.no_files:
        batches = []
    full_pages = [Page((Card((part,), ANSWER),), part) for part in body[:-1]]
    last = _last(stage, context, body[-1], lasting, failed, offered, batches[-1] if batches else [], room)
    for files in batches[:-1]:
        alts = FOOTER.as_fit([f"-# {literal(file.alt, ALT)}" for file in files if file.alt], BODY)
        full_pages.append(Page((Card(tuple(files), ANSWER),), "\n".join(alts)))
    stage_pages = [*full_pages, replace(last, calls=called)]
    if not name:
        return stage_pages
    return [
        replace(page, speaker=stage.speaker, name="" if n else name) for n, page in enumerate(stage_pages)
    ]


def _prompt(offer: Offer) -> list[str]:
    """The lines above a row of choices: its prompt, and the choices that are too long for their buttons."""
    prompt = [f"-# {literal(offer.prompt, 120)}"] if offer.prompt else []
    marks = [TAKEN if f"{TAKEN} {text}" == offer.taken else f"{n}." for n, text in enumerate(offer.listed, 1)]
    return [
        *prompt,
        *(f"{mark} {literal(text, LISTED)}" for mark, text in zip(marks, offer.listed, strict=True)),
    ]


def _name(stage: StageContent) -> str:
    """The line with the speaker's name; "" for the bot."""
    named = literal(clean(stage.speaker.name), NAME) if stage.speaker is not None else ""
    return f"**{named}**" if named else ""


def root_page(origin: Origin, say: Words, link: int | None = None) -> Page:
    """The root message: who asked what, and a link to the thread or channel of the answer."""
    lines = [say("page.asked", who=f"<@{origin.user}>")]
    if words := clean(origin.asked).strip():
        words = as_shown(say, words) if words.startswith("/") else words
        shown = "\n".join(map(literal, filter(str.strip, words.split("\n"))))
        lines.append("> " + shortened(shown, BODY, size).replace("\n", "\n> "))
    if link is not None:
        lines.append(f"-# {say('page.goes_on', where=f'<#{link}>')}")
    text = "\n".join(lines)
    return Page((Card((text,)),), text)


def _body(stage: StageContent, name: str, growing: bool) -> list[str]:
    """The title, the speaker's name and the text; one string per message."""
    body_pieces = pieces(stage.text, BODY)
    if stage.spoiler:
        body_pieces += hidden(stage.spoiler, BODY)
    if name:
        body_pieces.insert(0, Piece(name, "\n", leads=True))
    title = literal(clean(stage.title), 200)
    if title:
        body_pieces.insert(0, Piece(f"### {title}", "\n", leads=True))
    body = pack(body_pieces, BODY, size, divided) or [""]
    if growing and stage.text.strip():
        body[-1] += f"\n{CURSOR}" if body[-1].endswith("```") else f" {CURSOR}"
    return body


def _last(
    stage: StageContent,
    context: PageContext,
    text: str,
    notes: str,
    failed: list[str],
    offered: list[Offer],
    files: list[Shown],
    room: int,
) -> Page:
    """The last page. `room` is the number of units that all other parts leave free in its form without layout."""
    passing = FOOTER.passing(stage, context, wordless=not stage.text.strip())
    small_print = "\n".join(filter(None, [notes, passing]))
    sources = FOOTER.sources(stage.citations, stage.text, context.say)
    most = min(SOURCES, TEXT - PASSING - (CONTENT - room))
    listed, hidden = FOOTER.fitting(sources, most, context.say, quotes=True)
    plain_passing = passing if size(passing) < room else ""
    plainly, left_out = FOOTER.fitting(sources, room - size(plain_passing), context.say, quotes=False)

    parts: list[Part] = [text] if text else []
    parts += files
    if listed:
        parts += [Rule(), listed] if parts else [listed]
    if small_print:
        parts.append(small_print)
    if not parts and not failed and not offered:
        parts.append(f"-# {context.say('page.nothing')}")
    chosen: list[Part] = []
    for offer in offered:
        chosen += [offer.prompt, offer.buttons] if offer.prompt else [offer.buttons]
    if chosen and parts:
        chosen.insert(0, Rule())
    if stage.growing and not context.ended:
        colour = WORKING
    else:
        colour = STOPPED if context.last and context.ended == "stopped" else ANSWER
    cards = [Card((*parts, *chosen), colour)] if parts or chosen else []
    if failed:
        cards.append(Card(("\n".join(failed),), FAILED))
    row = controls(stage, context, more=bool(hidden or left_out))
    if row:
        cards.append(Card((row,)))
    words = [part for part in parts if isinstance(part, str) and part not in (listed, small_print)]
    prompts = [offer.prompt for offer in offered]
    plain = "\n".join(filter(None, [*words, plainly, notes, plain_passing, *failed, *prompts]))
    if files:
        alts = [f"-# {literal(file.alt, ALT)}" for file in files if file.picture and file.alt]
        described = FOOTER.as_fit(alts, CONTENT - size(plain) - SPARE)
        plain = "\n".join(filter(None, [plain, *described]))
    return Page(tuple(cards), plain)


def uploads(stage: StageContent) -> tuple[list[list[Shown]], list[Picture | Attachment]]:
    """The files to send, by message, and those that are too large for Discord.

    They are sent once the stage is finished, so that each is uploaded once.
    """
    batches: list[list[Shown]] = []
    unsendable: list[Picture | Attachment] = []
    used_names: set[str] = set()
    weight = 0
    for file in stage.files:
        if len(file.data) > FILE_BYTES:
            unsendable.append(file)
            continue
        name, picture = file_name(file.name, used_names, _UNSAFE), isinstance(file, Picture)
        alt = shortened(" ".join(clean(file.alt).split()), ALT, size) if isinstance(file, Picture) else ""
        weight += len(file.data)
        if not batches or len(batches[-1]) == FILES or weight > REQUEST_BYTES:
            batches.append([])
            weight = len(file.data)
        batches[-1].append(Shown(name, file.data, picture, alt))
    return batches, unsendable


def folded(stages: Sequence[StageContent], context: PageContext) -> Page:
    """The stages as one page."""
    *earlier, last = stages
    whole = replace(
        last,
        links=[*map(_line, earlier), *(link for stage in stages for link in stage.links)],
        notices=[notice for stage in stages for notice in stage.notices],
        citations={n: cited for stage in stages for n, cited in stage.citations.items()},
        choices=[group for stage in stages for group in stage.choices],
        files=[file for stage in stages for file in stage.files],
        first_choice=stages[0].first_choice,
        counts={number: votes for stage in stages for number, votes in stage.counts.items()},
    )
    folded_pages = pages(whole, context)
    if len(folded_pages) == 1 and not any(len(stage.text) > SHORT for stage in earlier):
        return folded_pages[0]
    if not last.growing and not context.no_files:
        whole.files.insert(0, whole_file(stages, context))
        whole.notices.append(context.say("thread.in_file"))
        fitting = _for_one_message(whole.files)
        if hidden := len(whole.files) - len(fitting):
            whole.files = fitting
            whole.notices.append(context.say("page.more", n=hidden))
        folded_pages = pages(whole, context)
    for room in ROOMS:
        if len(folded_pages) == 1:
            break
        whole.text = (split(last.text, room) or [""])[0] + " …"
        folded_pages = pages(whole, context)
    return folded_pages[-1]


def whole_file(stages: Sequence[StageContent], context: PageContext) -> Attachment:
    """All text of the stages, with their sources."""
    parts = []
    for stage in stages:
        parts += [
            f"# {stage.title}" if stage.title else "",
            _name(stage),
            stage.text,
            *stage.notices,
            stage.failed,
        ]
    cited = {n: source for stage in stages for n, source in stage.citations.items()}
    sources = [_source(source, context.say) for _, source in sorted(cited.items())]
    text = "\n\n".join(part.strip() for part in [*parts, "\n".join(sources)] if part.strip())
    return Attachment(f"{context.run[:8]}.md", "text/markdown", text.encode("utf-8", errors="replace"))


def beside(
    page: Page, stages: Sequence[StageContent], context: PageContext, note: str, *, file: bool
) -> Page:
    """The page's own text with a `note` that says where the whole answer is; with `file`, the whole answer as a file.

    The buttons are those of the last stage.
    """
    body = next((part for card in page.cards for part in card.parts if isinstance(part, str)), "")
    note_line = f"-# ⓘ {note}"
    others = [other for stage in stages for other in stage.files]
    attachments = _for_one_message([whole_file(stages, context), *others]) if file else []
    batches, _ = uploads(replace(stages[-1], files=attachments))
    rows = pages(stages[-1], replace(context, no_files=""))[-1].rows
    parts: list[Part] = [body, *(upload for batch in batches[:1] for upload in batch), Rule(), note_line]
    plain = shortened(body, CONTENT - SPARE - size(note_line), size)
    cards = [Card(tuple(part for part in parts if part), ANSWER), *(Card((row,)) for row in rows)]
    return Page(tuple(cards), f"{plain}\n{note_line}")


def without_buttons(page: Page) -> Page:
    """The page without buttons, for a place where they would not work."""
    cards = (
        Card(tuple(part for part in card.parts if not isinstance(part, tuple)), card.colour)
        for card in page.cards
    )
    return replace(page, cards=tuple(card for card in cards if card.parts))


def _source(cited: Citation, say: Words) -> str:
    leaf = f", {say('page.leaf', n=cited.page)}" if cited.page is not None else ""
    return f"[{cited.n}] {cited.source} › {cited.heading}{leaf}: “{' '.join(cited.quote.split())}”"


def _for_one_message(files: Sequence[Picture | Attachment]) -> list[Picture | Attachment]:
    """The files that fit in one message, and those that are too large for any message, which the page mentions."""
    fitting: list[Picture | Attachment] = []
    count = weight = 0
    for file in files:
        length = len(file.data)
        if length <= FILE_BYTES:
            if count == FILES or weight + length > REQUEST_BYTES:
                continue
            count, weight = count + 1, weight + length
        fitting.append(file)
    return fitting


def _line(stage: StageContent) -> str:
    text = clean(stage.title or stage.text).strip().partition("\n")[0]
    return f"-# ✓ {literal(text, LINE)}"
