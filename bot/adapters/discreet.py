"""Log lines without the secrets that libraries would write into them. Knows their shapes, and no platform."""

from __future__ import annotations

import logging
import re
import traceback
from copy import copy
from typing import Final

OUTAGES: Final = ("discord.shard", "discord.gateway")
"""Loggers whose tracebacks only ever say that a connection was lost: one line is enough."""

_SHAPES: Final = (
    # The addresses that an interaction of Discord's is answered at hold its token.
    (re.compile(r"(/(?:webhooks|interactions)/\d+/)[^/?\s\"']+"), r"\1…"),
    # Slack's: tokens, where a command or a press is answered, where a file is put, and the ticket of a socket.
    (re.compile(r"\b(xox[a-z](?:\.xox[a-z])?-|xapp-)[\w.%-]+"), r"\1…"),
    (re.compile(r"(/(?:commands|actions|app|services|workflows)/)[TE]\w+/[^?\s\"'<>]+"), r"\1…"),
    (re.compile(r"(/upload/v1/)[^?\s\"'<>]+"), r"\1…"),
    (re.compile(r"([?&](?:ticket|token|code|client_secret)=)[^&\s\"'<>]+"), r"\1…"),
)


class Discreet(logging.Formatter):
    """Log lines and tracebacks without `secrets`, and without what looks like another one."""

    def __init__(self, *secrets: str) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")
        self._secrets = [secret for secret in secrets if secret]

    def format(self, record: logging.LogRecord) -> str:
        if record.exc_info and record.name in OUTAGES:
            fault, record = record.exc_info[1], copy(record)
            record.exc_info = record.exc_text = None
            record.msg, record.args = f"{record.getMessage()} ({type(fault).__name__}: {fault})", ()
        line = super().format(record)
        for shape, instead in _SHAPES:
            line = shape.sub(instead, line)
        for secret in self._secrets:
            line = line.replace(secret, "…")
        return line


def traced(fault: BaseException) -> str:
    """Its type and where it was raised, for the log. Not its text: a library's may hold an address with a token."""
    return f"{type(fault).__name__}\n{''.join(traceback.format_tb(fault.__traceback__))}".rstrip()
