"""Explains why a space has no books: one is being read, there are only courses or scripts, or nothing was added."""

from __future__ import annotations

from typing import TYPE_CHECKING

from storage.scripts import Reader

if TYPE_CHECKING:
    from bot.events import Request
    from bot.resources import Resources

READING_VERBS = (("library", "add"), ("library", "reindex"))


async def why_no_books(resources: Resources, request: Request) -> str:
    """The key of the sentence for a space without books."""
    place = request.place
    if await resources.jobs.runs(place.space, READING_VERBS):
        return "rules.books_coming"
    if await resources.records.documents.kinds(place.space) - {""}:
        return "rules.only_courses"
    reader = Reader(place.space, request.author.id, place.platform, place.channel, place.thread)
    return "rules.only_scripts" if await resources.scripts.all(reader) else "rules.no_books"
