"""Decides by words alone whether a question depends on the previous one: by pronouns, an opening "and", a fragment.

Knows no model and no shelf. In languages without an entry in CUES no question counts as a follow-up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bot.retrieval.lexical import content_terms
from bot.retrieval.results import Passage

READ = 5
"""How many of the best passages are checked for a follow-up's own words."""

FRAGMENT = 5
"""A question that begins with a preposition and has at most this many words counts as one without a verb."""


@dataclass(frozen=True, slots=True)
class Cues:
    """Words that mark a follow-up in one language.

    `opening` are first words that continue something; `pointing` refer to something said before, `last` only as the
    last word. `half` are prepositions and conjunctions: a short question that begins with one is a fragment, unless the
    next word is in `asking`.
    """

    opening: frozenset[str]
    pointing: frozenset[str]
    last: frozenset[str]
    half: frozenset[str]
    asking: frozenset[str]


def _cues(opening: str, pointing: str, last: str, half: str, asking: str) -> Cues:
    return Cues(*(frozenset(words.split()) for words in (opening, pointing, last, half, asking)))


CUES = {
    "en": _cues(
        "and but or also plus then so even what-about how-about what-if",
        "it its itself they them their theirs he him his she her hers this these those ones",
        "that there then too one",
        "at in on for with without by to from of during while when if after before against inside outside",
        "what which who whom whose how do does did is are was were can could should would will may might",
    ),
    "pt": _cues(
        "e mas ou também então nem até que-tal",
        "ele ela eles elas dele dela deles delas nele nela neles nelas isso isto disso disto nisso nisto "
        "aquilo esse essa esses essas desse dessa desses dessas nesse nessa nesses nessas lhe lhes",
        "também aí lá",
        "em na nos nas num numa para pra com sem por pelo pela da dos das durante enquanto quando se "
        "depois antes contra ao à aos às fora dentro",
        "que quê quem qual quais quanto quantos quanta quantas onde como é são foi há pode posso podem",
    ),
    "es": _cues(
        "y e pero o también entonces ni qué-tal",
        "él ella ellos ellas eso esto ese esa esos esas le les",
        "también ahí allí",
        "en para con sin por del durante mientras cuando si después antes contra al fuera dentro",
        "que qué quien quién cual cuál cuanto cuánto cuántos cuántas donde dónde como cómo es son fue hay",
    ),
}

_WORD = re.compile(r"\w+(?:['’]\w+)*")


def depends_on_previous(question: str, before: str, languages: Iterable[str], *, confident: bool) -> bool:
    """Whether a question must be read with the one before it, judged in each of these languages.

    `confident`: the question alone found an answer. Then only a reference back or a fragment counts.
    """
    languages_with_cues = [language for language in dict.fromkeys(languages) if language in CUES]
    if any(_points_back(question, CUES[language]) for language in languages_with_cues):
        return True
    return not confident and any(_continues(question, before, language) for language in languages_with_cues)


def _points_back(question: str, cues: Cues) -> bool:
    """Whether the question refers back or is a fragment: "What is its range?", "At higher levels?"."""
    words = _WORD.findall(question.casefold())
    if not words:
        return False
    if cues.pointing.intersection(words) or words[-1] in cues.last:
        return True
    second_word = words[1] if len(words) > 1 else ""
    return words[0] in cues.half and second_word not in cues.asking and len(words) <= FRAGMENT


def _continues(question: str, before: str, language: str) -> bool:
    """Whether the question continues the one before, as "And elves?" or "Quanto custa?", or only repeats its words."""
    cues, words = CUES[language], _WORD.findall(question.casefold())
    if not words or words[0] in cues.opening or "-".join(words[:2]) in cues.opening:
        return bool(words)
    query_terms = set(content_terms(question, language))
    return (len(query_terms) <= 1 and not _names(question)) or query_terms <= set(
        content_terms(before, language)
    )


def contain_addition(question: str, before: str, language: str, passages: Sequence[Passage]) -> bool:
    """Whether the best passages contain what the question adds to the one before it.

    They must contain all of its names and numbers and at least half of its other new words. Otherwise they answer only
    the earlier question.
    """
    found_terms = set[str]().union(*(_passage_terms(passage, language) for passage in passages[:READ]))
    known = set(content_terms(before, language))
    new_terms = set(content_terms(question, language)) - known
    name_terms = set(content_terms(" ".join(_names(question)), language)) - known
    return name_terms <= found_terms and 2 * len(new_terms & found_terms) >= len(new_terms)


def with_addition_first(
    question: str, before: str, language: str, passages: Sequence[Passage]
) -> list[Passage]:
    """The passages; of the best READ, those that contain everything that the question adds come first."""
    new_terms = set(content_terms(question, language)) - set(content_terms(before, language))
    best = sorted(passages[:READ], key=lambda passage: not new_terms <= _passage_terms(passage, language))
    return [*best, *passages[READ:]]


def _passage_terms(passage: Passage, language: str) -> set[str]:
    return set(content_terms(f"{passage.heading} {passage.text}", language))


def _names(question: str) -> list[str]:
    """Words with a capital inside the question, and numbers."""
    words = _WORD.findall(question)
    return [
        word
        for at, word in enumerate(words)
        if word[0].isdigit() or (at and word[0].isupper() and word != "I")
    ]
