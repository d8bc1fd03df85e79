"""Removes secrets from log lines, which libraries may write into them. Knows their shapes, and no platform."""

from __future__ import annotations

import logging
import re
import traceback
from copy import copy
from typing import Final

OUTAGES: Final = ("discord.shard", "discord.gateway")
"""Loggers whose tracebacks only say that a connection was lost: one line is enough."""

_SHAPES: Final = (
    # The addresses for answers to Discord's interactions contain a token.
    (re.compile(r"(/(?:webhooks|interactions)/\d+/)[^/?\s\"']+"), r"\1…"),
    # Slack's: tokens, addresses for answers to commands and presses and for uploads, and the ticket of a socket.
    (re.compile(r"\b(xox[a-z](?:\.xox[a-z])?-|xapp-)[\w.%-]+"), r"\1…"),
    (re.compile(r"(/(?:commands|actions|app|services|workflows)/)[TE]\w+/[^?\s\"'<>]+"), r"\1…"),
    (re.compile(r"(/upload/v1/)[^?\s\"'<>]+"), r"\1…"),
    (re.compile(r"([?&](?:ticket|token|code|client_secret)=)[^&\s\"'<>]+"), r"\1…"),
)


class RedactingFormatter(logging.Formatter):
    """Formats log lines and tracebacks without `secrets`, and without anything that looks like another secret."""

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


def type_and_trace(fault: BaseException) -> str:
    """The fault's type and traceback for the log, without its text, which may hold an address with a token."""
    return f"{type(fault).__name__}\n{''.join(traceback.format_tb(fault.__traceback__))}".rstrip()
