"""Reads lorebooks of other programs as our entries, and writes ours as SillyTavern's World Info.

SillyTavern's file has `entries` by number, with `key`, `keysecondary`, `comment`, `disable`, `selectiveLogic`; the book
of a character card (V2 and V3 specifications, "character_book") a list, with `keys`, `secondary_keys`, `enabled`,
`insertion_order`, and SillyTavern's additions in `extensions`; NovelAI's a list, with `text`, `displayName`, `keys`,
`forceActivation`. Fields with no meaning here are kept unchanged (`source`). Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, get_args

from bot.works.story.exchange.numbers import dump, read, value_of
from bot.works.story.world.lore_text import AT_DEPTH, imported_flags
from bot.works.story.world.lorebook import LORE, LORE_CHARS, Logic, LoreEntry

KEYS: Final = 50
SOURCE_CHARS: Final = 20_000
"""The maximum size of the other fields of an entry or a book; larger ones are dropped."""
_LOGIC: Final = get_args(Logic)


@dataclass(frozen=True, slots=True)
class BadEntry:
    """An entry that was left out: its number in the book, from 1, and the key of a sentence with the reason."""

    number: int
    key: str


@dataclass(frozen=True, slots=True)
class Lorebook:
    """`entries` are bodies as a log stores them (`nodes.Kind`, "lore"). `source` has the other fields of a World Info
    file, as JSON, "" for none.
    """

    name: str
    entries: list[dict[str, Any]]
    left_out: list[BadEntry] = field(default_factory=list)
    source: str = ""


def is_lorebook(tree: Mapping[str, Any]) -> bool:
    return isinstance(_book(tree).get("entries"), list | dict)


def lorebook_of(tree: Mapping[str, Any]) -> Lorebook:
    """The entries of a book in any of the formats; items that are not entries are left out."""
    book = _book(tree)
    listed = book.get("entries")
    rows = list(listed.values() if isinstance(listed, dict) else listed if isinstance(listed, list) else ())
    entries, bad = list[dict[str, Any]](), list[BadEntry]()
    for number, row in enumerate(rows, 1):
        entry, why = _entry(row) if len(entries) < LORE else (None, "story.import_entries_many")
        if entry is None:
            bad.append(BadEntry(number, why))
        else:
            entries.append(entry)
    name = book.get("name")
    # A list comes from another program, whose fields would make World Info look like that program's file.
    others = {key: value for key, value in book.items() if key != "entries" and isinstance(listed, dict)}
    source = dump(others) if others else ""
    return Lorebook(
        name if isinstance(name, str) else "", entries, bad, source if len(source) <= SOURCE_CHARS else ""
    )


def why_none(book: Lorebook) -> str:
    """The key of a sentence about a book without usable entries."""
    if book.entries:
        return "story.import_lore_had"
    return "story.import_lore_unfit" if book.left_out else "story.import_lore_empty"


def _book(tree: Mapping[str, Any]) -> Mapping[str, Any]:
    data = tree.get("data")  # V3 wraps a separate book ("lorebook_v3")
    return data if isinstance(data, dict) and "entries" in data else tree


def _entry(row: Any) -> tuple[dict[str, Any] | None, str]:
    """An entry's body, or the reason why there is none."""
    if not isinstance(row, dict):
        return None, "story.import_entry_unreadable"
    more = row.get("extensions")
    fields = {**(more if isinstance(more, dict) else {}), **row}
    content = next(
        (fields[name] for name in ("content", "text", "entry") if isinstance(fields.get(name), str)), ""
    )
    keys = _texts(next((fields[name] for name in ("key", "keys", "keywords") if name in fields), []))
    constant = True in (fields.get("constant"), fields.get("forceActivation"))
    by_meaning = fields.get("vectorized") is True
    if not content.strip() or not (keys or constant or by_meaning):
        return None, "story.import_entry_lacking"
    if len(content) > LORE_CHARS:
        return None, "story.import_entry_long"
    entry: dict[str, Any] = {"keys": keys, "content": content}
    secondary = _texts(fields.get("keysecondary") or fields.get("secondary_keys") or [])
    if secondary and fields.get("selective", True) is not False:
        entry["secondary_keys"] = secondary
        logic = _number(fields, "selectiveLogic")
        if logic is not None and 0 < logic < len(_LOGIC):
            entry["logic"] = _LOGIC[logic]
    name = next((fields[key] for key in ("name", "comment", "displayName") if _is_text(fields.get(key))), "")
    entry |= {"name": name[:200]} if name else {}
    entry |= {"constant": True} if constant else {}
    if fields.get("disable") is True or fields.get("enabled") is False:
        entry["enabled"] = False
    for ours, names in (
        ("case_sensitive", ("caseSensitive", "case_sensitive")),
        ("whole_words", ("matchWholeWords", "match_whole_words")),
    ):
        flag = next((fields[name] for name in names if isinstance(fields.get(name), bool)), None)
        entry |= {ours: flag} if flag is not None else {}
    depth = next(
        (n for name in ("scanDepth", "scan_depth") if (n := _number(fields, name)) is not None), None
    )
    entry |= {"depth": depth} if depth is not None else {}
    order = next(
        (n for name in ("order", "insertion_order") if (n := _number(fields, name)) is not None), None
    )
    entry |= {"order": order} if order is not None else {}
    if value_of(row.get("position")) != 0 and row.get("position") not in (None, "before_char"):
        entry["position"] = "after"
    chance = _number(fields, "probability")
    if chance is not None and fields.get("useProbability") is not False:
        entry["probability"] = chance
    entry |= {"group": fields["group"]} if _is_text(fields.get("group")) else {}
    extra = {key: value for key, value in row.items() if key not in ("content", "text", "entry")}
    source = dump(extra)
    return entry | ({"source": source} if len(source) <= SOURCE_CHARS else {}), ""


def world_info(entries: Sequence[Mapping[str, Any]], source: str = "") -> dict[str, Any]:
    """SillyTavern's file of these entries (bodies of a log). An entry from such a file is written unchanged; `source`
    has that file's other fields.
    """
    return {**kept_fields(source), "entries": {str(n): _row(n, entry) for n, entry in enumerate(entries)}}


def kept_fields(text: Any) -> dict[str, Any]:
    """The fields that were kept as JSON; none if a stranger's story has something else there."""
    try:
        fields = read(text)
    except (TypeError, ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _row(n: int, stored_entry: Mapping[str, Any]) -> dict[str, Any]:
    source = kept_fields(stored_entry.get("source"))
    if "key" in source:
        return {**source, "content": stored_entry["content"]}
    entry = LoreEntry("", **stored_entry)
    entry = replace(entry, **imported_flags(entry.source))
    more = {"extensions": source["extensions"]} if "extensions" in source else {}
    extra = {**(source["extensions"] if isinstance(source.get("extensions"), dict) else {}), **source}
    return {
        "uid": n,
        "key": list(entry.keys),
        "keysecondary": list(entry.secondary_keys),
        "comment": entry.name,
        "content": entry.content,
        "constant": entry.constant,
        "selective": bool(entry.secondary_keys),
        "selectiveLogic": _LOGIC.index(entry.logic),
        "order": entry.order,
        "position": AT_DEPTH if entry.at_depth is not None else int(entry.position == "after"),
        "depth": AT_DEPTH if entry.at_depth is None else entry.at_depth,
        "role": extra.get("role"),
        "disable": not entry.enabled,
        "probability": entry.probability,
        "useProbability": True,
        "group": entry.group,
        "groupWeight": entry.weight,
        "groupOverride": entry.foremost,
        "excludeRecursion": entry.not_by_others,
        "preventRecursion": entry.calls_no_others,
        "delayUntilRecursion": entry.by_others_alone,
        "sticky": entry.sticky,
        "cooldown": entry.cooldown,
        "delay": entry.delay,
        "vectorized": extra.get("vectorized") is True,
        "characterFilter": {"isExclude": entry.not_for, "names": list(entry.characters), "tags": []},
        "scanDepth": entry.depth,
        "caseSensitive": entry.case_sensitive,
        "matchWholeWords": entry.whole_words,
        **more,
    }


def _texts(value: Any) -> list[str]:
    """A list of keys, or keys in one text, separated by commas."""
    keys = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    clean_keys = [" ".join(key.split()) for key in keys if isinstance(key, str)]
    return [key for key in clean_keys if key][:KEYS]


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value.strip() != ""


def _number(fields: Mapping[str, Any], name: str) -> int | None:
    value = value_of(fields.get(name))
    return value if isinstance(value, int) and abs(value) < 1_000_000_000 else None
