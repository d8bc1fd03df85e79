"""Detects where a scene speaks or acts for the players' characters, sentence by sentence while it is written.

By code, for English and Portuguese, and only in plain cases: missing one is better than stopping a good scene. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bot.retrieval.language import FUNCTION_WORDS
from bot.works.story import attribution
from bot.works.story.turn import Turn

LATELY: Final = 5
"""How many turns' words a scene may repeat."""
_FEWEST: Final = 2
"""The fewest words of a line that counts: a cry decides nothing."""
_TALKING: Final = re.compile(
    r"\b(?:say|tell|ask|answer|repl(?:y|ies)|whisper|shout|mutter|call|cry|add|greet|thank|explain|beg|warn|order|offer"
    r"|introduce|apologi[sz]e|persuade|convince|negotiate|threaten|argue|talk|speak|sing|pray|swear|promise|lie|joke"
    r"|digo|diz|pergunto|pergunta|respondo|responde|conto|conta|grito|grita|sussurro|sussurra|chamo|chama|cumprimento"
    r"|agradeço|explico|peço|aviso|ordeno|ofereço|prometo|falo|fala|canto|canta|rezo|juro|convenço|minto)\w*",
    re.IGNORECASE,
)
_TOGETHER: Final = re.compile(
    r"\b(?:we|us|our|all|both|everyone|everybody|together|party|group|nós|nos|todos|todas|juntos|juntas|grupo|gente)\b",
    re.IGNORECASE,
)
_BINDING: Final = frozenset().union(*FUNCTION_WORDS.values())
_GAP: Final = re.compile(r"(?<!\s)\s+(?=\S)")
_PERSONS: Final = {"second": ("you", "você"), "first": ("I",)}
"""The person in which a story's view has the player's character told."""
_DASH: Final = ("—", "–")
_STEM: Final = 4
"""How many first letters identify a deed: "agree" in "agreed"."""


@dataclass(frozen=True, slots=True)
class Players:
    """The characters that people play, and what their players said that they say and do."""

    called: Mapping[str, tuple[str, ...]]
    """The names that a scene has for each; "you" in a story in the second person."""
    turn: str
    """The text of the turn before the scene."""
    own: Mapping[str, str]
    """What players do or want to do in it, by character."""
    said: frozenset[str]
    """The words of this turn and the last ones."""

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        turn: Turn,
        before: Sequence[Turn],
        *,
        cast: Collection[str] = (),
        view: str = "",
    ) -> Players:
        """`cast` are all characters' names, and `view` is in whose person the story is told."""
        called = {name: attribution.forms(name, cast) for name in names}
        told_to = turn.act.character if turn.act.character in called else names[0] if len(names) == 1 else ""
        if told_to and view in _PERSONS:
            called[told_to] += _PERSONS[view]
        own = {**dict(turn.intents), **({turn.act.character: turn.act.text} if turn.act.character else {})}
        texts = [turn.act.text, *own.values(), *(turn.act.text for turn in before[-LATELY:])]
        return cls(called, turn.act.text, own, frozenset(_words("\n".join(texts))))

    def acted_for(self, passage: str) -> list[str]:
        """The characters for whom the passage speaks, decides or acts without their players."""
        folded = passage.casefold()
        return [
            name
            for name, forms in self.called.items()
            if any(
                self._speaks(name, form, passage) or self._acts(name, form, passage)
                for form in forms
                if form.casefold() in folded
            )
        ]

    def _speaks(self, name: str, form: str, passage: str) -> bool:
        if _TALKING.search(self.own.get(name, "")):
            return False  # what was told in other words is put into a line here
        for line in attribution.speeches(passage, form):
            content_words = set(_words(line)) - _BINDING
            if len(_words(line)) >= _FEWEST and 2 * len(content_words & self.said) < len(content_words):
                return True
        return False

    def _acts(self, name: str, form: str, passage: str) -> bool:
        # What comes of the turn for who takes it, is named in it or goes along, is the scene's to tell; not what they
        # decide. So it is for everybody where nobody's character takes the turn.
        along = name in self.own or attribution.names_one(self.turn, form) or _TOGETHER.search(self.turn)
        stems = {word[:_STEM] for word in self.said}
        # Who is told "you" is told what becomes of them.
        decided = bool(along) or not self.own or form not in (name, *name.split())
        deeds = attribution.deeds(passage, form, decided=decided)
        return any(verb.casefold()[:_STEM] not in stems for verb in deeds)


class WatchedScene:
    """A scene while it streams: passes on what may be shown, until a sentence speaks or acts for a player's character.

    Whatever the pieces are, the same text comes out the same.
    """

    def __init__(self, players: Players | None, *, stop: bool) -> None:
        """Without players everything is passed on. Without `stop` sentences are only noted in `acted_for`."""
        self._players, self._stop = players, stop
        self._text = ""
        self._shown = self._read = 0
        self.acted_for: list[str] = []

    @property
    def kept_back(self) -> str:
        """The text that was not passed on."""
        return self._text[self._shown :]

    def feed(self, piece: str, *, last: bool = False) -> str:
        if self._players is None:
            return piece
        self._text += piece
        if not (last or piece.strip()):
            return ""
        passed = []
        for end in self._ends(last=last):
            passage = self._text[self._shown : end]
            self.acted_for += [
                name for name in self._players.acted_for(passage) if name not in self.acted_for
            ]
            if self.acted_for and self._stop:
                break
            passed.append(passage)
            self._shown = end
        return "".join(passed)

    def _ends(self, *, last: bool) -> Iterator[int]:
        """Where sentences end with which nobody's line is still open, or still without who says it."""
        if self.acted_for and self._stop:
            return
        while (gap := _GAP.search(self._text, self._read)) is not None:
            self._read = gap.end()
            sentence = self._text[self._shown : gap.start()]
            if "\n" in gap[0] or (sentence[-1:] in (*".!?…",) and not _open(sentence)):
                yield gap.end()
        self._read = max(self._read, len(self._text.rstrip()))
        if last and self._shown < len(self._text):
            yield len(self._text)


def _open(sentence: str) -> bool:
    """Whether somebody's line has begun in it and not ended; a line between dashes ends with its paragraph."""
    if sentence.lstrip().startswith(_DASH):
        return True
    return bool(
        sentence.count('"') % 2
        or sentence.count("“") > sentence.count("”")
        or sentence.count("«") > sentence.count("»")
    )


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
