"""The OpenAI embeddings API, or any service with the same interface.

Takes nothing from the environment except what the caller passes. Independent of indexes and other providers.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from bot import tracing
from bot.events import TransientError, UserError
from bot.retrieval.confidence import Likeness

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

_ADDRESS = "https://api.openai.com/v1"
_BATCH = 128  # the service accepts up to 2,048 inputs
_BATCH_BYTES = 200_000  # and 300,000 tokens a request; no token is shorter than a byte
_INPUT_BYTES = 8_000  # and 8,192 tokens an input


class OpenAIEmbedder:
    """An embedder that calls the API. `name` is "openai:MODEL". `dimensions` is 0 until the first answer shows it.

    Calls raise TransientError("embedding.failed") once the service has refused, or a few attempts have failed.
    """

    languages: frozenset[str] | None = None
    likeness: Likeness | None = None

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None,
        base_url: str | None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> None:
        """Without a key none is sent, which is allowed only with the operator's own `base_url`; that may have a query.
        `headers` and `query` are sent with every request.
        """
        key = (api_key or "").strip()
        self.name = f"openai:{model}"
        if not key and not base_url:
            raise UserError("embedding.key_missing", model=self.name)
        try:
            import httpx  # noqa: F401  (the whole of it before the SDK looks into it: see bot/llm/openai_client.py)
            import openai
        except ImportError as error:
            raise UserError("embedding.extra_missing", model=self.name, extra="openai") from error
        self._sdk = openai
        own_address, _, own_query = (base_url or _ADDRESS).partition("?")
        self._client = openai.OpenAI(
            # The SDK would take any omitted value from OPENAI_… in the environment.
            api_key=key or "-",
            admin_api_key="",
            base_url=own_address,
            organization="",
            project="",
            webhook_secret="",
            timeout=60.0,
            max_retries=3,
        )
        # A person waits for a question, and lexical search can answer it too.
        self._query_client = self._client.with_options(timeout=15.0, max_retries=1)
        for client in (self._client, self._query_client):
            client.organization = client.project = None
            # OPENAI_CUSTOM_HEADERS may hold another service's key.
            client._custom_headers = dict(headers or {})
            client._custom_query = dict(parse_qsl(own_query)) | dict(query or {})
        authorized = key or "authorization" in map(str.lower, headers or {})
        self._headers = None if authorized else {"Authorization": openai.Omit()}
        self._model = model
        self._address = own_address
        self._lock = threading.Lock()
        self.dimensions = 0

    def __repr__(self) -> str:
        return f"OpenAIEmbedder({self.name!r})"

    def passages(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        parts = [self._embed(self._client, batch) for batch in _batches(texts)]
        if not parts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        return np.concatenate(parts)

    def query(self, text: str) -> Vectors:
        vector: Vectors = self._embed(self._query_client, next(iter(_batches([text]))))[0]
        return vector

    def _embed(self, client: Any, batch: list[str]) -> Vectors:
        with tracing.embeddings(self._model, self._address):
            return self._request(client, batch)

    def _request(self, client: Any, batch: list[str]) -> Vectors:
        import numpy as np

        try:
            answer = client.embeddings.create(
                model=self._model, input=batch, encoding_format="float", extra_headers=self._headers
            )
            rows = [item.embedding for item in sorted(answer.data, key=lambda item: item.index)]
            vectors = np.array(rows, dtype=np.float32).reshape(len(batch), -1)
            with self._lock:
                if (
                    self.dimensions not in (0, vectors.shape[1])
                    or not vectors.size
                    or not np.isfinite(vectors).all()
                ):
                    raise ValueError  # noqa: TRY301
                self.dimensions = vectors.shape[1]
        except self._sdk.APIStatusError as error:
            reason = f"HTTP {error.status_code}" + (f" {error.code}" if error.code else "")
        except self._sdk.APITimeoutError:
            reason = "timeout"
        except self._sdk.APIConnectionError:
            reason = "connection"
        except (self._sdk.OpenAIError, ValueError, TypeError, AttributeError):
            reason = "unreadable answer"
        else:
            norms = np.linalg.norm(vectors, axis=1, keepdims=True)
            return np.asarray(vectors / np.maximum(norms, 1e-12), dtype=np.float32)
        # Raised outside the handlers, because the SDK's exceptions hold the request, which holds the key.
        raise TransientError("embedding.failed", model=self.name, reason=reason[:80])


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts in batches that the service accepts: none empty, none too long, not too many at once."""
    batch: list[str] = []
    size = 0
    for text in texts:
        data = text.encode("utf-8", "replace")[:_INPUT_BYTES]
        if batch and (len(batch) == _BATCH or size + len(data) > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(data.decode("utf-8", "ignore") or " ")
        size += len(data)
    if batch:
        yield batch
