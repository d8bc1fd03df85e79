"""Questions with one right answer among four, made from a passage: a model's that the passage bears out, or a gap.

Pure; knows no model. What is borne out is decided by the passage's words alone.
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
from bot.works.course.naming import IDLE

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
_KINDS = ("number", "name", "word")
"""What is left out first."""
_ENDINGS = ("mente", "ndo", "ing", "ly", "ed", "s", "ado", "ada", "ido", "ida", "r")
"""Of words that are of one form, in English or in Portuguese: participles, adverbs, plurals, infinitives."""
_LEANING = frozenset({
    "it", "its", "they", "them", "their", "he", "she", "his", "her", "this", "that", "these", "those", "such", "both",
    "each", "ele", "ela", "eles", "elas", "isso", "isto", "este", "esta", "esse", "essa", "estes", "estas", "esses",
    "essas", "seu", "sua", "seus", "suas", "cada", "ambos",
})  # fmt: skip
"""Words that begin a sentence which leans on the one before."""
_MARKUP = re.compile(r"://|[*\[\]|•#_]")
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


@dataclass(frozen=True, slots=True)
class Slot:
    """A number, name or word of a sentence; `before` is the word before it, and it `leads` to one that is no idle word.

    That tells nouns from verbs ("the", "to") and from adjectives, as far as words alone can.
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
        return next((one for one in _ENDINGS if self.text.endswith(one)), "")


def borne_out(written: Written, passage: str, language: str) -> Made | None:
    """The question, if it can be asked: None where the passage does not bear the answer out, or a wrong one as well.

    The quote has to stand in the passage, and the answer's words in the quote. The question must not say them already,
    and no wrong answer may have all of its words in the passage.
    """
    text, right = _line(written.question), _line(written.answer)
    wrong = [_line(one) for one in written.wrong][:WRONG]
    verbatim = Verbatim(passage)
    found = verbatim.find(written.quote)
    if found is None or not found.specific or len(found.text) > QUOTE_CHARS:
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
    """A sentence of the passage, not one that was `used`, with a number, a name or a word left out; None where there is
    none.

    The wrong answers are what stands in like places of the passages `others`, or numbers near to the right one.
    """
    verbatim, known = Verbatim(passage), set(terms(passage, language))
    pool = [
        one
        for one in dict.fromkeys(
            slot for other in others for each in sentences(other) for slot in _slots(each)
        )
        if _fits(one.text, language) and not _stands(one.text, verbatim, known, language)
    ]
    found = [one for one in sentences(passage) if _usable(one)]
    chance.shuffle(found)
    # What "it" or "this" is, only the sentence before says.
    found.sort(key=lambda one: fold(_WORDS.findall(one)[0]) in _LEANING)
    for alike in (_in_like_place, _of_like_form):
        for sentence in found:
            quote = verbatim.find(sentence)
            if quote is None or quote.text in used:
                continue
            slots = [one for one in _slots(sentence) if _fits(one.text, language)]
            for slot in sorted(slots, key=lambda one: (_KINDS.index(one.kind), -len(one.text))):
                wrong = _wrong(slot, [one for one in pool if alike(slot, one)], chance)
                wrong = [one for one in wrong if not _stands(one, verbatim, known, language)]
                pattern = rf"(?<!\w){re.escape(slot.text)}(?!\w)"
                if len(wrong) >= WRONG and len(re.findall(pattern, sentence)) == 1:
                    text = re.sub(pattern, GAP, sentence)
                    return Made(_line(text), slot.text, chance.sample(wrong[: 2 * WRONG], WRONG), quote.text)
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
    return (
        least <= len(sentence) <= most
        and not _MARKUP.search(sentence)
        and _CLOSED.search(sentence) is not None
    )


def _fits(text: str, language: str) -> bool:
    return (text[0].isdigit() or len(text) >= WORD) and content_terms(text, language) != []


def _slots(sentence: str) -> list[Slot]:
    """What may be left out of a sentence: not its first word, which has a capital whatever it is."""
    found = list(_WORDS.finditer(sentence))
    slots: list[Slot] = []
    past = found[0].end() if found else 0
    for before, one in itertools.pairwise(found):
        if one.start() < past:
            continue
        past = one.end()
        if one[0][0].isupper():  # a name goes with the names behind it
            for following in found[found.index(one) + 1 :]:
                if not following[0][0].isupper() or sentence[past : following.start()] != " ":
                    break
                past = following.end()
        beside = _WORDS.match(sentence, past + 1)
        leads = beside is not None and fold(beside[0]) not in IDLE
        slots.append(Slot(sentence[one.start() : past], fold(before[0]), leads))
    return slots


def _in_like_place(slot: Slot, other: Slot) -> bool:
    """Whether the other would do in its place, as far as the words beside it tell."""
    beside = slot.before == other.before and slot.before in IDLE and slot.leads == other.leads
    return _of_like_form(slot, other) and (beside or slot.kind != "word")


def _of_like_form(slot: Slot, other: Slot) -> bool:
    return slot.kind == other.kind and slot.ending == other.ending and normal(slot.text) != normal(other.text)


def _wrong(slot: Slot, alike: Sequence[Slot], chance: random.Random) -> list[str]:
    """Wrong answers, the likeliest first."""
    if slot.text.isdecimal():
        unit = 10 ** (len(slot.text) - len(slot.text.rstrip("0")))
        near = [str(int(slot.text) + n * unit) for n in (-3, -2, -1, 1, 2, 3)]
        return chance.sample(near := [one for one in near if len(one) == len(slot.text)], len(near))
    alike = sorted(
        alike, key=lambda one: (one.text[-2:] != slot.text[-2:], abs(len(one.text) - len(slot.text)))
    )
    return list({normal(one.text): one.text for one in alike}.values())
