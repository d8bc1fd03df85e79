"""What is left where Discord takes a part of an answer nowhere: a file, a direct message, a word to the asker.

Knows one run; when it is needed is the view's to say.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import discord

from bot.adapters.backoff import patiently
from bot.adapters.discord.shown.surface import direct
from bot.adapters.discord.text.folding import beside, folded, without_buttons
from bot.adapters.discord.text.page import FAILED, Card, Page
from bot.adapters.discord.text.render import pages
from bot.adapters.surface import Form, Mark, SurfaceFault
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.adapters.discord.received.origin import Origin
    from bot.adapters.discord.shown.surface_response import Response
    from bot.adapters.homes import Way
    from bot.adapters.sheet import Facts, Sheet
    from storage.outbox import Outbox

WHOLE = "whole"
"""The outbox's key of the direct message with all of it."""

_log = logging.getLogger(__name__)


class Overflow:
    """See homes.Overflow."""

    def __init__(
        self,
        client: discord.Client,
        run: str,
        space: str,
        origin: Origin,
        outbox: Outbox,
        response: Response | None,
    ) -> None:
        self._client = client
        self._run = run
        self._space = space
        self._origin = origin
        self._outbox = outbox
        self._response = response

    def page(self, sheet: Sheet, part: int, sheets: Sequence[Sheet], facts: Facts, way: Way) -> Page:
        note = facts.say(f"overflow.{way}")
        if self._origin.member:
            made = pages(sheet, facts)
            return beside(made[min(part, len(made) - 1)], sheets, facts, note, file=way == "file")
        if way == "file":
            return folded(sheets, facts)
        return folded(
            _noted(sheets, note), replace(facts, no_files=facts.say("discord_doctor.perm_attach_files"))
        )

    async def direct(self, sheets: Sequence[Sheet], facts: Facts) -> bool:
        page = without_buttons(
            folded(_noted(sheets, facts.say("overflow.here")), replace(facts, no_files=""))
        )
        mark = Mark(self._run, WHOLE)
        try:
            row = await self._outbox.claim(self._space, self._run, WHOLE)
            if row.message_id is None:
                between_us = await patiently(partial(direct, self._client, self._origin.user))
                sent = None if row.fresh else await between_us.find(mark, row.created_at, ())
                if sent is None:
                    sent = await patiently(partial(between_us.post, page, mark, Form.LAYOUT))
                await self._outbox.sent(self._space, self._run, WHOLE, sent)
        except (SurfaceFault, StorageFault) as fault:
            _log.info("run %s: no direct message to the asker: %s", self._run, fault)
            return False
        return True

    async def tell(self, facts: Facts, way: Way) -> bool:
        text = f"-# ⓘ {facts.say(f'overflow.{way}')}"
        if self._response is None:
            return False
        try:
            await self._response.whisper(
                Page((Card((text,), FAILED),), text), Mark(self._run, way), Form.LAYOUT
            )
        except SurfaceFault as fault:
            _log.info("run %s: the asker could not be told: %s", self._run, fault)
            return False
        return True


def _noted(sheets: Sequence[Sheet], note: str) -> list[Sheet]:
    return [*sheets[:-1], replace(sheets[-1], notices=[*sheets[-1].notices, note])]
