"""Reads the WAV that engines give: as it comes, with lengths that may say nothing where it was streamed."""

from __future__ import annotations

import struct
from typing import Final

from bot.speech.engines.base import Sound

_INTEGERS: Final = 1
_FLOATS: Final = 3
_EXTENSIBLE: Final = 0xFFFE
_SIZES: Final = {(_INTEGERS, 16): "<i2", (_FLOATS, 32): "<f4"}
MOST_CHANNELS: Final = 8


def sound_of(data: bytes) -> Sound:
    """The first channel of a RIFF file with samples of 16 bits or floats. Raises ValueError for anything else."""
    import numpy as np

    if data[:4] not in (b"RIFF",) or data[8:12] != b"WAVE":
        raise ValueError("not a WAV file")
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
            # Who streams does not know the length when he writes it: then it is up to the end.
            length = min(size, len(data) - body) // frame * frame
            samples = np.frombuffer(data, dtype, count=length // (bits // 8), offset=body)[::channels]
            scale = 32_768.0 if bits == 16 else 1.0
            return Sound((samples / scale).astype(np.float32), float(rate))
        at = body + size + (size & 1)
    raise ValueError("a WAV file without samples that can be read")
