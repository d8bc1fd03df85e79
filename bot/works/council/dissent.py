"""Parts a chair's text, while it streams, into the synthesis and the dissent below its DISSENT: line. Pure."""

from __future__ import annotations

import re

_LINE = re.compile(r"[ \t]*(?:#{1,6}[ \t]*)?[*_]{0,3}DISSENT[*_]{0,3}[ \t]*:[ \t]*[*_]{0,3}", re.IGNORECASE)
_BEGINNING = re.compile(r"[ \t#*_]*(?:D(?:I(?:S(?:S(?:E(?:N(?:T[*_ \t]*)?)?)?)?)?)?)?\Z", re.IGNORECASE)
_NONE = re.compile(r"\W*(?:none|nenhum|nenhuma|no dissent|sem dissenso)\W*\Z", re.IGNORECASE)


class Parting:
    """`feed` gives what belongs to the synthesis; `dissent` is what came below the line so far."""

    def __init__(self) -> None:
        self._held = ""
        self._gap = ""
        """Blank lines after what was given: nothing, where the dissent follows."""
        self._fresh = True
        """Whether what is held begins a line."""
        self._below: list[str] | None = None

    @property
    def parted(self) -> bool:
        """Whether the line has come: without it nothing was said of dissent, not even that there is none."""
        return self._below is not None

    @property
    def dissent(self) -> str:
        """ "" where there is none, or where it says that there is none."""
        text = _LINE.sub("", "".join(self._below or ()), count=1).strip()
        return "" if _NONE.match(text) else text

    def feed(self, piece: str) -> str:
        """Take in some text; give what is sure to be above the line."""
        if self._below is not None:
            self._below.append(piece)
            return ""
        self._held += piece
        shown: list[str] = []
        while self._held:
            if self._fresh and _LINE.match(self._held):
                self._below = [self._held]
                self._held = ""
            elif self._fresh and _BEGINNING.match(self._held):
                break  # it may become the line
            else:
                line, end, self._held = self._held.partition("\n")
                shown.append(line + end)
                self._fresh = bool(end)
        text = self._gap + "".join(shown)
        given = text.rstrip("\n")
        self._gap = text[len(given) :]
        return given

    def finish(self) -> str:
        """The text is over: give what was held back."""
        rest, self._held = self._held, ""
        return self._gap + rest if rest.strip() else ""
