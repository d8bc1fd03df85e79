"""Narration as a file: a WAV, or an MP3, which plays everywhere and is a twelfth as large.

Works on whole texts, in a thread of the caller's choice.
"""

from __future__ import annotations

import io
import wave
from collections.abc import Sequence
from typing import Final

from bot.speech.sound import PAUSE_MS, RATE, silence

_QUALITY: Final = 0.5
"""Of libsndfile's 0 (largest) to 1 (smallest): some 55 kbit/s for one voice."""


def joined(sentences: Sequence[bytes]) -> bytes:
    """As `SpokenSentence.pcm`, with a pause between two."""
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
    """24 kHz are enough for a voice: no engine here makes more."""
    import numpy as np
    import soundfile
    import soxr

    samples = soxr.resample(np.frombuffer(pcm, "<i2").astype(np.float32) / 32_768, RATE, RATE // 2)
    out = io.BytesIO()
    soundfile.write(
        out, samples, RATE // 2, format="MP3", subtype="MPEG_LAYER_III", compression_level=_QUALITY
    )
    return out.getvalue()
