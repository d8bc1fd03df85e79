"""Captions (.srt, .vtt) into Documents: the spoken text, in paragraphs that begin with their time.

Formats: SubRip as players take it, and WebVTT (W3C). A paragraph ends with a sentence, a pause or another speaker, and
before it is longer than a passage. Lines that rolling captions repeat are kept once.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from bot.events import UserError
from bot.readers.decode import decode
from bot.readers.document import Document, Progress, title_from_name
from bot.readers.writer import Writer

_TIMES: Final = re.compile(
    r"\s*(?:(\d{1,3}):)?(\d{1,2}):(\d{1,2})(?:[.,](\d{1,3}))?\s*-->\s*(?:(\d{1,3}):)?(\d{1,2}):(\d{1,2})"
)
_LEFT_OUT: Final = re.compile(r"(?:NOTE|STYLE|REGION)(?:\s|$)")
_HEADER: Final = re.compile(r"(?i)language:\s*([a-z]{2})\b")
_SPEAKER: Final = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]{1,100})>")
_TAG: Final = re.compile(r"</?[a-zA-Z0-9][^<>]{0,100}>|\{\\[^{}]{0,100}\}")
_ENDED: Final = re.compile(r"[.!?…。！？][\"”’')\]»]*$")
_LONG: Final = 300
"""The characters after which the end of a sentence ends a paragraph."""
_LONGEST: Final = 600
_PAUSE: Final = 4
"""Seconds of a pause that ends a paragraph."""


@dataclass(frozen=True, slots=True)
class _Cue:
    """One caption; `start` and `end` are in seconds."""

    start: int
    end: int
    speaker: str
    lines: list[str]


def read(name: str, data: bytes, progress: Progress) -> Document:
    """The captions in `data`; blocking. Raises UserError as `decode` does, and "library.file_damaged"."""
    text = decode(name, data).lstrip("\ufeff")
    lines = text.split("\n")
    if not any(map(_TIMES.match, lines)):
        raise UserError("library.file_damaged", name=name)
    writer = Writer()
    for start, words in _paragraphs(_cues(lines)):
        writer.paragraph(f"[{clock(start)}] {words}")
    language = _HEADER.search(text[:500]) if text.startswith("WEBVTT") else None
    return writer.document(title_from_name(name), language[1].lower() if language else "")


def clock(seconds: int) -> str:
    """A time as players show it: 1:02:03, or 2:03."""
    minutes, s = divmod(seconds, 60)
    return f"{minutes // 60}:{minutes % 60:02}:{s:02}" if minutes >= 60 else f"{minutes}:{s:02}"


def _cues(lines: list[str]) -> Iterator[_Cue]:
    starts = [at for at, line in enumerate(lines) if _TIMES.match(line)]
    for at, after in zip(starts, [*starts[1:], len(lines)], strict=True):
        times = _TIMES.match(lines[at])
        assert times is not None
        h, m, s, _, end_h, end_m, end_s = times.groups()
        spoken: list[str] = []
        speaker = ""
        for line in lines[at + 1 : after]:
            if not line.strip():
                if spoken:
                    break  # the next cue's name or a note follows
                continue
            if _LEFT_OUT.match(line) and not spoken:
                break
            if named := _SPEAKER.search(line):
                speaker = " ".join(named[1].split())
            if words := " ".join(html.unescape(_TAG.sub("", line)).split()):
                spoken.append(words)
        start = 3600 * int(h or 0) + 60 * int(m) + int(s)
        yield _Cue(start, 3600 * int(end_h or 0) + 60 * int(end_m) + int(end_s), speaker, spoken)


def _paragraphs(cues: Iterator[_Cue]) -> Iterator[tuple[int, str]]:
    words, start, end = "", 0, 0
    speaker = ""
    before: list[str] = []
    for cue in cues:
        spoken = cue.lines
        while spoken and spoken[0] in before:  # a rolling caption still shows the line above
            before, spoken = before[before.index(spoken[0]) + 1 :], spoken[1:]
        if not spoken:
            end = max(end, cue.end)
            continue
        before = cue.lines
        text = " ".join(spoken)
        turned = bool(cue.speaker) and cue.speaker != speaker
        full = len(words) + len(text) > _LONGEST or (len(words) >= _LONG and bool(_ENDED.search(words)))
        if words and (turned or full or cue.start - end >= _PAUSE or text.startswith(("- ", "– ", ">>"))):
            yield start, words
            words = ""
        if not words:
            start = cue.start
            text = f"{cue.speaker}: {text}" if cue.speaker else text
        words = f"{words} {text}".strip()
        speaker, end = cue.speaker or speaker, cue.end
    if words:
        yield start, words
