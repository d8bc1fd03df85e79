"""From an engine's samples to playable sound: checked, trimmed, normalised, at 48 kHz; then frames.

Works on whole sentences, in a thread of the caller's choice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from bot.speech.engines.base import Sound, Unspoken

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Samples = NDArray[np.float32]

RATE: Final = 48_000
FRAME_MS: Final = 20
FRAME_SAMPLES: Final = RATE * FRAME_MS // 1000
FRAME_BYTES: Final = FRAME_SAMPLES * 2 * 2
"""Of two channels of 16 bits: what Discord's voice takes every 20 ms (its documentation, "Voice Connections")."""

LEAD_MS: Final = 40
"""Silence that is left before a sentence, so that its first sound is not cut."""
TAIL_MS: Final = 60
PAUSE_MS: Final = 160
"""Behind a sentence's tail. With the next one's lead there are some 260 ms between two: a speaker's breath."""

_QUIET: Final = 0.01
"""10 ms below this share of the loudest sample count as silence."""
_FAINTEST: Final = 1e-3
_LOUD: Final = 0.85
"""How loud the loudest is made, so that voices of different engines are alike; none is made louder than four times."""
_SHORTEST_S: Final = 0.03


def pcm(sound: Sound, engine: str) -> bytes:
    """One channel of 16 bits at 48 kHz, without the silence around it.

    Raises Unspoken for a sound that nobody could hear ("silent"), and for what is none ("noise").
    """
    import numpy as np

    samples = sound.samples
    if samples.size == 0:
        raise Unspoken("silent", engine, "no samples")
    if not np.isfinite(samples).all():
        raise Unspoken("noise", engine, "samples that are no numbers")
    loudest = float(np.abs(samples).max())
    if loudest > 1_000:
        raise Unspoken("noise", engine, "samples out of all bounds")
    if loudest < _FAINTEST or samples.size < sound.rate * _SHORTEST_S:
        raise Unspoken("silent", engine, "nothing to hear")
    trimmed = _trimmed(samples, sound.rate, loudest)
    if sound.rate != RATE:
        import soxr

        trimmed = soxr.resample(trimmed, sound.rate, RATE)
    gain = min(_LOUD / loudest, 4.0)
    pcm: bytes = (np.clip(trimmed * gain, -1.0, 1.0) * 32_767).astype("<i2").tobytes()
    return pcm


def _trimmed(samples: Samples, rate: float, loudest: float) -> Samples:
    import numpy as np

    step = max(1, int(rate / 100))
    windows = samples[: samples.size // step * step]
    if windows.size == 0:
        return samples
    audible = np.flatnonzero(np.abs(windows).reshape(-1, step).max(axis=1) >= loudest * _QUIET)
    first = int(audible[0]) * step - int(rate * LEAD_MS / 1000)
    last = (int(audible[-1]) + 1) * step + int(rate * TAIL_MS / 1000)
    return samples[max(0, first) : min(samples.size, last)]


def silence(milliseconds: int) -> bytes:
    """Silence, in the format of `pcm`."""
    return bytes(2 * RATE * milliseconds // 1000)


def seconds(pcm: bytes) -> float:
    return len(pcm) / (2 * RATE)


def frames(pcm: bytes) -> Iterator[bytes]:
    """Of two channels, 20 ms each, the last one filled up with silence: a shorter one would end the playing."""
    import numpy as np

    mono = np.frombuffer(pcm, "<i2")
    missing = -mono.size % FRAME_SAMPLES
    padded = np.concatenate((mono, np.zeros(missing, "<i2"))) if missing else mono
    stereo = np.repeat(padded, 2).tobytes()
    for at in range(0, len(stereo), FRAME_BYTES):
        yield stereo[at : at + FRAME_BYTES]
