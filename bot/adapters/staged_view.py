"""A run's events, as what its stages show by now, each in messages of its own.

Knows no work and no platform, and waits for no network while a run goes on: the channel's pen writes when it may.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Generic, assert_never

from bot import commands
from bot.adapters import offered, rolling
from bot.adapters.homes import Home, Links, Overflow, Way
from bot.adapters.pen import Pens
from bot.adapters.screen import FIRST, Screen, Staged
from bot.adapters.sheet import Facts, Sheet
from bot.adapters.surface import AnyPage, Form, Gone, Later, Mark, Refused, Shut
from bot.events import (
    Attachment,
    Changed,
    Choices,
    Citation,
    Elsewhere,
    Ended,
    Failed,
    Link,
    Notice,
    Picture,
    Request,
    Shown,
    Stage,
    Status,
    Text,
)
from bot.words import words
from storage.faults import StorageFault

if TYPE_CHECKING:
    from storage.offers import Offers
    from storage.outbox import Outbox
    from storage.votes import Votes

FLUSH_S = 25.0
"""How long the end of a run waits for its last messages; they are tried on beyond that."""

OVERDUE_S = 15.0
"""How long the end of a line is waited for, where a message has grown so old that another should go on."""

_log = logging.getLogger(__name__)


class StagedView(Generic[AnyPage]):
    """One run's, on one home."""

    def __init__(
        self,
        run: str,
        request: Request,
        outbox: Outbox,
        offers: Offers,
        home: Home[AnyPage],
        pens: Pens,
        links: Links,
        *,
        pages: Callable[[Sheet, Facts], Sequence[AnyPage]],
        folded: Callable[[Sequence[Sheet], Facts], AnyPage] | None,
        spoken: Callable[[str], str],
        taken: Collection[str],
        private: bool,
        alone: bool = False,
        share: str = "page.share",
        roll_after_s: float | None = None,
        overflow: Overflow[AnyPage] | None = None,
        wordless: Callable[[AnyPage], bool] = lambda page: False,
        votes: Votes | None = None,
    ) -> None:
        """`pages`, `folded` and `wordless`: see Screen. `spoken` makes a work's sentence the platform's.

        `taken` are keys by which the adapter has messages of its own in the outbox. `private`: only the asker
        sees this one's, and `share` is the key of what the button says that shows it to all. `alone`: the asker is
        told all of it at once, by `home.response`, when it has ended.
        After `roll_after_s` a message that still grows goes on in another. `overflow`: see there. `votes`: what has
        been voted for already, as after a crash.
        """
        self._run = run
        self._request = request
        self._private = private
        self._alone = alone
        self._share = share
        self._roll_after_s = roll_after_s
        self._overflow = overflow
        self._ending: asyncio.Task[None] | None = None
        self._space = request.place.space
        self._outbox = outbox
        self._offers = offers
        self._votes = votes
        self._home = home
        self._links = links
        self._spoken = spoken
        self._say = words(request.locale)
        self._screen = Screen(run, self._space, outbox, home, pens, self._facts, pages, folded, wordless)
        self._choices: list[str] = []
        self._sources: list[str] = []
        self._kept = (0, 0)
        self._taken = frozenset(taken)
        self._keys: set[str] = {FIRST, *taken}
        self._changes_last = True
        self._open = ""
        self._ended: Ended | None = None

    async def show(self, event: Shown) -> None:
        if self._ended is not None:
            return
        if isinstance(event, Stage):
            await self._enter(event)
        else:
            await self._take(event)
        if not self._only_failed and not self._alone:
            self._screen.open()

    async def change(self, changed: Changed) -> None:
        """In the stage's own messages. Where these are out of reach it comes in new ones, which say so."""
        row = await self._outbox.get(self._space, self._run, changed.stage)
        if row is None or row.message_id is None:
            return
        before = await self._offers.all(self._space, self._run, offered.KIND)
        self._sources = await self._offers.all(self._space, self._run, "source")
        shown = await self._outbox.stages(self._space, self._run)
        self._changes_last = [key for key in shown if key not in self._taken][-1] == changed.stage
        self._ended = "done"
        sheet = Sheet(changed.stage, changed.title, growing=False)
        self._screen.begin(sheet, row)
        groups = [one for one in changed.contents if isinstance(one, Choices)]
        choices = [one for group in groups for one in group.choices]
        sheet.first_choice = offered.index(choices, before, changed.stage)
        self._choices = before[: sheet.first_choice]
        for content in changed.contents or (Text(self._say("page.withdrawn")),):
            await self._take(content)
        # Those of before stay: their numbers stand in messages that are there.
        self._choices += before[len(self._choices) :]
        self._sources = list(dict.fromkeys(self._sources))
        await self._keep_offers()
        self._screen.open()
        await self._screen.written()
        if self._screen.made_anew:
            sheet.notices.append(self._say("page.changed_anew"))
            self._screen.changed(self._screen.stages[-1])
            await self._screen.written()

    async def flush(self, status: Ended) -> None:
        self._ended = status
        if status == "stopped" and not self._screen.stages:
            cut = await self._outbox.cut_off(self._space, self._run)
            if cut:  # it was stopped before a crash, and shows nothing from now on
                await self._home.put_out(cut, self._say("page.stopped"))
                return
        if not self._screen.stages:
            self._screen.begin(Sheet(FIRST, ""))
        await self._keep_offers()
        self._close_stage()
        self._screen.changed(self._screen.stages[-1])
        try:
            async with asyncio.timeout(FLUSH_S):
                if self._screen.opening or not await self._whispered():
                    self._screen.open()
                    self._ending = asyncio.create_task(self._written())
                    await asyncio.shield(self._ending)  # it goes on, should it take longer
        except TimeoutError:
            self._screen.open()
            _log.warning("run %s: not everything is on the screen yet", self._run)
        except StorageFault as fault:
            _log.warning("run %s: %s", self._run, fault)
        self._links.ended()

    async def _written(self) -> None:
        """Everything is on the screen, or the asker knows where else it is."""
        try:
            await self._screen.written()
        except StorageFault as fault:
            _log.warning("run %s: %s", self._run, fault)
        if self._overflow is None or not self._screen.lacking or self._ended == "stopped":
            return
        overflow, facts = self._overflow, self._facts(True)
        sheets = [staged.sheet for staged in self._screen.stages]

        def page(way: Way) -> Callable[[Sheet, int], AnyPage]:
            return lambda sheet, part: overflow.page(sheet, part, sheets, facts, way)

        if await self._screen.amend(page("file")):
            return
        way: Way = "direct" if await overflow.direct(sheets, facts) else "kept"
        told = await self._screen.amend(page(way)) or await overflow.tell(facts, way)
        if way == "kept":
            _log.warning("run %s: the asker has not got all of the answer (told so: %s)", self._run, told)

    async def close(self, status: Ended) -> None:
        """Nothing is left to do: `flush` has shown how it ended."""

    async def _enter(self, stage: Stage) -> None:
        """Open a stage, in the message in which the run has waited for its turn; or retitle the open one."""
        stages = self._screen.stages
        if stages and stage.key == self._open:
            stages[-1].sheet.title = stage.title
            self._screen.changed(stages[-1], titled=True)
            return
        self._open = stage.key
        waited = bool(stages) and _waits(stages[-1].sheet)
        await self._keep_offers()
        key = self._key(stage.key)
        row = await self._outbox.claim(self._space, self._run, key)
        sheet = Sheet(key, stage.title, first_choice=len(self._choices))
        # A stage that had come to its end is shown as it was; one that a crash cut off is made anew.
        sheet.replaces = not row.fresh and row.shown is None
        if waited:
            sheet.notices = stages[-1].sheet.notices
            self._screen.take_over(sheet, row)
        else:
            self._close_stage()
            self._screen.begin(sheet, row)

    def _key(self, key: str) -> str:
        """What the outbox calls the stage: no two of a run are called the same, nor like what is ours."""
        own, number = key, 2
        while own in self._keys:
            own, number = f"{key}~{number}", number + 1
        self._keys.add(own)
        return own

    async def _take(self, event: Shown) -> None:
        """Change what the open stage shows."""
        if not self._screen.stages:
            self._screen.begin(Sheet(FIRST, ""))
        staged = self._screen.stages[-1]
        sheet = staged.sheet
        match event:
            case Text(text=text):
                self._grow(staged, self._spoken(text))
            case Status():
                sheet.status = event
            case Citation():
                sheet.citations.append(event)
                self._sources.append(json.dumps(asdict(event), ensure_ascii=False))
            case Choices():
                sheet.choices.append(event)
                first = len(self._choices)
                self._choices += [one.kept() for one in offered.offers(event, first, sheet.key)]
                if event.votes and self._votes is not None:
                    with suppress(StorageFault):  # the next press will show them
                        sheet.counts |= await self._votes.counts(self._space, self._run, first)
            case Picture() | Attachment():
                sheet.files.append(event)
            case Elsewhere():
                sheet.links.append(await self._links.line(event))
            case Link():
                sheet.links.append(await self._links.link(event))
            case Notice(text=text):
                sheet.notices.append(self._spoken(text))
            case Failed(text=text):
                sheet.failed = self._spoken(text)
            case Stage():
                pass
            case _:
                assert_never(event)
        self._screen.changed(staged)

    def _grow(self, staged: Staged[AnyPage], text: str) -> None:
        sheet, age = staged.sheet, self._screen.age(staged)
        if self._roll_after_s is not None and age > self._roll_after_s:
            overdue = age > self._roll_after_s + OVERDUE_S
            at = rolling.cut(sheet.text, text, overdue=overdue)
            if at is not None and at > max(sheet.cuts, default=0) and self._in_one(staged):
                sheet.cuts.append(at)
        sheet.text += text

    def _in_one(self, staged: Staged[AnyPage]) -> bool:
        """Whether what follows the last cut has begun to be shown: one cut, one message."""
        return len(staged.messages) > len(staged.sheet.cuts)

    async def _keep_offers(self) -> None:
        """Keep what the buttons of the open stage will offer, before they are there."""
        counted = (len(self._choices), len(self._sources))
        if self._kept != counted:
            try:
                await self._offers.keep(self._space, self._run, offered.KIND, self._choices)
                await self._offers.keep(self._space, self._run, "source", self._sources)
            except StorageFault as fault:  # a press will say that it comes too late
                _log.warning("run %s: what its buttons offer could not be kept: %s", self._run, fault)
            self._kept = counted

    def _close_stage(self) -> None:
        """The open stage is whole, and is shown as it stays."""
        for staged in self._screen.stages[-1:]:
            staged.sheet.growing = staged.sheet.replaces = False
            staged.sheet.status = None

    @property
    def _only_failed(self) -> bool:
        """Whether all there is to show is why it failed, which concerns the asker alone."""
        stages = self._screen.stages
        return len(stages) == 1 and stages[0].sheet.says == ["failed"] and stages[0].sheet.key == FIRST

    def _facts(self, last: bool) -> Facts:
        ended = self._ended or ""
        verb = commands.verb(self._request.work, self._request.verb)
        groups = [group for staged in self._screen.stages for group in staged.sheet.choices]
        # Else nothing was yet, and there is nothing to judge.
        begun = all(one.command for group in groups if not group.votes for one in group.choices)
        rated = begun and verb.ordered and not verb.background and not verb.bare
        last = last and self._changes_last
        return Facts(
            run=self._run,
            say=self._say,
            last=last,
            ended=ended if last else "",
            private=self._private,
            share=self._share,
            retry=ended in ("failed", "stopped"),
            feedback=ended == "done" and rated,
            hint=self._home.hint if ended == "done" else "",
            no_files=self._home.no_files,
        )

    async def _whispered(self) -> bool:
        """Tell the asker alone how it ended, or all of it; False if that can't be."""
        response = self._home.response
        if response is None or (self._private and not self._alone):
            return False
        drawn = self._screen.drawn()
        if not response.files and any(page.files for _, page in drawn):
            return False  # or half of it would stand here, and half elsewhere
        try:
            for key, page in drawn:
                row = await self._outbox.claim(self._space, self._run, key)
                if row.message_id is None:
                    message = await response.whisper(page, Mark(self._run, key), Form.LAYOUT)
                    await self._outbox.sent(self._space, self._run, key, message, page.shown)
        except (Shut, Refused, Gone, Later, StorageFault) as fault:
            _log.info("run %s: its end is told to everybody: %s", self._run, fault)
            return False
        return True


def _waits(sheet: Sheet) -> bool:
    """Whether no stage has opened yet, and nothing but a passing line is there."""
    return sheet.key == FIRST and set(sheet.says) <= {"status", "notices"}
