"""Written text as a person would read it aloud: no signs, and short forms and numbers in words.

For English and Portuguese; for other languages only non-words are removed. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from bot.speech.figures import Figures, Reading
from bot.speech.languages import ENGLISH, PORTUGUESE, Language

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

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
"""Unicode categories that are not read: pictures, and signs that are seen but not spoken."""
_PICTURES: Final = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf\ufe00-\ufe0f\u200d\u20e3]")

_LEFT_OVER: Final = re.compile(
    r"\*+|~~|`+|(?<!\w)_+|_+(?!\w)|^\s*(?:[-*+•>#]|\d{1,3}[.)](?=\s*$))+\s*$", re.MULTILINE
)
"""Signs of emphasis that lost their partner when the text was cut into sentences."""
_SAID: Final = re.compile(r"[.!?…:;,。！？][\"'”’»)\]]*\s*$")
_PRODUCT: Final = re.compile(r"(?<=\d)\s?\*\s?(?=\d)")
_TAG: Final = re.compile(r"<[^<>]{0,400}>")


def read_aloud(text: str, language: str) -> str:
    """The spoken form of `text` (Markdown) in `language`, such as "en" or "pt-BR"; "" if there is nothing to say."""
    spoken_language = LANGUAGES.get(language[:2].lower())
    text_said = plain(_legible(text), spoken_language)
    text_said = _ADDRESS.sub(lambda match: _trailing(match[0], spoken_language), text_said)
    text_said = _CITATION.sub("", _MENTION.sub(" ", _SHORT_NAME.sub(" ", text_said)))
    if spoken_language is not None:
        for pattern, say in _readings(spoken_language.code):
            text_said = pattern.sub(say, text_said)
    text_said = _without_signs(text_said)
    return text_said if any(line.isalnum() for line in text_said) else ""


def _legible(text: str) -> str:
    """The text without unspeakable characters: controls, half characters, stacks of accents."""
    text = unicodedata.normalize("NFC", text)
    return re.sub(
        r"[\u0300-\u036f]{3,}",
        "",
        re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u200b\u2060\ufeff]", "", text),
    )


def _trailing(address: str, spoken_language: Language | None) -> str:
    """An address followed by the sentence's own end."""
    bare = address.rstrip(".,;:!?*_")
    return link(bare, spoken_language) + address[len(bare) :].rstrip("*_")


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
    """The replacements for text that is spoken differently from how it is written, the most specific first."""
    return Figures(LANGUAGES[code]).all()


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable(["table", "strikethrough"])


def plain(text: str, language: Language | None) -> str:
    """Paragraphs and items as sentences, links by their words; for content that nobody reads out, only its kind."""
    parts: list[str] = []
    tokens = _parser().parse(_PRODUCT.sub("×", text))
    at, numbers = 0, list[int | None]()
    while at < len(tokens):
        token = tokens[at]
        match token.type:
            case "fence" | "code_block":
                parts.append(language.code_block if language is not None else "")
            case "table_open":
                end = next(i for i in range(at, len(tokens)) if tokens[i].type == "table_close")
                rows = sum(token.type == "tr_open" for token in tokens[at:end]) - 1
                parts.append(_table(rows, language))
                at = end
            case "ordered_list_open":
                numbers.append(int(token.attrs.get("start", 1)))
            case "bullet_list_open":
                numbers.append(None)
            case "ordered_list_close" | "bullet_list_close":
                numbers.pop()
            case "list_item_open" if numbers and numbers[-1] is not None:
                parts.append(f"{numbers[-1]}:")
                numbers[-1] += 1
            case "html_block":
                parts.append(_ended(" ".join(_TAG.sub(" ", token.content).split())))
            case "inline":
                parts.append(_ended(_inline(token.children or (), language)))
        at += 1
    return " ".join(filter(None, parts))


def _table(rows: int, language: Language | None) -> str:
    if language is None:
        return ""
    singular, several = language.table
    return singular if rows == 1 else several.format(n=rows)


def _inline(tokens: Sequence[Token], language: Language | None) -> str:
    lines: list[str] = []
    for token in tokens:
        match token.type:
            case "softbreak" | "hardbreak":
                lines.append(" ")
            case "image":
                alt = _inline(token.children or (), language)
                lines.append(language.a_picture.format(alt=alt) if language is not None and alt else alt)
            case "html_inline":
                lines.append(" ")
            case "code_inline":
                lines.append(token.content)
            case "text":
                lines.append(_LEFT_OVER.sub("", token.content))
    return re.sub(r"\s+", " ", "".join(lines)).strip()


def _ended(text: str) -> str:
    """The text with a full stop if it has no end of its own, so that a voice pauses after headings and items."""
    return text if not text or _SAID.search(text) else f"{text}."


def link(address: str, language: Language | None) -> str:
    """What is said in place of an address."""
    try:
        host = urlsplit(address if "//" in address else f"//{address}").hostname or ""
    except ValueError:
        host = ""
    host = host.removeprefix("www.")
    if language is None or not host:
        return host
    return language.a_link.format(host=host.replace(".", f" {language.dot} "))
