"""AI Dungeon's story cards, scenarios and adventures.

Its own export is a list of story cards (`keys`, `value`, `title`, `type`). Third-party exporters write the answers of
its service: a scenario (`prompt`, `memory`, `authorsNote`, `storyCards`, `options`) or an adventure with `actionWindow`
or `actions` (`text`; `type`: do, say, story and see are the player's). A scenario's questions to the player (`${Your
name?}`) stay in the text, and are counted. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from bot.works.story.exchange.json_import import Imported
from bot.works.story.exchange.lorebook import Lorebook, lorebook_of
from bot.works.story.exchange.passages import Destination, Passage, StoryContents, text_of
from bot.works.story.exchange.sillytavern import moment

_PLAYERS: Final = frozenset(("do", "say", "story", "see"))
_BLANK: Final = re.compile(r"\$\{([^{}\n]{1,300})\}")
_WITHIN: Final = ("data", "adventure", "adventureState", "scenario")


def are_story_cards(tree: Any) -> bool:
    """Whether the file is a list of story cards; also true of the older World Info, whose text is `entry`."""
    rows = tree if isinstance(tree, list) else []
    return bool(rows) and all(
        isinstance(row, dict) and "keys" in row and ("value" in row or "entry" in row) for row in rows
    )


def cards_of(rows: Any) -> Lorebook:
    listed = rows if isinstance(rows, list) else []
    return lorebook_of({"entries": [_entry(row) for row in listed if not _gone(row)]})


def _entry(row: Any) -> Any:
    if not isinstance(row, dict):
        return row
    return {**row, "content": row.get("value", row.get("entry")), "comment": row.get("title")}


def _gone(row: Any) -> bool:
    return isinstance(row, dict) and any(row.get(name) for name in ("deletedAt", "undoneAt"))


def found_within(tree: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The scenario or the adventure, alone or as the service wraps it; None for another file."""
    for _ in range(len(_WITHIN)):
        if ("storyCards" in tree or "authorsNote" in tree) and (
            "prompt" in tree or isinstance(tree.get("actionWindow", tree.get("actions")), list)
        ):
            return tree
        inner = next((tree[name] for name in _WITHIN if isinstance(tree.get(name), dict)), None)
        if inner is None:
            return None
        tree = inner
    return None


def read_ai_dungeon(tree: Mapping[str, Any], data: bytes, file: str, whose: Destination) -> Imported:
    """The story of a scenario or an adventure. Raises UserError ("story.import_…")."""
    telling = StoryContents(
        title=text_of(tree.get("title")),
        premise=text_of(tree.get("memory")) or text_of(tree.get("description")),
        note=text_of(tree.get("authorsNote")),
        lore=cards_of(tree.get("storyCards")),
    )
    actions = tree.get("actionWindow", tree.get("actions"))
    telling.passages = list(_passages(actions, telling)) if isinstance(actions, list) else []
    if not telling.passages:
        telling.passages = [Passage(text_of(tree.get("prompt")))]
    texts = [telling.premise, telling.note, *(passage.text for passage in telling.passages)]
    texts += [str(entry["content"]) for entry in telling.lore.entries]
    if blanks := {blank.strip() for text in texts for blank in _BLANK.findall(text)}:
        telling.counts["story.import_left_blanks"] = len(blanks)
    options = tree.get("options")
    if isinstance(options, list) and options:
        telling.counts["story.import_left_options"] = len(options)
    return telling.imported(data, file, whose)


def _passages(actions: list[Any], telling: StoryContents) -> Iterator[Passage]:
    rows = [row for row in actions if isinstance(row, dict) and isinstance(row.get("text"), str)]
    if broken := len(actions) - len(rows):
        telling.counts["story.import_left_broken"] = broken
    if all(isinstance(row.get("createdAt"), str) for row in rows):  # the service may list the newest first
        rows.sort(key=lambda row: str(row["createdAt"]))
    for row in rows:
        if _gone(row):
            telling.counts["story.import_left_undone"] += 1
        else:
            by_player = text_of(row.get("type")) in _PLAYERS
            text = row["text"].strip().removeprefix("> ") if by_player else row["text"]
            yield Passage(text, by_player, at=moment(row.get("createdAt")))
