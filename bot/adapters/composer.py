"""A run's events, composed into the messages that show them.

    Event ─ show ─▶ Composer ─▶ StageContent ─ Dialect.pages ─▶ Page
                       │ put                                      │ its present content
                       ▼                                          ▼
                    Writer ─ write, at its turn ──────────────▶ Message ─ post, edit ─▶ Surface, of the run's Home

An event changes the content of its stage, whose messages (`stage_messages`) are queued at their channel's writer. It
depends on no work and no platform, and never waits for the network while a run is active.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Generic, assert_never

from bot import commands
from bot.adapters import stored_choices
from bot.adapters.home import ANSWERS, SHARED, Home
from bot.adapters.stage_content import PageContext, StageContent
from bot.adapters.stage_messages import ALONE, FIRST, Dialect, StageMessages
from bot.adapters.surface import AnyPage
from bot.adapters.writer import Writers
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
    Spoiler,
    Stage,
    Status,
    Text,
)
from bot.runs.requests import REPEATS
from bot.verb import PRIVATE
from bot.words import words
from storage.faults import StorageFault
from storage.patience import patiently

if TYPE_CHECKING:
    from storage.buttons import Offers, Votes
    from storage.outbox import Outbox

LOOK_S = 0.25
"""How often a view checks whether another view already shows its run, in seconds."""

_log = logging.getLogger(__name__)


class Composer(Generic[AnyPage]):
    """The View of one run on platforms with messages."""

    def __init__(
        self,
        request: Request,
        outbox: Outbox,
        offers: Offers,
        home: Home[AnyPage],
        writers: Writers,
        dialect: Dialect[AnyPage],
        votes: Votes | None = None,
    ) -> None:
        """`votes` are read so that the counts can be shown again after a crash."""
        self._votes = votes
        self._run, self._space = request.id, request.place.space
        self._outbox = outbox
        self._offers = offers
        self._home = home
        self._dialect = dialect
        self._say = words(request.locale)
        self._messages = StageMessages(self._run, self._space, outbox, home, writers, dialect, self._context)
        verb = commands.ROWS[request.work, request.verb]
        self._messages.unhurried = verb.inner and not verb.ordered  # scheduled, or begun by another run
        self._pressed = request.answers != "" or REPEATS in request.options
        self._shared = PRIVATE in verb.options and not verb.guarded
        """Whether the run answers a question, so that its asker may share the answer."""
        self._stages = self._messages.stages
        self._stage = ""
        """The open stage's key, as its work gave it."""
        self._keys = {FIRST, *dialect.own_keys}
        self._choices: list[str] = []
        self._meanwhile: list[str] = []
        self._sources: list[str] = []
        self._stored_counts: Counter[str] = Counter()
        self._begun = True
        """Whether the work has begun. False while the run only offers a choice that would begin it; then there is
        nothing to rate.
        """
        self._retry = False
        """Whether the answer is incomplete or the failure may pass, so that a button offers to ask again."""
        self._has_files = False
        """Whether there is a file, so that it matters whether files may be sent."""
        self._refused = ""
        """Why a press did nothing. Only the presser sees it, at the end."""
        self._changes_last = True
        self._ended: Ended | None = None
        home.tell = self._tell

    async def show(self, event: Shown) -> None:
        if self._ended is not None:
            return
        if isinstance(event, Stage):
            await self._enter(event)
        else:
            await self._take(event)
        only = self._stages[0].content if len(self._stages) == 1 else None
        # A run that shows only a failure concerns the asker alone.
        failed = only is not None and only.failed and replace(only, failed="") == StageContent(FIRST, "")
        if not (failed or self._refused) and not self._home.ephemeral:
            self._messages.open()

    async def change(self, changed: Changed) -> None:
        """Edit the stage's messages; where that is impossible, post new ones with a note that says so."""
        row = await self._outbox.get(self._space, self._run, changed.stage)
        if row is None or row.message_id is None:
            return
        before = await self._offers.all(self._space, self._run, stored_choices.KIND)
        self._sources = await self._offers.all(self._space, self._run, "source")
        self._changes_last = (await self._shown_stages())[-1] == changed.stage
        self._ended, self._messages.in_place = "done", changed.in_place
        self._home.over = True
        content = StageContent(
            changed.stage, changed.title, growing=False, speaker=changed.speaker, answer=changed.answer
        )
        staged = self._messages.begin(content, row)
        groups = [group for group in changed.contents if isinstance(group, Choices)]
        choices = [choice for group in groups for choice in group.choices]
        content.first_choice = stored_choices.index(choices, before, changed.stage)
        self._choices = before[: content.first_choice]
        for event in changed.contents or (Text(self._say("page.withdrawn")),):
            await self._take(event)
        # The old choices stay, because existing messages refer to their numbers.
        self._choices += before[len(self._choices) :]
        self._sources = list(dict.fromkeys(self._sources))
        await self._keep_offers()
        self._messages.open()
        try:
            await self._messages.written()
            anew = any(message.ref.turn for message in staged.messages)  # the old message could not be edited
            if anew and not changed.in_place:
                content.notices.append(self._say("page.changed_anew"))
                self._messages.changed(staged)
                await self._messages.written()
        except asyncio.CancelledError:
            self._messages.drop()
            raise

    async def _shown_stages(self) -> list[str]:
        """The keys of the run's stages that have a message."""
        keys = await self._outbox.stages(self._space, self._run)
        return [key for key in keys if key not in self._dialect.own_keys and not key.startswith(SHARED)]

    async def flush(self, status: Ended) -> None:
        await self._keep_offers()  # first, because each page made from now on shows their buttons
        self._ended = status
        if self._home.private and self._shareable():
            await self._keep_shared()
        if status == "stopped" and not self._stages:
            cut = await self._outbox.cut_off(self._space, self._run)
            if cut or await self._shown_stages():  # stopped before a crash: it has nothing more to show
                await self._home.end_messages(cut, self._say("page.stopped"))
                return
        if not self._stages:
            self._messages.begin(StageContent(FIRST, ""))
        self._home.ending()
        try:
            public = self._messages.opening is not None and not self._refused
            if public or not await self._told_alone():
                self._stages[-1].content.growing = False
                self._messages.changed(self._stages[-1])
                self._messages.open()
                await self._shown_whole()
        except StorageFault as fault:
            _log.warning("run %s: %s", self._run, fault)
        except asyncio.CancelledError:
            self._messages.drop()
            raise
        await self._home.ended()

    async def show_waiting(self, status: Status, seconds: float) -> None:
        """See Waiting."""
        self._home.over = True  # the run's own view shows that it works, and removes that at its end
        try:
            async with asyncio.timeout(seconds):
                await self.show(status)
                await self._messages.written()
        except TimeoutError:
            _log.info("run %s: that it waits is not shown", self._run)
        finally:
            self._messages.drop()

    async def unless_shown(self, seconds: float) -> None:
        """See Waiting."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while True:
                    rows = {
                        row.stage: row.message_id for row in await self._outbox.all(self._space, self._run)
                    }
                    posted = {rows[stage] for stage in rows.keys() - {FIRST, *self._dialect.own_keys}} - {
                        None
                    }
                    if posted:
                        break
                    await asyncio.sleep(LOOK_S)
                if posted.isdisjoint(self._messages.posted()):
                    await self._messages.take_back()

    async def _told_alone(self) -> bool:
        """Show an end to the asker alone. Returns whether that was possible.

        It is possible if nothing is shown to everybody yet, or if a refused press has only shown that it waits; that
        message is then taken back.
        """
        content, messages = self._stages[-1].content, self._messages
        if messages.opening is None and content.key == FIRST:
            row = await self._outbox.get(self._space, self._run, FIRST)
            if row is not None and row.message_id is not None and row.shown is None:
                messages.open()  # it was waiting before a crash
        waited = messages.opening is not None
        if waited and self._refused:
            await messages.written()
        content.failed, content.growing = content.failed or self._refused, False
        self._stages[-1].pages = None
        if not waited:
            return await messages.tell_asker()
        if not self._refused or set(await self._outbox.stages(self._space, self._run)) - {FIRST, ALONE}:
            return False
        if not await messages.tell_asker(ALONE):
            return False
        await messages.take_back()
        return True

    async def _enter(self, stage: Stage) -> None:
        """Open a stage, or retitle the open one. A message that showed the run's waiting becomes the
        stage's message.
        """
        last = self._stages[-1] if self._stages else None
        if last is not None and stage.key == self._stage:
            last.content.title, last.content.answer = stage.title, stage.answer
            self._messages.changed(last, titled=True)
            return
        self._stage = stage.key
        # No stage has opened yet, and only a status is shown.
        nothing = StageContent(FIRST, "")
        waited = last is not None and replace(last.content, status=None, notices=[]) == nothing
        key, number = stage.key, 2
        while key in self._keys:  # unique within the run, and none of the adapter's own keys
            key, number = f"{stage.key}~{number}", number + 1
        self._keys.add(key)
        content = StageContent(
            key,
            stage.title,
            first_choice=len(self._choices),
            speaker=stage.speaker,
            calls=stage.calls,
            answer=stage.answer,
        )
        if stage.meanwhile is not None:
            content.meanwhile = (f"meanwhile:{self._run}:{len(self._meanwhile)}", stage.meanwhile.label)
            (stored,) = stored_choices.of_group(Choices("", (stage.meanwhile,)), 0, key)
            self._meanwhile.append(stored.to_json())
        await self._keep_offers()
        row = await self._outbox.claim(self._space, self._run, key)
        # After a crash a finished stage is shown as it was; an interrupted one is written again with a note that says
        # so.
        content.replaces = not row.fresh and row.shown is None
        if last is not None and waited:
            content.notices = last.content.notices
            self._messages.replace(last, content, row)
            return
        if last is not None:
            last.content.growing = False
        self._messages.begin(content, row)

    async def _take(self, event: Shown) -> None:
        """Add the event to the open stage's content."""
        staged = self._stages[-1] if self._stages else self._messages.begin(StageContent(FIRST, ""))
        content = staged.content
        match event:
            case Text(text=text):
                self._messages.grow(staged, self._dialect.adapt(text))
            case Spoiler(text=text):
                content.spoiler += text
            case Status():
                content.status = event
            case Citation():
                content.citations[event.n] = event
                self._sources.append(json.dumps(asdict(event), ensure_ascii=False))
            case Choices(choices=choices):
                content.choices.append(event)
                first = len(self._choices)
                self._choices += [
                    choice.to_json() for choice in stored_choices.of_group(event, first, content.key)
                ]
                if not event.votes:
                    self._begun = self._begun and all(choice.command for choice in choices)
                elif self._votes is not None:
                    with suppress(StorageFault):  # the next press shows the counts
                        content.counts |= await self._votes.counts(self._space, self._run, first)
            case Picture() | Attachment():
                content.files.append(event)
                self._has_files = True
            case Elsewhere():
                content.links.append(await self._home.line(event))
            case Link():
                content.links.append(await self._home.link(event))
            case Notice(text=text, retry=retry):
                content.notices.append(self._dialect.adapt(text))
                self._retry = self._retry or retry
            case Failed(text=text, retry=retry):
                only_status = replace(content, status=None) == StageContent(FIRST, "")
                adapt_alone = self._dialect.adapt_alone if only_status else None
                sentence = (adapt_alone or self._dialect.adapt)(text)
                if only_status and self._pressed:
                    self._refused = sentence
                else:
                    content.failed, self._retry = sentence, self._retry or retry
            case Stage():
                pass
            case _:
                assert_never(event)
        self._messages.changed(staged)

    def _tell(self, sentence: str) -> None:
        """Show a sentence of the home: next to the first stage while the place is opened, later next to the last."""
        if not self._stages:  # it was stopped before a crash and has nothing more to show
            return
        staged = self._stages[-1 if self._messages.placed else 0]
        staged.content.notices.append(sentence)
        self._messages.changed(staged)

    async def _keep_offers(self) -> None:
        """Store what the buttons of the open stage offer before they are shown."""
        for kind, items in (
            (stored_choices.KIND, self._choices),
            (stored_choices.MEANWHILE, self._meanwhile),
            ("source", self._sources),
        ):
            if self._stored_counts[kind] != len(items):
                try:
                    # Tried again while the database is away; otherwise these buttons would never work.
                    await patiently(partial(self._offers.keep, self._space, self._run, kind, items))
                except StorageFault as fault:  # a press is then answered with a sentence
                    _log.warning("run %s: what its buttons offer could not be kept: %s", self._run, fault)
                self._stored_counts[kind] = len(items)

    async def _keep_shared(self) -> None:
        """Store the whole answer for the button that shares it."""
        content = self._messages.contents[-1]
        answers = [json.dumps([content.title, content.text])] if content.text.strip() else []
        try:
            await self._offers.keep(self._space, self._run, ANSWERS, answers)
        except StorageFault as fault:  # then only the pressed message is shared
            _log.warning("run %s: what it shares could not be kept: %s", self._run, fault)

    def _context(self, last: bool) -> PageContext:
        ended = self._ended or ""
        last = last and self._changes_last
        return PageContext(
            run=self._run,
            say=self._say,
            last=last,
            ended=ended if last else "",
            private=self._home.private and self._shareable(),
            share=self._home.share,
            further=self._home.further,
            retry=ended == "stopped" or (ended != "" and self._retry),
            feedback=ended == "done" and self._begun,
            hint=self._home.hint if ended == "done" else "",
            no_files=self._home.no_files if self._has_files else "",
        )

    def _shareable(self) -> bool:
        """Whether there is an answer to share: not just a refusal, a notice or an offer to begin."""
        worded = any(content.text.strip() or content.files for content in self._messages.contents)
        return self._shared and self._begun and self._ended == "done" and worded

    async def _shown_whole(self) -> None:
        """Wait until everything is shown; tell the asker what could not be shown."""
        try:
            await self._messages.written()
        except StorageFault as fault:
            _log.warning("run %s: %s", self._run, fault)
        lacking = any(message.unshown for staged in self._stages for message in staged.messages)
        if lacking and self._ended != "stopped":
            context = self._context(True)
            await self._home.overflow(self._messages.contents, context, self._messages.amend)
