"""NovelAI's stories and scenarios.

A `.story` has `storyContainerVersion`, `metadata` and `content`: the text is `content.document`, MessagePack in base64
(`msgpackr`), whose extension 20 has `sections` by id and their `order`; in older ones `content.story.fragments`. Of a
section's `meta`, list 1 says who wrote which part of it (1: the player, 2: the model). A `.scenario` has
`scenarioVersion`, `prompt` and placeholders, `${name[default]:description}`. `context` is memory and author's
note. Pure.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from bot.events import UserError
from bot.works.story.exchange.json_import import Imported
from bot.works.story.exchange.lorebook import Lorebook, lorebook_of
from bot.works.story.exchange.msgpackr import unpacked
from bot.works.story.exchange.passages import Destination, Passage, StoryContents, prose, text_of

_TEXT: Final = 1
"""The type of a section that is text."""
_PLAYER: Final = 1
"""The number of the player as a part's writer."""
_PLACEHOLDER = re.compile(r"\$\{([^{}\[\]:]{1,200})(?:\[([^{}\[\]]{0,1000})\])?(?::[^{}]{0,2000})?\}")


def is_novelai(tree: Mapping[str, Any]) -> bool:
    return "storyContainerVersion" in tree or ("scenarioVersion" in tree and "prompt" in tree)


def read_novelai(tree: Mapping[str, Any], data: bytes, file: str, whose: Destination) -> Imported:
    """The story of a `.story` or a `.scenario`. Raises UserError ("story.import_…")."""
    if "scenarioVersion" in tree and "storyContainerVersion" not in tree:
        return _scenario(tree).imported(data, file, whose)
    metadata, content = _object(tree.get("metadata")), _object(tree.get("content"))
    telling = _around(content, text_of(metadata.get("title")), text_of(metadata.get("description")))
    document = content.get("document")
    try:
        if isinstance(document, str) and document:
            telling.passages = prose(_sections(_document(document), telling))
        else:
            telling.passages = prose(_fragments(content))
    except ValueError as fault:
        raise UserError("story.import_document", file=file) from fault
    return telling.imported(data, file, whose)


def _document(text: str) -> dict[Any, Any]:
    tree = unpacked(base64.b64decode(text + "=" * (-len(text) % 4)))
    if not isinstance(tree, dict) or not isinstance(tree.get("sections"), dict):
        raise ValueError("no document")  # noqa: TRY004  (of the file, not of the program)
    return tree


def _sections(document: Mapping[Any, Any], telling: StoryContents) -> Iterator[Passage]:
    sections, order = document["sections"], document.get("order")
    for id in order if isinstance(order, list) else ():
        section = sections.get(id) if isinstance(id, int | float | str) else None
        if not isinstance(section, dict):
            telling.counts["story.import_left_broken"] += 1
        elif section.get("type") != _TEXT:
            telling.counts["story.import_left_pictures"] += 1
        else:
            yield Passage(text_of(section.get("text")), _is_players(section))


def _is_players(section: Mapping[Any, Any]) -> bool:
    """Whether the player wrote most of the section."""
    parts = _object(section.get("meta")).get(1)
    lengths = {True: 0, False: 0}
    for part in parts if isinstance(parts, list) else ():
        length = part.get("length") if isinstance(part, dict) else None
        lengths[_object(part).get("data") == _PLAYER] += length if isinstance(length, int) else 0
    return lengths[True] > lengths[False]


def _fragments(content: Mapping[str, Any]) -> Iterator[Passage]:
    fragments = _object(content.get("story")).get("fragments")
    written = [("", False)]
    for fragment in map(_object, fragments if isinstance(fragments, list) else ()):
        text, by_player = text_of(fragment.get("data")), fragment.get("origin") == "user"
        if by_player == written[-1][1]:
            written[-1] = (written[-1][0] + text, by_player)
        else:
            written.append((text, by_player))
    for text, by_player in written:
        yield from (Passage(paragraph, by_player) for paragraph in text.split("\n"))


def _scenario(tree: Mapping[str, Any]) -> StoryContents:
    telling = _around(tree, text_of(tree.get("title")), text_of(tree.get("description")))
    prompt, defaults = text_of(tree.get("prompt")), dict[str, str]()
    listed = tree.get("placeholders")
    for row in map(_object, listed if isinstance(listed, list) else ()):
        defaults[text_of(row.get("key"))] = text_of(row.get("defaultValue"))
    texts = [
        prompt,
        telling.premise,
        telling.note,
        *(str(entry["content"]) for entry in telling.lore.entries),
    ]
    found = [match for text in texts for match in _PLACEHOLDER.finditer(text)]
    defaults.update({match[1]: match[2] for match in found if match[2]})
    telling.counts.update({"story.import_placeholders": len({match[1] for match in found})} if found else {})

    def filled(text: str) -> str:
        return _PLACEHOLDER.sub(lambda match: defaults.get(match[1]) or match[1], text)

    telling.passages = [Passage(filled(prompt))]
    telling.premise, telling.note = filled(telling.premise), filled(telling.note)
    entries = [{**entry, "content": filled(str(entry["content"]))} for entry in telling.lore.entries]
    telling.lore = Lorebook(telling.lore.name, entries, telling.lore.left_out)
    return telling


def _around(content: Mapping[str, Any], title: str, description: str) -> StoryContents:
    """The fields that a story and a scenario have in common; without a memory, the description is the premise."""
    listed = content.get("context")
    context = [text_of(_object(row).get("text")) for row in (listed if isinstance(listed, list) else ())]
    memory, note = [*context, "", ""][:2]
    book, brief = content.get("lorebook"), content.get("ephemeralContext")
    telling = StoryContents(title, memory if memory.strip() else description, note)
    telling.lore = lorebook_of(book) if isinstance(book, dict) else telling.lore
    if isinstance(brief, list) and brief:
        telling.counts["story.import_left_ephemeral"] = len(brief)
    return telling


def _object(value: Any) -> dict[Any, Any]:
    return value if isinstance(value, dict) else {}
