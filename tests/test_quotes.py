"""The pages quote the bot's words as they are in the English catalogue, so a rewording cannot leave a page
behind.

On the pages for users “…” and bold words within a sentence are the bot's: its messages, titles and buttons. The words
of people and of other programs are in code, in italics or in straight quotation marks. A block with `>` shows what the
bot answers: its own words, words from examples/, and words that were typed.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from bot.words import words
from scripts.documented_commands import ROOT, documents

ANY = "\0"
"""Stands for a value in a template."""
BLOCK = re.compile(r"(?ms)^ *```\w*\n(.*?)^ *```")
SENTENCE = re.compile(r"(?<=[.!?:;]) +")


def pages() -> list[Path]:
    """README.md and the pages for users: all but those about the bot's inside, which index.md lists last."""
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    inside = set(re.findall(r"\(([\w-]+\.md)", index.split("## Look things up")[1]))
    return [page for page in documents() if page.name not in inside | {"CONTRIBUTING.md"}]


def plain(text: str) -> str:
    return " ".join(re.sub(r"[*`]|^ *>", "", text, flags=re.MULTILINE).split()).casefold()


def bare(text: str) -> str:
    return text.strip(" .,;:!…()")


def templates(sentence: str) -> Iterator[str]:
    """A sentence of the catalogue with ANY for its values, once for each of its singular and plural forms."""
    choices: list[list[str]] = []
    for literal, name, spec, _ in string.Formatter().parse(sentence):
        choices.append([literal])
        if name is not None:
            singular_and_plural = spec.split("|") if spec and "|" in spec else []
            choices.append([form for part in singular_and_plural for form in templates(part)] or [ANY])
    yield from ("".join(parts) for parts in product(*choices))


@cache
def catalogue() -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Whole sentences, and what of them can be quoted by itself (lines, and sentences in them), split at values, after
    the longest of its literal parts.
    """
    wholes, parts = set(), set()
    for key, sentence in words("en").sentences().items():
        if key.startswith("names."):
            continue
        for template in templates(sentence):
            wholes.add(plain(template))
            for line in template.splitlines():
                parts |= {line, *SENTENCE.split(line), *line.split("|")}
    literals = [part.split(ANY) for part in {bare(plain(part)) for part in parts}]
    return list(wholes), [(max(one, key=len), one) for one in literals]


def fills(text: str, literals: list[str]) -> bool:
    """Whether the text is a template with its values, each of them with no more words than the template."""
    at, values = 0, []
    for n, literal in enumerate(literals):
        found = text.rfind(literal) if n and n == len(literals) - 1 else text.find(literal, at)
        if found < at or (n == 0 and found):
            return False
        values.append(count(text[at:found]))
        at = found + len(literal)
    return at == len(text) and max(values) <= count(" ".join(literals))


def count(text: str) -> int:
    """The number of words with three letters or more."""
    return len(re.findall(r"[^\W\d]{3,}", text))


def within(text: str, wholes: list[str]) -> bool:
    """Whether a text is part of one of the others; … in it stands for omitted words."""
    literals = [bare(part) for part in re.split(r"…|\(…\)", text)]
    pattern = re.compile(r"\b" + ".*".join(map(re.escape, literals)))
    return any(literals[0] in whole and pattern.search(whole) for whole in wholes)


def said(text: str) -> bool:
    """Whether the bot has these sentences, or this part of one."""
    return _said(plain(text)) or all(_said(one) for one in SENTENCE.split(plain(text)))


@cache
def _said(text: str) -> bool:
    wholes, parts = catalogue()
    forms = {text, bare(text)}
    if any(fills(form, part) for longest, part in parts if longest in text for form in forms):
        return True
    return " " in bare(text) and within(text, wholes)


def paragraphs(page: str) -> Iterator[str]:
    """Paragraphs, items of lists and cells of tables, each in one line; no blocks of code and none with `>`."""
    text = re.sub(r"(?m)^ *>.*\n", "\n", BLOCK.sub("\n", page))
    for paragraph in re.split(r"\n\s*\n|\n(?= *(?:[-*]|\d+\.) )|(?:^|\n)\| | \| | \|(?=\n)", text):
        yield re.sub(r"^(?:[-*]|\d+\.) ", "", " ".join(paragraph.split()))


def quotes(page: str) -> list[str]:
    """What a page quotes of the bot: “…”, and bold words that do not begin a paragraph, an item or a cell."""
    found: list[str] = []
    for text in paragraphs(page):
        begun = re.sub(r"^\*\*.+?\*\*", "", text)
        found += [one or other for one, other in re.findall(r"`[^`]*`|“([^”]+)”|\*\*(.+?)\*\*", begun)]
    return [quoted for quoted in found if count(quoted)]


def answers(page: str) -> Iterator[str]:
    """The parts of the blocks with `>`."""
    for block in re.findall(r"(?m)(?:^ *>.*\n)+", BLOCK.sub("", page)):
        for line in block.splitlines():
            yield from (plain(re.sub(r"\[\d+\]|🎲", "", part)) for part in re.split(r" [·›](?: |$)", line))


def shown(page: str) -> Iterator[str]:
    """The parts of the bot's own lines in blocks of code that show a terminal."""
    for block in BLOCK.findall(page):
        for lines in re.split(r"\n(?=[▍·✗•›│ ])|\n\s*\n", block):
            if lines.startswith(("▍", "·", "✗")):
                yield from (plain(part) for part in lines[1:].split(" · "))


def elsewhere(page: str) -> list[str]:
    """The files of examples/, and what people can type according to the page."""
    typed = plain(" ".join([*BLOCK.findall(page), *re.findall(r"`([^`\n]+)`", page)]))
    files = sorted((ROOT / "examples").iterdir())
    return [typed, *(plain(f"{path.name} {path.read_text(encoding='utf-8')}") for path in files)]


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_a_page_quotes_the_bot_as_it_speaks(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    others = elsewhere(text)
    wrong = [quoted for quoted in quotes(text) if not said(quoted)]
    for part in (*answers(text), *shown(text)):
        if count(part) and not said(part):
            wrong += [one for one in SENTENCE.split(part) if not (said(one) or within(one, others))]
    assert wrong == []


def test_the_pages_have_many_quotations() -> None:
    texts = [page.read_text(encoding="utf-8") for page in pages()]
    assert sum(len([*quotes(text), *answers(text), *shown(text)]) for text in texts) > 200


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("Added 2 files to “rules”.", True),
        ("Added 1 file to “rules”.", True),
        ("2 files were added to “rules”.", False),
        ("Added 2 books to “rules”.", False),
        ("Added 2 files.", False),
        ("Added 2 files to “all of the rules there are”.", False),
    ],
)
def test_a_wrong_quotation_is_found(text: str, matches: bool) -> None:
    forms = [plain(form).split(ANY) for form in templates("Added {n} {n:file|files} to “{shelf}”.")]
    assert len(forms) == 2
    assert any(fills(plain(text), form) for form in forms) == matches
