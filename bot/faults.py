"""Turns errors into one sentence that people read; the details go to the log.

Knows no platform and no work.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from bot.events import Failed, Request, TransientError, UserError
from bot.words import words
from storage.faults import StorageFault

_log = logging.getLogger(__name__)


@contextmanager
def in_words() -> Iterator[None]:
    """Turn the storage's faults into UserError."""
    try:
        yield
    except StorageFault as fault:
        raise worded(fault) from fault


def worded(fault: StorageFault) -> UserError:
    """The error that people read instead of the storage's fault."""
    _log.warning("storage: %s", fault)
    return TransientError(f"storage.{fault.kind}")


def failure(request: Request, error: Exception) -> Failed:
    """The event that ends a run which raised `error`."""
    say = words(request.locale)
    if isinstance(error, UserError):
        return Failed(say(error.key, **error.values), retry=error.transient)
    if isinstance(error, StorageFault):
        _log.warning("run %s: storage: %s", request.id, error)
        return Failed(say(f"storage.{error.kind}"))
    _log.error("run %s failed", request.id, exc_info=error)
    return Failed(say("app.failed", run=request.id))
