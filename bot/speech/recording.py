"""The format and length of a recording, from its own frames rather than from its header.

Pure, and decodes nothing: what a model service reads is only counted here.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

Why = Literal["empty", "video", "unread"]

SUFFIXES: Final = (".ogg", ".oga", ".opus", ".m4a", ".mp4", ".webm", ".mp3", ".wav")
"""The suffixes of the formats read here: what phones record, and what Discord and Slack convert it to."""
_OPUS_MS: Final = (*(10, 20, 40, 60) * 3, *(10, 20) * 2, *(2.5, 5, 10, 20) * 4)
"""Frame lengths by configuration (RFC 6716, table 2)."""
_MOST_PACKETS: Final = 1_500_000
"""The packets of one hour, if all have the shortest length."""
_MPEG_RATES: Final = (44_100, 48_000, 32_000)
_LAYER_3: Final = (
    (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),  # MPEG 2 and 2.5
    (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),  # MPEG 1
)
"""Kilobits per second, from index 1 on (ISO 11172-3 and 13818-3)."""
_PATHS: Final = (b"moov", b"trak", b"mdia", b"minf", b"stbl", b"mvex", b"moof", b"traf")
"""Boxes of an MP4 that contain boxes."""
_SEGMENT, _CLUSTER, _TRACKS, _TRACK = 0x18538067, 0x1F43B675, 0x1654AE6B, 0xAE
_TRACK_TYPE, _CODEC, _BLOCK_GROUP, _BLOCK, _SIMPLE_BLOCK = 0x83, 0x86, 0xA0, 0xA1, 0xA3
"""Elements of a WebM (RFC 9559, section 5.1)."""


class NoRecording(ValueError):
    """The data is no recording that can be transcribed."""

    def __init__(self, why: Why) -> None:
        super().__init__(why)
        self.why: Why = why


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording. `name` has the suffix of the actual format, whatever the file was called."""

    name: str
    seconds: float


def recording_of(data: bytes) -> Recording:
    """The recording in `data`. Raises NoRecording."""
    if not data:
        raise NoRecording("empty")
    try:
        if data.startswith(b"OggS"):
            return Recording("spoken.ogg", _ogg(data))
        if data[4:8] == b"ftyp":
            return Recording("spoken.m4a", _mp4(data))
        if data.startswith(b"\x1a\x45\xdf\xa3"):
            return Recording("spoken.webm", _webm(data))
        if data.startswith(b"RIFF") and data[8:12] == b"WAVE":
            return Recording("spoken.wav", _wav(data))
        return Recording("spoken.mp3", _mp3(data))
    except (IndexError, ZeroDivisionError, RecursionError, struct.error):  # the data ends in the middle
        raise NoRecording("unread") from None


def _ogg(data: bytes) -> float:
    """The seconds of one Opus stream: the sum of its packets' lengths (RFC 7845, RFC 6716 section 3)."""
    milliseconds, packet, packets = 0.0, b"", 0
    for begins, body, sizes in _pages(data):
        if begins:
            if body[:7] in (b"\x80theora", b"fishead") or body[:5] == b"\x01vide":
                raise NoRecording("video")
            if body[:8] != b"OpusHead" or packets:
                raise NoRecording("unread")
        at = 0
        for size in sizes:
            packet += body[at : min(at + size, at + 2)] if len(packet) < 2 else b""
            at += size
            if size < 255:  # the packet's last segment
                packets += 1
                if packets > _MOST_PACKETS:
                    raise NoRecording("unread")
                if packets > 2 and packet:  # the first two are headers
                    milliseconds += _opus_ms(packet)
                packet = b""
    if not milliseconds:
        raise NoRecording("empty" if packets else "unread")
    return milliseconds / 1000


def _pages(data: bytes) -> Iterator[tuple[bool, bytes, bytes]]:
    """For each page: whether a stream begins there, its body, and the sizes of its segments."""
    at = 0
    while data[at : at + 4] == b"OggS":
        sizes = data[at + 27 : at + 27 + data[at + 26]]
        start = at + 27 + len(sizes)
        yield bool(data[at + 5] & 2), data[start : start + sum(sizes)], sizes
        at = start + sum(sizes)


def _opus_ms(packet: bytes) -> float:
    """A packet's milliseconds, which depend only on its first two bytes (RFC 6716, section 3)."""
    frames = (1, 2, 2)[packet[0] & 3] if packet[0] & 3 < 3 else packet[1] & 63
    return _OPUS_MS[packet[0] >> 3] * frames


@dataclass(slots=True)
class _Track:
    sound: bool = False
    scale: int = 0
    """Units of time per second."""
    units: int = 0
    usual: int = 0
    """Units per sample in fragments that do not give them."""


def _mp4(data: bytes) -> float:
    """The seconds of the longest audio track, from its samples, which may be in fragments.

    ISO 14496-12: tkhd, mdhd, hdlr, stts; trex, tfhd, trun.
    """
    tracks: defaultdict[int, _Track] = defaultdict(_Track)
    track, usual = _Track(), 0
    for kind, start, end in _boxes(data, 0, len(data)):
        if kind == b"tkhd":
            track = tracks[_number(data, start + (20 if data[start] else 12))]
        elif kind == b"mdhd":
            track.scale = _number(data, start + (20 if data[start] else 12))
        elif kind == b"hdlr":
            if data[start + 8 : start + 12] == b"vide":
                raise NoRecording("video")
            track.sound = data[start + 8 : start + 12] == b"soun"
        elif kind == b"stts":
            count = min(_number(data, start + 4), (end - start - 8) // 8)
            pairs = struct.iter_unpack(">II", data[start + 8 : start + 8 + 8 * count])
            track.units += sum(samples * units for samples, units in pairs)
        elif kind == b"trex":
            tracks[_number(data, start + 4)].usual = _number(data, start + 12)
        elif kind == b"tfhd":
            flags, track = _number(data, start), tracks[_number(data, start + 4)]
            behind = start + 8 + (8 if flags & 1 else 0) + (4 if flags & 2 else 0)
            usual = _number(data, behind) if flags & 8 else track.usual
        elif kind == b"trun":
            track.units += _fragment(data, start, end, usual)
    seconds = max(
        (track.units / track.scale for track in tracks.values() if track.sound and track.units), default=0.0
    )
    if not seconds:
        raise NoRecording("unread")
    return seconds


def _fragment(data: bytes, start: int, end: int, usual: int) -> int:
    """The units of a fragment's samples; `usual` each if the fragment does not give their lengths."""
    flags, samples = _number(data, start), _number(data, start + 4)
    if not flags & 0x100:
        return samples * usual
    first = start + 8 + (4 if flags & 1 else 0) + (4 if flags & 4 else 0)
    size = 4 * (flags >> 8 & 15).bit_count()
    samples = min(samples, (end - first) // size)
    return sum(_number(data, at) for at in range(first, first + samples * size, size))


def _number(data: bytes, at: int) -> int:
    """A number of four bytes. The fields of a box begin with its version and end with its flags. Raises
    struct.error.
    """
    number: int = struct.unpack_from(">I", data, at)[0]
    return number


def _boxes(data: bytes, start: int, end: int) -> Iterator[tuple[bytes, int, int]]:
    """The boxes in this range and in their container boxes: their type, and the range of their contents."""
    while start + 8 <= end:
        size, header = int.from_bytes(data[start : start + 4], "big"), 8
        kind = data[start + 4 : start + 8]
        if size == 1:
            size, header = int.from_bytes(data[start + 8 : start + 16], "big"), 16
        size = size or end - start
        if size < header:
            raise NoRecording("unread")
        inner, stop = start + header, min(start + size, end)
        if kind in _PATHS:
            yield from _boxes(data, inner, stop)
        else:
            yield kind, inner, stop
        start += size


def _webm(data: bytes) -> float:
    """The seconds of one Opus track: the sum of its packets' lengths (RFC 9559; RFC 6716, section 3.1)."""
    milliseconds = 0.0
    for number, (kind, start, end) in enumerate(_elements(data)):
        if number > _MOST_PACKETS:
            raise NoRecording("unread")
        if kind == _TRACK_TYPE and int.from_bytes(data[start:end], "big") == 1:
            raise NoRecording("video")
        if kind == _CODEC and data[start:end].rstrip(b"\0") != b"A_OPUS":
            raise NoRecording("unread")
        if end > len(data):  # truncated
            break
        if kind in (_BLOCK, _SIMPLE_BLOCK):
            # After the track's number and the time. No browser writes several packets in a block.
            head = start + _length(data[start]) + 3
            if data[head - 1] & 6:
                raise NoRecording("unread")
            milliseconds += _opus_ms(data[head : head + 2])
    if not milliseconds:
        raise NoRecording("unread")
    return milliseconds / 1000


def _elements(data: bytes) -> Iterator[tuple[int, int, int]]:
    """All elements, including nested ones, which may have no end: their ids, and the range of their contents."""
    at = 0
    while at < len(data):
        id_size = _length(data[at])
        kind = int.from_bytes(data[at : at + id_size], "big")
        at += id_size
        size_size = _length(data[at])
        size = int.from_bytes(data[at : at + size_size], "big") & ((1 << 7 * size_size) - 1)
        at += size_size
        if kind in (_SEGMENT, _CLUSTER, _TRACKS, _TRACK, _BLOCK_GROUP):
            continue
        if size == (1 << 7 * size_size) - 1:  # unknown size
            raise NoRecording("unread")
        yield kind, at, at + size
        at += size


def _length(first: int) -> int:
    """The length of a variable-length number, by its first byte (RFC 8794, section 4). Raises NoRecording."""
    if not first:
        raise NoRecording("unread")
    return 9 - first.bit_length()


def _wav(data: bytes) -> float:
    """The seconds, from the size of its samples and its bytes per second."""
    at, rate = 12, 0
    while at + 8 <= len(data):
        kind, size = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "little")
        if kind == b"fmt ":
            rate = int.from_bytes(data[at + 16 : at + 20], "little")
        elif kind == b"data":
            # A streamed file has a size of zero or the largest possible size.
            length = min(size, len(data) - at - 8) if size else len(data) - at - 8
            if not length:
                raise NoRecording("empty")
            return length / rate
        at += 8 + size + size % 2
    raise NoRecording("unread")


def _mp3(data: bytes) -> float:
    """The seconds, from its frames (ISO 11172-3, section 2.4.1.3) after its tag."""
    at = 0
    if data.startswith(b"ID3"):
        size = data[6:10]
        at = 10 + (size[0] << 21 | size[1] << 14 | size[2] << 7 | size[3])
    seconds, frames = 0.0, 0
    while at + 4 <= len(data):
        header = int.from_bytes(data[at : at + 4], "big")
        version, layer = header >> 19 & 3, header >> 17 & 3
        bits, rate = header >> 12 & 15, header >> 10 & 3
        if header >> 21 != 0x7FF or version == 1 or layer != 1 or bits in (0, 15) or rate == 3:
            break  # a tag at the end, or no MP3
        first = version == 3
        hertz = _MPEG_RATES[rate] >> (0 if first else 1 if version == 2 else 2)
        samples = 1_152 if first else 576
        at += samples // 8 * _LAYER_3[first][bits - 1] * 1_000 // hertz + (header >> 9 & 1)
        seconds += samples / hertz
        frames += 1
    if frames < 2:  # many files contain two bytes that look like the beginning of a frame
        raise NoRecording("unread")
    return seconds
