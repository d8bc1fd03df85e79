"""Which course a name means: in full, by a part of its title, by initials, with a slip, or by meaning.

A name that is near to no title means none. Knows titles only, and vectors of them where there is a model.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from bot.events import Sorry
from bot.retrieval.language import FUNCTION_WORDS, may_vote
from bot.retrieval.lexical import content_terms, fold, terms
from bot.retrieval.titles import normal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bot.retrieval.embed import Embedder
    from bot.retrieval.embedding import Embedding
    from bot.works.course.catalogue import Catalogue, Course

    Floats = NDArray[np.float32]

NEAREST: Final = 3
"""How many names are offered in place of one that means no course."""
NAME_CHARS: Final = 300
"""Of a name, as of a title."""
VECTORS: Final = 4_000
"""Titles whose vectors, and whose words, stay in memory."""

SAID: Final = 0.8
"""From so much on a title's words alone decide."""
SHARE: Final = 0.3
MEANING: Final = 4.0
EVEN: Final = 0.6
ENOUGH: Final = 1.0
APART: Final = 0.05

_GENERIC = frozenset({
    "course", "courses", "class", "classes", "lesson", "lessons", "training", "tutorial", "short", "online", "called",
    "named", "about", "curso", "cursos", "aula", "aulas", "treinamento", "sobre", "chamado", "intitulado",
})  # fmt: skip
"""Words of a name that say that it is a course's, and not whose."""
_PREFIX = 4
"""Characters from which a half word stands for the whole."""
_SLIP = 84.0
"""Of 100, how like two words of five letters or more are that are one with a slip."""


@dataclass(frozen=True, slots=True)
class Meant:
    """The course that a name means, or None with the titles nearest to it. `several`: these all fit equally well."""

    course: Course | None
    nearest: tuple[str, ...] = ()
    several: bool = False


@dataclass(frozen=True, slots=True)
class Likeness:
    """How near a name is to one title.

    `said` (0..1) is how much of the name's words the title has, rare words counting more, and `share` how much of the
    title's the name. `cosine` is that of their vectors, None where there are none.
    """

    said: float
    share: float
    cosine: float | None = None

    @property
    def score(self) -> float:
        return self.said + SHARE * self.share + MEANING * max((self.cosine or 0.0) - EVEN, 0.0)

    @property
    def sure(self) -> bool:
        return self.said >= SAID or self.score >= ENOUGH


class CourseNames:
    """Resolves names; keeps the vectors of titles."""

    def __init__(self, embedding: Embedding) -> None:
        self._embedding = embedding
        self._vectors: OrderedDict[tuple[str, str], Floats] = OrderedDict()

    async def meant(self, catalogue: Catalogue, name: str) -> Meant:
        """The course of this name."""
        name = " ".join(name.split())[:NAME_CHARS]
        if (exact := catalogue.titled(name)) is not None:
            return Meant(exact)
        courses = catalogue.courses
        found = await asyncio.to_thread(by_words, name, courses)
        if not any(one.said >= SAID for one in found) and (embedder := await self._embedding.get()):
            found = await asyncio.to_thread(self._with_meaning, name, courses, found, embedder)
        return chosen(courses, found)

    def _with_meaning(
        self, name: str, courses: Sequence[Course], found: Sequence[Likeness], embedder: Embedder
    ) -> list[Likeness]:
        """The same with cosines, of the courses whose language the model speaks."""
        spoken = [may_vote(embedder.languages, None, one.language) for one in courses]
        texts = [one.title for one, speaks in zip(courses, spoken, strict=True) if speaks]
        fresh = [text for text in dict.fromkeys(texts) if (embedder.name, text) not in self._vectors]
        if fresh:
            self._vectors.update(
                zip(((embedder.name, text) for text in fresh), embedder.passages(fresh), strict=True)
            )
        asked = embedder.query(name).reshape(-1) if texts else None
        made = []
        for course, one, speaks in zip(courses, found, spoken, strict=True):
            cosine = None
            if speaks and asked is not None:
                cosine = float(self._vectors[embedder.name, course.title] @ asked)
            made.append(Likeness(one.said, one.share, cosine))
        while len(self._vectors) > VECTORS:
            self._vectors.popitem(last=False)
        return made


async def named(names: CourseNames, catalogue: Catalogue, name: str) -> Course:
    """The course of that name. Raises Sorry where it means none, or several."""
    meant = await names.meant(catalogue, name)
    if meant.course is not None:
        return meant.course
    if not catalogue.courses:
        raise Sorry("course.none")
    key = "several" if meant.several else "no_such"
    raise Sorry(f"course.{key}", name=name[:80], names="; ".join(meant.nearest))


def chosen(courses: Sequence[Course], found: Sequence[Likeness]) -> Meant:
    """The one course that is near enough, if there is one."""
    order = sorted(range(len(courses)), key=lambda at: -found[at].score)
    near = tuple(courses[at].title for at in order[:NEAREST])
    sure = [at for at in order if found[at].sure]
    if not sure:
        return Meant(None, near)
    alike = [at for at in sure if found[sure[0]].score - found[at].score < APART]
    if len(alike) > 1:
        return Meant(None, tuple(courses[at].title for at in alike[:NEAREST]), several=True)
    return Meant(courses[sure[0]])


def by_words(name: str, courses: Sequence[Course]) -> list[Likeness]:
    """How near a name is to each course's title, by words."""
    titles = [_title_words(one.title, one.language) for one in courses]
    held = Counter(word for words in titles for word in set(words))
    most = math.log1p((len(courses) + 0.5) / 0.5)

    def weight(word: str) -> float:
        return math.log1p((len(courses) + 0.5) / (held[word] + 0.5)) / most

    asked: dict[str, tuple[str, ...]] = {}
    short = _initials(name)
    found = []
    for course, words in zip(courses, titles, strict=True):
        if course.language not in asked:
            asked[course.language] = _name_words(name, course.language)
        one = _likeness(asked[course.language], words, _initials(course.title), weight)
        if len(short) > 2 and short in words:  # "Model Context Protocol" for "MCP"
            one = replace(one, said=max(one.said, 0.95))
        found.append(one)
    return found


def _likeness(
    asked: Sequence[str], words: Sequence[str], initials: str, weight: Callable[[str], float]
) -> Likeness:
    said = total = 0.0
    covered: set[int] = set()
    for word in asked:
        alike, which = _match(word, words, initials)
        worth = weight(words[next(iter(which))]) if which else weight(word)
        total += worth
        said += alike * worth
        covered |= which
    whole = sum(map(weight, words))
    share = sum(weight(words[at]) for at in covered) / whole if whole else 0.0
    return Likeness(said / total if total else 0.0, share)


def _match(word: str, words: Sequence[str], initials: str) -> tuple[float, set[int]]:
    """How well one word of a name is said by a title (0..1), and by which of its words."""
    if word in words:
        return 1.0, {words.index(word)}
    if 2 <= len(word) <= len(initials) and (at := initials.find(word)) >= 0:
        return 0.95, set(range(at, at + len(word)))
    for at, other in enumerate(words):
        if min(len(word), len(other)) >= _PREFIX and (other.startswith(word) or word.startswith(other)):
            return 0.9, {at}
    from rapidfuzz import fuzz

    slips = [
        (fuzz.ratio(word, other), at)
        for at, other in enumerate(words)
        if min(len(word), len(other)) > _PREFIX
    ]
    best, at = max(slips, default=(0.0, 0))
    return (best / 100, {at}) if best >= _SLIP else (0.0, set())


@lru_cache(maxsize=VECTORS)
def _title_words(title: str, language: str) -> tuple[str, ...]:
    return tuple(content_terms(title, language)) or tuple(terms(title, language))


@lru_cache(maxsize=VECTORS)
def _initials(title: str) -> str:
    """The first letters of a title's words, those that only bind left out."""
    words = [word for word in normal(title).split() if word not in IDLE]
    return "".join(word[0] for word in words)


def _name_words(name: str, language: str) -> tuple[str, ...]:
    """The words of a name that say which course, as stems of a language."""
    words = [word for word in normal(name).split() if word not in _GENERIC and word not in IDLE]
    return tuple(terms(" ".join(words) or name, language))


IDLE: Final = frozenset(fold(word) for words in FUNCTION_WORDS.values() for word in words)
