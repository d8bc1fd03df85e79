"""What a person is told without a run: a refusal or a fault, in one sentence, and never a trace.

Knows no platform; what nobody foresaw goes to the log, where its run's digits find it again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from bot.events import Sorry
from bot.words import Words

RUN_DIGITS = 8
"""Of a run's id, as people are told it: enough to find it in the log."""

_log = logging.getLogger(__name__)


def sentence(say: Words, error: BaseException, run: str = "", *, spoken: Callable[[str], str] = str) -> str:
    """The error in words; `run` where the request had become one. `spoken` makes it the platform's."""
    if isinstance(error, Sorry):
        text = spoken(say(error.key, **error.values))
        return say("edge.run", text=text, run=run[:RUN_DIGITS]) if run else text
    # Not a trace of what a library says: its exceptions may hold tokens. The formatter of the log takes known ones out.
    _log.error("run %s failed", run or "(none)", exc_info=error)
    return say("app.failed", run=run[:RUN_DIGITS] or "-")
