"""Searches for keys of a lorebook that are regular expressions, `/…/flags`, in bounded time.

Patterns come from strangers, and an engine with backtracking can run forever. This one turns a pattern into states and
follows all of them at once: it reads each character once, and `WorkLeft` limits the steps of a turn, which, unlike
seconds, are the same on a replay. The syntax is JavaScript's, as in SillyTavern, without lookaround, backreferences and
properties (`\\p`). Letters of all languages are word characters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, TypeAlias

PATTERN_CHARS: Final = 500
STATES: Final = 1_000
"""The maximum number of states of a pattern, with its repetitions written out."""
PATTERNS: Final = 1_024
"""How many patterns stay in memory: one of STATES takes 100 KB."""
NESTED: Final = 20
LITERALS: Final = 64
WORK: Final = 1_000_000
"""The steps that a turn's patterns may take: about 0.3 s of processor time."""
_LOOKED_AT: Final = 64
"""Searching this many characters for a literal costs as much as reading one."""

_KEY: Final = re.compile(r"/(.+)/([dgimsuvy]*)", re.DOTALL)
_UNESCAPED: Final = re.compile(r"(?<!\\)(?:\\\\)*/")
_COUNT: Final = re.compile(r"\{(\d{1,4})(,(\d{0,4}))?\}")
_CODE: Final = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,5})\}")
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
_LINE_ENDS: Final = frozenset("\n\r\u2028\u2029")
_PLAIN: Final = re.compile(r"[^\\/()\[\]{}.*+?^$|]+(?![?*+{])")
_EDGE_KINDS: Final = {"^": "begin", "$": "end"}

_Key: TypeAlias = tuple[frozenset[int], bool | None, bool]
Node: TypeAlias = tuple[Any, ...]
"""A part of a pattern: ("chars", test), ("all", nodes), ("any", nodes), ("repeat", node, least, most or None), ("at",
kind).
"""


@dataclass(slots=True)
class WorkLeft:
    """The rest of a turn's WORK, and the transitions that its patterns have computed."""

    left: int = WORK
    steps: dict[Pattern, dict[_Key, _Step]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Chars:
    """The characters that match: `one`, or those of `ones`, `ranges` and `kinds`; or all others, with `without`."""

    one: str = ""
    ones: frozenset[str] = frozenset()
    ranges: tuple[tuple[str, str], ...] = ()
    kinds: str = ""
    without: bool = False
    folded: bool = False

    def match(self, char: str) -> bool:
        if self.one:
            return char == self.one
        forms = {char, char.lower(), char.upper()} if self.folded else (char,)
        return self.without != any(
            form in self.ones
            or any(first <= form <= last for first, last in self.ranges)
            or any(_is_kind(form, kind) for kind in self.kinds)
            for form in forms
        )


class _Unknown(Exception):
    """The pattern is invalid, too large, or uses syntax that is not supported."""


class Pattern:
    """A compiled pattern; if it is `folded`, the searched texts must be casefolded."""

    def __init__(self, source: str, flags: str) -> None:
        """Parse the pattern. Raises _Unknown."""
        self.folded = "i" in flags
        self._lines = "m" in flags
        self._node = _Reader(source, flags).node()
        self._size = _size(self._node)
        if self._size > STATES:
            raise _Unknown
        self._literals = _literals(self._node)
        self._states: list[tuple[Any, ...]] = [("found",)]
        self._first = 0

    def matches(self, text: str, work: WorkLeft) -> bool:
        """Whether the text contains a match; False once no work is left."""
        if self._literals is not None:
            work.left -= 1 + len(text) // _LOOKED_AT
            if work.left <= 0 or not any(literal in text for literal in self._literals):
                return False
        if not self._first:  # built late, since most patterns of a book are never searched for
            self._first = self._add(self._node, self._state("split", [0]))
        # Subtracted even if an earlier turn has built the states, so that a replay decides the same.
        if self not in work.steps:
            work.left -= self._size
        steps = work.steps.setdefault(self, {})
        here = _Step(frozenset((self._first,)), None)
        here = steps.setdefault(here.key, here)
        for char in text:
            work.left -= 1
            following = here.following.get(char)
            if following is None:
                following = here.following[char] = self._next(here, char, steps, work)
            if following.found or work.left <= 0:
                return following.found
            here = following
        return 0 in self._reached(here, None, work)

    def _next(self, here: _Step, char: str, steps: dict[_Key, _Step], work: WorkLeft) -> _Step:
        reached = self._reached(here, char, work)
        if 0 in reached:
            return _FOUND
        states = {self._first}
        for number in reached:
            state = self._states[number]
            if state[1].match(char):
                states.add(state[2])
        step = _Step(frozenset(states), char)
        return steps.setdefault(step.key, step)

    def _reached(self, here: _Step, char: str | None, work: WorkLeft) -> set[int]:
        """The states that read a character, and 0 for the end of the pattern, where `char` comes next."""
        reached, seen, waiting = set[int](), set[int](), list(here.states)
        while waiting:
            number = waiting.pop()
            if number in seen:
                continue
            seen.add(number)
            match self._states[number]:
                case ("chars", *_) | ("found",):
                    reached.add(number)
                case ("at", kind, after):
                    if self._is_at(kind, here.before, char):
                        waiting.append(after)
                case ("split", after):
                    waiting += after
        work.left -= len(seen)
        return reached

    def _is_at(self, kind: str, before: str | None, after: str | None) -> bool:
        if kind == "begin":
            return before is None or (self._lines and before in _LINE_ENDS)
        if kind == "end":
            return after is None or (self._lines and after in _LINE_ENDS)
        edge = (before is not None and _is_word(before)) != (after is not None and _is_word(after))
        return edge == (kind == "b")

    def _add(self, node: Node, after: int) -> int:
        """The number of the state where a node begins; `after` is the state that follows the node."""
        match node:
            case ("all", nodes):
                for part in reversed(nodes):
                    after = self._add(part, after)
                return after
            case ("any", nodes):
                return self._state("split", [self._add(part, after) for part in nodes])
            case ("repeat", part, least, most):
                if most is None:
                    ways = [after]
                    after = self._state("split", ways)
                    ways.append(self._add(part, after))
                else:
                    for _ in range(most - least):
                        after = self._state("split", [after, self._add(part, after)])
                for _ in range(least):
                    after = self._add(part, after)
                return after
        return self._state(*node, after)

    def _state(self, *state: Any) -> int:
        self._states.append(state)
        return len(self._states) - 1


@dataclass(slots=True)
class _Step:
    """The states that are followed at once after the character `before`; None for the beginning of the text."""

    states: frozenset[int]
    before: str | None
    following: dict[str, _Step] = field(default_factory=dict)
    found: bool = False

    @property
    def key(self) -> _Key:
        before = self.before
        return self.states, None if before is None else _is_word(before), before in _LINE_ENDS


_FOUND: Final = _Step(frozenset(), None, found=True)


def looks_like_pattern(key: str) -> bool:
    """Whether a key looks like a pattern."""
    return key.startswith("/") and len(key) <= PATTERN_CHARS and _KEY.fullmatch(key) is not None


@lru_cache(maxsize=PATTERNS)
def pattern_of(key: str) -> Pattern | None:
    """The pattern of a key; None for plain text. As in SillyTavern, an invalid pattern is plain text."""
    parts = _KEY.fullmatch(key) if len(key) <= PATTERN_CHARS else None
    if parts is None or _UNESCAPED.search(parts[1]):
        return None
    try:
        return Pattern(parts[1], parts[2])
    except _Unknown:
        return None


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def _is_kind(char: str, kind: str) -> bool:
    """Whether a character belongs to the class \\d, \\w, \\s, \\D, \\W or \\S, given by its letter."""
    match kind.lower():
        case "d":
            is_kind = "0" <= char <= "9"
        case "w":
            is_kind = _is_word(char)
        case _:
            is_kind = char.isspace() or char == "\ufeff"
    return is_kind != kind.isupper()


def _size(node: Node) -> int:
    """The maximum number of states of a node."""
    match node:
        case ("all", nodes) | ("any", nodes):
            return 1 + sum(map(_size, nodes))
        case ("repeat", part, least, most):
            times: int = max(1, least, most or 0)
            return 1 + (1 + _size(part)) * times
    return 1


def _literals(node: Node) -> frozenset[str] | None:
    """Texts of which every match contains at least one; None if there is no such set."""
    match node:
        case ("chars", test):
            return frozenset((test.one,)) if test.one else None
        case ("any", nodes):
            found = [_literals(part) for part in nodes]
            every = frozenset[str]().union(*(literals for literals in found if literals))
            return every if None not in found and len(every) <= LITERALS else None
        case ("repeat", part, least, _):
            return _literals(part) if least else None
        case ("all", nodes):
            run, parts = "", list[frozenset[str]]()
            for part in (*nodes, ("at", "")):
                if part[0] == "chars" and part[1].one:
                    run += part[1].one
                    continue
                parts += [frozenset((run,))] if run else []
                run = ""
                parts += [literals] if part[0] != "at" and (literals := _literals(part)) else []
            return max(parts, key=lambda literals: min(map(len, literals)), default=None)
    return None


@lru_cache(maxsize=1_024)
def _one(char: str) -> Node:
    return ("chars", _Chars(one=char))


class _Reader:
    """Parses a pattern."""

    def __init__(self, source: str, flags: str) -> None:
        self._source, self._at = source, 0
        self._folded, self._dot_all = "i" in flags, "s" in flags

    def node(self) -> Node:
        node = self._alternatives(0)
        if self._at < len(self._source):
            raise _Unknown  # an unmatched closing bracket
        return node

    def _next(self, text: str) -> bool:
        found = self._source.startswith(text, self._at)
        self._at += len(text) if found else 0
        return found

    def _char(self) -> str:
        if self._at >= len(self._source):
            raise _Unknown
        self._at += 1
        return self._source[self._at - 1]

    def _alternatives(self, nested: int) -> Node:
        if nested > NESTED:
            raise _Unknown
        ways: list[list[Node]] = [[]]
        while self._at < len(self._source) and self._source[self._at] != ")":
            if self._next("|"):
                ways.append([])
            elif plain := _PLAIN.match(self._source, self._at):
                self._at = plain.end()
                ways[-1] += map(_one, plain[0].casefold() if self._folded else plain[0])
            else:
                ways[-1].append(self._repeated(self._atom(nested)))
        nodes = [part[0] if len(part) == 1 else ("all", part) for part in ways]
        return nodes[0] if len(nodes) == 1 else ("any", nodes)

    def _repeated(self, node: Node) -> Node:
        if self._source[self._at : self._at + 1] not in ("*", "+", "?", "{"):
            return node
        least = 1
        most: int | None = 1
        counted = _COUNT.match(self._source, self._at)
        if self._next("*"):
            least, most = 0, None
        elif self._next("+"):
            most = None
        elif self._next("?"):
            least = 0
        elif counted:
            self._at = counted.end()
            least = int(counted[1])
            most = least if counted[2] is None else int(counted[3]) if counted[3] else None
        else:
            return node
        self._next("?")  # laziness does not affect whether there is a match
        again = self._source.startswith(("*", "+", "?"), self._at) or _COUNT.match(self._source, self._at)
        if again or node[0] == "at" or (most is not None and most < least):
            raise _Unknown
        return ("repeat", node, least, most)

    def _atom(self, nested: int) -> Node:
        char = self._char()
        if char == "(":
            if self._next("?") and not self._next(":"):
                named = re.compile(r"<[^\W\d]\w*>").match(self._source, self._at)
                if named is None:
                    raise _Unknown
                self._at = named.end()
            node = self._alternatives(nested + 1)
            if not self._next(")"):
                raise _Unknown
            return node
        if char == "[":
            return self._class()
        if char in _EDGE_KINDS:
            return ("at", _EDGE_KINDS[char])
        if char == ".":
            return ("chars", _Chars(ones=frozenset() if self._dot_all else _LINE_ENDS, without=True))
        if char in "*+?" or _COUNT.match(self._source, self._at - 1):
            raise _Unknown
        if char != "\\":
            return self._text(char)
        if self._next("b"):
            return ("at", "b")
        if self._next("B"):
            return ("at", "B")
        escaped = self._escaped()
        return self._text(escaped) if len(escaped) == 1 else ("chars", _Chars(kinds=escaped[1]))

    def _text(self, text: str) -> Node:
        chars = text.casefold() if self._folded else text
        nodes = [*map(_one, chars)]
        return nodes[0] if len(nodes) == 1 else ("all", nodes)

    def _escaped(self) -> str:
        """The character that an escape represents; a backslash and its letter for a class of characters."""
        if code := _CODE.match(self._source, self._at):
            self._at = code.end()
            return chr(int(code[1] or code[2] or code[3], 16))
        char = self._char()
        if char in "dDwWsS":
            return f"\\{char}"
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char.isalnum():
            raise _Unknown
        return char

    def _class(self) -> Node:
        without, ones, ranges, kinds = self._next("^"), set[str](), list[tuple[str, str]](), ""
        while not self._next("]"):
            first = self._in_class()
            if len(first) > 1:
                kinds += first[1]
            elif (
                self._source[self._at : self._at + 1] == "-"
                and self._source[self._at + 1 : self._at + 2] != "]"
            ):
                self._at += 1
                last = self._in_class()
                if len(last) > 1 or last < first:
                    raise _Unknown
                ranges.append((first, last))
            else:
                ones.add(first)
        if self._folded:
            ones |= {form for char in ones for form in (char.lower(), char.upper())}
        return ("chars", _Chars("", frozenset(ones), tuple(ranges), kinds, without, self._folded))

    def _in_class(self) -> str:
        char = self._char()
        if char != "\\":
            return char
        return "\b" if self._next("b") else self._escaped()
