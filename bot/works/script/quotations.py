"""Checks an answer's quotations: words that are not in the script lose their quotation marks. Pure."""

from __future__ import annotations

import re
from typing import Final

from bot.citing.gate import Verbatim
from bot.readers.screenplay.elements import plain
from bot.works.script.model import Script

_QUOTATION: Final = re.compile(r'"([^"\n]+)"|“([^“”\n]+)”|«([^«»\n]+)»|„([^„“”\n]+)[“”]')

_UNFINISHED: Final = re.compile(r'(?:"[^"\n]*|“[^“”\n]*|«[^«»\n]*|„[^„“”\n]*)\Z')
_OPENS: Final = re.compile(r'["“«„]')


class Quotations:
    """Checks quotations against a script's text."""

    def __init__(self, script: Script) -> None:
        opening = [plain(element.text) for element in script.opening]
        self._words = Verbatim("\n".join([*opening, *(scene.text for scene in script.scenes)]))

    def checked(self, answer: str, word: str) -> str:
        """The answer without quotation marks around words that are not in the script, ignoring spacing, case and
        typography; `word` is added after them.
        """

        def kept_or_marked(match: re.Match[str]) -> str:
            quoted = next(filter(None, match.groups()))
            return match[0] if self._words.find(quoted) else f"{quoted.strip()} {word}"

        return _QUOTATION.sub(kept_or_marked, answer)


class QuotationGate:
    """Checks the quotations of a streaming answer, holding an unfinished one back.

    `unfound` counts the quotations that lost their marks.
    """

    def __init__(self, quotations: Quotations, word: str) -> None:
        self._quotations = quotations
        self._word = word
        self._pending = ""
        self.unfound = 0

    def feed(self, piece: str) -> str:
        """The text that may be shown now."""
        text = self._pending + piece
        at, end = text.rfind("\n") + 1, len(text)
        while (mark := _OPENS.search(text, at)) is not None:
            if quotation := _QUOTATION.match(text, mark.start()):
                at = quotation.end()
            elif _UNFINISHED.match(text, mark.start()):
                end = mark.start()
                break
            else:  # a mark that can no longer begin a quotation
                at = mark.end()
        self._pending = text[end:]
        return self._checked(text[:end])

    def finish(self) -> str:
        """The text that was held back."""
        text, self._pending = self._pending, ""
        return self._checked(text)

    def _checked(self, text: str) -> str:
        checked = self._quotations.checked(text, self._word)
        self.unfound += checked.count(self._word) - text.count(self._word)
        return checked
