"""One verb of the table from the command line: run it, show it, and exit with its code; and `eval library`.

Independent of prompts. Long verbs use the durable engine; verbs that only read do not.
"""

from __future__ import annotations

import asyncio
import json as json_module
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from bot.adapters.markdown import clean
from bot.adapters.terminal import log_to
from bot.adapters.terminal.conversation import Conversation, new_id, only_adults
from bot.adapters.terminal.outputs import JsonLines, plain_output
from bot.events import (
    Answered,
    Changed,
    Ended,
    Failed,
    Hush,
    OptionValue,
    Place,
    Request,
    Speak,
    Speaking,
    Unquoted,
    UserError,
)
from bot.llm.completion import Completion
from bot.platforms import Platform
from bot.runs.requests import WATCH, composed
from bot.view import Closing, View
from bot.words import Words

if TYPE_CHECKING:
    from bot.adapters.terminal.feed import Output
    from bot.adapters.terminal.view import Claims
    from bot.app import App
    from bot.config import Config
    from bot.retrieval.evaluate import Failure, Report
    from bot.verb import Verb

T = TypeVar("T")
NAMED = 20
"""The most failed questions that are listed without `--all`."""


class Direct:
    """A bot.work.Run without the engine, for verbs that only read or make one change, so that there is nothing to
    continue.
    """

    alone = True
    hides = False

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

    async def begin(self, *_: object, **__: object) -> str:
        raise RuntimeError("nothing goes on after a command has ended")

    def new_thread(self, key: str, title: str) -> Place:
        raise UserError("app.no_thread")


async def perform(
    config: Config,
    locale: str,
    row: Verb,
    options: dict[str, OptionValue],
    text: str,
    out: BinaryIO | None,
    space: str,
) -> int:
    """Perform a verb. Returns 0 if it succeeded, else 1. With `out`, JSON lines go there.

    `space` is the space: this terminal's, or that of a platform's server, by its id.

    Raises UserError when the data folder cannot be used.
    """
    from bot.app import App

    log_to(config)
    conversation = Conversation(locale, None, space, reader="pipe")
    request = composed(conversation.asks(new_id(), row.work, row.name, options, text))
    files = config.data_dir / "files"
    output: Output = JsonLines(out) if out is not None else plain_output(files)
    app = await App.open(config)
    try:
        carried_out = _durable if row.background else _direct
        status = await carried_out(app, request, output, conversation)
        await output.done(request.id, status)
    finally:
        await app.close()
    return 0 if status == "done" else 1


async def _durable(app: App, request: Request, output: Output, conversation: Conversation) -> str:
    """Perform it through the engine, which also continues interrupted runs, and wait for these too.

    The latter are shown on standard error, because the reader of the output did not ask for them.
    """
    elsewhere = plain_output(app.config.data_dir / "files", sys.stderr)

    def view(run: str, request_shown: Request, outbox: Claims) -> View:
        view_of_run = (output if run == request.id else elsewhere).view(run, request_shown, outbox)
        return conversation.watched(view_of_run, request_shown)

    for platform in ("terminal", WATCH):
        app.attach(Platform(platform, view, origin=lambda place: "", adults=only_adults))
    resumed = await app.start()
    status = await (await app.perform(request)).wait()
    for resumed_run in resumed:
        await (await app.perform(resumed_run)).wait()
    await app.idle()
    return status


async def _direct(app: App, request: Request, output: Output, conversation: Conversation) -> Ended:
    from bot.faults import failure
    from storage.faults import StorageFault

    view = conversation.watched(output.view(request.id, request, app.records.outbox), request)
    status: Ended = "done"
    try:
        async with aclosing(app.works[request.work].run(Direct(request))) as events:
            async for event in events:
                if not isinstance(event, Answered | Changed | Speak | Speaking | Hush | Unquoted):
                    status = "failed" if isinstance(event, Failed) else status
                    await view.show(event)
    except (UserError, StorageFault) as error:
        status = "failed"
        await view.show(failure(request, error))
    await view.flush(status)
    if isinstance(view, Closing):
        await view.close(status)
    return status


def evaluate(
    config: Config, file: str, shelf: str, say: Words, *, lookup: bool, every: bool, json: bool
) -> int:
    """Ask every question of the file, and print the figures and the failed questions (all, if `every`).

    Raises UserError ("eval.…") for a file that cannot be read.
    """
    return show(asyncio.run(_evaluate(config, Path(file), shelf, lookup=lookup)), say, every=every, json=json)


def show(report: Report, say: Words, *, every: bool, json: bool) -> int:
    """Print a report. Returns 0."""
    if json:
        failed = [asdict(case) for case in report.failures]
        print(json_module.dumps({**report.figures, "failed": failed}))
    else:
        print("\n".join(report_lines(report, say, None if every else NAMED)))
    return 0


def report_lines(report: Report, say: Words, limit: int | None) -> list[str]:
    """The report in lines; at most `limit` failed questions are listed, and the others counted."""
    lines = [f"{name:<18} {value:.4g}" for name, value in report.figures.items()]
    failures = report.failures
    if failures:
        lines += ["", say("eval.failed", n=len(failures))]
        for case in failures[:limit]:
            lines += [f"  {clean(case.id)}  {clean(case.query)}", f"    {_why(case, say)}"]
        if failures_left := len(failures[limit:]) if limit is not None else 0:
            lines.append(say("eval.more", n=failures_left))
    return lines


def _why(failure: Failure, say: Words) -> str:
    if failure.stranger:
        return say("eval.stranger")
    places = ", ".join("–" if rank is None else str(rank) for rank in failure.ranks)
    lost = not any(failure.ranks)
    if failure.refused:
        return say("eval.refused_lost") if lost else say("eval.refused", places=places)
    if lost:
        return say("eval.lost")
    return say("eval.guessed" if failure.guessed else "eval.low", places=places)


async def _evaluate(config: Config, file: Path, shelf: str, *, lookup: bool) -> Report:
    from bot.app import App
    from bot.retrieval.evaluate import Passage, Question, SearchOutcome, read_questions
    from bot.retrieval.evaluate import evaluate as measure

    log_to(config)
    questions = await asyncio.to_thread(read_questions, file)
    app = await App.open(config)
    count = 0

    async def search(question: Question) -> SearchOutcome:
        nonlocal count
        count += 1
        if sys.stderr.isatty():
            end = "\n" if count == len(questions) else ""
            print(f"\r{count}/{len(questions)}", end=end, file=sys.stderr, flush=True)
        result = await app.library.search("local", shelf, question.query, lookup=lookup)
        passages = [Passage(found_passage.source, found_passage.text) for found_passage in result.passages]
        return SearchOutcome(passages, result.confident, result.doubtful)

    try:
        return await measure(questions, search)
    finally:
        await app.close()
