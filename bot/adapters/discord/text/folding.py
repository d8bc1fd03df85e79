"""A whole run in one message, for where the bot is a guest and may send few: it stages by editing.

Pure. Earlier stages shrink to a line each; what does not fit becomes a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot.adapters.discord.text.inline import literal, size
from bot.adapters.discord.text.page import ANSWER, CONTENT, Card, Page, Part, Rule
from bot.adapters.discord.text.render import FILE_BYTES, FILES, REQUEST_BYTES, SPARE, pages, uploads
from bot.adapters.draft import clean, shortened, split
from bot.adapters.sheet import Facts, Sheet
from bot.events import Attachment, Citation, Picture
from bot.words import Words

LINE = 120
"""Characters of an earlier stage's line."""
SHORT = 400
"""An earlier stage's text up to this long is not missed; more of it is worth a file."""
ROOMS = (1_400, 1_000, 600, 200)
"""Characters of text to try, the largest first: what else stands in the message is not known beforehand."""


def folded(sheets: Sequence[Sheet], facts: Facts) -> Page:
    """The stages as one page."""
    *earlier, last = sheets
    whole = replace(
        last,
        links=[*map(_line, earlier), *(link for one in sheets for link in one.links)],
        notices=[notice for one in sheets for notice in one.notices],
        citations=[cited for one in sheets for cited in one.citations],
        choices=[group for one in sheets for group in one.choices],
        files=[file for one in sheets for file in one.files],
        first_choice=sheets[0].first_choice,
    )
    made = pages(whole, facts)
    if len(made) == 1 and not any(len(one.text) > SHORT for one in earlier):
        return made[0]
    if not last.growing and not facts.no_files:
        whole.files.insert(0, whole_file(sheets, facts))
        whole.notices.append(facts.say("thread.in_file"))
        kept = _for_one_message(whole.files)
        if left := len(whole.files) - len(kept):
            whole.files = kept
            whole.notices.append(facts.say("page.more", n=left))
        made = pages(whole, facts)
    for room in ROOMS:
        if len(made) == 1:
            break
        whole.text = (split(last.text, room) or [""])[0] + " …"
        made = pages(whole, facts)
    return made[-1]


def whole_file(sheets: Sequence[Sheet], facts: Facts) -> Attachment:
    """All that the stages say, with what their sources are."""
    parts = []
    for one in sheets:
        parts += [f"# {one.title}" if one.title else "", one.text, *one.notices, one.failed]
    cited = {source.n: source for one in sheets for source in one.citations}
    sources = [_source(cited[n], facts.say) for n in sorted(cited)]
    text = "\n\n".join(part.strip() for part in [*parts, "\n".join(sources)] if part.strip())
    return Attachment(f"{facts.run[:8]}.md", "text/markdown", text.encode("utf-8", errors="replace"))


def beside(page: Page, sheets: Sequence[Sheet], facts: Facts, note: str, *, file: bool) -> Page:
    """The page's own text, which goes no further than that: `note` says where all of it is.

    With the file there is everything in it; the buttons are those of the last stage.
    """
    body = next((part for card in page.cards for part in card.parts if isinstance(part, str)), "")
    said = f"-# ⓘ {note}"
    others = [other for one in sheets for other in one.files]
    kept = _for_one_message([whole_file(sheets, facts), *others]) if file else []
    attached = uploads(replace(sheets[-1], files=kept))[:1]
    rows = pages(sheets[-1], replace(facts, no_files=""))[-1].rows
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
    for one in files:
        length = len(one.png if isinstance(one, Picture) else one.data)
        if length <= FILE_BYTES:
            if count == FILES or weight + length > REQUEST_BYTES:
                continue
            count, weight = count + 1, weight + length
        kept.append(one)
    return kept


def _line(sheet: Sheet) -> str:
    text = clean(sheet.title or sheet.text).strip().partition("\n")[0]
    return f"-# ✓ {literal(text, LINE)}"
