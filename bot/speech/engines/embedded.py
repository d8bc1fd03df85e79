"""Engines in a Python package, each in a process of its own (`child`) that starts when it is first needed.

A process that hangs, crashes or uses too much memory costs its present sentence; the next one starts another.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bot.child_process import end, without_keys
from bot.events import UserError
from bot.speech.engines.base import Sound, Unspoken
from bot.waiting import Background

ROOT: Final = Path(__file__).resolve().parents[3]
TIMEOUT_S: Final = 30.0
"""Seconds for a sentence, and for the start: several hundred times the usual."""
IDLE_S: Final = 300.0
"""Seconds without a sentence after which the process is ended, which frees its 200 MB."""
LONGEST_S: Final = 120
"""The longest sound of a sentence in seconds (a text has at most `sentences.LONGEST` characters)."""
LEAVING_S: Final = 5.0
"""Seconds that an idle process may take to end by itself."""
MOST_RATE: Final = 192_000


class Spawned:
    """One process that speaks one sentence at a time. `command`: the arguments after Python's own."""

    def __init__(self, engine: str, command: Sequence[str], timeout_s: float, idle_s: float) -> None:
        self._engine = engine
        self._command = command
        self._timeout_s = timeout_s
        self._idle_s = idle_s
        self._process: Process | None = None
        self._turn = asyncio.Lock()
        self._asked = 0
        self._letting_go: asyncio.TimerHandle | None = None
        self._saying: set[asyncio.Task[Sound]] = set()
        self._leaving = Background()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    async def say(self, text: str, speed: float) -> Sound:
        """The sound of a sentence. Raises Unspoken."""
        # Not cancelled, because half an answer left in the pipe would be read as the next one.
        saying = asyncio.create_task(self._in_turn(text, speed))
        self._saying.add(saying)
        saying.add_done_callback(self._retrieve)
        return await asyncio.shield(saying)

    def _retrieve(self, saying: asyncio.Task[Sound]) -> None:
        self._saying.discard(saying)
        if not saying.cancelled():
            saying.exception()  # there may be no caller to retrieve it

    async def _in_turn(self, text: str, speed: float) -> Sound:
        async with self._turn:
            if self._letting_go is not None:
                self._letting_go.cancel()
            try:
                async with asyncio.timeout(self._timeout_s):
                    sound = await self._exchange(text, speed)
            except TimeoutError:
                await self._end()
                raise Unspoken("hangs", self._engine, f"no word for {self._timeout_s:g} s") from None
            except (asyncio.IncompleteReadError, BrokenPipeError, ConnectionResetError):
                raise Unspoken("crashed", self._engine, await self._end()) from None
            except (asyncio.LimitOverrunError, ValueError, KeyError, TypeError):
                await self._end()
                raise Unspoken(
                    "noise", self._engine, "its process said something that is no answer"
                ) from None
            except asyncio.CancelledError:
                await self._end()
                raise
            loop = asyncio.get_running_loop()
            self._letting_go = loop.call_later(self._idle_s, self._let_go)
            return sound

    async def _exchange(self, text: str, speed: float) -> Sound:
        process = self._process or await self._started()
        assert process.stdin is not None
        self._asked += 1
        request = {"id": self._asked, "text": text, "speed": speed}
        process.stdin.write(json.dumps(request).encode() + b"\n")
        await process.stdin.drain()
        reply = await self._read_reply(process)
        if reply["id"] != self._asked:
            raise ValueError("an answer to something else")
        if "fault" in reply:
            raise Unspoken("refused", self._engine, str(reply["fault"])[:100])
        size, rate = reply["bytes"], float(reply["rate"])
        if type(size) is not int or not 8_000 <= rate <= MOST_RATE or not 0 <= size <= 4 * rate * LONGEST_S:
            raise ValueError("no length of a sound")
        assert process.stdout is not None
        data = await process.stdout.readexactly(size)
        import numpy as np

        return Sound(np.frombuffer(data, "<f4"), rate)

    async def _started(self) -> Process:
        try:
            self._process = process = await asyncio.create_subprocess_exec(
                sys.executable,
                *self._command,
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                cwd=ROOT,
                env=without_keys(os.environ),
            )
        except OSError as fault:
            reason = os.strerror(fault.errno) if fault.errno else type(fault).__name__
            raise Unspoken("crashed", self._engine, f"its process could not be started: {reason}") from None
        reply = await self._read_reply(process)
        if "ready" not in reply:
            detail = str(reply.get("fault", "?"))
            await self._end()
            raise Unspoken("absent", self._engine, detail)
        return process

    async def _read_reply(self, process: Process) -> dict[str, Any]:
        assert process.stdout is not None
        line = await process.stdout.readuntil(b"\n")
        reply = json.loads(line)
        if not isinstance(reply, dict):
            raise ValueError("not an answer")  # noqa: TRY004  (what the other end says, not a mistake of ours)
        return reply

    def _let_go(self) -> None:
        if self._process is not None and not self._turn.locked():
            process, self._process = self._process, None
            assert process.stdin is not None
            process.stdin.close()  # the process then ends by itself
            self._leaving.start(end(process, LEAVING_S))

    async def _end(self) -> str:
        """Kill the process. Returns how it had already ended, if it had."""
        process, self._process = self._process, None
        if process is None:
            return ""
        code = await end(process)
        if code is None:
            return "its process did not end"
        try:
            return f"its process was ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"its process ended with code {code}"

    async def close(self) -> None:
        if self._letting_go is not None:
            self._letting_go.cancel()
        for saying in list(self._saying):
            saying.cancel()
        if self._saying:
            await asyncio.wait(self._saying)
        await self._end()


CHILD: Final = ("-m", "bot.speech.engines.child")


class Hibari:
    """English only. One voice, and two derived from it: spoken faster and then played more slowly, and so deeper."""

    name = "hibari"
    voices = ("heart", "low", "deep")
    _PITCH: Final[Mapping[str, float]] = {"": 1.0, "heart": 1.0, "low": 0.92, "deep": 0.85}
    """Playing rates; higher voices cannot be understood. Of these `pocketsphinx` still recognizes 94 of 100 words."""

    def __init__(
        self,
        command: Sequence[str] = (*CHILD, "hibari"),
        timeout_s: float = TIMEOUT_S,
        idle_s: float = IDLE_S,
    ) -> None:
        self._process = Spawned(self.name, command, timeout_s, idle_s)

    @property
    def pid(self) -> int | None:
        return self._process.pid

    def reads(self, language: str, voice: str) -> bool:
        return language == "en"

    def absent(self) -> UserError | None:
        spec = importlib.util.find_spec("hibari")
        return None if spec else UserError("voice.lacks_package", name="hibari-tts")

    async def say(self, text: str, voice: str, speed: float, language: str) -> Sound:
        if (pitch := self._PITCH.get(voice)) is None:
            raise Unspoken("no_voice", self.name)
        sound = await self._process.say(text, speed / pitch)
        return Sound(sound.samples, sound.rate * pitch)

    async def close(self) -> None:
        await self._process.close()


class Piper:
    """Piper's voices, each two files in a folder: NAME.onnx and NAME.onnx.json. Each voice in use has its
    own process.
    """

    name = "piper"

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._processes: dict[str, Spawned] = {}

    @property
    def voices(self) -> tuple[str, ...]:
        """The voices by file name; only those with a description."""
        if self._folder is None or not self._folder.is_dir():
            return ()
        files = sorted(self._folder.glob("*.onnx"))
        return tuple(file.stem for file in files if file.with_name(f"{file.name}.json").is_file())

    def reads(self, language: str, voice: str) -> bool:
        """Whether the voice reads the language, by its file, else by the beginning of its name, such as
        "pt_BR-faber-medium".
        """
        voice_name = voice or next(iter(self.voices), "")
        return bool(voice_name) and self._language(voice_name) == language

    def _language(self, voice: str) -> str:
        assert self._folder is not None, "it has a voice"
        try:
            about = json.loads((self._folder / f"{voice}.onnx.json").read_text(encoding="utf-8"))
            code = about.get("language", {}).get("code") or about["espeak"]["no_voice"]
        except (OSError, ValueError, KeyError, AttributeError, TypeError):
            code = voice
        return str(code)[:2].lower()

    def absent(self) -> UserError | None:
        if importlib.util.find_spec("piper") is None:
            return UserError("voice.lacks_package", name="piper-tts")
        return None if self.voices else UserError("voice.lacks_voices")

    async def say(self, text: str, voice: str, speed: float, language: str) -> Sound:
        voices = self.voices
        voice_name = voice or next(iter(voices), "")
        if voice_name not in voices:
            raise Unspoken("no_voice", self.name)
        assert self._folder is not None, "it has a voice"
        if voice_name not in self._processes:
            command = (*CHILD, self.name, str(self._folder / f"{voice_name}.onnx"))
            self._processes[voice_name] = Spawned(self.name, command, TIMEOUT_S, IDLE_S)
        return await self._processes[voice_name].say(text, speed)

    async def close(self) -> None:
        for process in self._processes.values():
            await process.close()
