"""The Portuguese catalogue uses the glossary's words, and none that the glossary bans."""

from __future__ import annotations

import re
from pathlib import Path

from bot.words import words

PORTUGUESE = words("pt-BR").sentences()


def glossary() -> list[list[str]]:
    """The rows of docs/glossary.md: the English term, the Portuguese ones, the meaning, and what not to use."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in Path("docs/glossary.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("| ") and not line.startswith("| English")
    ]
    assert len(rows) >= 40
    assert {len(row) for row in rows} == {4}
    return rows


def said(text: str) -> set[str]:
    """The Portuguese sentences with this word, in singular or plural."""
    pattern = re.compile(rf"\b{re.escape(text)}(?:s|es)?\b", re.IGNORECASE)
    return {key for key, sentence in PORTUGUESE.items() if pattern.search(sentence)}


def test_the_portuguese_words_of_the_glossary_are_those_of_the_catalogue() -> None:
    words_of = [portuguese for _, portuguese, _, _ in glossary() if portuguese != "–"]
    assert not [word for word in words_of if not said(word)]


def test_no_portuguese_message_has_a_word_that_the_glossary_bans() -> None:
    banned = {word for row in glossary() for word in re.findall(r"\*(.+?)\*", row[3])}
    assert len(banned) > 10
    assert not {word: found for word in banned if (found := said(word))}


def test_each_thing_of_the_glossary_has_one_word() -> None:
    terms = [english for english, _, _, _ in glossary()]
    assert len(terms) == len(set(terms))
    used = [portuguese for _, portuguese, _, _ in glossary() if portuguese != "–"]
    assert len(used) == len(set(used))
