"""One verb of the table from the command line: run it, show it, leave with its exit code.

Knows no prompt. Long verbs go through the durable engine; those that only look do without it.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from bot.adapters import leaving
from bot.adapters.conversation import Conversation, new_id
from bot.adapters.json_lines import JsonLines
from bot.adapters.terminal import coloured, log_to
from bot.adapters.terminal_markdown import Ink
from bot.adapters.terminal_plain import PlainOutput, PlainScreen
from bot.commands import made
from bot.events import Answered, Changed, Completion, Ended, Failed, OptionValue, Request, Sorry, Speak
from bot.platforms import Platform
from bot.requests import WATCH

if TYPE_CHECKING:
    from bot.adapters.feed import Output
    from bot.app import App
    from bot.config import Config
    from bot.verb import Verb

T = TypeVar("T")


class Direct:
    """A bot.events.Run for verbs that only look or make one change: nothing to take up after a crash."""

    def __init__(self, request: Request) -> None:
        self.request = request

    @property
    def id(self) -> str:
        return self.request.id

    async def step(self, name: str, call: Callable[[], Awaitable[T]], of: type[T]) -> T:
        return await call()

    async def stream(
        self, name: str, call: Callable[[], AsyncGenerator[str | Completion, None]]
    ) -> AsyncGenerator[str | Completion, None]:
        async with aclosing(call()) as pieces:
            async for piece in pieces:
                yield piece

    async def begin(
        self,
        key: str,
        verb: str,
        *,
        text: str = "",
        options: Mapping[str, OptionValue] | None = None,
        line: str = "",
    ) -> str:
        raise RuntimeError("nothing goes on after a command has ended")


def perform(
    config: Config,
    locale: str,
    row: Verb,
    options: Mapping[str, OptionValue],
    text: str,
    out: BinaryIO | None,
    space: str = "local",
) -> int:
    """What a row of the table says; 0 when all went well, else 1. With `out`, JSON lines go there.

    `space` is whose it is: this terminal's, or that of a server of a platform, by its id.

    Raises Sorry when the data folder cannot be used.
    """
    return leaving.run(_perform(config, locale, row, dict(options), text, out, space))


async def _perform(
    config: Config,
    locale: str,
    row: Verb,
    options: dict[str, OptionValue],
    text: str,
    out: BinaryIO | None,
    space: str,
) -> int:
    from bot.app import App

    log_to(config)
    conversation = Conversation(locale, None, space)
    request = conversation.asks(new_id(), row.work, row.name, options, text)
    output: Output = JsonLines(out) if out is not None else _plain(config, conversation)
    app = await App.open(config)
    try:
        status = await (
            _durable(app, request, output) if row.background else _direct(app, request, output, conversation)
        )
        await output.done(request.id, status)
    finally:
        await app.close()
    return 0 if status == "done" else 1


def _plain(config: Config, conversation: Conversation) -> PlainOutput:
    tty = sys.stdout.isatty()
    ink = Ink(coloured(tty), shutil.get_terminal_size().columns if tty else 1_000_000)
    return PlainOutput(PlainScreen(sys.stdout, ink, sys.stderr), conversation.say, config.data_dir / "files")


async def _durable(app: App, request: Request, output: Output) -> str:
    """Through the engine: what a crash cut off earlier is taken up, and waited for, too."""
    for platform in ("terminal", WATCH):
        app.attach(Platform(platform, output.view))
    resumed = await app.start()
    status = await (await app.perform(request)).wait()
    for other in resumed:
        await (await app.perform(other)).wait()
    return status


async def _direct(app: App, request: Request, output: Output, conversation: Conversation) -> Ended:
    from bot.faults import failure
    from storage.faults import StorageFault

    view = output.view(request.id, request, app.house.outbox)
    status: Ended = "done"
    try:
        async with aclosing(made(app.house, app)[request.work].run(Direct(request))) as events:
            async for event in events:
                if not isinstance(event, Answered | Changed | Speak):
                    status = "failed" if isinstance(event, Failed) else status
                    await view.show(event)
    except (Sorry, StorageFault) as error:
        status = "failed"
        await view.show(failure(request, error))
    await view.flush(status)
    await view.close(status)
    return status
