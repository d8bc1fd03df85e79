"""Which entries of a lorebook a scene calls up: World Info as SillyTavern has it, decided the same on every replay.

The meaning of each field is that of SillyTavern's manual (https://docs.sillytavern.app/usage/core-concepts/worldinfo/):
"Optional Filter", "Insertion Order", "Scan Depth", "Context % / Budget", "Recursive Scanning", "Case-sensitive keys",
"Match whole words", "Probability", "Inclusion Group", and the three flags of recursion. Lots follow from a seed, so
that a replay draws the same; without one a `probability` of 0 is never, any other always, and a `group` chooses nobody.
A regular expression never runs: see `spelt_out`. Knows no story and no prompt.
"""

from __future__ import annotations

import json
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from itertools import product
from math import inf
from typing import Any, Literal, NamedTuple, TypeAlias

Logic: TypeAlias = Literal["and any", "not all", "not any", "and all"]
"""What the secondary keys are for, in the order of SillyTavern's numbers (`selectiveLogic` 0 to 3)."""

LORE = 10_000
"""The most entries of a story."""
LORE_CHARS = 8_000
"""The longest entry."""
SWEEPS = 10
"""How often entries may call up others: SillyTavern's "Max Recursion Steps"."""
SCANNED_CHARS = 60_000
"""The most characters that are searched, the newest messages first; the same for the entries of one sweep."""
KEY_CHARS = 64
"""Only this much of a longer key is searched for."""
REGEX_CHARS = 200
ALTERNATIVES = 32
"""The most texts that a regular expression may stand for; with more it is taken as plain text."""

_CALLED = -1
"""The number of a message that every depth reaches: the content of an entry."""
_EDGE = "\0"
"""Marks the edges of words in a text that is searched for whole words."""
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U0001b000-\U0001b16f"
    "\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, kana, Han; and Hangul, whose particles stick to the word: a word begins anywhere."""
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u0900-\u0963\u0966-\u0dff"
)
"""What Python counts to no word although it stands within: combining marks, and the vowels of India's scripts."""
_SPACED_WORD = re.compile(rf"(?:(?![{_UNSPACED}])[^\W_]|[{_MARKS}])+")
_WORD = re.compile(f"{_EDGE}[^{_EDGE}]*{_EDGE}")
_BEGINS = re.compile(rf"{_WORD.pattern}|[^{_EDGE}]")


@dataclass(frozen=True, slots=True)
class LoreEntry:
    """One entry: where `keys` (and `secondary_keys`, by `logic`) are found, its `content` goes into the prompt.

    `name` is for people. A `constant` entry needs no key. With `whole_words` a key of one word does not match inside
    another word. `depth` is how many messages are searched for this entry, if it differs from the book's.
    Of the entries that fit into the budget, the one with the highest `order` comes last; `position` puts them before or
    after the description of the cast. `probability` is a percentage. One entry of each `group` is chosen, by `weight`.
    The three recursion flags say whether other entries may call this one up, whether it may call up others, and
    whether only others may call it up. `source` has an imported entry's other fields, as JSON.
    """

    id: str
    keys: tuple[str, ...]
    content: str
    secondary_keys: tuple[str, ...] = ()
    logic: Logic = "and any"
    name: str = ""
    constant: bool = False
    enabled: bool = True
    case_sensitive: bool = False
    whole_words: bool = True
    depth: int | None = None
    order: int = 100
    position: Literal["before", "after"] = "before"
    probability: int = 100
    group: str = ""
    source: str = ""
    weight: int = 100
    not_by_others: bool = False
    calls_no_others: bool = False
    by_others_alone: bool = False


@lru_cache(maxsize=LORE)
def kept_flags(source: str) -> dict[str, Any]:
    """What the fields that an entry came with say of its group and of recursion, as fields of ours."""
    try:
        row = json.loads(source)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(row, dict):
        return {}
    more = row.get("extensions")
    row = {**(more if isinstance(more, dict) else {}), **row}

    def named(*names: str) -> Any:
        return next((row[name] for name in names if name in row), None)

    weight = named("groupWeight", "group_weight")
    delay = named("delayUntilRecursion", "delay_until_recursion")
    flags = {
        "not_by_others": named("excludeRecursion", "exclude_recursion") is True,
        "calls_no_others": named("preventRecursion", "prevent_recursion") is True,
        "by_others_alone": delay is True or (type(delay) is int and delay > 0),
    }
    weights = {"weight": weight} if type(weight) is int and 0 <= weight < 1_000_000 else {}
    return {**{name: True for name, flag in flags.items() if flag}, **weights}


def triggered(
    entries: Sequence[LoreEntry],
    scanned: Sequence[str],
    *,
    depth: int,
    budget: int,
    recursive: bool,
    tokens: Callable[[str], int],
    seed: str = "",
) -> list[LoreEntry]:
    """The entries that go into the prompt, by rising `order`, which is how they stand there.

    `scanned` are the last messages, the newest first, of which `depth` are looked through. `tokens` counts those of a
    content, and all contents have at most `budget`: the constant entries come first, then those of higher `order`,
    then, where `recursive`, what the contents of these call up. The first that does not fit is the end, but for one
    that would never fit: that one is passed over. With a `seed` lots are drawn: the same for the same seed.
    """
    ranked = sorted(enumerate(entries), key=lambda numbered: (not numbered[1].constant, -numbered[1].order))
    waiting = [
        (number, _Call(entry, max(0, depth if entry.depth is None else entry.depth)))
        for number, entry in ranked
        if entry.enabled
        and entry.content.strip()
        and 100 * _lot(seed, "chance", entry.id) < entry.probability
    ]
    deepest = max((call.depth for _, call in waiting), default=0)
    passages = [_Passages(list(_limited(enumerate(scanned[:deepest]))))]
    chosen: dict[int, LoreEntry] = {}
    remaining = budget
    groups: set[str] = set()
    for sweep in range(SWEEPS if recursive else 1):
        heard = [
            (number, call)
            for number, call in waiting
            if not (call.entry.by_others_alone if sweep == 0 else call.entry.not_by_others)
            and call.heard(passages)
        ]
        numbers = {number for number, _ in heard}
        still = [(number, call) for number, call in waiting if number not in numbers]
        called = []
        for number, call in _one_a_group(heard, groups, seed):
            cost = tokens(call.entry.content)
            if cost > budget:
                continue
            if cost > remaining:
                return _in_order(chosen)
            remaining -= cost
            chosen[number] = call.entry
            called.append("" if call.entry.calls_no_others else call.entry.content)
        if not called:
            break
        waiting = still
        passages.append(_Passages(list(_limited((_CALLED, content) for content in called))))
    return _in_order(chosen)


def _lot(seed: str, *of: str) -> float:
    """A number from 0 up to 1 that follows from the seed; 0 without one."""
    if not seed:
        return 0.0
    digest = sha256("\n".join((seed, *of)).encode("utf-8", "replace")).digest()
    return int.from_bytes(digest[:6]) / 2**48


def _one_a_group(heard: Sequence[tuple[int, _Call]], groups: set[str], seed: str) -> list[tuple[int, _Call]]:
    """Those that are in no group, and of each group that has none yet one, drawn by weight; all without a seed."""
    if not seed:
        return list(heard)
    members: dict[str, list[tuple[int, _Call]]] = {}
    for number, call in heard:
        if call.entry.group:
            members.setdefault(call.entry.group, []).append((number, call))
    drawn = set[int]()
    for group, calls in members.items():
        if group in groups:
            continue
        groups.add(group)
        at = _lot(seed, "group", group) * sum(call.entry.weight for _, call in calls)
        for number, call in calls:
            if (at := at - call.entry.weight) < 0 or (number, call) == calls[-1]:
                drawn.add(number)
                break
    return [(number, call) for number, call in heard if not call.entry.group or number in drawn]


def _in_order(chosen: dict[int, LoreEntry]) -> list[LoreEntry]:
    return [chosen[number] for number in sorted(chosen, key=lambda number: (chosen[number].order, number))]


def _limited(messages: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The first SCANNED_CHARS of numbered messages."""
    remaining = SCANNED_CHARS
    for number, message in messages:
        if remaining <= 0:
            return
        yield number, message[:remaining]
        remaining -= len(message)


class _Needle(NamedTuple):
    """A text to search for; in folded text or not, with marked word edges or not."""

    text: str
    folded: bool
    marked: bool


class _Call:
    """An entry that waits for its keys."""

    __slots__ = ("_called", "_keys", "_secondary", "depth", "entry")

    def __init__(self, entry: LoreEntry, depth: int) -> None:
        self.entry = entry
        self.depth = depth
        self._called = entry.constant
        self._keys: list[list[_Needle]] | None = None
        self._secondary: list[list[_Needle]] = []

    def heard(self, passages: Sequence[_Passages]) -> bool:
        """Whether the entry is called up by what is in `passages`, of which the last is new."""
        entry = self.entry
        if self._keys is None:
            self._keys = [] if entry.constant else _needles(entry, entry.keys)
            self._secondary = [] if entry.constant else _needles(entry, entry.secondary_keys)
        self._called = self._called or any(self._found(key, passages[-1:]) for key in self._keys)
        if not self._called:
            return False
        if not self._secondary:
            return True
        matches = (self._found(key, passages) for key in self._secondary)
        if entry.logic == "and any":
            return any(matches)
        if entry.logic == "and all":
            return all(matches)
        return not (any(matches) if entry.logic == "not any" else all(matches))

    def _found(self, key: list[_Needle], passages: Sequence[_Passages]) -> bool:
        return any(texts.nearest(needle) < self.depth for needle in key for texts in passages)


def _needles(entry: LoreEntry, keys: Iterable[str]) -> list[list[_Needle]]:
    """For each key the texts to search for; any of them matches."""
    needles = []
    for key in keys:
        key = _form(key, folded=False).strip()
        if not key:
            continue
        spelt = spelt_out(key)
        if spelt is None:
            marked = entry.whole_words and len(key.split()) == 1
            spelt, folded = [_EDGE + key + _EDGE if marked else key], not entry.case_sensitive
        else:
            folded = "i" in key.rpartition("/")[2]
        needles.append([_needle(text, folded=folded) for text in spelt])
    return needles


def _needle(text: str, *, folded: bool) -> _Needle:
    """`text` has an _EDGE where a word has to begin, and where it has to end."""
    plain = text.strip(_EDGE)
    if folded:
        plain = plain.casefold()
    if not text.startswith(_EDGE):
        return _Needle(plain[:KEY_CHARS], folded, marked=False)
    marked = _marked(plain)
    if not text.endswith(_EDGE):
        marked = marked.removesuffix(_EDGE)
    return _Needle(marked[:KEY_CHARS], folded, marked=True)


def _form(text: str, *, folded: bool) -> str:
    """`text` as it is compared: an accent typed as a character of its own is a part of its letter."""
    composed = unicodedata.normalize("NFC", text.replace(_EDGE, " "))
    return composed.casefold() if folded else composed


def _marked(text: str) -> str:
    if text.isascii() and text.isalnum():
        return _EDGE + text + _EDGE
    return _SPACED_WORD.sub(lambda word: _EDGE + word[0] + _EDGE, text)


@dataclass(slots=True)
class _Passages:
    """Numbered texts that thousands of keys are looked up in, each in as good as no time.

    A whole word is looked up among their words. For any other key what begins at each character of the texts is
    sorted, as far as a key may reach: two steps of bisection, however long the texts and however alike the keys are.
    """

    texts: list[tuple[int, str]]
    _words: dict[bool, dict[str, float]] = field(default_factory=dict)
    _sorted: dict[tuple[bool, bool], tuple[list[str], list[int]]] = field(default_factory=dict)
    _known: dict[_Needle, float] = field(default_factory=dict)

    def nearest(self, needle: _Needle) -> float:
        """The lowest number of a text that has it, infinite where none has."""
        text, folded, marked = needle
        if marked and text.find(_EDGE, 1) == len(text) - 1:
            if folded not in self._words:
                self._words[folded] = _words(self.texts, folded=folded)
            return self._words[folded].get(text, inf)
        distance = self._known.get(needle)
        if distance is None:
            if (folded, marked) not in self._sorted:
                self._sorted[folded, marked] = _beginnings(self.texts, folded=folded, marked=marked)
            beginnings, numbers = self._sorted[folded, marked]
            first, distance = bisect_left(beginnings, text), inf
            if first < len(beginnings) and beginnings[first].startswith(text):
                distance = min(numbers[first : bisect_left(beginnings, text + "\U0010ffff", first)])
            self._known[needle] = distance
        return distance


def _words(texts: Iterable[tuple[int, str]], *, folded: bool) -> dict[str, float]:
    """Each word between its edges, with the lowest number of a text that has it."""
    numbers: dict[str, float] = {}
    for number, text in texts:
        for word in set(_WORD.findall(_marked(_form(text, folded=folded)))):
            numbers[word] = min(number, numbers.get(word, inf))
    return numbers


def _beginnings(
    texts: Iterable[tuple[int, str]], *, folded: bool, marked: bool
) -> tuple[list[str], list[int]]:
    """What begins at each character, or at each word and at each sign between words, sorted; and the numbers to it."""
    beginnings: list[str] = []
    numbers: list[int] = []
    for number, text in texts:
        text = _form(text, folded=folded)
        if marked:
            text = _marked(text)
        places: Iterable[int] = (at.start() for at in _BEGINS.finditer(text)) if marked else range(len(text))
        beginnings += (text[place : place + KEY_CHARS] for place in places)
        numbers += [number] * (len(beginnings) - len(numbers))
    order = sorted(range(len(beginnings)), key=beginnings.__getitem__)
    return [beginnings[place] for place in order], [numbers[place] for place in order]


_REGEX = re.compile(r"/(.+)/([dgimsuvy]*)", re.DOTALL)
_PLAIN = re.compile(r"[^\\/()\[\]{}.*+?^$|]+(?![?*+{])")
_CLASS = re.compile(r"\[([^\]\[\\^]+)\]")
_ESCAPED = {"s": (" ",), "d": tuple("0123456789"), "t": ("\t",), "n": ("\n",), "b": (_EDGE,)}


def spelt_out(key: str) -> list[str] | None:
    """What a key `/…/flags` stands for, word by word; None for one that is to be taken as plain text.

    A pattern of a stranger's may take any engine that backtracks for ever, and even one that does not takes too long
    a thousand times over. So none is run: where a pattern means but a few texts, they are looked for like other keys.
    That is what people use them for: `/kings?/`, `/(he|she) (is|was) (the )?queen/i`, `/drag[oó]n/`, `/\\bking\\b/`. A
    pattern with `.`, `*`, `+`, `{`, `^`, `$`, with a look around or more than ALTERNATIVES is plain text.
    An _EDGE at the beginning or end of a text is where a word has to. Without the flag `i` capitals count.
    """
    parts = _REGEX.fullmatch(key) if key.startswith("/") and len(key) <= REGEX_CHARS else None
    if parts is None:
        return None
    try:
        texts, end = _alternatives(parts[1], 0, 0)
    except _Unspelt:
        return None
    if end < len(parts[1]) or any(_EDGE in text.strip(_EDGE) or not text.strip(_EDGE) for text in texts):
        return None
    # A word's end alone is looked for nowhere.
    if any(text.endswith(_EDGE) and not text.startswith(_EDGE) for text in texts):
        return None
    return list(dict.fromkeys(texts))


class _Unspelt(Exception):
    """The pattern stands for too many texts, or is invalid."""


def _alternatives(pattern: str, at: int, nested: int) -> tuple[list[str], int]:
    """The texts of a pattern from `at` to its end or to the bracket that closes it, and where that is."""
    if nested > 8:
        raise _Unspelt
    texts: list[str] = []
    branch = [""]
    while at < len(pattern) and pattern[at] != ")":
        if pattern[at] == "|":
            texts, branch, at = texts + branch, [""], at + 1
            continue
        if plain := _PLAIN.match(pattern, at):
            branch, at = [text + plain[0] for text in branch], plain.end()
            continue
        choices, at = _atom(pattern, at, nested)
        if at < len(pattern) and pattern[at] == "?":
            choices, at = [*choices, ""], at + 1
        if (at < len(pattern) and pattern[at] in "?*+{") or len(branch) * len(choices) > ALTERNATIVES:
            raise _Unspelt
        branch = ["".join(pair) for pair in product(branch, choices)]
    texts += branch
    if len(texts) > ALTERNATIVES:
        raise _Unspelt
    return texts, at


def _atom(pattern: str, at: int, nested: int) -> tuple[list[str], int]:
    """The texts of what stands at `at`, and where the next begins."""
    sign = pattern[at]
    if sign == "(":
        begin = at + 3 if pattern.startswith("(?:", at) else at + 1
        texts, end = _alternatives(pattern, begin, nested + 1)
        if not pattern.startswith(")", end):
            raise _Unspelt
        return texts, end + 1
    if sign == "[":
        letters = _CLASS.match(pattern, at)
        if letters is None or "-" in letters[1]:
            raise _Unspelt
        return list(letters[1]), letters.end()
    if sign == "\\":
        escaped = pattern[at + 1 : at + 2]
        if escaped in _ESCAPED:
            return list(_ESCAPED[escaped]), at + 2
        if not escaped or escaped.isalnum():
            raise _Unspelt
        return [escaped], at + 2
    if sign in "/.*+?{}^$]":
        raise _Unspelt
    return [sign], at + 1
