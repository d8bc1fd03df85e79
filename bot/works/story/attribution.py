"""Finds sentences of a scene in which a character speaks or acts, by code: in English and Portuguese, plain ones only.

A missed sentence costs little; a wrong one costs people a question. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

SHORTEST: Final = 2
"""The fewest letters of a part of a name."""
_QUOTE: Final = re.compile(r"“[^“”]{1,600}”|\"[^\"]{1,600}\"|«[^«»]{1,600}»")
_DASHED: Final = re.compile(r"(?:^|\n)\s*[—–]\s*([^—–\n]{1,600})[—–]\s*([^—–\n]{1,80})")
_BREAK: Final = re.compile(r"(?<=[.!?…])[\"”»]?\s+|\n+")
_SAYING: Final = (
    "say says said ask asks asked answer answers answered reply replies replied whisper whispers whispered "
    "shout shouts shouted mutter mutters muttered murmur murmurs murmured call calls called cry cries cried "
    "add adds added tell tells hiss hisses hissed explain explains explained exclaim exclaims exclaimed insist "
    "insists insisted snarl snarls snarled growl growls growled explica explicou exclama exclamou insiste "
    "insistiu diz disse pergunta perguntou responde respondeu sussurra sussurrou grita gritou murmura murmurou "
    "acrescenta acrescentou fala falou"
)
_DECIDING: Final = (
    "decide decides decided agree agrees agreed refuse refuses refused promise promises promised accept accepts "
    "accepted swear swears swore vow vows vowed admit admits admitted confess confesses confessed decide "
    "decidiu concorda concordou recusa recusou promete prometeu aceita aceitou jura jurou admite admitiu "
    "confessa confessou resolve resolveu"
)
_DOING: Final = (
    "nod nods nodded smile smiles smiled laugh laughs laughed walk walks walked run runs ran step steps "
    "stepped climb climbs climbed take takes took grab grabs grabbed open opens opened pick picks picked turn "
    "turns turned stand stands stood sit sits sat look looks looked reach reaches reached draw draws drew jump "
    "jumps jumped raise raises raised kill kills killed scream screams screamed stride strides strode strike "
    "strikes struck shove shoves shoved mata matou grita gritou golpeia golpeou empurra empurrou acena acenou "
    "sorri sorriu ri riu anda andou corre correu sobe subiu desce desceu pega pegou abre abriu vira virou "
    "levanta levantou senta sentou olha olhou salta saltou ergue ergueu"
)
_MOVING: Final = (
    "go goes going gone went walk walks walked walking run runs ran running climb climbs climbed climbing come "
    "comes came coming step steps stepped stepping leave leaves left leaving enter enters entered entering "
    "arrive arrives arrived arriving reach reaches reached return returns returned returning follow follows "
    "followed following ride rides rode sail sails sailed fly flies flew fall falls fell drag drags dragged "
    "carry carries carried cross crosses crossed descend descends descended rush rushes rushed hurry hurries "
    "hurried swim swims swam dive dives dived dove row rows rowed head heads headed travel travels travelled "
    "traveled move moves moved back away upstairs downstairs outside inside later next morning after meanwhile "
    "tomorrow vai vão foi foram ir indo anda andou caminha caminhou corre correu sobe subiu desce desceu vem "
    "veio chega chegou sai saiu entra entrou volta voltou segue seguiu atravessa atravessou alcança alcançou "
    "nada nadou rema remou viaja viajou cai caiu leva levou depois seguinte amanhã manhã fora dentro enquanto"
)
_TOGETHER: Final = "we they all both everyone everybody nós eles elas todos todas ambos gente"


def _any(words: str) -> str:
    return "|".join(sorted(dict.fromkeys(words.split()), key=len, reverse=True))


_MOVES: Final = re.compile(rf"\b(?:{_any(_MOVING)})\b", re.IGNORECASE)


def sentences(text: str) -> list[str]:
    return [part.strip() for part in _BREAK.split(text) if part and part.strip()]


def forms(name: str, others: Iterable[str]) -> tuple[str, ...]:
    """The character's names in a text: the whole name, and parts of it that no other name has."""
    theirs = {
        part.casefold() for other in others if other.casefold() != name.casefold() for part in other.split()
    }
    parts = [part for part in name.split() if part[:1].isupper() and len(part) >= SHORTEST]
    return tuple(dict.fromkeys([name, *(part for part in parts if part.casefold() not in theirs)]))


def names_one(sentence: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", sentence, re.IGNORECASE) is not None


@lru_cache(maxsize=1_000)
def _said_by(name: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Behind a quotation ("…", Mira said; said Mira), and before one (Mira said: "…")."""
    speaker, say = re.escape(name), _any(_SAYING)
    after = re.compile(
        rf"\s*[,—–]?\s*(?:{speaker}\s+(?:\w+ly\s+)?(?:{say})|(?:{say})\s+{speaker})(?!\w)", re.IGNORECASE
    )
    before = re.compile(
        rf"(?<!\w){speaker}\s+(?:\w+ly\s+)?(?:{say})\b[^.!?\n\"“«]{{0,60}}[,:]\s*$|(?:^|\n)\s*{speaker}:\s*$",
        re.IGNORECASE,
    )
    return after, before


def speeches(text: str, name: str) -> Iterator[str]:
    """What the text quotes the character as saying."""
    after, before = _said_by(name)
    for quote in _QUOTE.finditer(text):
        if after.match(text, quote.end()) or before.search(text, max(0, quote.start() - 200), quote.start()):
            yield quote[0][1:-1]
    for dashed in _DASHED.finditer(text):
        if after.match(dashed[2]):
            yield dashed[1].strip()


def deeds(text: str, name: str, *, decided: bool) -> Iterator[str]:
    """Verbs whose subject is plainly the character: only of what it decides, or else of all that it does."""
    for sentence in sentences(_QUOTE.sub(" ", text)):
        yield from (match[1] for match in _done_by(name, decided).finditer(sentence))


@lru_cache(maxsize=1_000)
def _done_by(name: str, decided: bool) -> re.Pattern[str]:
    verbs = _any(_DECIDING if decided else f"{_DOING} {_DECIDING}")
    before = r"(?:^|[,;:—–]\s|\b(?:and|but|then|e|mas|então)\s)"
    return re.compile(rf"{before}{re.escape(name)}\s+(?:\w+ly\s+|se\s+)?({verbs})\b", re.IGNORECASE)


def unquoted(text: str) -> str:
    """The text without quoted speech."""
    return _DASHED.sub(" ", _QUOTE.sub(" ", text))


def moved(text: str, name: str, others: Sequence[str]) -> bool:
    """Whether some sentence may tell how the character gets elsewhere: it speaks of a way, and not of others alone."""
    for sentence in sentences(text):
        if not _MOVES.search(sentence):
            continue
        together = not set(_TOGETHER.split()).isdisjoint(re.findall(r"\w+", sentence.casefold()))
        if together or names_one(sentence, name) or not any(names_one(sentence, other) for other in others):
            return True
    return False
