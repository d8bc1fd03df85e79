"""Written text as somebody says it who reads it aloud: no signs, short forms and numbers in words.

For English and Portuguese; of other languages only what is no word of any language is left out. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import Final

from bot.speech.spoken import markdown
from bot.speech.spoken.english import ENGLISH
from bot.speech.spoken.figures import Figures, Reading
from bot.speech.spoken.language import Language
from bot.speech.spoken.portuguese import PORTUGUESE

LANGUAGES: Final[Mapping[str, Language]] = {"en": ENGLISH, "pt": PORTUGUESE}

_ADDRESS: Final = re.compile(r"\bhttps?://[^\s<>()\[\]\"]+|\bwww\.[^\s<>()\[\]\"]+")
_CITATION: Final = re.compile(r"\s?(?:\[\^?\d{1,3}(?:\s?[,;–-]\s?\d{1,3})*\]|【[^】]{0,20}】)")
_MENTION: Final = re.compile(r"<(?:a?:(\w{1,40}):\d{1,25}|[@#!&][^<>\s]{1,60}|t:-?\d{1,15}(?::\w)?)>")
_SHORT_NAME: Final = re.compile(r"(?<![\w:]):[a-z][a-z0-9_+-]{1,30}:(?![\w:])")
_KEYCAP: Final = re.compile(r"([\d#*])\ufe0f?\u20e3")
_LETTERS_AGAIN: Final = re.compile(r"([^\W\d_])\1{3,}")
_SOUNDS_AGAIN: Final = re.compile(r"\b((?:[^\W\d_]{2}))\1{3,}", re.IGNORECASE)
_MARKS_AGAIN: Final = re.compile(r"([!?,;:])\1+")
_RULE: Final = re.compile(r"[-=_~*#|+]{3,}|(?<=\s)[|•·]+(?=\s)")
_DASH: Final = re.compile(r"\s*(?:—|―|\s–\s|\s--?\s|--)\s*")
_BRACKET: Final = re.compile(r"\s*[()\[\]{}]\s*")
_QUOTES: Final = re.compile(r"[\"“”„«»‹›]|(?<!\w)['‘’]|['’](?!\w)")

_UNREAD: Final = frozenset({"So", "Sk", "Cf", "Co", "Cn", "Cs"})
"""Of Unicode's categories: pictures, and what is seen and not said."""
_PICTURES: Final = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf\ufe00-\ufe0f\u200d\u20e3]")


def read_aloud(text: str, language: str) -> str:
    """What is said of `text` (Markdown) in `language`, such as "en" or "pt-BR"; "" where there is nothing to say."""
    spoken = LANGUAGES.get(language[:2].lower())
    said = markdown.plain(_legible(text), spoken)
    said = _ADDRESS.sub(lambda found: _trailing(found[0], spoken), said)
    said = _CITATION.sub("", _MENTION.sub(" ", _SHORT_NAME.sub(" ", said)))
    if spoken is not None:
        for pattern, say in _readings(spoken.code):
            said = pattern.sub(say, said)
    said = _without_signs(said)
    return said if any(one.isalnum() for one in said) else ""


def _legible(text: str) -> str:
    """Without what no voice can say: controls, half characters, heaps of accents."""
    text = unicodedata.normalize("NFC", text)
    return re.sub(
        r"[\u0300-\u036f]{3,}",
        "",
        re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u200b\u2060\ufeff]", "", text),
    )


def _trailing(address: str, spoken: Language | None) -> str:
    """An address with the sentence's own end behind it."""
    bare = address.rstrip(".,;:!?*_")
    return markdown.link(bare, spoken) + address[len(bare) :].rstrip("*_")


def _without_signs(said: str) -> str:
    said = _RULE.sub(" ", _KEYCAP.sub(r"\1", said))
    said = _LETTERS_AGAIN.sub(r"\1\1", _SOUNDS_AGAIN.sub(r"\1\1\1", said))
    said = _MARKS_AGAIN.sub(r"\1", re.sub(r"\.{2,}|…+", "…", said))
    said = re.sub(r"[!?]*\?[!?]+|!+\?", "?", said)
    said = _PICTURES.sub(" ", said)
    said = " ".join("".join(" " if unicodedata.category(one) in _UNREAD else one for one in said).split())
    said = re.sub(r"^[\s—–―-]+", "", said)
    said = re.sub(r"(?<=[.!?…])\s*[—–―]\s*", " ", said)
    said = _BRACKET.sub(", ", _DASH.sub(", ", _QUOTES.sub("", said)))
    said = re.sub(r"[*`~^|\\<>=]+|(?<!\w)_|_(?!\w)", " ", said)
    said = re.sub(r"\s+([,.;:!?…])", r"\1", re.sub(r"\s+", " ", said))
    said = re.sub(r"[,;:]+([.!?…,;:])", r"\1", said)
    said = re.sub(r"([.!?…])(?:[,;:]|(?<=[!?…])\.)+", r"\1", said)
    return re.sub(r"^[\s,.;:!?…]+(?=\w)", "", said).strip().removesuffix(",").strip()


@cache
def _readings(code: str) -> list[Reading]:
    """What is read otherwise than it is written, one after another: the most special first."""
    return Figures(LANGUAGES[code]).all()
