"""espeak-ng, if the program is installed: some hundred languages, robotic, without delay.

It is under the GPL, so it is called as a program and never a part of the installation. It gets its text on standard
input, and its arguments never pass through a shell.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import suppress
from typing import Final

from bot.child_process import end, without_keys
from bot.events import UserError
from bot.speech.engines.base import Sound, Unspoken
from bot.speech.sound import sound_of

PROGRAMS: Final = ("espeak-ng", "espeak")
WORDS_A_MINUTE: Final = 165
TIMEOUT_S: Final = 20.0
MOST_BYTES: Final = 120 * 22_050 * 2
DIALECTS: Final = {"pt": "pt-br", "en": "en-us"}
"""The dialect for a language code without a region."""
_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,15}(?:\+[mf][1-8])?|[mf][1-8]")


class Espeak:
    """The program. `program` is its path; None searches the system for it. A voice is one of its languages ("pt-br"),
    one of its variants ("f2"), or both ("pt-br+f2").
    """

    name = "espeak"
    voices = ("m1", "m3", "m7", "f1", "f2", "f4")

    def __init__(self, program: str | None = None, timeout_s: float = TIMEOUT_S) -> None:
        self._program = program
        self._timeout_s = timeout_s
        self._room = asyncio.Semaphore(2)

    def _path(self) -> str | None:
        return self._program or next(filter(None, map(shutil.which, PROGRAMS)), None)

    def reads(self, language: str, voice: str) -> bool:
        """Whether it has a voice for the language; a voice of one language reads only its own."""
        base_voice = voice.partition("+")[0]
        return not base_voice or _is_variant(base_voice) or base_voice[:2] == language

    def absent(self) -> UserError | None:
        return None if self._path() else UserError("voice.lacks_program", name="espeak-ng")

    async def say(self, text: str, voice: str, speed: float, language: str) -> Sound:
        program = self._path()
        if program is None:
            raise Unspoken("absent", self.name)
        if voice and not _NAME.fullmatch(voice):
            raise Unspoken("no_voice", self.name)
        dialect = DIALECTS.get(language, language)
        voice_name = f"{dialect}+{voice}" if voice and _is_variant(voice) else voice or dialect
        arguments = (
            "-v",
            voice_name,
            "-s",
            str(round(WORDS_A_MINUTE * speed)),
            "-b",
            "1",
            "--stdin",
            "--stdout",
        )
        async with self._room:
            try:
                process = await asyncio.create_subprocess_exec(
                    program, *arguments, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=without_keys(os.environ)
                )
            except OSError as fault:
                raise Unspoken("crashed", self.name, type(fault).__name__) from None
            try:
                async with asyncio.timeout(self._timeout_s):
                    data = await _speak(process, text)
                    code = await process.wait()
            except TimeoutError:
                raise Unspoken("hangs", self.name) from None
            finally:
                await end(process)
        if code != 0:
            raise Unspoken("crashed" if code < 0 else "refused", self.name, f"exit code {code}")
        return sound_of(data, self.name)

    async def close(self) -> None:
        return


async def _speak(process: asyncio.subprocess.Process, text: str) -> bytes:
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(BrokenPipeError, ConnectionResetError):  # the program may have died
        process.stdin.write(text.encode("utf-8", "replace") + b"\n")
        await process.stdin.drain()
        process.stdin.close()
    data = bytearray()
    while len(data) < MOST_BYTES and (chunk := await process.stdout.read(65_536)):
        data += chunk
    if len(data) >= MOST_BYTES:
        raise Unspoken("noise", "espeak", "it does not stop")
    return bytes(data)


def _is_variant(voice: str) -> bool:
    return re.fullmatch(r"[mf][1-8]", voice) is not None
