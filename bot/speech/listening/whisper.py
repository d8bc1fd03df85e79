"""A Whisper model in CTranslate2's format (a folder as faster-whisper has them): turns samples into words.

CTranslate2 does the computation; this module adds what it lacks: the spectrogram, the language, and when to doubt an
answer. The numbers are those of Whisper's paper (Radford et al. 2022, section 4.5) and of its reference implementation.
"""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bot.speech.listening.samples import PIECE_S, RATE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

FILES: Final = ("model.bin", "config.json", "tokenizer.json")
"""The files that a folder must have, in addition to the vocabulary, which has two formats."""
_WINDOW, _HOP = 400, 160
_FAINTEST: Final = 1e-3
"""The loudest sample of a piece in which nobody speaks: -60 dB."""
_TEMPERATURES: Final = (0.0, 0.4, 0.8)
_BEAMS: Final = 5
_LIKELY: Final = -1.0
"""An answer is doubted if the mean logarithm of its tokens' probabilities is below this."""
_REPETITIVE: Final = 2.4
"""An answer is repetitive if it can be compressed by more than this factor."""
_NO_SPEECH: Final = 0.6
_SURE: Final = 0.8
"""The least probability of a language unknown to the bot at which it replaces the speaker's own."""
_SPOKEN: Final = ("en", "pt")
_MOST_TOKENS: Final = 300
"""The most tokens of half a minute; fast speakers need 200."""


class Whisper:
    """The model in a folder. Raises what CTranslate2 and tokenizers raise for a folder that they cannot read."""

    def __init__(self, folder: Path) -> None:
        import ctranslate2
        from tokenizers import Tokenizer

        ctranslate2.set_random_seed(0)
        self._view = ctranslate2.StorageView
        threads = max(1, min(4, (os.cpu_count() or 1) - 1))
        self._model: Any = ctranslate2.models.Whisper(
            str(folder), device="cpu", compute_type="int8", intra_threads=threads
        )
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._filters = mel_filters(self._model.n_mels)

    def encoded(self, samples: Floats) -> Any:
        """Half a minute in the model's encoding; None if nothing can be heard."""
        import numpy as np

        if not samples.size or float(np.abs(samples).max()) < _FAINTEST:
            return None
        return self._model.encode(self._view.from_array(spectrogram(samples, self._filters)))

    def language(self, encoded: Any, likely: str) -> str:
        """The spoken language (ISO 639-1); `likely` if the detected one is neither the bot's nor nearly certain."""
        if not self._model.is_multilingual:
            return "en"
        # From the best to the worst, such as ("<|pt|>", 0.93).
        named, share = self._model.detect_language(encoded)[0][0]
        detected = str(named).strip("<|>")
        return detected if share >= _SURE or detected in _SPOKEN or not likely else likely

    def text(self, encoded: Any, language: str) -> str:
        """The words; "" where the model hears none."""
        prompt = ["<|startoftranscript|>", "<|notimestamps|>"]
        if self._model.is_multilingual:
            prompt[1:1] = [f"<|{language}|>", "<|transcribe|>"]
        doubted = ""
        for temperature in _TEMPERATURES:
            sampling = {"sampling_temperature": temperature, "sampling_topk": 0} if temperature else {}
            (result,) = self._model.generate(
                encoded,
                [prompt],
                beam_size=1 if temperature else _BEAMS,
                max_length=_MOST_TOKENS,
                return_scores=True,
                return_no_speech_prob=True,
                **sampling,
            )
            text = self._tokenizer.decode(result.sequences_ids[0], skip_special_tokens=True).strip()
            likely = result.scores[0] >= _LIKELY
            if not likely and result.no_speech_prob > _NO_SPEECH:
                return ""
            if likely and not _in_circles(text):
                return str(text)
            doubted = doubted if doubted and not _in_circles(doubted) else text
        return "" if _in_circles(doubted) else doubted


def _in_circles(text: str) -> bool:
    data = text.encode()
    return bool(data) and len(data) / len(zlib.compress(data)) > _REPETITIVE


def spectrogram(samples: Floats, filters: Floats) -> Floats:
    """The spectrogram (1, mels, 3000) of at most half a minute: the logarithmic strength of each pitch every 10 ms."""
    import numpy as np

    padded = np.zeros(PIECE_S * RATE, np.float32)
    padded[: samples.size] = samples[: padded.size]
    padded = np.pad(padded, _WINDOW // 2, mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(padded, _WINDOW)[::_HOP][:-1]
    hann = np.hanning(_WINDOW + 1)[:-1].astype(np.float32)
    power = np.square(np.abs(np.fft.rfft(windows * hann))).astype(np.float32)
    levels = np.log10(np.maximum(filters @ power.T, 1e-10))
    levels = (np.maximum(levels, levels.max() - 8.0) + 4.0) / 4.0
    return np.ascontiguousarray(levels[None], dtype=np.float32)


def mel_filters(count: int) -> Floats:
    """Filters (count, 201): triangles over the frequencies, evenly spaced on Slaney's mel scale, each with the same
    area.
    """
    import numpy as np

    steps = np.linspace(0.0, 15.0 + 27.0 * np.log(8.0) / np.log(6.4), count + 2)
    edges = np.where(steps < 15.0, steps * 200.0 / 3.0, 1000.0 * np.exp((steps - 15.0) * np.log(6.4) / 27.0))
    frequencies = np.linspace(0.0, RATE / 2, _WINDOW // 2 + 1)
    slopes = (edges[:, None] - frequencies) / np.diff(edges, append=np.inf)[:, None]
    rising = -slopes[:-2]
    falling = (edges[2:, None] - frequencies) / np.diff(edges)[1:, None]
    triangles = np.maximum(0.0, np.minimum(rising, falling))
    return (triangles * (2.0 / (edges[2:] - edges[:-2]))[:, None]).astype(np.float32)
