"""Any model of the sentence-transformers package, an extra: from its hub, or a folder.

Knows no index and no other model.
"""

from __future__ import annotations

import importlib
import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.events import Sorry
from bot.retrieval.confidence import Likeness
from bot.retrieval.embed import clean, unit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

_ENGLISH = re.compile(r"all-(?:minilm|mpnet|distilroberta)|multi-qa|msmarco|[-_]en(?![a-z])", re.I)
_CODE = re.compile(r"^\s*-?\s*[\"']?([a-z]{2})[\"']?\s*$")


class SentenceTransformers:
    """`languages` are what the folder's README declares, else English for names that say so, else None (all)."""

    languages: frozenset[str] | None = None
    likeness: Likeness | None = None

    _BATCH = 8  # also how many texts a question may have to wait for

    def __init__(self, name: str) -> None:
        self.name = f"sentence-transformers:{name}"
        try:
            import sentence_transformers

            logging = importlib.import_module("transformers.utils.logging")
        except ImportError as error:
            raise Sorry("embedding.extra_missing", model=self.name, extra="sentence-transformers") from error
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
            raise Sorry("embedding.unusable", model=self.name, reason=type(error).__name__) from error
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

        made = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        for first in range(0, len(order), self._BATCH):
            batch = order[first : first + self._BATCH]
            made[batch] = self._encode([self._passage + clean(texts[at]) for at in batch])
        return made

    def query(self, text: str) -> Vectors:
        made: Vectors = self._encode([self._query + clean(text[:2000])], asked=True)[0]
        return made

    def _encode(self, texts: list[str], *, asked: bool = False) -> Vectors:
        """One thread at a time, since the tokenizer may not be borrowed by two; questions go before books."""
        with self._free:
            self._asking += asked
            self._free.wait_for(lambda: not self._busy and (asked or not self._asking))
            self._asking -= asked
            self._busy = True
        try:
            # prompt="": the prefixes are ours, also where the model has a default of its own.
            made: Vectors = self._model.encode(
                texts, prompt="", batch_size=len(texts), show_progress_bar=False
            )
        finally:
            with self._free:
                self._busy = False
                self._free.notify_all()
        return unit(made)


def declared(folder: Path, name: str) -> frozenset[str] | None:
    """The languages that the front matter of a model's README names; by its name alone where there is none."""
    try:
        head = (folder / "README.md").read_text(encoding="utf-8", errors="replace").split("\n---", 1)[0]
    except OSError:
        head = ""
    found = re.search(r"^language:(.*(?:\n[ \t]*-.*)*)", head, re.M)
    if found:
        lines = found.group(1).replace("[", "").replace("]", "").replace(",", "\n").split("\n")
        if codes := frozenset(match.group(1) for line in lines if (match := _CODE.match(line))):
            return codes
    if "multilingual" in name.lower():
        return None
    return frozenset({"en"}) if _ENGLISH.search(name) else None
