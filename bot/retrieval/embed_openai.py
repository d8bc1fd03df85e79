"""The OpenAI embeddings API, or any service that speaks it.

Knows no index and no other provider.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bot.events import Sorry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BATCH = 128  # the service takes up to 2,048 inputs and 300,000 tokens a request


class OpenAIEmbedder:
    """`name` is "openai:MODEL". `dimensions` is 0 until the first answer tells it."""

    languages: frozenset[str] | None = None

    def __init__(self, model: str, *, api_key: str | None, base_url: str | None) -> None:
        if not api_key:
            raise Sorry("embedding.key_missing", model=f"openai:{model}")
        try:
            import openai
        except ImportError as error:
            raise Sorry("embedding.extra_missing", model=f"openai:{model}", extra="openai") from error
        self._errors = openai.OpenAIError
        self._client = openai.OpenAI(api_key=api_key, base_url=base_url, timeout=60.0, max_retries=3)
        self._model = model
        self.name = f"openai:{model}"
        self.dimensions = 0

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        rows: list[list[float]] = []
        for first in range(0, len(texts), _BATCH):
            batch = [text or " " for text in texts[first : first + _BATCH]]
            try:
                answer = self._client.embeddings.create(
                    model=self._model, input=batch, encoding_format="float"
                )
            except self._errors as error:
                raise Sorry("embedding.failed", model=self.name, reason=type(error).__name__) from error
            rows += [item.embedding for item in sorted(answer.data, key=lambda item: item.index)]
        made = np.array(rows, dtype=np.float32).reshape(len(texts), -1)
        self.dimensions = made.shape[1]
        norms = np.linalg.norm(made, axis=1, keepdims=True)
        return np.asarray(made / np.maximum(norms, 1e-12), dtype=np.float32)

    def query(self, text: str) -> NDArray[np.float32]:
        made: NDArray[np.float32] = self.passages([text[:8000]])[0]
        return made
