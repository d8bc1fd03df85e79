"""The extractor's answer about a scene, read leniently: one malformed field does not spoil the others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from pydantic import BeforeValidator

from bot.works.story.log.turn import CharacterMemory


def _as_text(value: object) -> object:
    if isinstance(value, list):
        return ", ".join(str(item) for item in value if isinstance(item, str | int | float))
    if isinstance(value, dict):
        return "; ".join(
            f"{name}: {item}" for name, item in value.items() if isinstance(item, str | int | float)
        )
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def _as_numbers(value: object) -> object:
    """The whole numbers of a list, including those written as texts."""
    listed = value if isinstance(value, list) else [value]
    texts = [str(item).strip() for item in listed if isinstance(item, int | str)]
    return [int(text) for text in texts if text.isascii() and text.isdecimal() and len(text) < 10]


def _as_flag(value: object) -> object:
    return value.strip().casefold() in ("true", "yes") if isinstance(value, str) else value in (True,)


def _as_texts(value: object) -> object:
    listed = value if isinstance(value, list) else [value]
    return [text for text in listed if isinstance(text, str)]


def _as_objects(value: object, key: str, only: str) -> list[object]:
    """The objects of a list, or of an object that has them by their `key`; a plain text there is the field `only`."""
    if isinstance(value, dict):
        value = (
            [value] if key in value else [_keyed(key, name, only, content) for name, content in value.items()]
        )
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _keyed(key: str, name: str, only: str, value: object) -> object:
    return {key: name, **value} if isinstance(value, dict) else {key: name, only: value}


def _as_characters(value: object) -> object:
    rows = _as_objects(value, "character", "where")
    return [{"character": row.get("name"), **row} for row in rows if isinstance(row, dict)]


def _as_relations(value: object) -> object:
    return _as_objects(value, "other", "feeling")


def _as_memories(value: object) -> object:
    """The memories, with every field as text, since the log's type is strict."""
    names = ("character", "kind", "text")
    rows = _as_objects(value, "character", "text")
    return [{name: _as_text(row.get(name)) for name in names} for row in rows if isinstance(row, dict)]


def _as_checks(value: object) -> object:
    """The checks; some small models write {"1": true} instead, which is accepted."""
    rows = _as_objects(value, "number", "happened")
    numbers = [(str(row.get("number")), row.get("happened")) for row in rows if isinstance(row, dict)]
    return [
        {"number": int(number), "happened": _as_flag(happened)}
        for number, happened in numbers
        if number.isascii() and number.isdecimal() and len(number) < 10
    ]


Said = Annotated[str, BeforeValidator(_as_text)]
Flag = Annotated[bool, BeforeValidator(_as_flag)]
Sayings = Annotated[list[str], BeforeValidator(_as_texts)]


@dataclass(frozen=True, slots=True)
class Relation:
    other: Said = ""
    feeling: Said = ""


@dataclass(frozen=True, slots=True)
class CharacterState:
    """A character's state after the scene, according to the model; "" for what the scene does not say."""

    character: Said = ""
    where: Said = ""
    holding: Said = ""
    wearing: Said = ""
    mood: Said = ""
    relations: Annotated[list[Relation], BeforeValidator(_as_relations)] = field(default_factory=list)
    dead: Flag = False
    present: Flag = False


def _as_sheet_changes(value: object) -> object:
    return _as_objects(value, "character", "change")


@dataclass(frozen=True, slots=True)
class SheetFinding:
    """What the scene did to a character's sheet, as people would type it."""

    character: Said = ""
    change: Said = ""


@dataclass(frozen=True, slots=True)
class Check:
    """Whether the event of this number in the list has happened."""

    number: int
    happened: bool


@dataclass(frozen=True, slots=True)
class Findings:
    """The form of the answer that the model is asked for."""

    summary: Said = ""
    place: Said = ""
    time: Said = ""
    characters: Annotated[list[CharacterState], BeforeValidator(_as_characters)] = field(default_factory=list)
    memories: Annotated[list[CharacterMemory], BeforeValidator(_as_memories)] = field(default_factory=list)
    events: Sayings = field(default_factory=list)
    key_events: Annotated[list[Check], BeforeValidator(_as_checks)] = field(default_factory=list)
    contradictions: Sayings = field(default_factory=list)
    crossed: Sayings = field(default_factory=list)
    changes: Annotated[list[SheetFinding], BeforeValidator(_as_sheet_changes)] = field(default_factory=list)
    opened: Sayings = field(default_factory=list)
    closed: Annotated[list[int], BeforeValidator(_as_numbers)] = field(default_factory=list)
