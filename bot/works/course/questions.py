"""Quiz questions with one right option of four, from a passage: a model's question that the passage supports, or a
sentence with a gap.

Pure; knows no model. The passage's words alone decide whether it supports a question.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bot.citing.gate import Verbatim, sentences
from bot.retrieval.lexical import content_terms, fold, terms
from bot.retrieval.titles import normal
from bot.works.course.course_names import FOLDED_FUNCTION_WORDS

if TYPE_CHECKING:
    from collections.abc import Set

WRONG: Final = 3
"""The number of wrong options in a question."""
TEXT_CHARS: Final = 300
OPTION_CHARS: Final = 120
QUOTE_CHARS: Final = 400
"""The maximum length of a question, an option and a quotation, which share one message."""
GAP: Final = "(…)"
"""The mark in a sentence where a word is left out."""
SENTENCE: Final = (40, 240)
"""The minimum and maximum length of a sentence in which a word is left out."""
WORD: Final = 4
"""The minimum number of letters in a word that may be left out; numbers may be shorter."""

_WORDS = re.compile(r"[^\W\d_]+(?:[-’'][^\W\d_]+)*|\d[\d.,]*\d|\d")
_KINDS = ("number", "name", "word")
"""The kinds of slots, in the order of preference."""
_ENDINGS = ("mente", "ndo", "ing", "ly", "ed", "s", "ado", "ada", "ido", "ida", "r")
"""Words with the same ending have the same form (English, Portuguese): participles, adverbs, plurals, infinitives."""
_REFERRING = frozenset({
    "it", "its", "they", "them", "their", "he", "she", "his", "her", "this", "that", "these", "those", "such", "both",
    "each", "ele", "ela", "eles", "elas", "isso", "isto", "este", "esta", "esse", "essa", "estes", "estas", "esses",
    "essas", "seu", "sua", "seus", "suas", "cada", "ambos",
})  # fmt: skip
"""First words of sentences that cannot be understood without the sentence before."""
_NUMERALS = frozenset({
    "three", "four", "five", "seven", "eight", "nine", "eleven", "twelve", "thirteen", "fourteen", "fifteen",
    "sixteen", "seventeen", "eighteen", "nineteen", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty",
    "ninety", "hundred", "thousand", "million", "first", "second", "third", "fourth", "fifth", "sixth", "seventh",
    "eighth", "ninth", "tenth", "tres", "quatro", "cinco", "seis", "sete", "oito", "nove", "onze", "doze", "treze",
    "catorze", "quatorze", "quinze", "dezesseis", "dezessete", "dezoito", "dezenove", "vinte", "trinta", "quarenta",
    "cinquenta", "sessenta", "setenta", "oitenta", "noventa", "cento", "duzentos", "duzentas", "trezentos",
    "trezentas", "milhao", "milhoes", "primeiro", "primeira", "segundo", "segunda", "terceiro", "terceira", "quarto",
    "quarta", "quinto", "quinta", "sexto", "sexta", "setimo", "setima", "oitavo", "oitava", "nono", "nona", "decimo",
    "decima",
})  # fmt: skip
"""Words for numbers: none fits where a noun is left out, and nouns do not fit where one of them is."""
_MARKUP = re.compile(r"://|[*\[\]|•#_]")
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)]*$")


@dataclass(frozen=True, slots=True)
class Written:
    """A question that a model has written; `quote` is the part of the passage with the answer."""

    question: str
    answer: str
    wrong: list[str]
    quote: str


@dataclass(frozen=True, slots=True)
class SupportedQuestion:
    """A question whose right option is supported by `quote`, a verbatim part of the passage."""

    text: str
    right: str
    wrong: list[str]
    quote: str


@dataclass(frozen=True, slots=True)
class Slot:
    """A number, name or word of a sentence that can be left out.

    `before` is the word before it; with `leads` a content word follows. These roughly tell nouns from verbs ("the",
    "to") and from adjectives.
    """

    text: str
    before: str
    leads: bool

    @property
    def kind(self) -> str:
        return "number" if self.text[0].isdigit() else "name" if self.text[0].isupper() else "word"

    @property
    def ending(self) -> str:
        if self.kind != "word":
            return ""
        return next((suffix for suffix in _ENDINGS if self.text.endswith(suffix)), "")


def supported(written: Written, passage: str, language: str) -> SupportedQuestion | None:
    """The question, or None if the passage does not support its answer, or also supports a wrong one.

    The quote must be in the passage, and the answer's words in the quote. The question must not contain them already,
    and no wrong answer may have all of its words in the passage.
    """
    text, right = _line(written.question), _line(written.answer)
    wrong = [_line(option) for option in written.wrong][:WRONG]
    verbatim = Verbatim(passage)
    quotation = verbatim.find(written.quote)
    if quotation is None or not quotation.specific or len(quotation.text) > QUOTE_CHARS:
        return None
    if not (
        text and len(text) <= TEXT_CHARS and all(len(option) <= OPTION_CHARS for option in (right, *wrong))
    ):
        return None
    if len(wrong) < WRONG or len({normal(option) for option in (right, *wrong)} - {""}) <= WRONG:
        return None
    answer, passage_terms = set(content_terms(right, language)), set(terms(passage, language))
    if not answer or not answer <= set(terms(quotation.text, language)):
        return None
    if answer <= set(terms(text, language)):
        return None
    if any(_in_passage(option, verbatim, passage_terms, language) for option in wrong):
        return None
    return SupportedQuestion(text, right, wrong, quotation.text)


def gap_question(
    passage: str, others: Sequence[str], used: Set[str], language: str, chance: random.Random
) -> SupportedQuestion | None:
    """A sentence of the passage, not one that was `used`, with a number, a name or a word left out; None if there is
    none.

    The wrong answers come from similar positions in the passages `others`, or are numbers close to the right one.
    """
    verbatim, passage_terms = Verbatim(passage), set(terms(passage, language))
    pool = [
        slot
        for slot in dict.fromkeys(
            slot
            for other in others
            for sentence_of_other in sentences(other)
            for slot in _slots(sentence_of_other)
        )
        if _fits(slot.text, language) and not _in_passage(slot.text, verbatim, passage_terms, language)
    ]
    candidates = [sentence for sentence in sentences(passage) if _is_usable(sentence)]
    chance.shuffle(candidates)
    # Only the previous sentence says what "it" or "this" is.
    candidates.sort(key=lambda sentence: fold(_WORDS.findall(sentence)[0]) in _REFERRING)
    for is_similar in (_fits_same_place, _has_same_form):
        for sentence in candidates:
            quote = verbatim.find(sentence)
            if quote is None or quote.text in used:
                continue
            slots = [slot for slot in _slots(sentence) if _fits(slot.text, language)]
            for slot in sorted(slots, key=lambda slot: (_KINDS.index(slot.kind), -len(slot.text))):
                wrong = _wrong_options(
                    slot, [candidate for candidate in pool if is_similar(slot, candidate)], chance
                )
                wrong = [
                    option for option in wrong if not _in_passage(option, verbatim, passage_terms, language)
                ]
                pattern = rf"(?<!\w){re.escape(slot.text)}(?!\w)"
                if len(wrong) >= WRONG and len(re.findall(pattern, sentence)) == 1:
                    text = re.sub(pattern, GAP, sentence)
                    return SupportedQuestion(
                        _line(text), slot.text, chance.sample(wrong[: 2 * WRONG], WRONG), quote.text
                    )
    return None


def option_named(typed: str, options: Sequence[str]) -> int | None:
    """The index of the option whose letter, number or words make up the whole text; otherwise None."""
    answer, normal_options = normal(typed), [normal(option) for option in options]
    if answer in normal_options:
        return normal_options.index(answer)
    letter = re.fullmatch(r"(?:option |letter |opcao |letra )?([a-z]|\d)", answer)
    if letter is None:
        return None
    at = int(letter[1]) - 1 if letter[1].isdigit() else ord(letter[1]) - ord("a")
    return at if 0 <= at < len(options) else None


def option_meant(typed: str, options: Sequence[str]) -> int | None:
    """The index of the option that a person means: `option_named`, or the only one in the text; otherwise None."""
    if (at := option_named(typed, options)) is not None:
        return at
    contained = [at for at, option in enumerate(options) if f" {normal(option)} " in f" {normal(typed)} "]
    return contained[0] if len(contained) == 1 else None


def _line(text: str) -> str:
    return " ".join(text.split())


def _in_passage(words: str, passage: Verbatim, passage_terms: Set[str], language: str) -> bool:
    option_terms = content_terms(words, language)
    return (option_terms != [] and passage_terms >= set(option_terms)) or passage.find(words) is not None


def _is_usable(sentence: str) -> bool:
    least, most = SENTENCE
    return (
        least <= len(sentence) <= most
        and not _MARKUP.search(sentence)
        and _SENTENCE_END.search(sentence) is not None
    )


def _fits(text: str, language: str) -> bool:
    if text[0].isdigit():
        return content_terms(text, language) != []
    return len(text) >= WORD and fold(text) not in _NUMERALS and content_terms(text, language) != []


def _slots(sentence: str) -> list[Slot]:
    """The slots of a sentence, except its first word, which always has a capital."""
    words = list(_WORDS.finditer(sentence))
    slots: list[Slot] = []
    end = words[0].end() if words else 0
    for before, word in itertools.pairwise(words):
        if word.start() < end:
            continue
        end = word.end()
        if word[0][0].isupper():  # a name includes the names after it
            for following in words[words.index(word) + 1 :]:
                if not following[0][0].isupper() or sentence[end : following.start()] != " ":
                    break
                end = following.end()
        next_word = _WORDS.match(sentence, end + 1)
        leads = next_word is not None and fold(next_word[0]) not in FOLDED_FUNCTION_WORDS
        slots.append(Slot(sentence[word.start() : end], fold(before[0]), leads))
    return slots


def _fits_same_place(slot: Slot, candidate: Slot) -> bool:
    """Whether the candidate would fit in the slot, by its form and the neighbouring words."""
    same_place = (
        slot.before == candidate.before
        and slot.before in FOLDED_FUNCTION_WORDS
        and slot.leads == candidate.leads
    )
    return _has_same_form(slot, candidate) and (same_place or slot.kind != "word")


def _has_same_form(slot: Slot, candidate: Slot) -> bool:
    """Whether the candidate is another word of the same kind, with the same ending."""
    return (
        slot.kind == candidate.kind
        and slot.ending == candidate.ending
        and normal(slot.text) != normal(candidate.text)
    )


def _wrong_options(slot: Slot, similar: Sequence[Slot], chance: random.Random) -> list[str]:
    """Wrong options for a slot, the most plausible first; for a number, close ones in random order."""
    if slot.text.isdecimal():
        unit = 10 ** (len(slot.text) - len(slot.text.rstrip("0")))
        numbers = [str(int(slot.text) + n * unit) for n in (-3, -2, -1, 1, 2, 3)]
        numbers = [number for number in numbers if len(number) == len(slot.text)]
        return chance.sample(numbers, len(numbers))
    similar = sorted(
        similar,
        key=lambda candidate: (
            candidate.text[-2:] != slot.text[-2:],
            abs(len(candidate.text) - len(slot.text)),
        ),
    )
    return list({normal(candidate.text): candidate.text for candidate in similar}.values())
