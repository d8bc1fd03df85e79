"""What tools have found, as evidence for an answer: ranked by the question, and cut. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bot.events import ToolCall
    from bot.llm.base import ToolOutput
    from bot.works.script.config import ScriptConfig
    from bot.works.script.scene_search import SceneSearch

LEAST_CHARS: Final = 100
"""Less of an item than this says nothing."""


@dataclass(frozen=True, slots=True)
class Item:
    """A scene, or what a tool says of the whole script (`scene` 0)."""

    scene: int
    name: str
    text: str
    relevance: float


def ranked(
    done: Iterable[tuple[ToolCall, ToolOutput]], question: str, search: SceneSearch, config: ScriptConfig
) -> list[Item]:
    """The most relevant first, within the config's numbers. Each scene comes once; what failed is evidence only where
    there is no other: that there is no scene 9,999 is an answer, too."""
    done = list(done)
    terms = dict.fromkeys(search.terms(question))
    items: dict[object, Item] = {}
    for call, output in [result for result in done if not result[1].failed] or done:
        texts = [
            (passage.section, passage.heading, passage.text, passage.score) for passage in output.passages
        ]
        if output.text:
            texts.append((0, call.name, output.text, 1.0))
        for scene, name, text, score in texts:
            item_terms = set(search.terms(f"{name}\n{text}"))
            relevance = score + sum(search.rarity(term) for term in terms if term in item_terms)
            key = scene or (name, text)
            if key not in items or items[key].relevance < relevance:
                items[key] = Item(scene, name, text, relevance)
    chars_left, cut = config.evidence_chars, []
    for item in sorted(items.values(), key=lambda item: -item.relevance)[: config.evidence_items]:
        room = min(config.evidence_item_chars, chars_left)
        if room < LEAST_CHARS:
            break
        text = search.window(item.text, terms, room)
        chars_left -= len(text)
        cut.append(Item(item.scene, item.name, text, item.relevance))
    return cut
