"""A recording as samples: one channel at 16 kHz, in pieces of at most half a minute that are cut in quiet places.

Runs in the listening process (`process`), because recordings are untrusted files. Only one piece is in memory.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Samples = NDArray[np.float32]

RATE: Final = 16_000
PIECE_S: Final = 30
"""Seconds of sound that a Whisper model processes at once."""
PROGRAM: Final = "ffmpeg"
CONTAINERS: Final = {".m4a": "mov", ".webm": "matroska"}
"""Formats that libsndfile does not read, with ffmpeg's names for them. A named format prevents ffmpeg from following
links to other files.
"""
_EARLIEST_CUT_S: Final = 20
_FRAME: Final = RATE // 50
_QUIET_FRAMES: Final = 10
"""The length of the silence that is searched for: a fifth of a second."""
_BLOCK: Final = 1 << 16
_LOWEST_RATE, _HIGHEST_RATE = 4_000, 192_000
_MOST_CHANNELS: Final = 8


class Unreadable(Exception):
    """The recording could not be decoded."""


class NoProgram(Exception):
    """ffmpeg is needed but not installed."""


def pieces(data: bytes, suffix: str, seconds: float) -> Iterator[Samples]:
    """The samples of the recording, at most about `seconds` of it. Raises Unreadable and NoProgram."""
    import numpy as np

    most = int((seconds * 1.05 + 1) * RATE)
    waiting: list[Samples] = []
    size = samples_read = 0
    for block in _at_rate(data, suffix):
        block = block[: most - samples_read]
        if not np.isfinite(block).all():
            raise Unreadable
        samples_read += block.size
        waiting.append(block)
        size += block.size
        while size > PIECE_S * RATE:
            block_of_samples = np.concatenate(waiting)
            cut = _quietest(block_of_samples[: PIECE_S * RATE])
            yield block_of_samples[:cut]
            waiting, size = [block_of_samples[cut:]], size - cut
        if samples_read >= most:
            break
    if not samples_read:
        raise Unreadable
    if size:
        yield np.concatenate(waiting)


def _quietest(samples: Samples) -> int:
    """Where to cut: in the middle of the quietest fifth of a second in the last third."""
    import numpy as np

    frames = samples[_EARLIEST_CUT_S * RATE :].reshape(-1, _FRAME)
    power = np.convolve(np.square(frames).mean(axis=1), np.ones(_QUIET_FRAMES), "valid")
    return int(_EARLIEST_CUT_S * RATE + (int(power.argmin()) + _QUIET_FRAMES // 2) * _FRAME)


def _at_rate(data: bytes, suffix: str) -> Iterator[Samples]:
    if container := CONTAINERS.get(suffix):
        yield from _by_ffmpeg(data, container)
        return
    import soundfile
    import soxr

    try:
        with soundfile.SoundFile(io.BytesIO(data)) as file:
            rate = file.samplerate
            if not _LOWEST_RATE <= rate <= _HIGHEST_RATE or file.channels > _MOST_CHANNELS:
                raise Unreadable
            stream = soxr.ResampleStream(rate, RATE, 1, dtype="float32")
            while (block := file.read(_BLOCK, dtype="float32", always_2d=True)).size:
                yield stream.resample_chunk(block.mean(axis=1))
            yield stream.resample_chunk(block.mean(axis=1), last=True)
    except soundfile.SoundFileError:
        raise Unreadable from None


def _by_ffmpeg(data: bytes, container: str) -> Iterator[Samples]:
    import numpy as np

    program = shutil.which(PROGRAM)
    if program is None:
        raise NoProgram
    # A file without a name, rather than a pipe, because an M4A may have its index at the end.
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        command = [
            program,
            "-nostdin",
            "-loglevel",
            "quiet",
            "-protocol_whitelist",
            "file,pipe",
            "-f",
            container,
        ]
        command += [
            "-i",
            "/dev/stdin",
            "-map",
            "0:a:0",
            "-ac",
            "1",
            "-ar",
            str(RATE),
            "-f",
            "f32le",
            "pipe:1",
        ]
        with subprocess.Popen(
            command, stdin=file, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as ffmpeg:
            assert ffmpeg.stdout is not None
            try:
                while block := ffmpeg.stdout.read(4 * _BLOCK):
                    yield np.frombuffer(block[: len(block) // 4 * 4], "<f4")
            finally:
                with suppress(ProcessLookupError):
                    ffmpeg.kill()
