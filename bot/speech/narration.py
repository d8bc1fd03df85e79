"""A text that is still being written, as sentences to be spoken, each available as soon as it is complete.

Pure. Tables and blocks of code are held back until they end, because a voice only says that they exist.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final, NamedTuple

from bot.speech.reading import read_aloud
from bot.speech.sentences import Sentences

_LABEL: Final = 300
"""Characters at the start of a line within which a speaker's name is searched for."""
_FENCE: Final = re.compile(r"\s{0,3}(`{3,}|~{3,})")


class Sentence(NamedTuple):
    """A sentence's words as spoken, and as written; `speaker` if its line names one."""

    words: str
    text: str
    speaker: str = ""


class Narration:
    """The spoken sentences of one text in one language: `feed` its pieces, then call `end`.

    A line that begins with the name of one of the `speakers` (in lower case) and a colon belongs to that speaker.
    """

    def __init__(self, language: str, speakers: Collection[str] = ()) -> None:
        self._language = language
        self._speakers = speakers
        names = "|".join(r"\s+".join(map(re.escape, name.split())) for name in speakers)
        self._label = re.compile(rf"\s*[*_]*({names})[*_]*\s?:[*_]*[ \t]+(?=\S)", re.IGNORECASE)
        self._speaker = ""
        self._sentences = Sentences()
        self._line = ""
        """The present line, while it may still become a table row or a fence."""
        self._held: list[str] = []
        self._fence = ""
        self._within_line = False

    def feed(self, text: str) -> list[Sentence]:
        sentences: list[Sentence] = []
        for piece in text.splitlines(keepends=True):
            self._line += piece
            if self._within_line or not (self._fence or self._held_back()):
                sentences += self._prose()
            elif self._line.endswith("\n"):
                sentences += self._whole_line()
        return sentences

    def end(self) -> list[Sentence]:
        """The remaining sentences."""
        sentences = self._whole_line() if self._line else []
        sentences += self._release()
        return sentences + self._read(self._sentences.end())

    def _held_back(self) -> bool:
        """Whether the line may not be prose."""
        if len(self._line) > _LABEL and self._line[:_LABEL].isspace():
            return False
        beginning = self._line.lstrip(" ")
        return not beginning or beginning[0] in "|`~" or self._may_name_a_speaker()

    def _may_name_a_speaker(self) -> bool:
        if len(self._line) > _LABEL:
            return False
        beginning = " ".join(re.sub(r"[*_]|\s(?=:)", "", self._line).casefold().split())
        return any(f"{name}:".startswith(beginning) for name in self._speakers)

    def _prose(self) -> list[Sentence]:
        sentences = self._release() if self._held else []
        if self._speakers and not self._within_line and (label := self._label.match(self._line)):
            sentences += self._read(self._sentences.end())
            self._speaker = " ".join(label[1].casefold().split())
            self._line = self._line[label.end() :]
        sentences += self._read(self._sentences.feed(self._line))
        self._within_line = not self._line.endswith("\n")
        if self._speaker and not self._within_line:
            sentences += self._read(self._sentences.end())
            self._speaker = ""
        self._line = ""
        return sentences

    def _whole_line(self) -> list[Sentence]:
        """The sentences of a line that was held back."""
        fence = _FENCE.match(self._line)
        if self._fence:
            self._held.append(self._line)
            if fence and fence[1].startswith(self._fence):
                self._line = self._fence = ""
                return self._release()
        elif fence is not None:
            sentences = self._release() + self._read(self._sentences.end())
            self._fence, self._held = fence[1], [self._line]
            self._line = ""
            return sentences
        elif self._line.lstrip().startswith("|"):
            sentences = [] if self._held else self._read(self._sentences.end())
            self._held.append(self._line)
            self._line = ""
            return sentences
        else:
            return self._prose()
        self._line = ""
        return []

    def _release(self) -> list[Sentence]:
        held_back, self._held, self._fence = "".join(self._held), [], ""
        return self._read([held_back]) if held_back else []

    def _read(self, sentences: list[str]) -> list[Sentence]:
        return [
            Sentence(words, text, self._speaker)
            for text in sentences
            if (words := read_aloud(text, self._language))
        ]
