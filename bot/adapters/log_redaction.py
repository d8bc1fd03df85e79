"""Log lines, as text or as JSON, without the secrets that libraries may write into them.

It knows the shapes of secrets but depends on no platform.
"""

from __future__ import annotations

import logging
import re
import sys
import traceback
from copy import copy
from datetime import UTC, datetime
from typing import Final

OUTAGES: Final = ("discord.shard", "discord.gateway")
"""Loggers whose tracebacks only say that a connection was lost; one line is enough."""

_SHAPES: Final = (
    # The addresses for answers to Discord's interactions contain a token.
    (re.compile(r"(/(?:webhooks|interactions)/\d+/)[^/?\s\"']+"), r"\1…"),
    # Slack's secrets: tokens, addresses for answers to commands and presses and for uploads, and the ticket of a
    # socket.
    (re.compile(r"\b(xox[a-z](?:\.xox[a-z])?-|xapp-)[\w.%-]+"), r"\1…"),
    (re.compile(r"(/(?:commands|actions|app|services|workflows)/)[TE]\w+/[^?\s\"'<>]+"), r"\1…"),
    (re.compile(r"(/upload/v1/)[^?\s\"'<>]+"), r"\1…"),
    (re.compile(r"([?&](?:ticket|token|code|client_secret)=)[^&\s\"'<>]+"), r"\1…"),
)


_log = logging.getLogger(__name__)


class RedactingFormatter(logging.Formatter):
    """Formats log lines and tracebacks without `secrets` and without anything that looks like another secret."""

    def __init__(self, *secrets: str) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")
        self._secrets = [secret for secret in secrets if secret]

    def format(self, record: logging.LogRecord) -> str:
        if record.exc_info and record.name in OUTAGES:
            fault, record = record.exc_info[1], copy(record)
            record.exc_info = record.exc_text = None
            record.msg, record.args = f"{record.getMessage()} ({type(fault).__name__}: {fault})", ()
        return self.redacted(self.line(record))

    def line(self, record: logging.LogRecord) -> str:
        """The line, which may hold secrets."""
        return super().format(record)

    def redacted(self, text: str) -> str:
        for shape, instead in _SHAPES:
            text = shape.sub(instead, text)
        for secret in self._secrets:
            text = text.replace(secret, "…")
        return text


class JsonFormatter(RedactingFormatter):
    """Formats the same as JSON: one object per line, with its time in UTC."""

    def line(self, record: logging.LogRecord) -> str:
        import json

        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {
            "time": time,
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        elif record.exc_text:
            line["exception"] = record.exc_text
        # Redacted before quoting, because quoting would change a secret that contains quotes.
        redacted = {name: self.redacted(value) for name, value in line.items()}
        return json.dumps(redacted, ensure_ascii=False)


def formatter(log_format: str, *secrets: str) -> RedactingFormatter:
    """The formatter for `[operate] log_format`."""
    return (JsonFormatter if log_format == "json" else RedactingFormatter)(*secrets)


def announce(sentence: str) -> None:
    """Show a sentence to the operator on standard error: plain, or as a line of the log if that is JSON."""
    if any(isinstance(handler.formatter, JsonFormatter) for handler in logging.getLogger().handlers):
        _log.info("%s", sentence)
    else:
        print(sentence, file=sys.stderr, flush=True)


def type_and_trace(fault: BaseException) -> str:
    """The fault's type and traceback for the log. Its text is left out, because it may hold an address with a token."""
    return f"{type(fault).__name__}\n{''.join(traceback.format_tb(fault.__traceback__))}".rstrip()
