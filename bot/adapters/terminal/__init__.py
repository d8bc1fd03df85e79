"""`chat` in a terminal: a prompt for a person, plain text for a pipe, JSON lines for a program.

Chooses one of the three; imports the heavy parts only once the prompt is on the screen.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, BinaryIO

from bot.adapters.terminal.conversation import Application, Conversation
from bot.adapters.terminal.markdown import BOLD, CYAN, Ink, coloured

if TYPE_CHECKING:
    from bot.config import Config


def log_to(config: Config) -> None:
    """Log to the data folder, because standard output is for people or for JSON."""
    import logging

    from bot.adapters.log_redaction import formatter

    try:
        config.data_dir.mkdir(parents=True, exist_ok=True)
        handler: logging.Handler = logging.FileHandler(
            config.data_dir / "sutradhar.log", encoding="utf-8", delay=True
        )
    except OSError:  # reported when the app opens
        handler = logging.NullHandler()
    handler.setFormatter(formatter(config.operate.log_format))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    # No traceback for each line that cannot be written (a full disk, a closed pipe).
    logging.raiseExceptions = False
    logging.captureWarnings(True)


async def open_app(config: Config) -> Application:
    """The application. Its imports run in a thread, so that the prompt keeps reading keys."""
    import importlib

    log_to(config)
    # A short switch interval keeps typing smooth while a thread holds the interpreter for imports.
    sys.setswitchinterval(0.001)
    module = await asyncio.to_thread(importlib.import_module, "bot.app")
    opened: Application = await module.App.open(config)
    sys.setswitchinterval(0.005)
    return opened


async def chat(config: Config, locale: str, thread: str | None) -> int:
    """Run the chat until its input ends. Returns the exit code."""
    if sys.stdin.isatty() and sys.stdout.isatty():
        return await _person(config, locale, thread)
    return await _pipe(config, locale, thread)


async def _person(config: Config, locale: str, thread: str | None) -> int:
    from bot.adapters.terminal.prompt import Prompt

    conversation = Conversation(locale, thread, reader="person")
    colour = coloured(sys.stdout.isatty())
    prompt = Prompt(conversation, config.data_dir, welcome(colour), colour=colour)
    return await prompt.run(open_app(config))


async def _pipe(config: Config, locale: str, thread: str | None) -> int:
    from bot.adapters.terminal.feed import Feed, lines
    from bot.adapters.terminal.outputs import plain_output

    conversation = Conversation(locale, thread, reader="pipe")
    files = config.data_dir / "files"
    elsewhere = plain_output(files, sys.stderr)
    feed = Feed(conversation, plain_output(files), overtake=False, elsewhere=elsewhere)
    return await feed.run(open_app(config), lines(sys.stdin.buffer, sys.stdin.encoding))


async def chat_json(config: Config, locale: str, thread: str | None, out: BinaryIO) -> int:
    """Run the same chat for a program, with one JSON line per event on `out`."""
    from bot.adapters.terminal.feed import Feed, lines
    from bot.adapters.terminal.outputs import JsonLines

    feed = Feed(Conversation(locale, thread), JsonLines(out), overtake=True)
    return await feed.run(open_app(config), lines(sys.stdin.buffer))


def welcome(colour: bool) -> list[str]:
    """The greeting. Suggestions and the name of the answering model follow once the app is open, because they depend on
    stored data.
    """
    return [Ink(colour)("Sutradhar", BOLD, CYAN), ""]
