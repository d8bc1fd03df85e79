"""A stage as it stands right now, to the messages that show it; or a whole run to one. Pure; knows no client.

Text fills one message after another, each so short that its plain form, without layout, holds it too. What
stands under the text (status, notices, sources, buttons) goes with the last of them.

Where the bot is a guest it may send few messages, and stages by editing one (`folded`): earlier stages shrink to a
line each, and what does not fit becomes a file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from bot.adapters.buttons_row import Offer, controls, offers
from bot.adapters.discord.text.markdown import divided, inline, literal, pieces, size
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
from bot.adapters.footer import NOTE, PASSING, Footer
from bot.adapters.markdown import Piece, clean, file_name, pack, shortened, split
from bot.adapters.stage_content import PageContext, StageContent
from bot.events import Attachment, Citation, Picture
from bot.words import Words

BODY = 1_850
"""Units of a message's text: with the cursor it is sure to fit a plain message."""

SPARE = 12
"""Units kept free of each limit, for line ends between the parts."""

SOURCES = 1_900
LABEL = 80
"""Units of a button's label (Discord's documentation, "Button")."""

FILES = 10
"""Files of a message (Discord's documentation, "Create Message")."""

FILE_BYTES = 10 * 1024 * 1024
"""Of one file, where the guild has no boosts (Discord's documentation, "Uploading Files")."""

REQUEST_BYTES = 24 * 1024 * 1024

NAME = 80
"""Of a speaker's name."""
CALLS = 25
"""People who are called by name in one message."""
LINE = 120
"""Characters of an earlier stage's line."""
SHORT = 400
"""An earlier stage's text up to this long is not missed; more of it is worth a file."""
ROOMS = (1_400, 1_000, 600, 200)
"""Characters of text to try, the largest first: what else stands in the message is not known beforehand."""

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
"""What Discord would change in a file's name, by which the layout refers to it."""


def line(markdown: str, most: int) -> str:
    """Markdown as one line of at most `most` units."""
    return shortened(" ".join(inline(" ".join(clean(markdown).split())).split()), most, size)


FOOTER = Footer(literal, line, size, number="-# `[{}]`", mark="-# ", quote="> -# ")


def pages(stage: StageContent, context: PageContext) -> list[Page]:
    """The stage's messages in order, at least one.

    While the text grows, the pages before the last stay as they are, but for a block, or its end, that moves over to
    the next one as it gets too long, or the heading that it belongs to.
    """
    growing = stage.growing and not context.ended
    body = _body(stage, growing)
    called = tuple(int(id) for id in stage.calls if id.isdecimal())[:CALLS]
    mentions = [" ".join(f"<@{id}>" for id in called)] if called else []
    links = [*mentions, *(shortened(one, NOTE, size) for one in stage.links)]
    notes = FOOTER.notes(stage, context, links, _too_large(stage, context.say))
    failed = FOOTER.failed(stage, context)
    offered = [
        replace(one, prompt=one.prompt and f"-# {literal(one.prompt, 120)}")
        for one in (() if growing else offers(stage, context.run, LABEL, size))
    ]
    fixed = [*failed, *(one.prompt for one in offered)]
    room = CONTENT - SPARE - sum(size(one) + 1 for one in fixed if one)
    lasting = "\n".join(notes)
    if size(body[-1]) + size(lasting) + 1 > room:
        body = [one for one in body if one] + pack([Piece(one, "\n") for one in notes], BODY, size)
        lasting = ""
    if size(body[-1]) > room:
        body.append("")
    batches = [] if growing or context.no_files else uploads(stage)
    full_pages = [Page((Card((one,), ANSWER),), one) for one in body[:-1]]
    last = _last(stage, context, body[-1], lasting, failed, offered, batches[-1] if batches else [])
    for files in batches[:-1]:
        alts = FOOTER.as_fit([f"-# {literal(one.alt, ALT)}" for one in files if one.alt], BODY)
        full_pages.append(Page((Card(tuple(files), ANSWER),), "\n".join(alts)))
    return _spoken([*full_pages, replace(last, calls=called)], stage)


def _name(stage: StageContent) -> str:
    """The line that says who speaks, "" where that is the bot."""
    named = literal(clean(stage.speaker.name), NAME) if stage.speaker is not None else ""
    return f"**{named}**" if named else ""


def _spoken(made: list[Page], stage: StageContent) -> list[Page]:
    """The pages of a stage, as its speaker's."""
    if not (name := _name(stage)):
        return made
    return [replace(one, speaker=stage.speaker, name="" if n else name) for n, one in enumerate(made)]


def asked(origin_asked: str, author_id: int, link: int | None, say: Words) -> Page:
    """Who asked what, and the thread or channel where the answer is."""
    lines = [say("page.asked", who=f"<@{author_id}>")]
    words = clean(origin_asked).strip()
    if words:
        shown = [literal(line) for line in words.split("\n") if line.strip()]
        lines.append("> " + shortened("\n".join(shown), BODY, size).replace("\n", "\n> "))
    if link is not None:
        lines.append(f"-# {say('page.goes_on', where=f'<#{link}>')}")
    text = "\n".join(lines)
    return Page((Card((text,)),), text)


def _body(stage: StageContent, growing: bool) -> list[str]:
    """The title and the text, a string a message."""
    found = pieces(stage.text, BODY)
    if name := _name(stage):
        found.insert(0, Piece(name, "\n", leads=True))
    title = literal(clean(stage.title), 200)
    if title:
        found.insert(0, Piece(f"### {title}", "\n", leads=True))
    body = pack(found, BODY, size, divided) or [""]
    if growing and stage.text.strip():
        body[-1] += f"\n{CURSOR}" if body[-1].endswith("```") else f" {CURSOR}"
    return body


def _too_large(stage: StageContent, say: Words) -> list[str]:
    """What is said of the files that Discord does not take."""
    sentences = []
    for file in stage.files:
        if len(file.data) > FILE_BYTES:
            megabytes = f"{len(file.data) / 1024 / 1024:.0f}"
            sentences.append(say("page.too_large", name=literal(clean(file.name), 100), size=megabytes))
    return sentences


def _last(
    stage: StageContent,
    context: PageContext,
    text: str,
    notes: str,
    failed: list[str],
    offered: list[Offer],
    files: list[Shown],
) -> Page:
    passing = FOOTER.passing(stage, context, wordless=not stage.text.strip())
    under = _joined([notes, passing])
    prompts = [one.prompt for one in offered]
    used = sum(size(one) + 1 for one in (text, notes, *failed, *prompts) if one) + SPARE
    found = FOOTER.sources(stage.citations, stage.text, context.say)
    listed, hidden = FOOTER.fitting(found, min(SOURCES, TEXT - PASSING - used), context.say, quotes=True)
    plain_passing = passing if size(passing) < CONTENT - used else ""
    room = CONTENT - used - size(plain_passing)
    plainly, left_out = FOOTER.fitting(found, room, context.say, quotes=False)

    parts: list[Part] = [text] if text else []
    parts += files
    if listed:
        parts += [Rule(), listed] if parts else [listed]
    if under:
        parts.append(under)
    if not parts and not failed and not offered:
        parts.append(f"-# {context.say('page.nothing')}")
    chosen: list[Part] = []
    for one in offered:
        chosen += [one.prompt, one.buttons] if one.prompt else [one.buttons]
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
    alts = [f"-# {literal(one.alt, ALT)}" for one in files if one.picture and one.alt]
    words = [one for one in parts if isinstance(one, str) and one not in (listed, under)]
    says = [*words, plainly, notes, plain_passing, *failed, *prompts]
    return Page(tuple(cards), _joined([*says, *FOOTER.as_fit(alts, CONTENT - size(_joined(says)) - SPARE)]))


def uploads(stage: StageContent) -> list[list[Shown]]:
    """What can be sent, by message. It comes once the stage is closed, so that nothing is uploaded twice."""
    batches: list[list[Shown]] = []
    taken: set[str] = set()
    weight = 0
    for file in stage.files:
        if len(file.data) > FILE_BYTES:
            continue
        name, picture = file_name(file.name, taken, _UNSAFE), isinstance(file, Picture)
        alt = shortened(" ".join(clean(file.alt).split()), ALT, size) if isinstance(file, Picture) else ""
        weight += len(file.data)
        if not batches or len(batches[-1]) == FILES or weight > REQUEST_BYTES:
            batches.append([])
            weight = len(file.data)
        batches[-1].append(Shown(name, file.data, picture, alt))
    return batches


def _joined(texts: list[str]) -> str:
    return "\n".join(filter(None, texts))


def folded(stages: Sequence[StageContent], context: PageContext) -> Page:
    """The stages as one page."""
    *earlier, last = stages
    whole = replace(
        last,
        links=[*map(_line, earlier), *(link for one in stages for link in one.links)],
        notices=[notice for one in stages for notice in one.notices],
        citations=[cited for one in stages for cited in one.citations],
        choices=[group for one in stages for group in one.choices],
        files=[file for one in stages for file in one.files],
        first_choice=stages[0].first_choice,
        counts={number: votes for one in stages for number, votes in one.counts.items()},
    )
    made = pages(whole, context)
    if len(made) == 1 and not any(len(one.text) > SHORT for one in earlier):
        return made[0]
    if not last.growing and not context.no_files:
        whole.files.insert(0, whole_file(stages, context))
        whole.notices.append(context.say("thread.in_file"))
        kept = _for_one_message(whole.files)
        if left := len(whole.files) - len(kept):
            whole.files = kept
            whole.notices.append(context.say("page.more", n=left))
        made = pages(whole, context)
    for room in ROOMS:
        if len(made) == 1:
            break
        whole.text = (split(last.text, room) or [""])[0] + " …"
        made = pages(whole, context)
    return made[-1]


def whole_file(stages: Sequence[StageContent], context: PageContext) -> Attachment:
    """All that the stages say, with what their sources are."""
    parts = []
    for one in stages:
        parts += [f"# {one.title}" if one.title else "", _name(one), one.text, *one.notices, one.failed]
    cited = {source.n: source for one in stages for source in one.citations}
    sources = [_source(cited[n], context.say) for n in sorted(cited)]
    text = "\n\n".join(part.strip() for part in [*parts, "\n".join(sources)] if part.strip())
    return Attachment(f"{context.run[:8]}.md", "text/markdown", text.encode("utf-8", errors="replace"))


def beside(
    page: Page, stages: Sequence[StageContent], context: PageContext, note: str, *, file: bool
) -> Page:
    """The page's own text, which goes no further than that: `note` says where all of it is.

    With the file there is everything in it; the buttons are those of the last stage.
    """
    body = next((part for card in page.cards for part in card.parts if isinstance(part, str)), "")
    said = f"-# ⓘ {note}"
    others = [other for one in stages for other in one.files]
    kept = _for_one_message([whole_file(stages, context), *others]) if file else []
    attached = uploads(replace(stages[-1], files=kept))[:1]
    rows = pages(stages[-1], replace(context, no_files=""))[-1].rows
    parts: list[Part] = [body, *(one for batch in attached for one in batch), Rule(), said]
    plain = shortened(body, CONTENT - SPARE - size(said), size)
    cards = [Card(tuple(part for part in parts if part), ANSWER), *(Card((row,)) for row in rows)]
    return Page(tuple(cards), f"{plain}\n{said}")


def without_buttons(page: Page) -> Page:
    """The same for where they would lead nowhere."""
    cards = (
        Card(tuple(part for part in card.parts if not isinstance(part, tuple)), card.colour)
        for card in page.cards
    )
    return replace(page, cards=tuple(card for card in cards if card.parts))


def _source(cited: Citation, say: Words) -> str:
    leaf = f", {say('page.leaf', n=cited.page)}" if cited.page is not None else ""
    return f"[{cited.n}] {cited.source} › {cited.heading}{leaf}: “{' '.join(cited.quote.split())}”"


def _for_one_message(files: Sequence[Picture | Attachment]) -> list[Picture | Attachment]:
    """The first files that one message takes, and those that none does, which the page will say."""
    kept: list[Picture | Attachment] = []
    count = weight = 0
    for file in files:
        length = len(file.data)
        if length <= FILE_BYTES:
            if count == FILES or weight + length > REQUEST_BYTES:
                continue
            count, weight = count + 1, weight + length
        kept.append(file)
    return kept


def _line(stage: StageContent) -> str:
    text = clean(stage.title or stage.text).strip().partition("\n")[0]
    return f"-# ✓ {literal(text, LINE)}"
