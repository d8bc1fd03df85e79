"""Speech recognition on this machine: recordings are cut into pieces, and its process may end in any way.

CTranslate2 is `tests/fakes/whisper`; everything else is real. For the real model see tests/extras/test_whisper.py.
"""

from __future__ import annotations

import asyncio
import io
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest
import soundfile

from bot.config import Config
from bot.events import UserError
from bot.speech.listening.ears import Ears
from bot.speech.listening.process import transcribed
from bot.speech.listening.samples import PIECE_S, RATE, NoProgram, Unreadable, pieces
from bot.speech.listening.whisper import Whisper, mel_filters, spectrogram
from bot.speech.recording import Recording
from tests.fakes.ears import asked, model, with_package
from tests.promises.talk import settings
from tests.speech.recordings import archive, mp4, ogg

SHORT = Recording("spoken.ogg", 2.0)


def wav(samples: np.ndarray, rate: int = RATE, kind: str = "WAV", subtype: str | None = None) -> bytes:
    out = io.BytesIO()
    soundfile.write(out, samples, rate, format=kind, subtype=subtype)
    return out.getvalue()


def speech(seconds: float, *silences: float) -> np.ndarray:
    """Noise with a third of a second of silence at each of these seconds."""
    made = np.random.default_rng(7).normal(0, 0.1, int(seconds * RATE)).astype(np.float32)
    for at in silences:
        made[int(at * RATE) : int((at + 0.33) * RATE)] = 0
    return made


def test_a_recording_is_cut_where_it_is_quiet_and_nothing_of_it_is_lost() -> None:
    said = speech(70.0, 12.0, 24.0, 50.0)
    cut = list(pieces(wav(said), ".wav", 70.0))
    assert [round(piece.size / RATE) for piece in cut] == [24, 26, 20]
    assert sum(piece.size for piece in cut) == said.size
    assert np.abs(np.concatenate(cut) - said).max() < 0.01
    assert [piece.size for piece in pieces(wav(speech(30.0)), ".wav", 30.0)] == [PIECE_S * RATE]
    for kind, subtype, rate in (("OGG", "OPUS", 48_000), ("MP3", None, 44_100), ("WAV", None, 8_000)):
        stereo = np.stack([np.repeat(speech(3.0), 3)[: 3 * rate]] * 2, axis=1)
        (piece,) = pieces(wav(stereo, rate, kind, subtype), f".{kind.lower()}", 3.0)
        assert abs(piece.size / RATE - min(3.0, len(stereo) / rate)) < 0.1
    (bounded,) = pieces(wav(speech(20.0)), ".wav", 4.0)
    assert bounded.size < 6 * RATE, "no more than it is long by its own frames"
    for data, suffix in (
        (archive(), ".mp3"),
        (b"", ".wav"),
        (wav(speech(0.0)), ".wav"),
        (ogg(1.0)[:80], ".ogg"),
    ):
        with pytest.raises(Unreadable):
            list(pieces(data, suffix, 1.0))


def test_files_that_libsndfile_cannot_read_go_through_ffmpeg(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoProgram):
        list(pieces(mp4(1.0, b"soun"), ".m4a", 1.0))
    program = tmp_path / "ffmpeg"
    # Writes as many samples as the file has bytes, and fails with other arguments.
    program.write_text(
        '#!/bin/sh\ncase "$*" in *"-protocol_whitelist file,pipe -f mov -i /dev/stdin "*"-ar 16000 -f f32le pipe:1") '
        ";; *) exit 1;; esac\n"
        "/usr/bin/head -c $((4 * $(/usr/bin/wc -c < /dev/stdin))) /dev/zero\n",
        encoding="utf-8",
    )
    program.chmod(0o700)
    data = mp4(1.0, b"soun")
    assert sum(piece.size for piece in pieces(data, ".m4a", 1.0)) == len(data)
    with pytest.raises(Unreadable):
        list(pieces(data, ".webm", 1.0))


def test_a_tone_appears_at_its_pitch_in_the_spectrogram() -> None:
    filters = mel_filters(80)
    assert filters.shape == (80, 201)
    for hertz in (300.0, 1_000.0, 4_000.0):
        tone = np.sin(np.arange(2 * RATE) * 2 * np.pi * hertz / RATE).astype(np.float32)
        seen = spectrogram(tone, filters)
        assert seen.shape == (1, 80, 3000)
        loudest = int(seen[0, :, 100].argmax())
        assert abs(int((filters[loudest] * np.arange(201) * 40).sum() / filters[loudest].sum()) - hertz) < 80
        assert seen[0, :, 250].max() == seen.min(), "nothing behind it"


def config(tmp_path: Path, named: str) -> Config:
    made = settings(tmp_path / "data")
    return replace(made, speech=replace(made.speech, transcriber=named), models_dir=tmp_path / "models")


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> None:
    with_package(monkeypatch)


@pytest.mark.usefixtures("package")
def test_a_repetitive_transcript_is_tried_again_and_silence_gives_none(tmp_path: Path) -> None:
    folder = model(tmp_path / "m", ["GARBLED", "", "I wait."])
    request = {"suffix": ".wav", "seconds": 80.0, "language": "en"}
    told: list[int] = []
    said = speech(80.0, 25.0, 52.0)
    said[: 5 * RATE] = 0
    assert transcribed(Whisper(folder), request, wav(said), told.append) == "round I wait."
    assert told == sorted(told)
    assert told[0] == 0
    assert told[-1] == 99
    assert len(told) == 7
    assert transcribed(Whisper(folder), request, wav(np.zeros(RATE * 9, np.float32)), told.append) == ""
    prompts = [line["prompt"] for line in asked(folder)]
    assert prompts[0] == ["<|startoftranscript|>", "<|pt|>", "<|transcribe|>", "<|notimestamps|>"]
    assert [line.get("sampling_temperature", 0) for line in asked(folder)] == [0, 0.4, 0, 0]
    english = model(tmp_path / "en", ["Hello"], multilingual=False)
    assert transcribed(Whisper(english), request, wav(speech(2.0)), told.append) == "Hello"
    assert asked(english)[0]["prompt"] == ["<|startoftranscript|>", "<|notimestamps|>"]


@pytest.mark.usefixtures("package")
async def test_a_process_that_dies_loses_one_recording(tmp_path: Path) -> None:
    folder = model(tmp_path / "m", ["I open", "the door.", "CRASH"])
    ears = Ears(config(tmp_path, str(folder)))
    long = wav(speech(40.0, 25.0))
    told: list[int] = []
    assert await ears.text(Recording("spoken.wav", 40.0), long, "en", told.append) == "I open the door."
    assert told[0] == 0
    assert 20 < told[1] < 30
    assert told[-1] == 99
    first = ears.pid
    with pytest.raises(UserError, match="ears_ended"):
        await ears.text(SHORT, ogg(2.0), "en")
    assert not ears.pid
    # The next one starts another, which begins at the first step.
    assert await ears.text(SHORT, ogg(2.0), "en") == "I open"
    assert ears.pid not in (None, first)
    second = ears.pid
    with pytest.raises(UserError, match="recording_unread"):
        await ears.text(SHORT, b"OggS" + bytes(99), "en")
    assert await ears.text(SHORT, ogg(2.0), "en") == "the door."
    assert ears.pid == second, "a recording that cannot be read costs no process"
    assert second is not None
    os.kill(second, signal.SIGKILL)
    await _until(lambda: not psutil.pid_exists(second))
    assert await ears.text(SHORT, ogg(2.0), "en") == "I open"
    await ears.close()
    assert ears.pid is None


@pytest.mark.usefixtures("package")
async def test_a_stop_takes_effect_at_once_and_an_idle_process_is_ended(tmp_path: Path) -> None:
    ears = Ears(config(tmp_path, str(model(tmp_path / "m", ["Hello", "HANG"]))), idle_s=0.01, silence_s=1.0)
    begun = asyncio.Event()
    assert await ears.text(SHORT, ogg(2.0), "") == "Hello"
    await _until(lambda: ears.pid is None)
    patient = Ears(config(tmp_path, str(tmp_path / "m")), idle_s=0.01)
    with pytest.raises(UserError, match="recording_unread"):
        await patient.text(SHORT, b"OggS", "")
    await _until(lambda: patient.pid is None)
    await patient.close()
    ears._idle_s = 60.0
    assert await ears.text(SHORT, ogg(2.0), "") == "Hello"
    hanging = asyncio.create_task(ears.text(SHORT, ogg(2.0), "", lambda percent: begun.set()))
    waiting = asyncio.create_task(ears.text(SHORT, ogg(2.0), ""))
    await begun.wait()
    pid = ears.pid
    assert pid is not None
    hanging.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hanging
    assert not psutil.pid_exists(pid)
    assert await waiting == "Hello", "the next one is heard by another process"
    with pytest.raises(UserError, match="ears_ended"):  # silent for longer than `silence_s`
        await ears.text(SHORT, ogg(2.0), "")
    await ears.close()


async def test_a_missing_model_or_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(named: str) -> str:
        return " ".join(fault.key for fault in Ears(config(tmp_path, named)).missing())

    folder = model(tmp_path / "m", ["Hello"])
    if missing(str(folder)):
        assert missing(str(folder)) == "voice.ears_package"
        assert missing("whisper") == "voice.ears_package voice.ears_absent"
        with pytest.raises(UserError, match="ears_package"):
            await Ears(config(tmp_path, str(folder))).text(SHORT, ogg(2.0), "")
    with_package(monkeypatch)
    assert missing(str(folder)) == missing("small") == missing("somebody/whisper") == ""
    assert missing("whisper") == "voice.ears_absent"
    assert missing(str(tmp_path)) == "voice.ears_folder"
    assert missing("not a name") == "voice.ears_name"
    assert Ears(config(tmp_path, "small")).to_be_fetched()
    assert not Ears(config(tmp_path, "whisper")).to_be_fetched()
    there = tmp_path / "models" / "hub" / "models--Systran--faster-whisper-small" / "snapshots" / "1"
    there.mkdir(parents=True)
    model(there, ["Hello"])
    assert not Ears(config(tmp_path, "small")).to_be_fetched()
    (folder / "model.bin").write_bytes(b"no model")
    ears = Ears(config(tmp_path, str(folder)))
    with pytest.raises(UserError, match="ears_load"):
        await ears.text(SHORT, ogg(2.0), "")
    assert ears.pid is None
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(UserError, match="ears_hub"):
        await Ears(config(tmp_path, "somebody/whisper")).text(SHORT, ogg(2.0), "")


async def _until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not true():  # noqa: ASYNC110  (nothing tells of another process's end)
            await asyncio.sleep(0)
