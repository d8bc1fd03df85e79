"""`run`: the bot on the platforms that are set up, until it is told to leave.

Opens the application, lets Discord in, and says in one sentence why it could not go on. Knows no event.
"""

from __future__ import annotations

import gc
import logging
import re
import sys
from copy import copy
from typing import TYPE_CHECKING, Final

from bot.adapters import leaving
from bot.adapters.terminal import log_to
from bot.events import Sorry
from bot.words import Words, words

if TYPE_CHECKING:
    from bot.adapters.discord.client import Sutradhar
    from bot.config import Config

OURS: Final = ("bot.", "discord.")
"""Whose log lines people see on standard error when nothing is wrong; the file has everybody's."""

OUTAGES: Final = ("discord.shard", "discord.gateway")
"""Loggers whose tracebacks only ever say that a connection was lost: one line is enough."""

# The addresses that an interaction is answered at hold its token.
_TOKENS: Final = re.compile(r"(/(?:webhooks|interactions)/\d+/)[^/?\s\"']+")

SWITCH_S: Final = 0.001
"""How long a thread may compute while the loop waits for it; Python's default is five times that."""

_log = logging.getLogger(__name__)


class Discreet(logging.Formatter):
    """Log lines and tracebacks without the tokens that libraries would write into them."""

    def __init__(self, *secrets: str) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")
        self._secrets = [secret for secret in secrets if secret]

    def format(self, record: logging.LogRecord) -> str:
        if record.exc_info and record.name in OUTAGES:
            fault, record = record.exc_info[1], copy(record)
            record.exc_info = record.exc_text = None
            record.msg, record.args = f"{record.getMessage()} ({type(fault).__name__}: {fault})", ()
        line = _TOKENS.sub(r"\1…", super().format(record))
        for secret in self._secrets:
            line = line.replace(secret, "…")
        return line


def serve(config: Config, locale: str) -> int:
    """Run until SIGTERM or Ctrl-C. Raises Sorry when it can't begin, or can't go on."""
    token = (config.secret(config.discord.token_env) or "").strip()
    if not token:
        raise Sorry("discord_run.no_token", variable=config.discord.token_env)
    if any(character.isspace() for character in token):
        raise Sorry("discord_run.token_refused", variable=config.discord.token_env)
    _log_to(config, token)
    # Threads that compute give way this soon: the loop has three seconds to acknowledge whatever comes.
    sys.setswitchinterval(SWITCH_S)
    return leaving.run(_serve(config, token, words(locale)))


async def _serve(config: Config, token: str, say: Words) -> int:
    from bot.adapters.discord.client import Sutradhar
    from bot.adapters.discord.faults import in_words
    from bot.app import App

    print(say("discord_run.opening", folder=config.data_dir), file=sys.stderr, flush=True)
    app = await App.open(config)
    async with Sutradhar(app, config, on_first_ready=lambda client: _welcome(client, say)) as client:
        try:
            async with in_words(config.discord):
                await client.login(token)
            if resumed := await app.start():
                _log.info("taking up %d requests that were cut off", len(resumed))
            # What is there by now stays: looking through it for garbage, again and again, would hold up the loop.
            gc.freeze()
            async with in_words(config.discord):
                await client.connect()
        finally:
            # In this order: nothing new comes in, what runs is put away, and only then the way out closes.
            await client.quiet()
            await app.close()
    return 0


def _welcome(client: Sutradhar, say: Words) -> None:
    """Tell whoever started it that it is there."""
    n = len(client.guilds)
    print(say("discord_run.ready", who=client.user, n=n), file=sys.stderr, flush=True)
    if not n:
        print(say("discord_run.no_guilds"), file=sys.stderr, flush=True)


def _log_to(config: Config, token: str) -> None:
    """To the data folder as ever, and to standard error, where a container's or service's log is looked for."""
    log_to(config)
    root, shown = logging.getLogger(), logging.StreamHandler(sys.stderr)
    shown.addFilter(lambda line: line.levelno >= logging.WARNING or line.name.startswith(OURS))
    root.addHandler(shown)
    for handler in root.handlers:
        handler.setFormatter(Discreet(token))
