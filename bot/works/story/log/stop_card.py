"""What the stop card withdraws: turns, and the nodes that quote their words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from bot.works.story.log.nodes import Node
    from bot.works.story.log.story import Story

PINNED: Final = ("memory", "idea")
"""Kinds of nodes that `Story.withdrawn` names by the ids in their bodies, not by their own ids."""


def withdrawn_by_cards(branches: Iterable[Story]) -> tuple[set[str], set[str]]:
    """The `Story.withdrawn_turns` and the `Story.withdrawn` of all branches of a story together."""
    stories = list(branches)
    turns = set[str]().union(*(story.withdrawn_turns for story in stories))
    nodes = set[str]().union(*(story.withdrawn for story in stories))
    # An intention may still be waiting for a turn on another branch.
    return turns, nodes.difference(*(story.intents for story in stories))


def is_withdrawn(node: Node, body: Mapping[str, Any], turns: Collection[str], nodes: Collection[str]) -> bool:
    """Whether a stop card has withdrawn the node's words, given the result of `withdrawn_by_cards`."""
    name = f"{node.kind} {body['id']}" if node.kind in PINNED else node.id
    return node.turn in turns or name in nodes
