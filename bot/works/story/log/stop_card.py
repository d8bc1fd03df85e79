"""The stop card: what it withdraws from a story, on each branch and in the log."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from bot.works.story.log.nodes import Node
    from bot.works.story.log.story import Story

PINNED: Final = ("memory", "idea")
"""Kinds of nodes that are withdrawn by the ids in their bodies, not by their own ids."""


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
