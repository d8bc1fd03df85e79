"""The drafts of a script: lists them, and compares two of them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Iterator
from difflib import unified_diff
from typing import TYPE_CHECKING, Final

from bot.events import Attachment, Event, Request, Stage, Text, UserError
from bot.markdown import harmless
from bot.words import Words, words
from bot.work import Run
from bot.works.script.catalogue import Catalogue, reader
from bot.works.script.changes import Changes, changes
from bot.works.script.export import page
from bot.works.script.length import in_pages, pages

if TYPE_CHECKING:
    from bot.works.script.model import Scene, Script
    from storage.scripts import ScriptRow

LISTED: Final = 30
"""The maximum number of scenes in the message that compares two drafts; the file has all of them."""
_TWO: Final = re.compile(r"\D*(\d{1,6})\D+(\d{1,6})\D*")


class Drafts:
    """The verbs drafts and compare."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    async def listed(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        asker = reader(request)
        row = await self._catalogue.resolve(asker, request.text)
        drafts = await self._catalogue.rows.drafts(asker, row.id)
        yield Stage("drafts", say("script.drafts_of", title=harmless(row.title), n=len(drafts)))
        for draft in drafts:
            line = say(
                "script.draft_line",
                draft=draft.draft,
                source=harmless(draft.source),
                n=draft.scenes,
                date=f"{draft.created_at:%Y-%m-%d}",
            )
            yield Text(f"- {line}\n")
        if len(drafts) > 1:
            yield Text("\n" + say("script.how_to_compare", before=drafts[1].draft, now=drafts[0].draft))

    async def compare(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        asker = reader(request)
        row = await self._catalogue.resolve(asker, str(request.options.get("script") or ""))
        first, second = await self._two(request, row)
        before = await self._catalogue.draft(asker, row, first)
        now = await self._catalogue.draft(asker, row, second)
        found = await asyncio.to_thread(changes, before, now)
        yield Stage("compare", say("script.compared", title=harmless(row.title), before=first, now=second))
        yield Text(_counted(found, before, now, say))
        lines = list(_lines(found, before, now, say))
        if not lines:
            return
        yield Text("\n" + "\n".join(lines[:LISTED]) + "\n")
        if (more := len(lines) - LISTED) > 0:
            yield Text(say("script.more_changes", n=more))
        difference = await asyncio.to_thread(_difference, found, before, now)
        yield Attachment(f"drafts-{first}-{second}.diff", "text/plain", difference.encode())

    async def _two(self, request: Request, row: ScriptRow) -> tuple[int, int]:
        """The two named drafts; without names, the newest and the one before it."""
        if request.text.strip():
            if (named := _TWO.fullmatch(request.text)) is None:
                raise UserError("script.which_drafts", typed=request.text.strip()[:40])
            return int(named[1]), int(named[2])
        drafts = await self._catalogue.rows.drafts(reader(request), row.id)
        if len(drafts) < 2:
            raise UserError("script.one_draft_kept", title=row.title)
        return drafts[1].draft, drafts[0].draft


def _counted(found: Changes, before: Script, now: Script, say: Words) -> str:
    counts = {"changed": found.changed, "cut": found.cut, "new": found.new}
    counted = ", ".join(say(f"script.{name}", n=len(scenes)) for name, scenes in counts.items() if scenes)
    length = say("script.length_changed", before=pages(_eighths(before)), now=in_pages(_eighths(now), say))
    return f"{counted or say('script.same_words')}. {length}\n"


def _eighths(script: Script) -> int:
    return sum(scene.eighths for scene in script.scenes)


def _lines(found: Changes, before: Script, now: Script, say: Words) -> Iterator[str]:
    """One line for each changed or new scene, in the order of the new draft; then those that were cut."""
    was = {new: old for old, new in found.changed}
    for scene in now.scenes:
        if scene.number in was:
            old = before.scenes[was[scene.number] - 1]
            change = say("script.scene_changed", words=f"{scene.words - old.words:+d}")
        elif scene.number in found.new:
            change = say("script.scene_new", words=scene.words)
        else:
            continue
        yield f"- **{scene.number}** {harmless(scene.heading.text)} · {change}"
    for number in found.cut:
        scene = before.scenes[number - 1]
        yield f"- ~~{number} {harmless(scene.heading.text)}~~ · {say('script.scene_cut', words=scene.words)}"


def _difference(found: Changes, before: Script, now: Script) -> str:
    """The pages of the scenes that differ, in the format of `diff -u`."""
    pairs: list[tuple[Scene | None, Scene | None]] = [
        (before.scenes[old - 1], now.scenes[new - 1]) for old, new in found.changed
    ]
    pairs += [(None, now.scenes[number - 1]) for number in found.new]
    pairs.sort(key=lambda pair: pair[1].number if pair[1] else 0)
    pairs += [(before.scenes[number - 1], None) for number in found.cut]
    lines: list[str] = []
    for old, new in pairs:
        lines += unified_diff(_page(old), _page(new), _named(old), _named(new), lineterm="")
    return "\n".join(lines) + "\n"


def _page(scene: Scene | None) -> list[str]:
    return page(scene.elements).split("\n") if scene else []


def _named(scene: Scene | None) -> str:
    return f"{scene.number} {' '.join(scene.heading.text.split())}" if scene else "/dev/null"
