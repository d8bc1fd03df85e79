"""Checks what an answer quotes: words that do not stand in the script lose their quotation marks. Pure."""

from __future__ import annotations

import re
from typing import Final

from bot.citing.gate import Verbatim
from bot.readers.screenplay.elements import plain
from bot.works.script.model import Script

_QUOTATION: Final = re.compile(r'"([^"\n]+)"|“([^“”\n]+)”|«([^«»\n]+)»|„([^„“”\n]+)[“”]')


class Quotations:
    """A script's words, to be looked for."""

    def __init__(self, script: Script) -> None:
        opening = [plain(one.text) for one in script.opening]
        self._words = Verbatim("\n".join([*opening, *(scene.text for scene in script.scenes)]))

    def checked(self, answer: str, word: str) -> str:
        """The answer; each quotation that does not stand in the script up to spacing, case and typography without its
        marks, and with `word` behind it."""

        def judged(found: re.Match[str]) -> str:
            quoted = next(filter(None, found.groups()))
            return found[0] if self._words.find(quoted) else f"{quoted.strip()} {word}"

        return _QUOTATION.sub(judged, answer)
