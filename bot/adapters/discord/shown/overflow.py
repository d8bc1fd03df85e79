"""What is left where Discord takes a part of an answer nowhere: a file, a direct message, a word to the asker."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

from bot.adapters.discord.shown.surface import direct
from bot.adapters.discord.text.page import FAILED, Card, Page
from bot.adapters.discord.text.render import beside, folded, pages, without_buttons
from bot.adapters.home import patiently
from bot.adapters.surface import Form, Mark, SurfaceFault
from storage.faults import StorageFault

if TYPE_CHECKING:
    import discord

    from bot.adapters.discord.received.placing import Origin
    from bot.adapters.discord.shown.surface import Response
    from bot.adapters.home import Amend
    from bot.adapters.sheet import Facts, Sheet
    from bot.events import Request
    from storage.outbox import Outbox

WHOLE = "whole"
"""The outbox's key of the direct message with all of it."""

Way = Literal["file", "direct", "kept"]
"""How the whole answer comes to its asker: as a file, in a direct message, or not at all by now."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Overflow:
    """One run's."""

    client: discord.Client
    request: Request
    origin: Origin
    outbox: Outbox
    response: Response | None

    async def bring(self, sheets: Sequence[Sheet], facts: Facts, amend: Amend[Page]) -> None:
        """See home.Home.overflow."""

        def page(way: Way) -> Callable[[Sheet, int], Page]:
            return lambda sheet, part: self._page(sheet, part, sheets, facts, way)

        if await amend(page("file")):
            return
        way: Way = "direct" if await self._direct(sheets, facts) else "kept"
        told = await amend(page(way)) or await self._tell(facts, way)
        if way == "kept":
            _log.warning(
                "run %s: the asker has not got all of the answer (told so: %s)", self.request.id, told
            )

    def _page(self, sheet: Sheet, part: int, sheets: Sequence[Sheet], facts: Facts, way: Way) -> Page:
        """A message of the stage (`part` counts from 0), and a sentence on where all of `sheets` is."""
        note = facts.say(f"overflow.{way}")
        if self.origin.member:
            made = pages(sheet, facts)
            return beside(made[min(part, len(made) - 1)], sheets, facts, note, file=way == "file")
        if way == "file":
            return folded(sheets, facts)
        return folded(
            _noted(sheets, note), replace(facts, no_files=facts.say("discord_doctor.perm_attach_files"))
        )

    async def _direct(self, sheets: Sequence[Sheet], facts: Facts) -> bool:
        """Send all of it to the asker in a direct message; whether that could be. Once, also after a crash."""
        page = without_buttons(
            folded(_noted(sheets, facts.say("overflow.here")), replace(facts, no_files=""))
        )
        mark = Mark(self.request.id, WHOLE)
        try:
            row = await self.outbox.claim(self.request.place.space, self.request.id, WHOLE)
            if row.message_id is None:
                between_us = await patiently(partial(direct, self.client, self.origin.user))
                sent = None if row.fresh else await between_us.find(mark, row.created_at, ())
                if sent is None:
                    sent = await patiently(partial(between_us.post, page, mark, Form.LAYOUT))
                await self.outbox.sent(self.request.place.space, self.request.id, WHOLE, sent)
        except (SurfaceFault, StorageFault) as fault:
            _log.info("run %s: no direct message to the asker: %s", self.request.id, fault)
            return False
        return True

    async def _tell(self, facts: Facts, way: Way) -> bool:
        """Tell the asker alone where all of it is; whether that could be."""
        text = f"-# ⓘ {facts.say(f'overflow.{way}')}"
        if self.response is None:
            return False
        try:
            await self.response.whisper(
                Page((Card((text,), FAILED),), text), Mark(self.request.id, way), Form.LAYOUT
            )
        except SurfaceFault as fault:
            _log.info("run %s: the asker could not be told: %s", self.request.id, fault)
            return False
        return True


def _noted(sheets: Sequence[Sheet], note: str) -> list[Sheet]:
    return [*sheets[:-1], replace(sheets[-1], notices=[*sheets[-1].notices, note])]
