"""Delivers an answer that Discord has refused in part: as a file, in a direct message, or with a note to the asker."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

from bot.adapters.discord.shown.surface import direct
from bot.adapters.discord.text.page import FAILED, Card, Page
from bot.adapters.discord.text.render import beside, folded, pages, without_buttons
from bot.adapters.surface import MessageRef, MessageStyle, SurfaceFault
from bot.adapters.writer import until_available
from storage.faults import StorageFault

if TYPE_CHECKING:
    import discord

    from bot.adapters.discord.received.placing import Origin
    from bot.adapters.discord.shown.response import Response
    from bot.adapters.home import Amend
    from bot.adapters.stage_content import PageContext, StageContent
    from bot.events import Request
    from storage.outbox import Outbox

WHOLE = "whole"
"""The outbox key of the direct message with the whole answer."""

Way = Literal["file", "direct", "kept"]
"""How the asker gets the whole answer: as a file, in a direct message, or later."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Overflow:
    """Delivers the overflow of one run."""

    client: discord.Client
    request: Request
    origin: Origin
    outbox: Outbox
    response: Response | None

    async def show(self, stages: Sequence[StageContent], context: PageContext, amend: Amend[Page]) -> None:
        """See `home.Home.overflow`."""

        def page(way: Way) -> Callable[[StageContent, int], Page]:
            return lambda stage, part: self._page(stage, part, stages, context, way)

        if await amend(page("file")):
            return
        way: Way = "direct" if await self._direct(stages, context) else "kept"
        informed = await amend(page(way)) or await self._tell(context, way)
        if way == "kept":
            _log.warning(
                "run %s: the asker has not got all of the answer (told so: %s)", self.request.id, informed
            )

    def _page(
        self, stage: StageContent, part: int, stages: Sequence[StageContent], context: PageContext, way: Way
    ) -> Page:
        """A page of the stage (`part` counts from 0), with a sentence that says where the whole of `stages` is."""
        note = context.say(f"overflow.{way}")
        if self.origin.member:
            stage_pages = pages(stage, context)
            return beside(
                stage_pages[min(part, len(stage_pages) - 1)], stages, context, note, file=way == "file"
            )
        if way == "file":
            return folded(stages, context)
        return folded(
            _with_notice(stages, note),
            replace(context, no_files=context.say("discord_doctor.perm_attach_files")),
        )

    async def _direct(self, stages: Sequence[StageContent], context: PageContext) -> bool:
        """Send the whole answer to the asker in one direct message, even after a crash. Returns whether
        that succeeded.
        """
        page = without_buttons(
            folded(_with_notice(stages, context.say("overflow.here")), replace(context, no_files=""))
        )
        ref = MessageRef(self.request.id, WHOLE)
        try:
            row = await self.outbox.claim(self.request.place.space, self.request.id, WHOLE)
            if row.message_id is None:
                dm = await until_available(partial(direct, self.client, self.origin.user))
                message = None if row.fresh else await dm.find(ref, row.created_at, ())
                if message is None:
                    message = await until_available(partial(dm.post, page, ref, MessageStyle.LAYOUT))
                await self.outbox.mark_sent(self.request.place.space, self.request.id, WHOLE, message)
        except (SurfaceFault, StorageFault) as fault:
            _log.info("run %s: no direct message to the asker: %s", self.request.id, fault)
            return False
        return True

    async def _tell(self, context: PageContext, way: Way) -> bool:
        """Tell the asker alone where the whole answer is. Returns whether that succeeded."""
        text = f"-# ⓘ {context.say(f'overflow.{way}')}"
        if self.response is None:
            return False
        try:
            await self.response.post_ephemeral(
                Page((Card((text,), FAILED),), text), MessageRef(self.request.id, way), MessageStyle.LAYOUT
            )
        except SurfaceFault as fault:
            _log.info("run %s: the asker could not be told: %s", self.request.id, fault)
            return False
        return True


def _with_notice(stages: Sequence[StageContent], note: str) -> list[StageContent]:
    return [*stages[:-1], replace(stages[-1], notices=[*stages[-1].notices, note])]
