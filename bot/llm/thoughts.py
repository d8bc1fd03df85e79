"""Separates a model's reasoning from its answer if the server leaves both in one text.

Only the beginning of an answer can be thoughts: `<think>` in the middle of a sentence or in code is text. Pure; knows
no API and no model.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

LONGEST_GAP = 100
"""The most blanks before an opening tag: an answer that begins with more is one of blanks."""

_NAMES = ("think", "thinking", "thought", "reasoning")
_TAGS = tuple(f"<{slash}{name}>" for slash in ("", "/") for name in _NAMES)
_BEGINNINGS = frozenset(tag[:end] for tag in _TAGS for end in range(len(tag) + 1))
_TAG = re.compile(rf"<(/?)({'|'.join(_NAMES)})>", re.IGNORECASE)
_BLANKS = re.compile(r"\s*")
_OPENING = re.compile(rf"<(?:{'|'.join(_NAMES)})>", re.IGNORECASE)
# At the beginning of a line or right after a sentence: a text about the tag quotes it or puts a space before it.
_UNOPENED = re.compile(r"(?:^[ \t]*|(?<=[.!?…)\]*。！？]))</think>\s*", re.IGNORECASE | re.MULTILINE)


def unopened(text: str) -> re.Match[str] | None:
    """The end of thoughts that begin the text without an opening tag, because the server's template contains it."""
    match = _UNOPENED.search(text)
    if match is None:
        return None
    before = text[: match.start()]
    quoted = before.count("```") % 2 or _OPENING.search(before) or _is_json(before)
    return None if quoted else match


@dataclass(slots=True)
class Thoughts:
    """Splits a stream: `feed` returns (text, thoughts) for each piece; at the end `finish` returns the rest.

    `expected`: answers of this model begin inside thoughts. `unopened` becomes True if this one did, and False if it
    was expected to but did not. `closed`: there was reasoning, and it ended. `taken_back`: text that `feed` returned as
    thoughts, but `finish` found to be the answer.
    """

    expected: bool = False
    unopened: bool | None = None
    closed: bool = False
    taken_back: str = ""
    _pending: str = ""
    """Characters that may become a tag."""
    _closing: str = ""
    """The closing tag of the thoughts that have begun."""
    _doubted: list[str] | None = None
    """Thoughts without an opening tag; they count as thoughts only if the closing tag comes."""
    _answering: bool = False

    def feed(self, piece: str) -> tuple[str, str]:
        if self._answering:
            return piece, ""
        text, at = self._pending + piece, 0
        self._pending = ""
        thoughts: list[str] = []
        while at < len(text):
            if self._closing:
                at = self._think(text, at, thoughts)
                continue
            blanks = _BLANKS.match(text, at)
            start = blanks.end() if blanks else at
            if self.closed:  # blanks after thoughts do not begin the answer
                thoughts.append(text[at:start])
                at = start
            at_start = start - at <= LONGEST_GAP
            if at_start and (tag := _TAG.match(text, start)):
                at = tag.end()
                self._open(tag[2], closed=bool(tag[1]))
            else:
                remainder = text[at:]
                if at_start and text[start:].lower() in _BEGINNINGS:
                    self._pending = remainder
                    break
                if self.expected and not _is_json(remainder):
                    self._closing, self._doubted = "</think>", []
                    self.expected = False
                elif not self.closed and (end := unopened(remainder)):
                    thoughts.append(remainder[: end.start()])
                    at += end.end()
                    self.closed = self.unopened = True
                else:
                    self._answering = True
                    return remainder, "".join(thoughts)
        return "", "".join(thoughts)

    def finish(self, how: str) -> tuple[str, str]:
        """End the answer, as `how` says (see FINISHES); returns the text held back."""
        pending, self._pending = self._pending, ""
        self.taken_back = ""
        if self._answering:
            return "", ""
        # A model that thinks and is cut off, at the limit or by a filter, has not answered anything yet.
        if self._doubted is not None and self._closing and how not in ("length", "refusal"):
            self._answering = True
            self.unopened = False if how == "end" else None
            self.taken_back = "".join(self._doubted)
            return self.taken_back + pending, ""
        if self._closing:
            return "", pending
        self._answering = True
        return pending, ""

    def _open(self, name: str, *, closed: bool) -> None:
        """Handle a tag at the beginning of the answer."""
        self.expected = False
        if not closed:
            self._closing = f"</{name.lower()}>"
        elif not self.closed:  # closes what the template had opened
            self.closed = self.unopened = True

    def _think(self, text: str, at: int, thought: list[str]) -> int:
        """Read on inside thoughts; returns the index where they end, or the text's length."""
        end = re.compile(self._closing, re.IGNORECASE).search(text, at)
        if end is None:
            last = text.rfind("<", at)
            if last < 0 or not self._closing.startswith(text[last:].lower()):
                last = len(text)
            self._pending = text[last:]
        else:
            last = end.start()
        thought.append(text[at:last])
        if self._doubted is not None:
            self._doubted.append(text[at:last])
        if end is None:
            return len(text)
        self.closed = True
        if self._doubted is not None:
            self.unopened, self._doubted = True, None
        self._closing = ""
        return end.end()


def _is_json(text: str) -> bool:
    """Whether the text is JSON: an answer by a schema does not begin with thoughts, whatever its strings contain."""
    return text.lstrip().startswith(("{", "["))
