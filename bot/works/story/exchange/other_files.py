"""Recognises files of other programs that are not stories, so that people learn which export to use.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_BY_FIELDS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("story.import_seems_sillytavern_preset", ("prompts", "prompt_order")),
    ("story.import_seems_sillytavern_preset", ("input_sequence", "output_sequence")),
    ("story.import_seems_sillytavern_preset", ("story_string",)),
    ("story.import_seems_sillytavern_theme", ("main_text_color", "blur_strength")),
    ("story.import_seems_sillytavern_persona", ("personas", "persona_descriptions")),
    ("story.import_seems_sillytavern_script", ("findRegex", "replaceString")),
    ("story.import_seems_sillytavern_script", ("qrList",)),
    ("story.import_seems_preset", ("presetVersion", "parameters")),
    ("story.import_seems_preset", ("temp", "rep_pen")),
    ("story.import_seems_preset", ("temperature", "top_p")),
    ("story.import_seems_character_ai", ("histories",)),
    ("story.import_seems_character_ai", ("participant__name",)),
    ("story.import_seems_character_ai", ("turns", "next_token")),
    ("story.import_seems_oobabooga", ("internal", "visible")),
)
_LISTS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("story.import_seems_chatgpt", ("mapping", "create_time")),
    ("story.import_seems_claude", ("chat_messages",)),
    ("story.import_seems_slack", ("type", "ts", "user")),
    ("story.import_seems_discord_package", ("ID", "Timestamp", "Contents")),
)


def seems_to_be(tree: Any) -> str:
    """The key of a sentence about the file, which has no other use here."""
    if isinstance(tree, dict):
        return _known(tree, (*_BY_FIELDS, *_LISTS))
    if isinstance(tree, list) and tree and isinstance(tree[0], dict):
        return _known(tree[0], _LISTS)
    return "story.import_other"


def _known(row: Mapping[str, Any], kinds: tuple[tuple[str, tuple[str, ...]], ...]) -> str:
    return next((key for key, names in kinds if all(name in row for name in names)), "story.import_other")
