"""Searches a script's scenes by their words. Pure; blocking for long scripts."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from bot.retrieval.language import detect
from bot.retrieval.lexical import content_terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bot.works.script.model import Scene, Script

    Floats = NDArray[np.float32]

_K1, _B = 0.9, 0.4
"""BM25's parameters for short texts (Anserini's defaults for passages)."""
_SAMPLE: Final = 20_000
"""How many characters are read to detect the language."""


class SceneSearch:
    """Searches the scenes of one script by BM25. `language` is the script's language."""

    def __init__(self, script: Script) -> None:
        self._scenes = script.scenes
        self.language = detect(" ".join(scene.text for scene in script.scenes[:40])[:_SAMPLE])
        self._lengths: list[int] = []
        self._postings: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for at, scene in enumerate(script.scenes):
            counts = Counter(self.terms(scene.text))
            self._lengths.append(counts.total())
            for term, count in counts.items():
                self._postings[term].append((at, count))

    def terms(self, text: str) -> list[str]:
        """The content words of a text, normalised for comparison."""
        return content_terms(text, self.language)

    def rarity(self, term: str) -> float:
        """The weight of a term: the fewer scenes contain it, the larger (Robertson and Spärck Jones, as in Lucene)."""
        scenes_with_term = len(self._postings.get(term, ()))
        return math.log(1 + (len(self._scenes) - scenes_with_term + 0.5) / (scenes_with_term + 0.5))

    def ranked(
        self,
        query: str,
        most: int,
        allowed: Callable[[Scene], bool] = lambda scene: True,
        cosines: Floats | None = None,
    ) -> list[tuple[float, Scene]]:
        """The scenes that contain words of the query, the best first, each with its score.

        `cosines`, (scenes,) with 0 for no vectors, are fused with the words as for the library's passages.
        """
        mean = sum(self._lengths) / max(1, len(self._lengths)) or 1.0
        scores: defaultdict[int, float] = defaultdict(float)
        for term in dict.fromkeys(self.terms(query)):
            rarity = self.rarity(term) * (_K1 + 1)
            for at, count in self._postings.get(term, ()):
                weight = count + _K1 * (1 - _B + _B * self._lengths[at] / mean)
                scores[at] += rarity * count / weight
        if cosines is not None and cosines.any():
            scores = self._fused(scores, cosines)
        best = sorted(scores.items(), key=lambda terms: (-terms[1], terms[0]))
        matches = [(score, self._scenes[at]) for at, score in best if allowed(self._scenes[at])]
        return matches[:most]

    def _fused(self, scores: Mapping[int, float], cosines: Floats) -> defaultdict[int, float]:
        import numpy as np

        from bot.retrieval.ranking import Options, fused

        lexical = np.zeros(len(self._scenes), dtype=np.float32)
        for at, score in scores.items():
            lexical[at] = score
        fused_scores = fused(lexical, cosines, Options().dense_weight)
        scored = np.flatnonzero((fused_scores > 0) | (cosines > 0)).tolist()
        return defaultdict(float, {at: float(fused_scores[at]) for at in scored})

    def coverage(self, query: str) -> float:
        """The largest share (0 to 1) of the query's words that one scene contains; rare words count more."""
        covered, total = defaultdict[int, float](float), 0.0
        for term in dict.fromkeys(self.terms(query)):
            rarity = self.rarity(term)
            total += rarity
            for at, _ in self._postings.get(term, ()):
                covered[at] += rarity
        return max(covered.values(), default=0.0) / total if total else 0.0

    def rarest(self, text: str, most: int) -> str:
        """The `most` rarest words of a text, as a query."""
        return " ".join(sorted(dict.fromkeys(self.terms(text)), key=self.rarity, reverse=True)[:most])

    def window(self, text: str, query_terms: Iterable[str], chars: int) -> str:
        """The part of the text with most of the terms, of at most `chars` characters, from the start of a line."""
        if len(text) <= chars:
            return text
        # A line longer than half of the part is split.
        part = max(1, chars // 4)
        parts = re.compile(rf"(?s).{{1,{part}}}(?:\s+|\Z)|.{{{part}}}")
        lines = [
            piece
            for line in text.splitlines(keepends=True)
            for piece in (parts.findall(line) if len(line) > chars // 2 else [line])
        ]
        terms = set(query_terms)
        weights = [sum(self.rarity(term) for term in terms.intersection(self.terms(line))) for line in lines]
        best, at, weight, length, first = -1.0, 0, 0.0, 0, 0
        for last, line in enumerate(lines):
            weight += weights[last]
            length += len(line)
            while length > chars and first < last:
                weight -= weights[first]
                length -= len(lines[first])
                first += 1
            if weight > best + 1e-9:
                best, at = weight, first
        return "".join(lines[at:])[:chars].rstrip()
