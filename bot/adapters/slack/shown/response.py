"""What everybody in a channel reads though the bot is no member there: posts to the action's response_url.

They can be neither changed nor found again, so a page is posted once it stays as it is. Knows no run.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Hashable
from datetime import datetime
from typing import TYPE_CHECKING

from bot.adapters.slack.shown import response_urls
from bot.adapters.slack.shown.thread import sent_as
from bot.adapters.slack.shown.whisper import ANSWERED, young
from bot.adapters.surface import Form, Later, Mark, Shut

if TYPE_CHECKING:
    from bot.adapters.slack.placing import Origin
    from bot.adapters.slack.text.page import Page

_log = logging.getLogger(__name__)


class Response:
    def __init__(self, space: str, origin: Origin, *, now: Callable[[], float] = time.time) -> None:
        self._space = space
        self._origin = origin
        self._now = now
        self._posted = 0

    @property
    def key(self) -> Hashable:
        return (self._space, self._origin.channel)

    async def post(self, page: Page, mark: Mark, form: Form) -> str:
        """Raises Later while the page grows, and Shut once the address is no good or takes no such page."""
        if page.growing:
            raise Later("it could not be changed any more")
        if page.file is not None and form is not Form.BARE:
            raise Shut("no_files")
        for said in (sent_as(page, form), sent_as(page, Form.BARE)):  # it does not say what it refuses
            payload = {"response_type": "in_channel", "replace_original": False, **said}
            url = self._origin.response_url
            if young(self._origin, self._now) and await response_urls.post(url, payload):
                self._posted += 1
                return f"{ANSWERED}:{self._posted}"
        raise Shut("expired_url", expired=True)

    async def edit(
        self, message: str, page: Page, mark: Mark, form: Form, *, files: bool, reset: bool
    ) -> None:
        _log.info("what a message says by now is left out: it can't be changed")

    async def find(self, mark: Mark, since: datetime, known: Collection[str]) -> str | None:
        """Nothing: Slack does not say which messages they are."""
        return None

    async def delete(self, message: str) -> None:
        """It stays."""
