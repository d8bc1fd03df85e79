"""Titles: looked up exactly, by an alias, or nearly; completed while a person types; found where a text names them.

Uses only strings and the numbers that its caller passed.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Literal

from bot.retrieval.lexical import fold, terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bot.retrieval.postings import Postings


MatchKind = Literal["exact", "alias", "fuzzy"]

_EDGE = re.compile(r"^[\W_]+|[\W_]+$")
_NUMBERING = re.compile(
    r"^(?:\d+(?:\.\d+)+\s+"  # 5.4 Horses
    r"|\d+(?:st|nd|rd|th|[ºªoa])[ -][^\W\d_]+:\s+"  # 3rd Level: Grace
    r"|(?:[^\W\d_]+\s+)?(?:\d+(?:\.\d+)*|[ivxlcdm]+|[a-z])\s*[.):–—-]\s+(?=\S)"  # Level 10: Tireless; A. Lamps
    r"|(?:\d+(?:\.\d+)*|[ivxlcdm]+)\s*[.):–—-]\s*)",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"^(?:the|an?|o|os|as|uma?|el|la|los|las|le|les)\s+")
_ASIDE = re.compile(r"\s*(?:\([^)]*\)|\[[^\]]*\])\s*")
_SHORT_FORM = re.compile(
    r"\(([^\W\d_][^\W\d_.'’ -]+(?:[ '’.-]+[^\W\d_]+){0,2}\.?)\)\s*$"
)  # "Hit Points (HP)"
_COUNTED = re.compile(r"^\d+\s+(?=[^\W\d_])")  # "0 HP"
_SHARED = 3  # parentheses shared by more titles than these contain a kind, not a name
_ASKING = re.compile(
    r"^(?:(?:what(?:'s| is| are| does)?|who(?: is|'s)?|how (?:does|do)|tell me about|explain|define|describe|"
    r"o que (?:é|e|são|sao|faz)|quem (?:é|e)|como funcionam?|explique|defina|descreva|me fale sobre)\s+)"
    r"(?:the |an? |o |a |os |as |uma? )?(.+?)(?: do| does| work| works)?$"
)
_RARE = 1.2  # a title's weight, in words of a single chunk; below it its words are too common to name it
_FULL = 2.0  # the weight from which a named title counts in full
_FUZZY_CUTOFF = 86.0  # two slips in fourteen letters; at 80 other books' titles matched


@dataclass(frozen=True, slots=True)
class Match:
    """A found title. `entry` is the caller's number for it; `score` is 0 to 1."""

    entry: int
    title: str
    kind: MatchKind
    score: float


class Titles:
    """Titles and their entries; several entries may share a title (homonyms across books)."""

    def __init__(self, titled: Iterable[tuple[str, int, str]]) -> None:
        """`titled` are (title, entry, language) triples; the language gives an alias its stems."""
        self._titles: dict[int, str] = {}
        self._exact: dict[str, list[int]] = {}
        self._alias: dict[str, list[int]] = {}
        shorts: dict[str, list[int]] = {}
        self._counted: set[str] = set()
        self._languages: set[str] = set()
        for title, entry, language in titled:
            key = normal(title)
            if not key:
                continue
            self._titles[entry] = title
            self._languages.add(language)
            self._exact.setdefault(key, []).append(entry)
            for alias in aliases(title, language):
                if alias != key:
                    self._alias.setdefault(alias, []).append(entry)
            if short := _SHORT_FORM.search(title):
                shorts.setdefault(normal(short.group(1)), []).append(entry)
                self._counted |= {normal(short.group(1)), normal(title[: short.start()])}
        for name, entries in shorts.items():
            if len({self._titles[entry] for entry in entries}) <= _SHARED:
                self._alias.setdefault(name, []).extend(entries)
        self._keys = list(self._exact)

    @cached_property
    def _sorted(self) -> list[tuple[str, str]]:
        """Every title after its folded form."""
        folded_titles = {" ".join(title.split()): fold(title) for title in self._titles.values()}
        return sorted((folded.strip(), title) for title, folded in folded_titles.items())

    @cached_property
    def _inner(self) -> list[tuple[str, str]]:
        """Every title after its folded form, starting from each of its further words."""
        words = {
            (folded[match.start() :], title)
            for folded, title in self._sorted
            for match in re.finditer(r"(?<=\W)\w", folded)
        }
        return sorted(words)

    def lookup(self, query: str, limit: int = 20) -> list[Match]:
        """The entries whose title is `query`, else has it as an alias, else nearly matches it; best first."""
        text = " ".join(query[:300].split())
        key = normal(text)
        if not key:
            return []
        forms = [(text, key)]
        if normal(counted := _COUNTED.sub("", text)) in self._counted:
            forms.append((counted, normal(counted)))
        question_form = _ASKING.match(text.casefold().strip(" ?!.\"'“”"))
        if question_form:
            forms.append((question_form.group(1), normal(question_form.group(1))))
        for kind, score, table in (("exact", 1.0, self._exact), ("alias", 0.95, self._alias)):
            for form, form_key in forms:
                names = [form_key]
                if kind == "alias":
                    for language in sorted(self._languages):
                        names += aliases(form, language)
                    if short := _SHORT_FORM.search(form):
                        names.append(normal(short.group(1)))
                entries_found: dict[int, None] = {}
                for name in names:
                    both = (self._exact, table) if kind == "alias" else (table,)
                    for titles in both:
                        entries_found.update(dict.fromkeys(titles.get(name, ())))
                if entries_found:
                    best = list(entries_found)[:limit]
                    return [Match(entry, self._titles[entry], kind, score) for entry in best]  # type: ignore[arg-type]
        if len(key) < 5 or len(key) > 80:
            return []
        from rapidfuzz import fuzz, process

        similar = process.extract(key, self._keys, scorer=fuzz.ratio, score_cutoff=_FUZZY_CUTOFF, limit=3)
        if not similar:
            return []
        return [
            Match(entry, self._titles[entry], "fuzzy", score / 100)
            for name, score, _ in similar
            if score >= similar[0][1] - 3 and re.findall(r"\d+", name) == re.findall(r"\d+", key)
            for entry in self._exact[name]
        ][:limit]

    def complete(self, prefix: str, limit: int = 20) -> list[str]:
        """Titles that begin with `prefix`, then those with a word that does; ignoring accents and case."""
        key = fold(prefix).strip()
        if not key:
            return [title for _, title in self._sorted[:limit]]
        titles: dict[str, None] = {}
        for table in (self._sorted, self._inner):
            at = bisect_left(table, (key, ""))
            while at < len(table) and table[at][0].startswith(key) and len(titles) < limit:
                titles[table[at][1]] = None
                at += 1
        return list(titles)


def completed(titles: Sequence[str], prefix: str, most: int) -> list[str]:
    """Titles that begin with the prefix, then those with a word that does; each once."""
    typed = fold(prefix).strip()
    begin = [title for title in titles if fold(title).startswith(typed)]
    inside = [title for title in titles if f" {typed}" in fold(title)] if typed else []
    return list(dict.fromkeys([*begin, *inside]))[:most]


def normal(title: str) -> str:
    """The title without differences of case, accents, punctuation and spaces: "Arrow-Catching Shield!" → "arrow
    catching shield".
    """
    return " ".join(re.sub(r"[\W_]+", " ", re.sub(r"(?<=\w)['’](?=\w)", "", fold(title))).split())


def plain(name: str) -> str:
    """A name without its leading number and its parentheses: "Step 8: Passions", "Craft (DEX+INT)"."""
    number = _NUMBERING.match(name)
    if number and any(map(str.isdigit, number[0])):  # "CD: …" has no number
        name = name[number.end() :]
    return " ".join(_EDGE.sub("", _ASIDE.sub(" ", name)).split())


def aliases(title: str, language: str) -> list[str]:
    """Other names of a title: without its article, numbering or parentheses, each side of a colon; and its stems."""
    bare = _EDGE.sub("", title)
    named = _NUMBERING.sub("", title.strip())
    forms = [
        bare,
        _EDGE.sub("", _NUMBERING.sub("", bare)),
        _EDGE.sub("", _ASIDE.sub(" ", title)),
        _EDGE.sub("", _ASIDE.sub(" ", named)),
    ]
    for mark in (":", " – ", " — ", " - "):
        before = bare.split(mark)[0].strip()
        if mark in bare and len(before) >= 4 and not re.fullmatch(r"\w+ [\divxlcdm]+", before, re.IGNORECASE):
            forms.append(before)
    _, colon, after = bare.partition(": ")
    if colon and " " in after.strip():
        forms.append(after.strip())
    names: dict[str, None] = {}
    for form in forms:
        key = normal(form)
        short = _ARTICLE.sub("", key)
        for name in (key, short):
            if name:
                names[name] = None
        if short:
            names["~" + " ".join(terms(short, language))] = None
    return list(names)


class Bridges:
    """Which titles a set of terms names in full. This links one passage to the next for a question in two hops.

    Uses titles as sets of terms; independent of what the caller does with them.
    """

    def __init__(
        self, titled: Iterable[tuple[str, int, str]], chunks: Sequence[int], postings: Postings
    ) -> None:
        """`titled` are (title, entry, language) triples; words in parentheses are not part of a name.

        `chunks`: the first chunk under each title, -1 if there is none.
        """
        import numpy as np

        rows: list[int] = []
        columns: list[int | None] = []
        targets: list[int] = []
        sizes: list[int] = []
        for (title, _, language), chunk in zip(titled, chunks, strict=True):
            if chunk < 0:
                continue
            named = terms(title.split("(")[0], language)
            numbers = set(map(postings.numbers.get, zip(repeat(language), named)))
            if numbers and None not in numbers:
                rows += [len(targets)] * len(numbers)
                columns += numbers
                targets.append(chunk)
                sizes.append(len(numbers))
        self._row = np.array(rows, dtype=np.int32)
        self._column = np.array(columns, dtype=np.int32)
        self._worth = np.zeros(len(targets), dtype=np.float32)
        frequency = postings.frequency[self._column]
        weights = np.log1p((postings.size - frequency + 0.5) / (frequency + 0.5)).astype(np.float32)
        np.add.at(self._worth, self._row, weights)
        self._targets = targets
        self._sizes = np.array(sizes, dtype=np.int32)
        self._terms = len(postings.numbers)
        self._unit = float(np.log1p(postings.size))

    def named(self, terms: NDArray[np.int32]) -> Iterator[tuple[int, float]]:
        """(chunk, 0..1) for each title whose terms are all among these; the rarer its words, the higher."""
        import numpy as np

        if not self._targets:
            return
        present = np.zeros(self._terms, dtype=bool)
        present[terms] = True
        complete = np.bincount(self._row[present[self._column]], minlength=len(self._targets)) == self._sizes
        for at in np.flatnonzero(complete & (self._worth >= _RARE * self._unit)):
            yield self._targets[at], min(1.0, float(self._worth[at]) / (_FULL * self._unit))
