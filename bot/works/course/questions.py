"""Questions with one right answer among four, made from a passage: a model's that the passage bears out, or a gap.

Pure; knows no model. What is borne out is decided by the passage's words alone.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bot.citing.gate import Verbatim, sentences
from bot.retrieval.lexical import content_terms, terms
from bot.retrieval.titles import normal

if TYPE_CHECKING:
    from collections.abc import Set

WRONG: Final = 3
TEXT_CHARS: Final = 300
OPTION_CHARS: Final = 120
QUOTE_CHARS: Final = 400
GAP: Final = "(…)"
SENTENCE: Final = (40, 240)
"""Characters of a sentence that a gap may be made in."""
WORD: Final = 4
"""Letters of a word that may be left out; numbers may be shorter."""

_WORDS = re.compile(r"[^\W\d_]+(?:[-’'][^\W\d_]+)*|\d[\d.,]*\d|\d")
_CLOSED = re.compile(r"[.!?…][\"'”’)]*$")


@dataclass(frozen=True, slots=True)
class Written:
    """What a model writes: `quote` are the passage's own words, in which the answer stands."""

    question: str
    answer: str
    wrong: list[str]
    quote: str


@dataclass(frozen=True, slots=True)
class Made:
    """A question whose answer its `quote`, a verbatim stretch of the passage, bears out."""

    text: str
    right: str
    wrong: list[str]
    quote: str


def borne_out(written: Written, passage: str, language: str) -> Made | None:
    """The question, if it can be asked: None where the passage does not bear the answer out, or a wrong one as well.

    The quote has to stand in the passage, and the answer's words in the quote. The question must not say them already,
    and no wrong answer may have all of its words in the passage.
    """
    text, right = _line(written.question), _line(written.answer)
    wrong = [_line(one) for one in written.wrong][:WRONG]
    verbatim = Verbatim(passage)
    found = verbatim.find(written.quote)
    if found is None or not found.telling or len(found.text) > QUOTE_CHARS:
        return None
    if not (text and len(text) <= TEXT_CHARS and all(len(one) <= OPTION_CHARS for one in (right, *wrong))):
        return None
    if len(wrong) < WRONG or len({normal(one) for one in (right, *wrong)} - {""}) <= WRONG:
        return None
    answer, known = set(content_terms(right, language)), set(terms(passage, language))
    if not answer or not answer <= set(terms(found.text, language)):
        return None
    if answer <= set(terms(text, language)):
        return None
    if any(_stands(one, verbatim, known, language) for one in wrong):
        return None
    return Made(text, right, wrong, found.text)


def gap(
    passage: str, others: Sequence[str], used: Set[str], language: str, chance: random.Random
) -> Made | None:
    """A sentence of the passage with a word left out, and words of other passages for the wrong answers; None where
    there is none but in sentences that were `used`.
    """
    verbatim, known = Verbatim(passage), set(terms(passage, language))
    words = list(dict.fromkeys(word for other in others for word in _WORDS.findall(other)))
    pool = [one for one in words if _fits(one, language) and not _stands(one, verbatim, known, language)]
    found = [one for one in sentences(passage) if _usable(one)]
    chance.shuffle(found)
    for sentence in found:
        said = _WORDS.findall(sentence)
        # The first word of a sentence has a capital whatever it is.
        left_out = [one for one in said[1:] if _fits(one, language) and said.count(one) == 1]
        for word in sorted(left_out, key=lambda one: (not one[0].isdigit(), not one[0].isupper(), -len(one))):
            kind = [one for one in pool if _kind(one) == _kind(word) and normal(one) != normal(word)]
            # Words that end alike are more often of one kind: plurals, participles.
            kind.sort(key=lambda one: (one[-2:] != word[-2:], abs(len(one) - len(word))))
            wrong = list({normal(one): one for one in kind[: 2 * WRONG]}.values())
            quote = verbatim.find(sentence)
            if len(wrong) >= WRONG and quote is not None and quote.text not in used:
                text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", GAP, sentence)
                return Made(_line(text), word, chance.sample(wrong, WRONG), quote.text)
    return None


def exactly(typed: str, options: Sequence[str]) -> int | None:
    """The index of the option whose letter, number or words these are, and nothing more; None where there is none."""
    said, known = normal(typed), [normal(one) for one in options]
    if said in known:
        return known.index(said)
    letter = re.fullmatch(r"(?:option |letter |opcao |letra )?([a-z]|\d)", said)
    if letter is None:
        return None
    at = int(letter[1]) - 1 if letter[1].isdigit() else ord(letter[1]) - ord("a")
    return at if 0 <= at < len(options) else None


def meant(typed: str, options: Sequence[str]) -> int | None:
    """The index of the option that a person's words mean: the only one that stands in them, else None."""
    if (at := exactly(typed, options)) is not None:
        return at
    held = [at for at, one in enumerate(options) if f" {normal(one)} " in f" {normal(typed)} "]
    return held[0] if len(held) == 1 else None


def _line(text: str) -> str:
    return " ".join(text.split())


def _stands(words: str, passage: Verbatim, known: Set[str], language: str) -> bool:
    said = content_terms(words, language)
    return (said != [] and known >= set(said)) or passage.find(words) is not None


def _usable(sentence: str) -> bool:
    least, most = SENTENCE
    return least <= len(sentence) <= most and "://" not in sentence and _CLOSED.search(sentence) is not None


def _fits(word: str, language: str) -> bool:
    return (word[0].isdigit() or len(word) >= WORD) and content_terms(word, language) != []


def _kind(word: str) -> str:
    return "number" if word[0].isdigit() else "name" if word[0].isupper() else "word"
