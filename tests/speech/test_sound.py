from __future__ import annotations

import io
import struct
import wave

import numpy as np
import pytest
import soundfile

from bot.speech import sound
from bot.speech.engines.base import Sound, Unspoken
from bot.speech.sound import sound_of
from bot.speech.speech import Cache
from bot.speech.voices import Voice, parse, parse_list
from tests.fakes.engine import a_tone
from tests.fakes.speech_service import tone


def heard(pcm: bytes) -> tuple[float, float, float]:
    """The seconds of silence in front, of sound, and of silence behind."""
    loud = np.flatnonzero(np.abs(np.frombuffer(pcm, "<i2").astype(float)) > 300)
    return loud[0] / sound.RATE, (loud[-1] - loud[0]) / sound.RATE, (len(pcm) / 2 - loud[-1]) / sound.RATE


@pytest.mark.parametrize("rate", [16_000, 22_050, 24_000, 48_000])
def test_a_sentence_keeps_little_of_the_silence_around_it(rate: int) -> None:
    lead, length, tail = heard(sound.pcm(a_tone(1.0, rate, silence_s=0.4), "fake"))
    assert lead <= 0.06
    assert length == pytest.approx(1.0, abs=0.02)
    pause = tail + sound.PAUSE_MS / 1000 + lead
    assert 0.2 <= pause <= 0.35


def test_a_lower_rate_makes_it_slower_and_deeper() -> None:
    usual = a_tone(1.0)
    deep = sound.pcm(Sound(usual.samples, usual.rate * 0.85), "fake")
    assert sound.seconds(deep) == pytest.approx(1 / 0.85, abs=0.02)
    spectrum = np.abs(np.fft.rfft(np.frombuffer(deep, "<i2").astype(float)))
    assert np.argmax(spectrum) * sound.RATE / (len(deep) / 2) == pytest.approx(440 * 0.85, abs=2)


@pytest.mark.parametrize(
    ("samples", "why"),
    [
        (np.zeros(0), "silent"),
        (np.zeros(24_000), "silent"),
        (np.full(24_000, 1e-5), "silent"),
        (np.ones(100), "silent"),
        (np.array([0.1, np.nan] * 12_000), "noise"),
        (np.array([0.1, np.inf] * 12_000), "noise"),
        (np.full(24_000, 1e9), "noise"),
    ],
)
def test_silent_audio_is_refused(samples: np.ndarray, why: str) -> None:
    with pytest.raises(Unspoken) as refused:
        sound.pcm(Sound(samples.astype(np.float32), 24_000), "fake")
    assert refused.value.why == why


def test_frames_are_complete_and_contain_all_audio() -> None:
    made = sound.pcm(a_tone(0.5), "fake")
    frames = list(sound.frames(made))
    assert {len(one) for one in frames} == {3840}
    both = np.frombuffer(b"".join(frames), "<i2").reshape(-1, 2)
    assert (both[:, 0] == both[:, 1]).all()
    assert both[:, 0].tobytes()[: len(made)] == made
    assert not both[len(made) // 2 :].any()
    assert list(sound.frames(b"")) == []


def test_wav_is_read_whatever_its_header_says_of_its_length() -> None:
    data = tone(0.5)
    assert sound_of(data, "tts").samples.size == 12_000
    streamed = data[:4] + b"\xff" * 4 + data[8:40] + b"\xff" * 4 + data[44:]
    assert sound_of(streamed, "tts").samples.size == 12_000
    assert sound_of(data[:-1], "tts").samples.size == 11_999
    two = io.BytesIO()
    with wave.open(two, "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(48_000)
        file.writeframes(struct.pack("<4h", 16_384, 0, -16_384, 0))
    assert sound_of(two.getvalue(), "tts").samples.tolist() == [0.5, -0.5]


@pytest.mark.parametrize(
    "data", [b"", b"ID3 an MP3", b"RIFF1234WAVE", b"RIFF1234WAVEdata\0\0\0\0", tone(0.1)[:30], b"\0" * 100]
)
def test_other_files_than_wav_are_refused(data: bytes) -> None:
    with pytest.raises(Unspoken) as refused:
        sound_of(data, "tts")
    assert refused.value.why == ("noise" if data else "silent")


def test_the_cache_drops_the_least_recently_used_audio() -> None:
    cache = Cache(10)
    cache.put((1,), b"1234")
    cache.put((2,), b"1234")
    assert cache.get((1,)) == b"1234"
    cache.put((3,), b"1234")
    assert (cache.get((1,)), cache.get((2,)), cache.get((3,)), cache.bytes) == (b"1234", None, b"1234", 8)
    cache.put((3,), b"12")
    assert cache.bytes == 6
    cache.put((4,), b"longer than all")
    assert (cache.get((4,)), cache.bytes) == (None, 0)


def test_voices_are_read_from_their_notation() -> None:
    assert parse("hibari:low") == Voice("hibari", "low")
    assert parse(" espeak ") == Voice("espeak")
    assert str(parse("openai:gpt-4o-mini-tts/coral")) == "openai:gpt-4o-mini-tts/coral"
    assert parse_list("hibari:low, espeak") == (Voice("hibari", "low"), Voice("espeak"))
    for wrong in ("", "a b:c", "hibari:", ":x", "x:$(rm)", "hibari:-v a"):
        with pytest.raises(ValueError, match="voice"):
            parse(wrong)


def test_clips_contain_everything_that_was_said() -> None:
    sentences = [sound.pcm(a_tone(length), "fake") for length in (0.5, 1.0)]
    whole = sound.joined(sentences)
    assert sound.seconds(whole) == pytest.approx(1.5 + 0.16, abs=0.01)
    with wave.open(io.BytesIO(sound.wav(whole))) as file:
        assert (file.getframerate(), file.getnchannels(), file.readframes(10**6)) == (48_000, 1, whole)
    data = sound.mp3(whole)
    samples, rate = soundfile.read(io.BytesIO(data))
    assert rate == 24_000
    assert len(samples) / rate == pytest.approx(sound.seconds(whole), abs=0.1)
    assert len(data) * 6 < len(whole)
