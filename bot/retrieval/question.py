"""A question as a shelf reads it: its terms, their weights, and which of them ask for something.

Uses the shelf's postings; independent of how passages are ranked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from typing import NamedTuple

from bot.retrieval.cognates import respelt, words_of
from bot.retrieval.glossary import translated
from bot.retrieval.language import (
    ASKING_WORDS,
    COLUMN_WORDS,
    FUNCTION_WORDS,
    HEADING_WORDS,
    PREFIXES,
    UNSPACED,
)
from bot.retrieval.lexical import terms
from bot.retrieval.postings import Postings
from bot.retrieval.titles import plain

_ROOT = 4  # the fewest letters of what a prefix precedes
_NAME_WORDS = 5  # a heading is seldom longer, a question seldom as short
_WHAT = re.compile(
    r"(?:what(?:['’]s| is| are)|who(?:['’]s| is| are)|o que (?:é|e|são|sao)|quem (?:é|e|são|sao))\s+"
    r"(?P<article>(?:an?|the|uma?|uns|umas|os?|as?)\s+)?(?P<name>[^.;:!?]+)",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"\b(?:an?|the|uma?|o|os|as|do|da|dos|das|no|na|nos|nas)\b", re.IGNORECASE)
_DEFINITE = frozenset(["the", "o", "a", "os", "as"])
_JOINING = {"de", "of"}  # "a wall of fire" is a name, "the range of fireball" is not
_PURPOSE = frozenset(["for", "to", "para"])  # "What is needed for a ritual?" asks for no name
_BINDING = 0.5  # the share of a function word's weight that counts in a question: "how much does"
_FLOOR = 0.2  # of log(1 + chunks): in a small book even a word in every chunk says which book it is
_LIKENESS = 1.5  # the power of a cognate's likeness in its weight
_SURE = 0.5  # a cognate this similar is evidence too
_ASKS = ("?", "？", "؟")
_CHINESE = "|".join(sorted(FUNCTION_WORDS["zh"], key=len, reverse=True))
_NAMED = re.compile(r"\w+(?:['’]\w+)*")
_FUNCTION = frozenset().union(*FUNCTION_WORDS.values())


class QuestionWord(NamedTuple):
    """One word of the question: its weight as evidence, and its terms in the shelf's languages.

    `columns`: the terms of a table's heading with the same meaning ("price": "cost").
    """

    weight: float
    terms: tuple[int, ...]
    columns: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class OtherLanguages:
    """A question as other languages may spell it: its words, and the weight of all those spellings.

    `total` is None if the endings of none of those languages are known; then the weight says little.
    """

    words: tuple[QuestionWord, ...]
    total: float | None


@dataclass(frozen=True, slots=True)
class QuestionTerms:
    """The terms of a question. `weights`: that of each term on the shelf, for ranking. `words`: all except function
    words.

    `name`: it is a bare phrase, like a heading. `asked`: the name that it asks for, in those words or as "What is …?".
    `apart`: the number of names whose words no passage has together. `other_languages`: its reading in books of other
    languages; `foreign`: the shelf has only such books.
    """

    weights: dict[int, float]
    words: tuple[QuestionWord, ...]
    name: bool
    asked: str = ""
    other_languages: OtherLanguages | None = None
    apart: int = 0
    foreign: bool = False


def question_terms(
    question: str, language: str | None, languages: Sequence[str], postings: Postings
) -> QuestionTerms:
    """Read a question in every language of the shelf; `language` is its own, if known.

    The number of a name and the words in its parentheses do not count, because passages do not repeat them.
    """
    if not question.rstrip().endswith(_ASKS) and len((bare := plain(question)).split()) <= _NAME_WORDS:
        question = bare or question
    if UNSPACED.search(question):  # a function word ends the word before it, where no space does
        question = re.sub(_CHINESE, " ", question)
    if _respellable(tuple(languages))[1].search(question):
        question = respelt_prefixes(question, languages, postings)
    length = max(len(question.split()), sum(map(len, UNSPACED.findall(question))) // 2)
    name = not question.rstrip().endswith(_ASKS) and length <= _NAME_WORDS
    asked = question.strip() if name else name_asked(question)
    if language is not None and language not in languages:
        alike, foreign = _foreign(question, language, languages, postings)
        return QuestionTerms(alike, foreign.words, name, asked, foreign, foreign=True)
    other_languages = sorted(set(languages) - {language}) if language is not None else []
    idle = _idle(language, tuple(languages))
    spellings = _spellings(question, languages)
    heads = list(map(heading_terms, languages))
    if any(map(frozenset.issuperset, heads, zip(*spellings, strict=True))):
        idle = idle.union(*heads)  # "Name" asks for nothing
    floor = _FLOOR * postings.weight(0)
    weights: dict[int, float] = {}
    words: list[QuestionWord] = []
    for spelling in dict.fromkeys(spellings):
        numbers = _numbers(spelling, languages, postings)
        weight = postings.weight(int(postings.frequency[list(numbers)].sum()))
        if not idle.intersection(spelling):
            # An unknown word has the weight of one in a single chunk; more would put small books at a disadvantage.
            evidence = max(weight if numbers else postings.weight(1), floor)
            columns = _columns(spelling, languages, postings)
            words.append(QuestionWord(evidence, tuple(numbers), columns))
        elif other_languages:
            # "de" is in every Portuguese chunk and in no other, so it must not decide between the languages.
            weights.update(
                {
                    number: min(weight, postings.weight_in(number, book_language))
                    for number, book_language in numbers.items()
                }
            )
            continue
        elif not name:
            weight *= _BINDING
        weights.update(dict.fromkeys(numbers, weight))
    unconnected = 0
    for run in names(question):
        unconnected += not postings.together(
            [_numbers(word, languages, postings) for word in _spellings(" ".join(run), languages)]
        )
    if language is None or not other_languages:
        return QuestionTerms(weights, tuple(words), name, asked, apart=unconnected)
    alike, foreign = _foreign(question, language, other_languages, postings)
    return QuestionTerms(alike | weights, tuple(words), name, asked, foreign, unconnected)


def name_asked(question: str) -> str:
    """X of "What is X?"; "" for any other question. "What is the weight of a dagger?" asks for no name."""
    match = _WHAT.fullmatch(question.strip().rstrip("?").rstrip())
    if match is None:
        return ""
    name = match["name"]
    article = (match["article"] or "").strip().casefold()
    function_words = _FUNCTION.intersection(name.casefold().split())
    described = (
        function_words if article == "the" else function_words - _JOINING if article in _DEFINITE else ()
    )
    if described or _PURPOSE.intersection(name.casefold().split()) or _ARTICLE.search(name):
        return ""
    return name if len(name.split()) <= _NAME_WORDS else ""


def respelt_prefixes(question: str, languages: Sequence[str], postings: Postings) -> str:
    """The question with its prefixes written as on the shelf, with or without a hyphen.

    "prefiltering" becomes "pre-filtering" if no passage has the former and one has both parts of the latter.
    """
    prefixes, respellable = _respellable(tuple(languages))

    def on_shelf(word: str) -> bool:
        parts = re.sub(r"[-\u2010\u2011]", " ", word)
        spelt = [_numbers(part, languages, postings) for part in _spellings(parts, languages)]
        return bool(spelt) and all(spelt) and (len(spelt) == 1 or postings.together(spelt))

    def respelt_word(match: re.Match[str]) -> str:
        word = match[0]
        folded, joined = word.casefold(), re.sub(r"[-\u2010\u2011]", "", word)
        if on_shelf(word):
            return word
        if joined != word:
            return joined if on_shelf(joined) else word
        for prefix in prefixes:
            parted = f"{word[: len(prefix)]}-{word[len(prefix) :]}"
            if folded.startswith(prefix) and len(word) >= len(prefix) + _ROOT and on_shelf(parted):
                return parted
        return word

    return respellable.sub(respelt_word, question)


def _foreign(
    question: str, language: str, languages: Sequence[str], postings: Postings
) -> tuple[dict[int, float], OtherLanguages]:
    """The weights of a question in books of other languages: of the words that look like its own."""
    idle = FUNCTION_WORDS.get(language, frozenset()) | ASKING_WORDS.get(language, frozenset())
    weights: dict[int, float] = {}
    words: list[QuestionWord] = []
    unlike = 0
    for word in words_of(question):
        if word in idle:
            continue
        translations = {
            number: 1.0
            for book_language in languages
            for term in translated(word, language, book_language)
            if (number := postings.numbers.get((book_language, term))) is not None
        }
        spelt_alike = {
            number: likeness
            for book_language in languages
            for number, likeness in postings.cognates(book_language).matches(word, language)
        }
        alike = list((spelt_alike | translations).items())
        for number, likeness in alike:
            weight = postings.weight(int(postings.frequency[number])) * likeness**_LIKENESS
            weights[number] = max(weights.get(number, 0.0), weight)
        unlike += not alike
        sure = [number for number, likeness in alike if likeness >= _SURE]
        weight = postings.weight(int(postings.frequency[sure].sum()) if sure else 1)
        words.append(QuestionWord(max(weight, _FLOOR * postings.weight(0)), tuple(sure)))
    spellings_known = any(respelt(language, book_language) for book_language in languages)
    total = sum(weights.values()) + unlike * postings.weight(1)
    return weights, OtherLanguages(tuple(words), total if spellings_known and total else None)


def names(question: str) -> list[list[str]]:
    """Runs of capitalized words inside a sentence: "who sang Maiden Japan?" → [["Maiden", "Japan"]].

    The first word does not count, nor do a title's capitals, or a question all in capitals.
    """
    runs: list[list[str]] = []
    plain, end = 0, -1
    for at, match in enumerate(_NAMED.finditer(question)):
        word = match.group()
        if not at or word.casefold() in _FUNCTION:
            continue
        if not word[0].isupper():
            plain += 1
        elif runs and not question[end : match.start()].strip(" -'’."):
            runs[-1].append(word)
            end = match.end()
        else:
            runs.append([word])
            end = match.end()
    return runs if plain else []


def _spellings(text: str, languages: Sequence[str]) -> list[tuple[str, ...]]:
    """The terms of a text, each as every language spells it."""
    return list(zip(*map(terms, repeat(text), languages), strict=True))


def _numbers(spelling: Sequence[str], languages: Sequence[str], postings: Postings) -> dict[int, str]:
    """The shelf's terms for a word that each language spells so, with their languages."""
    numbers = dict[int, str]()
    for language, term in zip(languages, spelling, strict=True):
        if (number := postings.numbers.get((language, term))) is not None:
            numbers[number] = language
    return numbers


def _columns(spelling: Sequence[str], languages: Sequence[str], postings: Postings) -> tuple[int, ...]:
    """The shelf's terms for the heading of the column that a word, as each language spells it, asks for."""
    numbers = list[int]()
    for language, term in zip(languages, spelling, strict=True):
        for column in column_terms(language).get(term, ()):
            numbers += _numbers([column], [language], postings)
    return tuple(numbers)


@lru_cache(maxsize=32)
def _respellable(languages: tuple[str, ...]) -> tuple[list[str], re.Pattern[str]]:
    """The prefixes of these languages, and a pattern of the words with a hyphen or one of them."""
    prefixes = " ".join(PREFIXES.get(language, "") for language in languages).split()
    prefixed = rf"(?:{'|'.join(prefixes)})\w{{{_ROOT},}}" if prefixes else r"(?!)"
    return prefixes, re.compile(rf"\b(?:\w+(?:[-\u2010\u2011]\w+)+|{prefixed})\b", re.IGNORECASE)


@lru_cache(maxsize=32)
def column_terms(language: str) -> Mapping[str, tuple[str, ...]]:
    """Maps each term to all terms that head the same column of a table."""
    groups = [tuple(dict.fromkeys(terms(group, language))) for group in COLUMN_WORDS.get(language, ())]
    return {term: group for group in groups for term in group}


@lru_cache(maxsize=32)
def heading_terms(language: str) -> frozenset[str]:
    """The terms of a language that name nothing: its function words, and those that head sections in any book."""
    words = [*FUNCTION_WORDS.get(language, ()), *HEADING_WORDS.get(language, ())]
    return frozenset(terms(" ".join(words), language))


@lru_cache(maxsize=32)
def _idle(language: str | None, languages: tuple[str, ...]) -> frozenset[str]:
    """The function words of the question's language (else of the shelf's), in every possible spelling."""
    question_languages = (language,) if language in FUNCTION_WORDS else languages
    words = " ".join(" ".join(FUNCTION_WORDS.get(language, ())) for language in question_languages)
    return frozenset(term for book_language in languages for term in terms(words, book_language))
