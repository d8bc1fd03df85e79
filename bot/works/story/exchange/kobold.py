"""Stories of KoboldAI and Kobold Lite.

Version 1 has `prompt` and `actions`, a list of texts; version 2 (`file_version`) has `actions.actions` by number, with
`Selected Text`. Alternatives of an action (`Options`, or `Alternative Text` in version 1's `actions_metadata`) become
versions of its scene. Kobold Lite's `savedsettings` says how it was played (`opmode`: 1 story, 2 adventure, 3 chat, 4
instruct), and its `altbranches` are the story's other branches, each a list of all its texts. Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from bot.works.story.exchange.json_import import Imported
from bot.works.story.exchange.lorebook import lorebook_of
from bot.works.story.exchange.passages import Destination, Passage, StoryContents, text_of
from bot.works.story.exchange.rows import name_of

_MARKS: Final = (
    "gamestarted",
    "actions_metadata",
    "worldinfo",
    "worldinfo_v2",
    "savedsettings",
    "authorsnote",
)
_ADVENTURE, _CHAT, _INSTRUCT = 2, 3, 4
_TAG = re.compile(r"\{\{\[(INPUT|OUTPUT|SYSTEM)(_END)?\]\}\}")
_PICTURE = re.compile(r"\[<\|([pdh])\|[^|<>]*\|\1\|>\]|<\|([pdh])\|[^|<>]*\|\2\|>")
_NEAR: Final = 100
"""Within how many passages an action's text is looked for."""
_DONE = re.compile(r"^[ \t]*> ?(.+)$", re.MULTILINE)


def is_kobold(tree: Mapping[str, Any]) -> bool:
    return "actions" in tree and "prompt" in tree and any(name in tree for name in _MARKS)


def read_kobold(tree: Mapping[str, Any], data: bytes, file: str, whose: Destination) -> Imported:
    """The story of a file of KoboldAI or Kobold Lite. Raises UserError ("story.import_…")."""
    telling = StoryContents(
        title=text_of(tree.get("gamename")),
        premise=text_of(tree.get("memory")),
        note=text_of(tree.get("authorsnote")) or text_of(tree.get("authornote")),
        lore=lorebook_of({"entries": list(map(_entry, _world_info(tree)))}),
    )
    settings = tree.get("savedsettings")
    settings = settings if isinstance(settings, dict) else {}
    telling.passages = list(_passages(_texts(_actions(tree), telling.counts), settings))
    branches = tree.get("altbranches")
    for number, branch in enumerate(branches if isinstance(branches, list) else (), 1):
        if isinstance(branch, list):  # null is the branch that is played
            passages = list(_passages(_texts(branch, telling.counts), settings))
            telling.branches.append((f"Branch {number}", passages))
    telling.counts += type(telling.counts)()  # counts of 0 are dropped
    if lost := _add_others(telling.passages, list(_alternatives(tree))):
        telling.counts["story.import_left_versions"] = lost
    return telling.imported(data, file, whose)


def _texts(values: Iterable[Any], counts: Counter[str]) -> list[str]:
    """The texts among these values, without their pictures; `counts` counts what was left out."""
    texts = list[str]()
    for value in values:
        if not isinstance(value, str):
            counts["story.import_left_broken"] += 1
            continue
        text, pictures = _PICTURE.subn("", value)
        counts["story.import_left_pictures"] += pictures
        texts.append(text)
    return texts


def _actions(tree: Mapping[str, Any]) -> Iterator[Any]:
    yield text_of(tree.get("prompt"))
    actions = tree.get("actions")
    if isinstance(actions, dict):  # version 2
        listed = actions.get("actions")
        for row in (
            listed.values() if isinstance(listed, dict) else listed if isinstance(listed, list) else ()
        ):
            yield row.get("Selected Text") if isinstance(row, dict) else row
    elif isinstance(actions, list):
        yield from actions


def _alternatives(tree: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """The text of each action, and its alternatives."""
    actions, older = tree.get("actions"), tree.get("actions_metadata")
    listed = actions.get("actions") if isinstance(actions, dict) else older
    rows = listed.values() if isinstance(listed, dict) else listed if isinstance(listed, list) else ()
    for row in rows:
        if not isinstance(row, dict) or not (chosen := text_of(row.get("Selected Text")).strip()):
            continue
        options = row.get("Options", row.get("Alternative Text"))
        texts = [
            text_of(option.get("text", option.get("Text"))).replace("\0", "").strip()
            for option in (options if isinstance(options, list) else ())
            if isinstance(option, dict)
        ]
        if others := [text for text in dict.fromkeys(texts) if text not in ("", chosen)]:
            yield chosen, others


def _add_others(passages: list[Passage], alternatives: list[tuple[str, list[str]]]) -> int:
    """Add the alternatives to their passages; returns how many belong to none."""
    at = lost = 0
    for chosen, others in alternatives:
        near = range(at, min(at + _NEAR, len(passages)))
        found = next((n for n in near if not passages[n].by_player and chosen in passages[n].text), None)
        if found is None:
            lost += len(others)
            continue
        passage = passages[found]
        versions = (passage.text.replace(chosen, other, 1).strip() for other in others)
        passages[found] = replace(passage, others=(*passage.others, *versions))
        at = found
    return lost


def _world_info(tree: Mapping[str, Any]) -> list[Any]:
    newer = tree.get("worldinfo_v2")
    listed = newer.get("entries") if isinstance(newer, dict) else tree.get("worldinfo")
    rows = list(listed.values() if isinstance(listed, dict) else listed if isinstance(listed, list) else ())
    # The editor keeps an empty row.
    return [row for row in rows if not isinstance(row, dict) or row.get("key") or row.get("content")]


def _entry(row: Any) -> Any:
    """An entry with the field names of a card's book: with World Info's own names it would be exported unchanged, with
    texts in place of lists.
    """
    if not isinstance(row, dict):
        return row
    names = {"key": "keys", "keysecondary": "secondary_keys"}
    entry = {names.get(name, name): value for name, value in row.items()}
    return entry | ({"enabled": False} if row.get("widisabled") is True else {})


def _passages(texts: list[str], settings: Mapping[str, Any]) -> Iterator[Passage]:
    mode, whole = settings.get("opmode"), "".join(texts)
    begin, end = text_of(settings.get("instruct_starttag")), text_of(settings.get("instruct_endtag"))
    if mode == _INSTRUCT and begin.strip() and end.strip():
        whole = whole.replace(begin, "{{[INPUT]}}").replace(end, "{{[OUTPUT]}}")
    if mode == _CHAT:
        return _chat(whole, settings)
    if _TAG.search(whole):
        return _instructed(whole)
    if mode == _ADVENTURE or (mode is None and any(text.lstrip().startswith(">") for text in texts)):
        return _adventure(whole)
    return (Passage(text) for text in texts)


def _instructed(whole: str) -> Iterator[Passage]:
    by_player, at = False, 0
    for tag in _TAG.finditer(whole):
        yield Passage(whole[at : tag.start()], by_player)
        by_player, at = tag[1] == "INPUT" and not tag[2], tag.end()
    yield Passage(whole[at:], by_player)


def _adventure(whole: str) -> Iterator[Passage]:
    at = 0
    for done in _DONE.finditer(whole):
        yield Passage(whole[at : done.start()])
        yield Passage(done[1], by_player=True)
        at = done.end()
    yield Passage(whole[at:])


def _chat(whole: str, settings: Mapping[str, Any]) -> Iterator[Passage]:
    player = name_of(settings.get("chatname")) or "User"
    others = {name_of(name) for name in text_of(settings.get("chatopponent")).split("||$||")} - {""}
    name, lines = "", list[str]()
    for line in whole.split("\n"):
        speaker, colon, said = line.partition(":")
        if colon and name_of(speaker) in {player, *(others or {"KoboldAI"})}:
            yield Passage("\n".join(lines), name == player, name)
            name, lines = name_of(speaker), [said]
        else:
            lines.append(line)
    yield Passage("\n".join(lines), name == player, name)
