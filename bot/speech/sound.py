"""Turns an engine's samples into playable sound: checked, trimmed, normalised, at 48 kHz; and sound into frames and
files.

A file is a WAV, or an MP3, which plays everywhere and is a twelfth as large. Works on whole sentences and texts, in any
thread that the caller chooses.
"""

from __future__ import annotations

import io
import struct
import wave
from collections.abc import Iterator, Sequence
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
"""The bytes of 20 ms in two channels of 16 bits, which Discord's voice takes at once (its documentation, "Voice
Connections").
"""

LEAD_MS: Final = 40
"""Milliseconds of silence that are left before a sentence, so that its first sound is not cut."""
TAIL_MS: Final = 60
PAUSE_MS: Final = 160
"""Milliseconds after a sentence. With the next one's lead there are some 260 ms between two: a speaker's breath."""

_QUIET: Final = 0.01
"""10 ms below this share of the loudest sample count as silence."""
_FAINTEST: Final = 1e-3
_LOUD: Final = 0.85
"""The level of the loudest sample, so that the voices of different engines are equally loud; none is amplified more
than four times.
"""
_SHORTEST_S: Final = 0.03

_QUALITY: Final = 0.5
"""From libsndfile's 0 (largest) to 1 (smallest): some 55 kbit/s for one voice."""

_INTEGERS: Final = 1
_FLOATS: Final = 3
_EXTENSIBLE: Final = 0xFFFE
_SIZES: Final = {(_INTEGERS, 16): "<i2", (_FLOATS, 32): "<f4"}
MOST_CHANNELS: Final = 8


def pcm(sound: Sound, engine: str) -> bytes:
    """The sound as one channel of 16 bits at 48 kHz, without the surrounding silence.

    Raises Unspoken for an inaudible sound ("silent") and for an invalid one ("noise").
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
    """Frames of two channels and 20 ms each. The last one is filled up with silence, because a shorter one would end
    the playing.
    """
    import numpy as np

    mono = np.frombuffer(pcm, "<i2")
    missing = -mono.size % FRAME_SAMPLES
    padded = np.concatenate((mono, np.zeros(missing, "<i2"))) if missing else mono
    stereo = np.repeat(padded, 2).tobytes()
    for at in range(0, len(stereo), FRAME_BYTES):
        yield stereo[at : at + FRAME_BYTES]


def joined(sentences: Sequence[bytes]) -> bytes:
    """The sentences' sound in the format of `SpokenSentence.pcm`, with a pause between two."""
    return silence(PAUSE_MS).join(sentences)


def wav(pcm: bytes) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(pcm)
    return out.getvalue()


def mp3(pcm: bytes) -> bytes:
    """The sound as an MP3. 24 kHz are enough for a voice, because no engine here makes more."""
    import numpy as np
    import soundfile
    import soxr

    samples = soxr.resample(np.frombuffer(pcm, "<i2").astype(np.float32) / 32_768, RATE, RATE // 2)
    out = io.BytesIO()
    soundfile.write(
        out, samples, RATE // 2, format="MP3", subtype="MPEG_LAYER_III", compression_level=_QUALITY
    )
    return out.getvalue()


def sound_of(data: bytes, engine: str) -> Sound:
    """The first channel of an engine's WAV, with samples of 16 bits or floats.

    It is read to its actual end, because a streamed file's header has no valid lengths. Raises Unspoken for anything
    else.
    """
    import numpy as np

    if not data:
        raise Unspoken("silent", engine)
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise Unspoken("noise", engine, "not a WAV file")
    at, form = 12, None
    while at + 8 <= len(data):
        name, size = data[at : at + 4], struct.unpack_from("<I", data, at + 4)[0]
        body = at + 8
        if name == b"fmt " and size >= 16 and body + 16 <= len(data):
            kind, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", data, body)
            if kind == _EXTENSIBLE and size >= 26 and body + 26 <= len(data):
                kind = struct.unpack_from("<H", data, body + 24)[0]
            form = (kind, channels, rate, bits)
        elif name == b"data":
            if form is None:
                break
            kind, channels, rate, bits = form
            dtype = _SIZES.get((kind, bits))
            if dtype is None or not 1 <= channels <= MOST_CHANNELS or not 8_000 <= rate <= 192_000:
                break
            frame = channels * bits // 8
            # A streaming writer does not know the length in advance, so the data continues to the end.
            length = min(size, len(data) - body) // frame * frame
            samples = np.frombuffer(data, dtype, count=length // (bits // 8), offset=body)[::channels]
            scale = 32_768.0 if bits == 16 else 1.0
            return Sound((samples / scale).astype(np.float32), float(rate))
        at = body + size + (size & 1)
    raise Unspoken("noise", engine, "a WAV file without samples that can be read")
