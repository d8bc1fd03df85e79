"""The stop card: what it withdraws from a story, on each branch and in the log."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from bot.works.story.log.nodes import Node
    from bot.works.story.log.story import Story

PINNED: Final = ("memory", "idea")
"""Kinds of nodes that are withdrawn by the ids in their bodies, not by their own ids."""
QUOTED: Final = 12
"""The minimum length of a pinned text that counts as a quotation: a shorter one may match by chance."""


def withdraw(story: Story, node: Node) -> None:
    """Withdraw the turn, the turns that follow from it, and what quotes their words."""
    if node.turn in story.cards:  # two processes played a card at the same time
        return
    story.cards[node.turn], story.card_at = node.run_id, node.seq
    removed = story.gone_with(node.turn)
    story.carded |= removed
    first = next((place for place, id in enumerate(story.path) if id in removed), None)
    if first is not None:
        del story.path[first:]
        story.length = min(story.length, first)
        story.changed_from(first)
        story.unpinned |= story.intents.keys()  # they were said after a withdrawn turn
        story.intents.clear()
    removed_turns = [story.turns[id] for id in removed & story.turns.keys()]
    story.unpinned.update(id for turn in removed_turns for id in turn.intended)
    words = [text for turn in removed_turns for text in turn.words]
    _unwrite(story, min((turn.first for turn in removed_turns), default=story.seq), words)
    quoting = {id for id, text in story.memories.items() if any(_quoted(text, own) for own in words)}
    story.unpinned |= {f"memory {id}" for id in quoting} | {f"idea {id}" for id in story.ideas}
    for id in quoting:
        del story.memories[id]
    story.ideas.clear()
    if story.arc_turn in removed:
        story.arc = ()


def _unwrite(story: Story, began: int, words: Sequence[str]) -> None:
    """Withdraw sheets and lore that were written after the node `began` and quote these words."""

    def quotes(text: Any) -> bool:
        quote = " ".join(str(text).split())
        return len(quote) >= QUOTED and any(quote in text for text in words)

    sheets = [sheet for sheet in story.sheets if sheet.seq > began and sheet.sheet and not sheet.scene]
    quoting_ids = {sheet.id for sheet in sheets if any(map(quotes, (sheet.sheet or {}).values()))}
    story.sheets = [sheet for sheet in story.sheets if sheet.id not in quoting_ids]
    lore = [id for id, seq in story.lore_seqs.items() if seq > began and id in story.lore]
    for id in [id for id in lore if quotes(story.lore[id]["content"])]:
        del story.lore[id]
        quoting_ids.add(story.lore_nodes.pop(id))
    story.unpinned |= quoting_ids


def _quoted(text: str, source: str) -> bool:
    """Whether a memory quotes these words, as a pinned passage does ("Scene 3: …")."""
    quote = " ".join(text.partition(": ")[2].removesuffix(" …").split())
    return len(quote) >= QUOTED and quote in source


def gone(branches: Iterable[Story]) -> tuple[set[str], set[str]]:
    """The turns that stop cards have withdrawn on all branches of a story, and the `Story.unpinned` of all."""
    stories = list(branches)
    unpinned = set[str]().union(*(story.unpinned for story in stories))
    # An intention may still be waiting for a turn on another branch.
    unpinned = unpinned.difference(*(story.intents for story in stories))
    return set[str]().union(*(story.carded for story in stories)), unpinned


def goes(node: Node, body: Mapping[str, Any], turns: Collection[str], unpinned: Collection[str]) -> bool:
    """Whether a stop card has withdrawn the node's words: see `gone`."""
    withdrawable = f"{node.kind} {body['id']}" if node.kind in PINNED else node.id
    return node.turn in turns or withdrawable in unpinned
