"""The sources of an answer in full, in pages that a message can hold: where each is from, then its words.

Pure: knows neither who asks nor where the sources are kept.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from bot.adapters.draft import clean, neutralise, split
from bot.events import Citation
from bot.words import Words

QUOTE_CHARS = 1_300
"""Short enough for a page even if every other character begins a line, which doubles it."""
MOST = 999
"""Pages that a button's custom_id can count."""


def citations(items: Sequence[str]) -> list[Citation]:
    """The sources that a run keeps as offers, each number once, in order of the numbers."""
    found = {one.n: one for one in (Citation(**json.loads(item)) for item in items)}
    return [found[n] for n in sorted(found)]


def pages(cited: Sequence[Citation], say: Words, room: int) -> list[str]:
    """Markdown, at most `room` characters a page (2,700 at least, for a quotation).

    A source stays on one page wherever it fits.
    """
    full: list[str] = []
    for source in cited:
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
    parts = split(neutralise(clean(source.quote)), QUOTE_CHARS)
    quoted = ["\n".join(f"> {line}" for line in part.splitlines()) for part in parts]
    return ["\n".join([f"**[{source.n}]** {where[:800]}", *quoted[:1]]), *quoted[1:]]


def _line(text: str) -> str:
    return " ".join(neutralise(clean(text)).split())
