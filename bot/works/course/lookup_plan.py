"""Decides by code what to look up for a question: the course that it names, the lesson's number, or an outline.

Pure; it does not understand paraphrases.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bot.retrieval.lexical import fold
from bot.retrieval.titles import normal
from bot.works.course.course_names import FOLDED_FUNCTION_WORDS, best_match, by_words

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
_ASKING: Final = frozenset({
    "lesson", "course", "cover", "covers", "covered", "teach", "teaches", "taught", "say", "says", "said", "discuss",
    "explain", "happen", "happens", "happened", "learn", "talk", "talks", "tell", "summary", "summarise", "summarize",
    "describe", "content", "aula", "curso", "diz", "ensina", "fala", "trata", "aborda", "resumo", "resuma", "explica",
    "acontece", "aconteceu", "aprende", "aprendo", "conteudo", "give", "make", "write", "want", "please", "me",
    "faz", "faca", "fazer", "quero", "pode", "favor", "resume", "resumir",
})  # fmt: skip
"""Words of asking, which say nothing about a topic."""

LEAST_NAME_SHARE: Final = 0.94
"""The least `name_share` of a phrase that names a course: initials suffice, misspelt words do not."""

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
_COURSE_PHRASE = re.compile(
    r"(?P<before>(?:[\w'’:-]+\s+){1,7})(?:course|class)\b"
    r"|\b(?:course|class|curso)\s+(?:on|about|called|named|of|de|sobre|chamado|do|da)?\s*[“\"']?(?P<after>[^?.,;!”\"]{2,80})"
)
_EXPLICIT_NAME = re.compile(
    r"\b(?:course|class|curso)\s+(?:called\s+|named\s+|on\s+|about\s+|sobre\s+|chamado\s+)?[“\"«'](?P<quoted>[^”\"»']{3,80})[”\"»']"
    r"|\b(?:course|class|curso)\s+(?:called|named|on|about|sobre|chamado|de)\s+(?P<after>[^?.,;:!]{3,80})"
    r"|\b(?:the|my|our)\s+(?P<before>(?:[\w'’-]+\s+){1,4}?)(?:course|class)\b"
    r"|\b(?:lesson|aula)\s+\d{1,6}\s+(?:of|in|from|do|da|de)\s+(?P<lesson>(?-i:[A-ZÀ-Þ])[^?.,;:!]{2,80})",
    re.IGNORECASE,
)
"""Phrases that explicitly call something a course."""
_REFERENCES: Final = frozenset({
    "first", "last", "next", "same", "other", "another", "whole", "entire", "main", "current", "new", "only", "best",
})  # fmt: skip
"""Words that refer to a course without naming it."""
_PREPOSITION = re.compile(r"\b(?:of|in|from|do|da|de|no|na)\s+(?P<after>[^?.,;!”\"]{2,80})", re.IGNORECASE)
_QUOTED = re.compile(r"[“\"«']([^”\"»']{3,120})[”\"»']")


@dataclass(frozen=True, slots=True)
class LookupPlan:
    """The lookups for a question; `query` is the question without the course's name and the lesson's number.

    `unknown` is a course's name in the question that matches no course, "" for none.
    """

    query: str
    course: str | None = None
    lesson: int | None = None
    outline: bool = False
    unknown: str = ""


def lookup_plan(question: str, catalogue: Catalogue) -> LookupPlan:
    """The lookups for a question. The course is given by its full title."""
    lesson, rest = _lesson(" ".join(question.split()))
    rest = " ".join(rest.split())
    course, rest = _course(rest, catalogue, after_lesson=lesson is not None)
    if course is None and lesson is None and len(catalogue.courses) == 1 and _only_outline(question):
        course = catalogue.courses[0]
    outline = course is not None and lesson is None and _OUTLINE.search(fold(question)) is not None
    query = re.sub(r"\s+(?=[?!.,;:])", "", " ".join(rest.split())).strip(" ,;:")
    if (course is not None or lesson is not None) and not _asks_more(query):
        courses = catalogue.courses if course is None else (course,)
        titles = (
            []
            if lesson is None
            else [
                numbered.title for course_searched in courses for numbered in course_searched.numbered(lesson)
            ]
        )
        query = " ".join(titles) or (course.title if course is not None else query)
        outline = outline or (course is not None and lesson is None)
    unknown = _unknown_name(question) if course is None else ""
    return LookupPlan(
        query or question, course.title if course is not None else None, lesson, outline, unknown
    )


def _only_outline(question: str) -> bool:
    """Whether a question asks for an outline, and for nothing else."""
    rest, matches = _OUTLINE.subn(" ", fold(question))
    return matches > 0 and not _asks_more(rest)


def _asks_more(query: str) -> bool:
    """Whether a question asks for more than the topic of a lesson or a course."""
    return any(word not in FOLDED_FUNCTION_WORDS and word not in _ASKING for word in normal(query).split())


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


def _course(question: str, catalogue: Catalogue, *, after_lesson: bool) -> tuple[Course | None, str]:
    """The named course, and the question without its name.

    `after_lesson`: the question names a lesson, so that a preposition is enough to mark a course's name.
    """
    courses = catalogue.courses
    padded = f" {normal(question)} "
    titled = [course for course in courses if _contains_title(course.title, padded)]
    if titled:
        best = max(titled, key=lambda course: len(course.title))
        return best, _without_title(question, best.title)
    for quoted in _QUOTED.finditer(question):
        if (course := _course_by_words(quoted[1], catalogue)) is not None:
            return course, question.replace(quoted[0], " ")
    mentions = [
        *_COURSE_PHRASE.finditer(question),
        *(_PREPOSITION.finditer(question) if after_lesson else ()),
    ]
    for mention in mentions:
        if mention.groupdict().get("before"):
            words_near = mention["before"].split()
            phrases = [" ".join(words_near[at:]) for at in range(len(words_near))]
        else:
            words_near = mention["after"].split()
            phrases = [" ".join(words_near[:end]) for end in range(min(len(words_near), 8), 0, -1)]
        for phrase in phrases:
            if fold(phrase.split()[0]) in FOLDED_FUNCTION_WORDS:
                continue
            if (course := _course_by_words(phrase, catalogue)) is not None:
                return course, _without_name(question, phrase)
    return None, question


def _unknown_name(question: str) -> str:
    """The name that a question explicitly gives to a course, without words of asking; "" for none."""
    for mention in _EXPLICIT_NAME.finditer(question):
        if mention["quoted"]:
            return mention["quoted"].strip()
        words = (mention["before"] or mention["after"] or mention["lesson"]).split()
        meaningful = [not {fold(word)} & (FOLDED_FUNCTION_WORDS | _ASKING | _REFERENCES) for word in words]
        if not mention["before"]:
            words = words[: [*meaningful, False].index(False)]
        elif not all(meaningful) and not (meaningful[0] and words[0][0].isupper() and words[-1][0].isupper()):
            words = []
        if words:
            return " ".join(words)
    return ""


def _contains_title(title: str, padded: str) -> bool:
    """Whether a text names a course by its title, or by the part before the title's colon."""
    names = [title, title.split(":")[0]]
    return any(len(name := normal(part)) > 3 and f" {name} " in padded for part in names)


def _course_by_words(phrase: str, catalogue: Catalogue) -> Course | None:
    """The course that a phrase names by words alone, all of which its title has."""
    likenesses = by_words(phrase, catalogue.courses)
    return (
        best_match(catalogue.courses, likenesses).course
        if any(likeness.name_share >= LEAST_NAME_SHARE for likeness in likenesses)
        else None
    )


def _without_title(question: str, title: str) -> str:
    """The question without a title, regardless of its punctuation."""
    for name in (title, title.split(":")[0]):
        words = normal(name).split()
        pattern = r"[\W_]+".join(map(re.escape, words))
        folded = fold(question)
        if len(folded) == len(question) and (match := re.search(pattern, folded)):
            return _without_name(question, question[match.start() : match.end()])
    return question


def _without_name(question: str, phrase: str) -> str:
    """The question without a course's name, and without the words that attach it."""
    words = re.escape(phrase)
    pattern = (
        rf"(?:\b(?:in|of|from|on|at|to|no|do|na|da|ao)\s+)?(?:\b(?:the|my|our|this|o|a|meu|nosso)\s+)?"
        rf"(?:\b(?:course|class|curso)\s+(?:\b(?:on|about|called|named|of|de|sobre|chamado)\s+)?)?"
        rf"[“\"'«]?{words}[”\"'»]?(?:\s+(?:course|class)\b)?"
    )
    return re.sub(pattern, " ", question, count=1, flags=re.IGNORECASE)
