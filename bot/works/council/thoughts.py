"""Parts what a model thinks aloud from what it says: some services leave <think>…</think> before the answer. Pure."""

from __future__ import annotations

import re

_OPENING = re.compile(r"\s*<(think|thinking|thought|reasoning)>", re.IGNORECASE)
_BEGINNINGS = ("<think>", "<thinking>", "<thought>", "<reasoning>")


class Thoughts:
    """`feed` gives what is said, also while it streams; only what begins a text is taken for thoughts.

    `thought` is what was thought aloud so far; thoughts that never end are all there is.
    """

    def __init__(self) -> None:
        self._held = ""
        self._closing = ""
        self._begun = False
        self.thought = ""

    def feed(self, piece: str) -> str:
        if self._begun:
            return piece
        seen = len(self._held)
        self._held += piece
        if not self._closing:
            if found := _OPENING.match(self._held):
                self._closing = f"</{found[1].lower()}>"
                self._held, seen = self._held[found.end() :], 0
            elif any(one.startswith(self._held.lstrip().lower()) for one in _BEGINNINGS):
                return ""  # it may become one
            else:
                return self._begin(self._held)
        # From where its first letters may have come: thoughts are long, and come in thousands of pieces.
        since = max(0, seen - len(self._closing))
        end = self._held[since:].lower().find(self._closing)
        if end < 0:
            return ""
        end += since
        self.thought = self._held[:end].strip()
        return self._begin(self._held[end + len(self._closing) :])

    def finish(self) -> str:
        """The text is over: give what was held back."""
        if self._closing and not self._begun:
            self.thought, self._held = self._held.strip(), ""
        return "" if self._begun else self._begin(self._held)

    def _begin(self, said: str) -> str:
        self._begun = True
        self._held = ""
        return said


def parted(text: str) -> tuple[str, str]:
    """(what a whole text says, what was thought aloud before)."""
    thoughts = Thoughts()
    said = thoughts.feed(text) + thoughts.finish()
    return said, thoughts.thought
