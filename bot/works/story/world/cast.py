"""The cast of a story: parses what people and models write about characters, and decides who may speak."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from bot.events import OptionValue, Speaker, UserError
from bot.words import Words, meant
from bot.works.story import limits
from bot.works.story.log.story import Story

NAME_CHARS: Final = limits.NAME_CHARS
SHEET_CHARS: Final = limits.SHEET_CHARS
STYLE_CHARS: Final = limits.STYLE_CHARS
SHOWN_CHARS: Final = 1_000
"""The maximum length of a character's description in the list of the cast."""
MOST_CHARACTERS: Final = 40
PICTURE_CHARS: Final = limits.PICTURE_CHARS
"""The maximum length of a picture's address; Discord and Slack allow little more."""
ROLES: Final = ("about", "style", "player", "picture", "remove")
"""The options that describe a character."""

_BULLET = re.compile(r"^\s*(?:[-*•–—]+|\(?\d{1,2}[.):])\s+")
_NAMED = re.compile(r"^(\w[^:|]{0,59}?)\s*(?::|\s[-–—]\s)\s*(\S.*)$")
_STYLE = re.compile(r"\b(?:style|dialogue|voice|talks?|speech|estilo|fala)\s*:\s*", re.IGNORECASE)


def unknown_error(name: str, names: list[str]) -> UserError:
    """The error for a name that is not among the characters' `names`."""
    if not names:
        return UserError("story.no_character_yet", name=name[:NAME_CHARS])
    return UserError("story.no_state_of", name=name[:NAME_CHARS], names=", ".join(names))


@dataclass(frozen=True, slots=True)
class Character:
    """A character that a model has invented."""

    name: str
    about: str
    style: str = ""

    @property
    def sheet(self) -> dict[str, str]:
        return {"about": self.about} | ({"style": self.style} if self.style else {})


def parse_typed(text: str, options: Mapping[str, OptionValue]) -> tuple[str, str]:
    """The word at the beginning of the argument of `cast`, and the name that follows; "" and the text for a sheet.

    Text with a colon, or with an option that describes a character, is always a sheet: a character may be called
    "Speak".
    """
    if ":" in text or any(options.get(name) for name in ROLES):
        return "", text
    first, _, name = " ".join(text.split()).partition(" ")
    word = meant(first, "speak", "mute", "unmute", "all")
    return ("", text) if not word or (word == "all" and name) else (word, name)


def is_all(name: str) -> bool:
    """Whether the name is the word for all characters."""
    return meant(name, "all") != ""


def find(story: Story, name: str) -> str:
    """The character's name as spelt in the cast, found without regard to case; "" for none."""
    return next((character for character in story.cast if character.casefold() == name.casefold()), "")


def may_speak(story: Story, name: str) -> str:
    """The character's name as spelt in the cast. Raises UserError if it is unknown, or played by a person."""
    if not story.cast:
        raise UserError("story.no_cast")
    if not name:
        raise UserError("story.cast_whom", names=", ".join(story.cast))
    if not (character := find(story, name)):
        raise UserError("story.no_character", name=name[:NAME_CHARS])
    if player := story.cast[character].get("player"):
        raise UserError("story.played_character", name=character, player=str(player))
    return character


def free_to_reply(story: Story) -> list[str]:
    """The characters who may reply: neither muted nor played by a person."""
    return [name for name, sheet in story.cast.items() if not (sheet.get("muted") or sheet.get("player"))]


def speaker(story: Story, name: str, *, own: bool) -> Speaker | None:
    """The speaker under whose name a character's words are shown; None for the narrator, who has no name.

    `own` says whether characters speak under their own names.
    """
    return Speaker(name, str(story.cast.get(name, {}).get("picture") or ""), own) if name else None


def picture(text: str) -> str:
    """The address of a character's picture: a plain https link. Raises UserError."""
    address = text.strip()
    try:
        parts = urlsplit(address)
        host, user = parts.hostname, parts.username
    except ValueError:
        host, user, parts = None, None, urlsplit("")
    plain = address.isascii() and address.isprintable() and not set(address) & set(' <>"|\\')
    if parts.scheme != "https" or not host or user is not None or not plain or len(address) > PICTURE_CHARS:
        raise UserError("story.bad_picture", limit=PICTURE_CHARS)
    return address


def lines(story: Story, say: Words) -> str:
    """The cast in Markdown, one line for each character."""
    if not story.cast:
        return say("story.no_cast")
    rows = []
    for name, sheet in story.cast.items():
        about = " ".join(str(sheet.get("about") or "").split())  # one line; descriptions from cards have more
        about = about if len(about) <= SHOWN_CHARS else f"{about[:SHOWN_CHARS].rstrip()}…"
        player = f" ({say('story.played_by', name=str(sheet['player']))})" if sheet.get("player") else ""
        muted = f" ({say('story.is_muted')})" if sheet.get("muted") else ""
        rows.append(f"- **{name}**{player}{muted}{': ' + about if about else ''}")
    return "\n".join(rows)


class NameRemover:
    """Removes the name that many models put before a character's reply, while the reply streams."""

    def __init__(self, name: str) -> None:
        """`name` is the character's; with "" nothing is removed."""
        before = rf"\s*[*_]*{re.escape(name)}[*_]*\s*:[*_]*\s*"
        self._before = re.compile(before, re.IGNORECASE)
        self._wait = len(name) + 8
        self._held: str | None = "" if name else None

    def feed(self, text: str, *, last: bool = False) -> str:
        """The next piece of the reply to show; the beginning is held back until it is long enough to have the name."""
        if self._held is None:
            return text
        self._held += text
        if len(self._held) < self._wait and not last:
            return ""
        opening, self._held = self._held, None
        label = self._before.match(opening)
        return opening[label.end() :] if label else opening


def read_characters(text: str, most: int) -> list[Character]:
    """At most `most` characters that a model wrote as lines, as a table or as JSON; each name once."""
    rows = list(_from_json(text)) or list(_from_lines(text))
    characters: dict[str, Character] = {}
    for name, about, style in rows:
        name = " ".join(name.strip("*_`\"'“”# ").split())
        about = " ".join(about.strip("*_ ").split())[:SHEET_CHARS]
        style = " ".join(_STYLE.sub("", style, count=1).strip("*_ ").split())[:STYLE_CHARS]
        if about and len(name) <= NAME_CHARS and any(map(str.isalnum, name)) and ":" not in name:
            characters.setdefault(name.casefold(), Character(name, about, style))
    return list(characters.values())[:most]


def _from_json(text: str) -> Iterator[tuple[str, str, str]]:
    decoder = json.JSONDecoder()
    for start in (at for at in (text.find("["), text.find("{")) if at >= 0):
        try:
            tree, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(tree, dict):
            tree = next((part for part in tree.values() if isinstance(part, list)), [tree])
        rows = [_texts(row) for row in tree if isinstance(row, dict)]
        if rows := [row for row in rows if row[0] and row[1]]:
            yield from rows
            return


def _texts(row: Mapping[Any, Any]) -> tuple[str, str, str]:
    """The name, description and style in a JSON object, whatever keys the model uses."""
    texts = {str(key).casefold(): value for key, value in row.items() if isinstance(value, str)}

    def first(*names: str) -> str:
        return next((texts[name] for name in names if texts.get(name)), "")

    about = first("about", "sheet", "description", "who", "summary", "descrição", "sobre")
    style = first("style", "dialogue_style", "dialogue style", "dialogue", "voice", "talks", "estilo", "fala")
    return first("name", "nome"), about, style


def _from_lines(text: str) -> Iterator[tuple[str, str, str]]:
    """Characters from lines with bars, as the prompt asks for, or else from lines such as "NAME: …" or "NAME - …"."""
    lines = [_BULLET.sub("", line).strip() for line in text.splitlines()]
    barred = [[part.strip() for part in line.strip("|").split("|")] for line in lines if "|" in line]
    rows = [row for row in barred if len(row) > 1 and not set("".join(row)) <= set("-: ")]
    if rows:
        for name, about, *rest in rows:
            if about.casefold() not in ("who", "about", "description", "quem", "descrição"):  # a table's head
                yield name, about, rest[0] if rest else ""
        return
    for line in lines:
        if match := _NAMED.match(line.replace("**", "").replace("__", "")):
            about, *styles = _STYLE.split(match[2], maxsplit=1)
            if len(match[1].split()) <= 5 and about.strip():
                yield match[1], about, styles[0] if styles else ""
