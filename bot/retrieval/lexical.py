"""Words as stems, and one document's postings, the basis of lexical search.

Independent of ranking: the Shelf weighs these.
"""

from __future__ import annotations

import re
import struct
import threading
import unicodedata
import zlib
from array import array
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from bot.retrieval.language import FUNCTION_WORDS, STEMMED, UNSPACED

if TYPE_CHECKING:
    import numpy as np
    import Stemmer
    from numpy.typing import NDArray

    from bot.retrieval.chunk import Chunk


_WORD = re.compile(r"\d+(?:[.,]\d+)+|\w+(?:['’]\w+)*")
_PARTS = re.compile(f"{UNSPACED.pattern}|[^{UNSPACED.pattern[1:-2]}]+")
_CLITIC = re.compile(r"['’](?:s|t|ll|re|ve|d|m)$")
_MAGIC = b"SUT1"
_COUNTS = "<8sIIII"  # language, terms, postings, chunks, bytes of the words
_stemmers = threading.local()  # by name; a Snowball stemmer is not safe to share between threads


def fold(text: str) -> str:
    """The text in lower case without accents: "Ação" → "acao"."""
    text = text.casefold()
    if text.isascii():
        return text
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def terms(text: str, language: str) -> list[str]:
    """The terms of a text in order: words stemmed by the language's rules, then accents folded.

    "1,000" is one term, "Arrow-Catching" two; the ending after an apostrophe is dropped. In text without spaces each
    pair of neighbouring characters is a term: "火球术" is "火球" and "球术".
    """
    words = []
    text = text.casefold()
    unspaced = not text.isascii() and UNSPACED.search(text) is not None
    for match in _WORD.finditer(text):
        word = match.group()
        if unspaced and UNSPACED.search(word):
            words.extend(_pairs(word))
            continue
        if word[0].isdigit():
            word = word.replace(",", "").replace(".", "")
        elif "'" in word or "’" in word:
            word = _CLITIC.sub("", word).replace("'", " ").replace("’", " ")
            if " " in word:
                words.extend(word.split())
                continue
        words.append(word.strip("_") or word)
    if (name := STEMMED.get(language)) is not None:
        stemmers: dict[str, Stemmer.Stemmer] = _stemmers.__dict__
        if name not in stemmers:
            import Stemmer

            stemmers[name] = Stemmer.Stemmer(name, 50000)
        words = stemmers[name].stemWords(words)
    if all(map(str.isascii, words)):  # folded already
        return words
    return [word if word.isascii() else fold(word) for word in words]


def _pairs(word: str) -> list[str]:
    """The pairs of neighbouring characters in a word of a language without spaces, and the words of other languages in
    it.
    """
    pairs = []
    for part in _PARTS.findall(word):
        if UNSPACED.match(part) and len(part) > 1:
            pairs += [part[at : at + 2] for at in range(len(part) - 1)]
        else:
            pairs.append(part)
    return pairs


def content_terms(text: str, language: str) -> list[str]:
    """The stemmed terms of a text without function words and single letters, in order."""
    skipped = function_terms(language)
    return [
        term for term in terms(text, language) if term not in skipped and (len(term) > 1 or term.isdigit())
    ]


@cache
def function_terms(language: str) -> frozenset[str]:
    """The stems of a language's function words."""
    return frozenset(terms(" ".join(FUNCTION_WORDS.get(language, ())), language))


@dataclass(frozen=True, slots=True)
class Segment:
    """One document's postings by term: the chunks (ordinals) that contain it, and how often in text and breadcrumb.

    `offsets[i]:offsets[i + 1]` are the postings of `vocabulary[i]`.
    """

    language: str
    vocabulary: list[str]
    offsets: NDArray[np.int32]  # (terms + 1,)
    chunks: NDArray[np.int32]  # (postings,)
    body: NDArray[np.uint16]  # (postings,)
    head: NDArray[np.uint16]  # (postings,)
    lengths: NDArray[np.int32]  # (chunks,), in terms of the text
    rows: Rows | None = None  # of its tables; none in data from earlier versions

    @classmethod
    def build(cls, chunks: Sequence[Chunk], language: str) -> Segment:
        """The postings of a document's chunks, in ordinal order."""
        import numpy as np

        rows = [(chunk.ordinal, chunk.breadcrumb, row) for chunk in chunks for row in chunk.rows]
        segment = cls._of([(chunk.breadcrumb, chunk.text) for chunk in chunks], language)
        if not rows:
            return segment
        owners = np.array([chunk for chunk, _, _ in rows], dtype=np.int32)
        of_rows = cls._of([(breadcrumb, text) for _, breadcrumb, text in rows], language)
        return replace(segment, rows=Rows(owners, of_rows))

    @classmethod
    def _of(cls, texts: Sequence[tuple[str, str]], language: str) -> Segment:
        """The segment of (breadcrumb, text) pairs, numbered in order."""
        import numpy as np

        # Flat, three numbers per posting: numpy would hold the interpreter for seconds for as many tuples as a book
        # has.
        postings: defaultdict[str, array[int]] = defaultdict(lambda: array("i"))
        lengths = []
        heads: dict[str, Counter[str]] = {}
        for number, (breadcrumb, text) in enumerate(texts):
            if breadcrumb not in heads:
                heads[breadcrumb] = Counter(terms(breadcrumb, language))
            head = heads[breadcrumb]
            text_terms = terms(text, language)
            body = Counter(text_terms)
            lengths.append(len(text_terms))
            for term, count in body.items():
                postings[term].extend((number, count, head.get(term, 0)))
            for term, count in head.items():
                if term not in body:
                    postings[term].extend((number, 0, count))
        vocabulary = sorted(postings)
        flat = b"".join(postings[term] for term in vocabulary)
        table = np.frombuffer(flat, dtype=np.intc).reshape(-1, 3)
        offsets = np.zeros(len(vocabulary) + 1, dtype=np.int32)
        np.cumsum([len(postings[term]) // 3 for term in vocabulary], out=offsets[1:])
        return cls(
            language,
            vocabulary,
            offsets,
            table[:, 0].astype(np.int32),
            np.minimum(table[:, 1], 65535).astype(np.uint16),
            np.minimum(table[:, 2], 65535).astype(np.uint16),
            np.array(lengths, dtype=np.int32),
        )

    def to_bytes(self) -> bytes:
        """One blob: counts, then the arrays little-endian, then the words, then the rows; compressed."""
        raw = self._raw()
        if self.rows is not None:
            raw += self.rows.postings._raw() + self.rows.chunks.astype("<i4").tobytes()
        return _MAGIC + zlib.compress(raw, 1)

    def _raw(self) -> bytes:
        words = "\n".join(self.vocabulary).encode()
        code = self.language.encode()[:8].ljust(8, b"\0")
        counts = struct.pack(
            _COUNTS, code, len(self.vocabulary), len(self.chunks), len(self.lengths), len(words)
        )
        arrays = (self.offsets, self.chunks, self.body, self.head, self.lengths)
        raw = b"".join(array.astype(array.dtype.newbyteorder("<")).tobytes() for array in arrays)
        return counts + raw + words

    @classmethod
    def from_bytes(cls, blob: bytes) -> Segment:
        """The segment that `to_bytes` wrote. Raises ValueError for anything else."""
        if not blob.startswith(_MAGIC):
            raise ValueError("not a segment of this version")
        import numpy as np

        raw = zlib.decompress(blob[len(_MAGIC) :])
        segment, at = cls._read(raw, 0)
        if at == len(raw):
            return segment
        of_rows, at = cls._read(raw, at)
        owners = np.frombuffer(raw, dtype="<i4", count=len(of_rows.lengths), offset=at)
        return replace(segment, rows=Rows(owners, of_rows))

    @classmethod
    def _read(cls, raw: bytes, at: int) -> tuple[Segment, int]:
        """The segment at offset `at`, and the offset of its end."""
        import numpy as np

        code, vocabulary, postings, chunks, words = struct.unpack_from(_COUNTS, raw, at)
        at += struct.calcsize(_COUNTS)
        arrays = []
        for count, kind in (
            (vocabulary + 1, "<i4"), (postings, "<i4"), (postings, "<u2"), (postings, "<u2"), (chunks, "<i4"),
        ):  # fmt: skip
            array = np.frombuffer(raw, dtype=kind, count=count, offset=at)
            arrays.append(array)
            at += array.nbytes
        text = raw[at : at + words].decode()
        offsets, places, body, head, lengths = arrays
        terms_read = text.split("\n") if vocabulary else []
        language = code.rstrip(b"\0").decode()
        return cls(language, terms_read, offsets, places, body, head, lengths), at + words


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a document's tables, each with its table's heading, as separate texts.

    A table is many short texts: words together in one row count for more than words in separate rows. `chunks` are the
    ordinals of the rows' chunks.
    """

    chunks: NDArray[np.int32]  # (rows,)
    postings: Segment  # numbered by row
