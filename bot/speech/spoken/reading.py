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
    spoken_language = LANGUAGES.get(language[:2].lower())
    text_said = markdown.plain(_legible(text), spoken_language)
    text_said = _ADDRESS.sub(lambda match: _trailing(match[0], spoken_language), text_said)
    text_said = _CITATION.sub("", _MENTION.sub(" ", _SHORT_NAME.sub(" ", text_said)))
    if spoken_language is not None:
        for pattern, say in _readings(spoken_language.code):
            text_said = pattern.sub(say, text_said)
    text_said = _without_signs(text_said)
    return text_said if any(line.isalnum() for line in text_said) else ""


def _legible(text: str) -> str:
    """Without what no voice can say: controls, half characters, heaps of accents."""
    text = unicodedata.normalize("NFC", text)
    return re.sub(
        r"[\u0300-\u036f]{3,}",
        "",
        re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u200b\u2060\ufeff]", "", text),
    )


def _trailing(address: str, spoken_language: Language | None) -> str:
    """An address with the sentence's own end behind it."""
    bare = address.rstrip(".,;:!?*_")
    return markdown.link(bare, spoken_language) + address[len(bare) :].rstrip("*_")


def _without_signs(text_said: str) -> str:
    text_said = _RULE.sub(" ", _KEYCAP.sub(r"\1", text_said))
    text_said = _LETTERS_AGAIN.sub(r"\1\1", _SOUNDS_AGAIN.sub(r"\1\1\1", text_said))
    text_said = _MARKS_AGAIN.sub(r"\1", re.sub(r"\.{2,}|…+", "…", text_said))
    text_said = re.sub(r"[!?]*\?[!?]+|!+\?", "?", text_said)
    text_said = _PICTURES.sub(" ", text_said)
    text_said = " ".join(
        "".join(" " if unicodedata.category(line) in _UNREAD else line for line in text_said).split()
    )
    text_said = re.sub(r"^[\s—–―-]+", "", text_said)
    text_said = re.sub(r"(?<=[.!?…])\s*[—–―]\s*", " ", text_said)
    text_said = _BRACKET.sub(", ", _DASH.sub(", ", _QUOTES.sub("", text_said)))
    text_said = re.sub(r"[*`~^|\\<>=]+|(?<!\w)_|_(?!\w)", " ", text_said)
    text_said = re.sub(r"\s+([,.;:!?…])", r"\1", re.sub(r"\s+", " ", text_said))
    text_said = re.sub(r"[,;:]+([.!?…,;:])", r"\1", text_said)
    text_said = re.sub(r"([.!?…])(?:[,;:]|(?<=[!?…])\.)+", r"\1", text_said)
    return re.sub(r"^[\s,.;:!?…]+(?=\w)", "", text_said).strip().removesuffix(",").strip()


@cache
def _readings(code: str) -> list[Reading]:
    """What is read otherwise than it is written, one after another: the most special first."""
    return Figures(LANGUAGES[code]).all()
