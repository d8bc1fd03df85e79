"""How passages mention a name that is asked for: as one phrase, or as the subject of a sentence or list item.

Uses the texts that its caller passes; `confidence` decides what the result is worth.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from bot.retrieval.chunk import SEPARATOR
from bot.retrieval.confidence import DOUBTFUL, margin, verdict
from bot.retrieval.lexical import content_terms
from bot.retrieval.ranking import Options, Ranked

_ASIDE = re.compile(r"\([^)]*\)")
_BREAK = re.compile(r"\n+|(?<=[.!?:;|])\s+")
"""Where sentences, lines and a table's cells end."""

_ITEM = re.compile(r"[\n.!?:;|,()\[\]\"“”*_•–—]+|\s{2,}")
"""Additional ends of a list's items."""

_SHORT_FORM = re.compile(r"(?<=\w )\(([^\W_]+)\)")

_LETTERS = re.compile(r"([A-Z]{3,6})s?")
"""A name of initials, such as "CPUs"."""

_BETWEEN = r"\W+(?:[^\W\d_A-Z]{1,3}\W+){0,2}"
"""The gap between words whose initials count: "Council of the North"."""

_ENDINGS = 8  # the characters by which an item may exceed the name, for its article and another ending


def mentioned(name: str, passages: Iterable[tuple[str, str, str]]) -> tuple[bool, bool]:
    """Whether any of these passages mentions the name as one phrase, and whether one does as its subject. Passages are
    (breadcrumb, text, language).

    Function words are not part of a phrase. A one-word name is a subject only if it is a whole list item, such as a
    monster in a list of monsters, because sentences may begin with any word. It is a phrase if it is in parentheses
    after its long form: "Federal University (FU)". It is both as a heading of the passage, however many sections have
    it, and next to words with its initials: "CPU (central processing unit)", "International Business Machines, or IBM".
    """
    phrase = about = False
    name = _ASIDE.sub(" ", name)
    for breadcrumb, text, language in passages:
        name_terms = content_terms(name, language)
        if not name_terms or not set(name_terms) <= {
            *content_terms(text, language),
            *content_terms(breadcrumb, language),
        }:
            continue
        if any(content_terms(heading, language) == name_terms for heading in breadcrumb.split(SEPARATOR)):
            return True, True
        if len(name_terms) > 1:
            for sentence in _BREAK.split(text):
                at = _place(name_terms, content_terms(sentence, language))
                phrase, about = phrase or at >= 0, about or at == 0
            about = about or _place(name_terms, content_terms(breadcrumb, language)) >= 0
        else:
            phrase = phrase or any(
                content_terms(short, language) == name_terms for short in _SHORT_FORM.findall(text)
            )
            if _spelt_out(name.strip(), text):
                return True, True
        longest = len(name) + _ENDINGS
        about = about or any(
            content_terms(item, language) == name_terms
            for item in _ITEM.split(text)
            if 0 < len(item) <= longest
        )
        phrase = phrase or (about and len(name_terms) > 1)
        if phrase and about:
            break
    return phrase, about


def _place(name_terms: Sequence[str], text_terms: Sequence[str]) -> int:
    """The position where these terms first follow one another; -1 if nowhere."""
    length = len(name_terms)
    return next(
        (at for at in range(len(text_terms) - length + 1) if text_terms[at : at + length] == name_terms), -1
    )


def _spelt_out(name: str, text: str) -> bool:
    """Whether the text spells out a name of initials, directly before or after it."""
    initials = _LETTERS.fullmatch(name)
    if initials is None:
        return False
    long = _BETWEEN.join(rf"(?i:{letter})[^\W\d_]*" for letter in initials[1])
    return bool(
        re.search(
            rf"\b{initials[1]}s?\W{{1,3}}{long}|\b{long}\W{{1,3}}(?:(?:or|ou)\W)?{initials[1]}s?\b", text
        )
    )


def reread(ranked: Ranked, passages: Iterable[tuple[str, str, str]], options: Options) -> Ranked:
    """The ranking judged again by how its best passages mention the name asked for.

    `passages` are (breadcrumb, text, language) of the weighed chunks.
    """
    evidence = ranked.evidence
    if not evidence.name or not ranked.asked or evidence.title or evidence.foreign:
        return ranked
    best = margin(replace(evidence, phrase=True, about=True), options.likeness)
    if best < -DOUBTFUL:
        return ranked
    phrase, about = mentioned(ranked.asked, passages)
    evidence = replace(evidence, phrase=phrase, about=about)
    judged = verdict(margin(evidence, options.likeness), evidence)
    return replace(ranked, evidence=evidence, **judged._asdict())
