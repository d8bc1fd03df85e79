"""Finds the course that a name means: in full, by a part of its title, by initials, with a typing error, or by meaning.

A name that is close to no title means none. Knows only titles, and their vectors if there is a model.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from bot.events import TransientError, UserError
from bot.retrieval.language import FUNCTION_WORDS, may_vote
from bot.retrieval.lexical import content_terms, fold, terms
from bot.retrieval.titles import normal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bot.retrieval.embedding import Embedder, Embedding
    from bot.works.course.catalogue import Catalogue, Course

    Floats = NDArray[np.float32]

NEAREST: Final = 3
"""How many titles are listed if a name matches no course."""
NAME_CHARS: Final = 300
"""The maximum length of a compared name or title."""
VECTORS: Final = 4_000
"""The maximum number of titles whose vectors and words stay in memory."""

ENOUGH_OF_NAME: Final = 0.8
"""The share of a name's words (0 to 1) from which words alone decide."""
TITLE_WEIGHT: Final = 0.3
"""The weight of `title_share` in a score."""
COSINE_WEIGHT: Final = 4.0
"""The weight of a cosine in a score, for the part above EVEN."""
COMMON_COSINE: Final = 0.6
"""A cosine that unrelated titles may reach."""
LEAST_SCORE: Final = 1.0
"""The minimum score with which a name means a course."""
LEAST_DIFFERENCE: Final = 0.05
"""A name is ambiguous between courses whose scores differ by less than this."""

FOLDED_FUNCTION_WORDS: Final = frozenset(fold(word) for words in FUNCTION_WORDS.values() for word in words)
"""The function words of all languages, folded."""
_GENERIC = frozenset({
    "course", "courses", "class", "classes", "lesson", "lessons", "training", "tutorial", "short", "online", "called",
    "named", "about", "curso", "cursos", "aula", "aulas", "treinamento", "sobre", "chamado", "intitulado",
})  # fmt: skip
"""Words of a name which say that it is a course's, but not which one."""
_PREFIX_LETTERS = 4
"""The minimum length of a prefix that stands for a whole word."""
_TYPO_RATIO = 84.0
"""The minimum similarity, of 100, of two words of five letters or more that differ by a typing error."""


@dataclass(frozen=True, slots=True)
class CourseMatch:
    """The course that a name means, or None with the nearest titles. `several`: these all fit equally well."""

    course: Course | None
    nearest: tuple[str, ...] = ()
    several: bool = False


@dataclass(frozen=True, slots=True)
class Likeness:
    """How close a name is to one title.

    `name_share` (0 to 1) is the share of the name's words that the title has, and `title_share` the share of the
    title's words that the name has; rare words count more. `cosine` is that of their vectors, None without vectors.
    """

    name_share: float
    title_share: float
    cosine: float | None = None

    @property
    def score(self) -> float:
        """The weighted sum; a cosine that any two titles may reach adds nothing."""
        return (
            self.name_share
            + TITLE_WEIGHT * self.title_share
            + COSINE_WEIGHT * max((self.cosine or 0.0) - COMMON_COSINE, 0.0)
        )

    @property
    def sure(self) -> bool:
        """Whether the name may mean this title."""
        return self.name_share >= ENOUGH_OF_NAME or self.score >= LEAST_SCORE


class CourseNames:
    """Finds the course that a name means; keeps the vectors of titles in memory."""

    def __init__(self, embedding: Embedding) -> None:
        self._embedding = embedding
        self._vectors: OrderedDict[tuple[str, str], Floats] = OrderedDict()

    async def resolve(self, catalogue: Catalogue, name: str) -> CourseMatch:
        """The course of this name, by its words and, if they do not suffice, by its meaning."""
        name = " ".join(name.split())[:NAME_CHARS]
        if (exact := catalogue.titled(name)) is not None:
            return CourseMatch(exact)
        courses = catalogue.courses
        likenesses = await asyncio.to_thread(by_words, name, courses)
        if not any(likeness.name_share >= ENOUGH_OF_NAME for likeness in likenesses) and (
            embedder := await self._embedding.get()
        ):
            likenesses = await asyncio.to_thread(self._with_meaning, name, courses, likenesses, embedder)
        return best_match(courses, likenesses)

    def _with_meaning(
        self, name: str, courses: Sequence[Course], likenesses: Sequence[Likeness], embedder: Embedder
    ) -> list[Likeness]:
        """The likenesses with cosines, for courses in a language that the embedding model knows."""
        comparable = [may_vote(embedder.languages, None, course.language) for course in courses]
        texts = [
            course.title for course, is_comparable in zip(courses, comparable, strict=True) if is_comparable
        ]
        missing = [text for text in dict.fromkeys(texts) if (embedder.name, text) not in self._vectors]
        if missing:
            self._vectors.update(
                zip(((embedder.name, text) for text in missing), embedder.passages(missing), strict=True)
            )
        query_vector = embedder.query(name).reshape(-1) if texts else None
        with_cosines = []
        for course, likeness, is_comparable in zip(courses, likenesses, comparable, strict=True):
            cosine = None
            if is_comparable and query_vector is not None:
                cosine = float(self._vectors[embedder.name, course.title] @ query_vector)
            with_cosines.append(Likeness(likeness.name_share, likeness.title_share, cosine))
        while len(self._vectors) > VECTORS:
            self._vectors.popitem(last=False)
        return with_cosines


async def course_named(names: CourseNames, catalogue: Catalogue, name: str) -> Course:
    """The course of that name. Raises UserError if it means none, or several."""
    resolved = await names.resolve(catalogue, name)
    if resolved.course is not None:
        return resolved.course
    if not catalogue.courses:
        raise TransientError("course.none")
    key = "several" if resolved.several else "no_such"
    raise UserError(f"course.{key}", name=name[:80], names="; ".join(resolved.nearest))


def best_match(courses: Sequence[Course], likenesses: Sequence[Likeness]) -> CourseMatch:
    """The course whose title is clearly the closest, if there is one; `likenesses` are in the order of `courses`."""
    order = sorted(range(len(courses)), key=lambda at: -likenesses[at].score)
    nearest = tuple(courses[at].title for at in order[:NEAREST])
    close = [at for at in order if likenesses[at].sure]
    if not close:
        return CourseMatch(None, nearest)
    tied = [at for at in close if likenesses[close[0]].score - likenesses[at].score < LEAST_DIFFERENCE]
    if len(tied) > 1:
        return CourseMatch(None, tuple(courses[at].title for at in tied[:NEAREST]), several=True)
    return CourseMatch(courses[close[0]])


def by_words(name: str, courses: Sequence[Course]) -> list[Likeness]:
    """How close a name is to each course's title, by words."""
    titles = [_title_words(course.title, course.language) for course in courses]
    titles_with = Counter(word for words in titles for word in set(words))
    largest = math.log1p((len(courses) + 0.5) / 0.5)

    def weight(word: str) -> float:
        return math.log1p((len(courses) + 0.5) / (titles_with[word] + 0.5)) / largest

    names_words: dict[str, tuple[str, ...]] = {}
    name_initials = _initials(name)
    likenesses = []
    for course, words in zip(courses, titles, strict=True):
        if course.language not in names_words:
            names_words[course.language] = _name_words(name, course.language)
        likeness = _likeness(names_words[course.language], words, _initials(course.title), weight)
        if not content_terms(name, course.language) and f"{normal(course.title)} ".startswith(
            f"{normal(name)} "
        ):
            likeness = replace(likeness, name_share=1.0)  # "Nós", elsewhere a function word like "we"
        if len(name_initials) > 2 and name_initials in words:  # "Model Context Protocol" for "MCP"
            likeness = replace(likeness, name_share=max(likeness.name_share, 0.95))
        likenesses.append(likeness)
    return likenesses


def _likeness(
    name_words: Sequence[str], words: Sequence[str], initials: str, weight: Callable[[str], float]
) -> Likeness:
    covered_weight = total = 0.0
    covered: set[int] = set()
    for word in name_words:
        similarity, matched = _match(word, words, initials)
        word_weight = weight(words[next(iter(matched))]) if matched else weight(word)
        total += word_weight
        covered_weight += similarity * word_weight
        covered |= matched
    title_weight = sum(map(weight, words))
    title_share = sum(weight(words[at]) for at in covered) / title_weight if title_weight else 0.0
    return Likeness(covered_weight / total if total else 0.0, title_share)


def _match(word: str, words: Sequence[str], initials: str) -> tuple[float, set[int]]:
    """How well a title contains one word of a name (0..1), and the indexes of the matching words."""
    if word in words:
        return 1.0, {words.index(word)}
    if 2 <= len(word) <= len(initials) and (at := initials.find(word)) >= 0:
        return 0.95, set(range(at, at + len(word)))
    for at, title_word in enumerate(words):
        if min(len(word), len(title_word)) >= _PREFIX_LETTERS and (
            title_word.startswith(word) or word.startswith(title_word)
        ):
            return 0.9, {at}
    from rapidfuzz import fuzz

    typos = [
        (fuzz.ratio(word, title_word), at)
        for at, title_word in enumerate(words)
        if min(len(word), len(title_word)) > _PREFIX_LETTERS
    ]
    best, at = max(typos, default=(0.0, 0))
    return (best / 100, {at}) if best >= _TYPO_RATIO else (0.0, set())


@lru_cache(maxsize=VECTORS)
def _title_words(title: str, language: str) -> tuple[str, ...]:
    return tuple(content_terms(title, language)) or tuple(terms(title, language))


@lru_cache(maxsize=VECTORS)
def _initials(title: str) -> str:
    """The first letters of a title's words, without function words."""
    words = [word for word in normal(title).split() if word not in FOLDED_FUNCTION_WORDS]
    return "".join(word[0] for word in words)


def _name_words(name: str, language: str) -> tuple[str, ...]:
    """The words of a name that identify the course, as stems of a language."""
    words = [
        word for word in normal(name).split() if word not in _GENERIC and word not in FOLDED_FUNCTION_WORDS
    ]
    return tuple(terms(" ".join(words) or name, language))
