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
_TWO_NUMBERS: Final = re.compile(r"\D*(\d{1,6})\D+(\d{1,6})\D*")


class Drafts:
    """The verbs drafts and compare."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    async def listing(self, run: Run) -> AsyncGenerator[Event, None]:
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
        first, second = await self._draft_numbers(request, row)
        before = await self._catalogue.draft(asker, row, first)
        now = await self._catalogue.draft(asker, row, second)
        draft_changes = await asyncio.to_thread(changes, before, now)
        yield Stage("compare", say("script.compared", title=harmless(row.title), before=first, now=second))
        yield Text(_summary(draft_changes, before, now, say))
        lines = list(_lines(draft_changes, before, now, say))
        if not lines:
            return
        yield Text("\n" + "\n".join(lines[:LISTED]) + "\n")
        if (more := len(lines) - LISTED) > 0:
            yield Text(say("script.more_changes", n=more))
        difference = await asyncio.to_thread(_difference, draft_changes, before, now)
        yield Attachment(f"drafts-{first}-{second}.diff", "text/plain", difference.encode())

    async def _draft_numbers(self, request: Request, row: ScriptRow) -> tuple[int, int]:
        """The numbers of the two named drafts; without names, of the second newest and the newest."""
        if request.text.strip():
            if (match := _TWO_NUMBERS.fullmatch(request.text)) is None:
                raise UserError("script.which_drafts", typed=request.text.strip()[:40])
            return int(match[1]), int(match[2])
        drafts = await self._catalogue.rows.drafts(reader(request), row.id)
        if len(drafts) < 2:
            raise UserError("script.one_draft_kept", title=row.title)
        return drafts[1].draft, drafts[0].draft


def _summary(draft_changes: Changes, before: Script, now: Script, say: Words) -> str:
    counts = {"changed": draft_changes.changed, "cut": draft_changes.cut, "new": draft_changes.new}
    counted = ", ".join(say(f"script.{name}", n=len(scenes)) for name, scenes in counts.items() if scenes)
    length = say("script.length_changed", before=pages(_eighths(before)), now=in_pages(_eighths(now), say))
    return f"{counted or say('script.same_words')}. {length}\n"


def _eighths(script: Script) -> int:
    return sum(scene.eighths for scene in script.scenes)


def _lines(draft_changes: Changes, before: Script, now: Script, say: Words) -> Iterator[str]:
    """One line for each changed or new scene, in the order of the new draft; then those that were cut."""
    old_numbers = {new: old for old, new in draft_changes.changed}
    for scene in now.scenes:
        if scene.number in old_numbers:
            old = before.scenes[old_numbers[scene.number] - 1]
            change = say("script.scene_changed", words=f"{scene.words - old.words:+d}")
        elif scene.number in draft_changes.new:
            change = say("script.scene_new", words=scene.words)
        else:
            continue
        yield f"- **{scene.number}** {harmless(scene.heading.text)} · {change}"
    for number in draft_changes.cut:
        scene = before.scenes[number - 1]
        yield f"- ~~{number} {harmless(scene.heading.text)}~~ · {say('script.scene_cut', words=scene.words)}"


def _difference(draft_changes: Changes, before: Script, now: Script) -> str:
    """The pages of the scenes that differ, in the format of `diff -u`."""
    pairs: list[tuple[Scene | None, Scene | None]] = [
        (before.scenes[old - 1], now.scenes[new - 1]) for old, new in draft_changes.changed
    ]
    pairs += [(None, now.scenes[number - 1]) for number in draft_changes.new]
    pairs.sort(key=lambda pair: pair[1].number if pair[1] else 0)
    pairs += [(before.scenes[number - 1], None) for number in draft_changes.cut]
    lines: list[str] = []
    for old, new in pairs:
        lines += unified_diff(_page(old), _page(new), _file_name(old), _file_name(new), lineterm="")
    return "\n".join(lines) + "\n"


def _page(scene: Scene | None) -> list[str]:
    return page(scene.elements).split("\n") if scene else []


def _file_name(scene: Scene | None) -> str:
    return f"{scene.number} {' '.join(scene.heading.text.split())}" if scene else "/dev/null"
