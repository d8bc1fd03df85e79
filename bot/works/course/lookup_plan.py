"""Decides by code what to look up for a question: the course that it names, the lesson's number, or an outline.

Pure; it does not understand paraphrases.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bot.retrieval.lexical import fold
from bot.retrieval.titles import normal
from bot.works.course.course_names import IDLE, best_match, by_words

if TYPE_CHECKING:
    from bot.works.course.catalogue import Catalogue, Course

_NUMBERS: Final = {
    word: n
    for words in (
        "zero one two three four five six seven eight nine ten eleven twelve",
        "zero um dois tres quatro cinco seis sete oito nove dez onze doze",
        "- first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth",
        "- primeira segunda terceira quarta quinta sexta setima oitava nona decima",
    )
    for n, word in enumerate(words.split())
}
_ABOUT: Final = frozenset({
    "lesson", "course", "cover", "covers", "covered", "teach", "teaches", "taught", "say", "says", "said", "discuss",
    "explain", "happen", "happens", "happened", "learn", "talk", "talks", "tell", "summary", "summarise", "summarize",
    "describe", "content", "aula", "curso", "diz", "ensina", "fala", "trata", "aborda", "resumo", "resuma", "explica",
    "acontece", "aconteceu", "aprende", "aprendo", "conteudo", "give", "make", "write", "want", "please", "me",
    "faz", "faca", "fazer", "quero", "pode", "favor", "resume", "resumir",
})  # fmt: skip
"""Words that ask what something is about, whatever it is."""

WHOLE: Final = 0.94
"""The share of a phrase's words (0 to 1) that a title must have: initials count, misspelt words do not."""

_WORD = "|".join(sorted(_NUMBERS.keys() - {"-"}, key=len, reverse=True))
_LESSON = re.compile(
    rf"(?:\b(?:in|of|from|na|da|nesta|de)\s+)?(?:\b(?:the|a)\s+)?(?:"
    rf"(?:lesson|aula|licao)\s+(?:number\s+|numero\s+|n[o.]*\s*|#\s*)?(?P<after>\d{{1,6}}|{_WORD})\b"
    rf"|\b(?P<before>\d{{1,6}}(?:st|nd|rd|th|a|ª)|{_WORD})\s+(?:lesson|aula|licao)\b)"
)
_OUTLINE = re.compile(
    r"\b(?:outline|syllabus|curriculum|table of contents|ementa|programa d[eoa]|sumario|conteudo programatico)\b"
    r"|\b(?:what|which|list|how many|all|name|show)\b[^?.]{0,30}\b(?:lessons|topics)\b"
    r"|\b(?:quais|que|quantas|lista|liste|todas)\b[^?.]{0,30}\baulas\b"
    r"|\b(?:who|quem)\s+(?:is\s+the\s+instructor|teaches|gives|taught|ensina|da|ministra|e\s+[oa]\s+(?:professor|instrutor))"
    r"|\b(?:instructor|instrutora?|link)\s+(?:of|to|for|do|da|de|para)\b"
)
_CALLED = re.compile(
    r"(?P<before>(?:[\w'’:-]+\s+){1,7})(?:course|class)\b"
    r"|\b(?:course|class|curso)\s+(?:on|about|called|named|of|de|sobre|chamado|do|da)?\s*[“\"']?(?P<after>[^?.,;!”\"]{2,80})"
)
_CALLED_SO = re.compile(
    r"\b(?:course|class|curso)\s+(?:called\s+|named\s+|on\s+|about\s+|sobre\s+|chamado\s+)?[“\"«'](?P<quoted>[^”\"»']{3,80})[”\"»']"
    r"|\b(?:course|class|curso)\s+(?:called|named|on|about|sobre|chamado|de)\s+(?P<after>[^?.,;:!]{3,80})"
    r"|\b(?:the|my|our)\s+(?P<before>(?:[\w'’-]+\s+){1,4}?)(?:course|class)\b"
    r"|\b(?:lesson|aula)\s+\d{1,6}\s+(?:of|in|from|do|da|de)\s+(?P<lesson>(?-i:[A-ZÀ-Þ])[^?.,;:!]{2,80})",
    re.IGNORECASE,
)
"""Where a question says explicitly that something is a course."""
_WHICH: Final = frozenset({
    "first", "last", "next", "same", "other", "another", "whole", "entire", "main", "current", "new", "only", "best",
})  # fmt: skip
"""Words that refer to one of the courses without naming it."""
_BOUND = re.compile(r"\b(?:of|in|from|do|da|de|no|na)\s+(?P<after>[^?.,;!”\"]{2,80})", re.IGNORECASE)
_QUOTED = re.compile(r"[“\"«']([^”\"»']{3,120})[”\"»']")


@dataclass(frozen=True, slots=True)
class LookupPlan:
    """The lookups for a question; `query` is the question without the course's name and the lesson's number.

    `unknown` is what it calls a course although the words match none, "" for nothing.
    """

    query: str
    course: str | None = None
    lesson: int | None = None
    outline: bool = False
    unknown: str = ""


def lookup_plan(question: str, catalogue: Catalogue) -> LookupPlan:
    """The lookups for a question. The course is given by its full title."""
    lesson, without = _lesson(" ".join(question.split()))
    without = " ".join(without.split())
    course, without = _course(without, catalogue, bound=lesson is not None)
    if course is None and lesson is None and len(catalogue.courses) == 1 and _only_outline(question):
        course = catalogue.courses[0]
    outline = course is not None and lesson is None and _OUTLINE.search(fold(question)) is not None
    query = re.sub(r"\s+(?=[?!.,;:])", "", " ".join(without.split())).strip(" ,;:")
    if (course is not None or lesson is not None) and not _says_something(query):
        courses = catalogue.courses if course is None else (course,)
        titles = (
            []
            if lesson is None
            else [numbered.title for each in courses for numbered in each.numbered(lesson)]
        )
        query = " ".join(titles) or (course.title if course is not None else query)
        outline = outline or (course is not None and lesson is None)
    unknown = _unknown(question) if course is None else ""
    return LookupPlan(
        query or question, course.title if course is not None else None, lesson, outline, unknown
    )


def _only_outline(question: str) -> bool:
    """Whether a question asks for an outline, and for nothing else."""
    without, found = _OUTLINE.subn(" ", fold(question))
    return found > 0 and not _says_something(without)


def _says_something(query: str) -> bool:
    """Whether a question asks for more than the topic of a lesson or a course."""
    return any(word not in IDLE and word not in _ABOUT for word in normal(query).split())


def _lesson(question: str) -> tuple[int | None, str]:
    """A lesson's number, and the question without it."""
    folded = fold(question)
    if len(folded) != len(question) or (match := _LESSON.search(folded)) is None:
        match = _LESSON.search(question.lower())
        if match is None:
            return None, question
    number_text = match["after"] or match["before"]
    digits = re.match(r"\d+", number_text)
    number = int(digits[0]) if digits else _NUMBERS[number_text]
    return number, f"{question[: match.start()]} {question[match.end() :]}"


def _course(question: str, catalogue: Catalogue, *, bound: bool) -> tuple[Course | None, str]:
    """The named course, and the question without its name; `bound`: a preposition is enough to mark a name."""
    courses = catalogue.courses
    padded = f" {normal(question)} "
    named = [course for course in courses if _contained(course.title, padded)]
    if named:
        best = max(named, key=lambda course: len(course.title))
        return best, _cut(question, best.title)
    for quoted in _QUOTED.finditer(question):
        if (course := _course_meant(quoted[1], catalogue)) is not None:
            return course, question.replace(quoted[0], " ")
    calls = [*_CALLED.finditer(question), *(_BOUND.finditer(question) if bound else ())]
    for called in calls:
        if called.groupdict().get("before"):
            tried = called["before"].split()
            phrases = [" ".join(tried[at:]) for at in range(len(tried))]
        else:
            tried = called["after"].split()
            phrases = [" ".join(tried[:past]) for past in range(min(len(tried), 8), 0, -1)]
        for phrase in phrases:
            if fold(phrase.split()[0]) in IDLE:
                continue
            if (course := _course_meant(phrase, catalogue)) is not None:
                return course, _without(question, phrase)
    return None, question


def _unknown(question: str) -> str:
    """What a question calls a course: words other than function words and words of asking, except between capitals."""
    for called in _CALLED_SO.finditer(question):
        if called["quoted"]:
            return called["quoted"].strip()
        words = (called["before"] or called["after"] or called["lesson"]).split()
        meaningful = [not {fold(word)} & (IDLE | _ABOUT | _WHICH) for word in words]
        if not called["before"]:
            words = words[: [*meaningful, False].index(False)]
        elif not all(meaningful) and not (meaningful[0] and words[0][0].isupper() and words[-1][0].isupper()):
            words = []
        if words:
            return " ".join(words)
    return ""


def _contained(title: str, padded: str) -> bool:
    """Whether a text names a course by its title, or by the part before the title's colon."""
    names = [title, title.split(":")[0]]
    return any(len(name := normal(part)) > 3 and f" {name} " in padded for part in names)


def _course_meant(phrase: str, catalogue: Catalogue) -> Course | None:
    """The course that a phrase names by words alone, all of which its title has."""
    likenesses = by_words(phrase, catalogue.courses)
    return (
        best_match(catalogue.courses, likenesses).course
        if any(likeness.name_share >= WHOLE for likeness in likenesses)
        else None
    )


def _cut(question: str, title: str) -> str:
    """The question without a title, regardless of its punctuation."""
    for name in (title, title.split(":")[0]):
        words = normal(name).split()
        pattern = r"[\W_]+".join(map(re.escape, words))
        folded = fold(question)
        if len(folded) == len(question) and (match := re.search(pattern, folded)):
            return _without(question, question[match.start() : match.end()])
    return question


def _without(question: str, phrase: str) -> str:
    """The question without a course's name, and without the words that attach it."""
    words = re.escape(phrase)
    bound = (
        rf"(?:\b(?:in|of|from|on|at|to|no|do|na|da|ao)\s+)?(?:\b(?:the|my|our|this|o|a|meu|nosso)\s+)?"
        rf"(?:\b(?:course|class|curso)\s+(?:\b(?:on|about|called|named|of|de|sobre|chamado)\s+)?)?"
        rf"[“\"'«]?{words}[”\"'»]?(?:\s+(?:course|class)\b)?"
    )
    return re.sub(bound, " ", question, count=1, flags=re.IGNORECASE)
