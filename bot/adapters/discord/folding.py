"""A whole run in one message, for where the bot is a guest and may send few: it stages by editing.

Pure. Earlier stages shrink to a line each; what does not fit becomes a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot.adapters.discord.inline import literal
from bot.adapters.discord.page import Page
from bot.adapters.discord.render import FILE_BYTES, FILES, REQUEST_BYTES, pages
from bot.adapters.draft import clean, split
from bot.adapters.sheet import Facts, Sheet
from bot.events import Attachment, Picture

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
    if not last.growing:
        whole.files.insert(0, Attachment(f"{facts.run[:8]}.md", "text/markdown", _all(sheets)))
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


def _all(sheets: Sequence[Sheet]) -> bytes:
    parts = [f"# {one.title}\n\n{one.text}" if one.title else one.text for one in sheets]
    return "\n\n".join(part.strip() for part in parts).encode("utf-8", errors="replace")
