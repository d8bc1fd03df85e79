"""Parses each file in a separate process, which is killed if it uses too much time or memory.

A parser that hangs, crashes or uses all memory costs only its own file. Independent of formats; see `child`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from bot.child_process import end, wait_end, without_keys
from bot.events import TransientError, UserError
from bot.readers import frames, kinds
from bot.readers.child import OUT_OF_MEMORY
from bot.readers.document import Document, Progress

ROOT: Final = Path(__file__).resolve().parents[2]
_OUT_OF_TIME: Final = -getattr(signal, "SIGXCPU", 1000)
_KILLED: Final = -getattr(signal, "SIGKILL", 1000)
"""The exit code of a killed process; on Windows no process has it."""

_LEAVING_S: Final = 1.0
"""Seconds after the last frame. Killing a process that is about to exit could confuse asyncio about its exit code."""

_TELLING: Final = 100_000
"""The characters of a script from which its language is detected."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Timeouts in seconds: without a progress report, and in total."""

    silent: float = 60.0
    whole: float = 600.0


_RECOGNIZING: Final = Timeouts(300.0, 14_400.0)
"""The timeouts with word recognition, which takes seconds per page."""


class Sandbox:
    """Parses files; one per process. At most `at_once` files are parsed at the same time. `readers`: modules by suffix.
    `check` checks a file first, in this process, and raises UserError.
    """

    def __init__(
        self,
        timeouts: Timeouts = Timeouts(),
        at_once: int = 2,
        readers: Mapping[str, str] = kinds.READERS,
        check: Callable[[str, bytes], None] = kinds.check,
    ) -> None:
        self._check = check
        self._timeouts = timeouts
        self._room = asyncio.Semaphore(at_once)
        self._recognizing = asyncio.Semaphore(1)  # takes hours, and so runs next to the others
        self._readers = readers

    async def read(
        self, name: str, data: bytes, progress: Progress | None = None, *, recognize: bool = False
    ) -> Document:
        """The document in `data`; `progress` is called with the number of pages read and the total. `recognize`: also
        read the words of pages that are pictures, if the kind may have such pages.

        Raises UserError: as `kinds.check` and the reader do, and "library.file_hangs", "library.file_memory" or
        "library.file_crashes" for a parser that did not finish, "library.file_unguarded" for one that could not be
        started.
        """
        if (module := self._readers.get(kinds.suffix_of(name))) is None:
            from bot.readers import read

            return await asyncio.to_thread(read, name, data)
        await asyncio.to_thread(self._check, name, data)
        if recognize and (recognizing := kinds.RECOGNIZED.get(kinds.suffix_of(name))):
            async with self._recognizing:
                document = await self._parsed(recognizing, name, data, progress or _nobody, _RECOGNIZING)
        else:
            async with self._room:
                document = await self._parsed(module, name, data, progress or _nobody, self._timeouts)
        return document if document.language else await asyncio.to_thread(_judged, document)

    async def _parsed(
        self, module: str, name: str, data: bytes, progress: Progress, timeouts: Timeouts
    ) -> Document:
        process = await _started(module, name)
        giving = asyncio.create_task(_give(process, name, data))
        leaving = 0.0
        try:
            async with asyncio.timeout(timeouts.whole):
                document = await self._listen(process, name, progress, timeouts.silent)
            leaving = _LEAVING_S
        except TimeoutError:
            raise TransientError("library.file_hangs", name=name) from None
        except UserError:
            leaving = _LEAVING_S
            raise
        finally:
            giving.cancel()
            await end(process, leaving)
        return document

    async def _listen(self, process: Process, name: str, progress: Progress, silent: float) -> Document:
        assert process.stdout is not None
        while True:
            try:
                async with asyncio.timeout(silent):
                    kind, size = frames.HEAD.unpack(await process.stdout.readexactly(frames.HEAD.size))
                    if size > (frames.LONGEST if kind == frames.DOCUMENT else frames.SHORT):
                        raise ValueError("a frame too long")
                    body = await process.stdout.readexactly(size)
                if kind == frames.DOCUMENT:
                    return await asyncio.to_thread(frames.decode_document, body)
                if kind == frames.SORRY:
                    error, at = frames.decode_refusal(body, name)
                    _note(name, at)
                    raise error
                if kind != frames.PROGRESS:
                    raise ValueError("not a frame")
                pages_done, total = frames.decode_progress(body)
            except asyncio.IncompleteReadError:
                raise await _died(process, name) from None
            except frames.DECODE_ERRORS as fault:
                _note(name, f"nonsense: {type(fault).__name__}")
                raise UserError("library.file_crashes", name=name) from None
            progress(pages_done, total)


async def _started(module: str, name: str) -> Process:
    try:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "bot.readers.child",
            module,
            str(os.getpid()),
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            cwd=ROOT,
            env={name: value for name, value in without_keys(os.environ).items() if name != "HOME"},
        )
    except OSError as fault:
        reason = os.strerror(fault.errno) if fault.errno else type(fault).__name__
        raise TransientError("library.file_unguarded", name=name, reason=reason) from fault


async def _give(process: Process, name: str, data: bytes) -> None:
    """Send the file. The process may end before it has read everything."""
    assert process.stdin is not None
    with suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(json.dumps(name).encode() + b"\n")
        process.stdin.write(data)
        await process.stdin.drain()
        process.stdin.close()


async def _died(process: Process, name: str) -> UserError:
    """The reason why the process ended without an answer."""
    code = await wait_end(process)
    _note(name, f"exit code {code}")
    if code == _OUT_OF_TIME:
        return TransientError("library.file_hangs", name=name)
    # A SIGKILL that is not ours is the kernel's, when the machine has no memory left.
    if code in (OUT_OF_MEMORY, _KILLED):
        return UserError("library.file_memory", name=name)
    return UserError("library.file_crashes", name=name)


def _note(name: str, at: str) -> None:
    if at:
        _log.warning("the parser of a %s file failed: %.200r", kinds.suffix_of(name), at)


def _judged(document: Document) -> Document:
    from bot.retrieval.language import detect

    # A script is in one language and may be long, so its beginning is enough.
    text = document.text if document.screenplay is None else document.text[:_TELLING]
    return replace(document, language=detect(text))


def _nobody(pages_done: int, total: int) -> None:
    return
