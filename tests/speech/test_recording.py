"""A recording's length is counted from its frames; other files are recognised as no recording."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bot.speech import sound
from bot.speech.recording import NoRecording, recording_of
from tests.speech.recordings import archive, fragmented, long_ogg, mp4, noise, ogg, webm


@pytest.mark.parametrize(
    ("made", "name", "seconds"),
    [
        (lambda: ogg(3.0), "spoken.ogg", 3.0),
        (lambda: sound.wav(noise(3.0)), "spoken.wav", 3.0),
        (lambda: sound.mp3(noise(3.0)), "spoken.mp3", 3.0),
        (lambda: mp4(3.0, b"soun"), "spoken.m4a", 3.0),
        (lambda: fragmented(3), "spoken.m4a", 3.0),
        (lambda: fragmented(3, each=True), "spoken.m4a", 3.0),
        (lambda: webm(3), "spoken.webm", 3.0),
        (lambda: webm(3)[:-4], "spoken.webm", 3.0),
        (lambda: b"ID3\x04\x00\x00\x00\x00\x00\x04tags" + sound.mp3(noise(3.0)), "spoken.mp3", 3.0),
        (lambda: ogg(3.0)[:-200], "spoken.ogg", 3.0),
        (lambda: long_ogg(7_200), "spoken.ogg", 7_200),
    ],
    ids=[
        "Ogg",
        "WAV",
        "MP3",
        "M4A",
        "fragments",
        "samples of fragments",
        "WebM",
        "WebM, cut off",
        "tagged",
        "cut off",
        "two hours",
    ],
)
def test_a_recording_is_as_long_as_its_frames(made: Callable[[], bytes], name: str, seconds: float) -> None:
    recording = recording_of(made())
    assert recording.name == name
    assert recording.seconds == pytest.approx(seconds, rel=0.05)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "empty"),
        (long_ogg(0), "empty"),
        (sound.wav(b""), "empty"),
        (mp4(3.0, b"vide", b"soun"), "video"),
        (archive(), "unread"),
        (b"OggS", "unread"),
        (b"OggS" + bytes(100), "unread"),
        (ogg(0.5, subtype="VORBIS"), "unread"),
        (mp4(3.0), "unread"),
        (mp4(3.0, b"soun")[:100], "unread"),
        (b"\xff\xfb\x90\x00" + bytes(100), "unread"),
        (b"moov".join([b"\x00\x00\xff\xff", b"ftyp"] * 20_000), "unread"),
        (b"\x00\x00\x00\x08ftyp" + b"\x7f\xff\xff\xffmoov" * 20_000, "unread"),
        (b"I open the door.", "unread"),
        (fragmented(0), "unread"),
        (webm(3, kind=1), "video"),
        (webm(3, codec=b"A_VORBIS"), "unread"),
        (webm(3, flags=0x86), "unread"),
        (webm(0), "unread"),
        (webm(1)[:8], "unread"),
        (b"\x1a\x45\xdf\xa3" + bytes(100), "unread"),
    ],
    ids=range(21),
)
def test_other_files_are_not_taken_for_recordings(data: bytes, why: str) -> None:
    with pytest.raises(NoRecording) as fault:
        recording_of(data)
    assert fault.value.why == why
