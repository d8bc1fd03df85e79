"""Reads the bodies of nodes (`nodes.Kind`) as parts of a story."""

from __future__ import annotations

import json
from collections.abc import Mapping
from sys import intern
from typing import TYPE_CHECKING, Any, cast

from bot.works.story.log.turn import (
    SCENE,
    Act,
    Change,
    Chapter,
    CharacterMemory,
    Extracted,
    Fighter,
    Initiative,
    KeyEvent,
    Proposal,
    Scene,
    Seen,
    SheetChange,
)

if TYPE_CHECKING:
    from bot.works.story.log.nodes import Node
    from bot.works.story.log.turn import Mode


def act_of(node: Node) -> Act:
    """The act of an "act" node. Strings that recur, such as a person's name, are shared to save memory."""
    body: dict[str, Any] = json.loads(node.body) if node.body else {"mode": "act"}
    return Act(
        node.turn if node.turn == node.id else node.id,  # the same object as in `Story.path`
        intern(node.author_id),
        intern(str(body.get("name", ""))),
        cast("Mode", intern(body["mode"])),
        str(body.get("text", "")),
        intern(str(body.get("character", ""))),
        intern(str(body.get("speaker", ""))),
        tuple(body.get("rolls", ())),
        tuple(body.get("dice", ())),
        withdrawn=not node.body,
        when=str(body.get("when", "")),
        group=str(body.get("group", "")),
        label=str(body.get("label", "")),
    )


def scene_of(node: Node) -> Scene:
    """The version of a scene that a "scene" node holds."""
    body = json.loads(node.body) if node.body else {}
    return Scene(
        node.id,
        str(body.get("text", "")),
        str(body.get("run", node.run_id)),
        intern(node.author_id),
        body.get("at"),
        intern(str(body.get("stage", SCENE))),
        bool(body.get("stopped")),
        bool(body.get("edited")),
        withdrawn=not node.body,
        acts_for=tuple(body.get("acts_for", ())),
        lore_tokens=int(body.get("lore_tokens", 0)),
        timed_lore=tuple(body.get("timed_lore", ())),
    )


def extracted_of(body: Mapping[str, Any], id: str) -> Extracted:
    """What the body of the "extracted" node `id` says about a scene."""
    state = tuple(
        Seen(
            character["name"],
            (
                character.get("where", ""),
                character.get("holding", ""),
                character.get("wearing", ""),
                character.get("mood", ""),
            ),
            tuple((other, text) for other, text in character.get("relations", ())),
            bool(character.get("dead")),
            bool(character.get("present")),
        )
        for character in body.get("state", ())
    )
    memories = (CharacterMemory(**memory) for memory in body.get("memories", ()))
    return Extracted(
        summary=str(body.get("summary", "")),
        place=str(body.get("place", "")),
        time=str(body.get("time", "")),
        state=state,
        memories=tuple(memories),
        events=tuple(body.get("events", ())),
        done=tuple(body.get("done", ())),
        flags=tuple(body.get("flags", ())),
        crossed=tuple(body.get("crossed", ())),
        id=id,
        turns=int(body.get("turns", 1)),
        lines=tuple(body.get("lines", ())),
        opened=tuple(KeyEvent(thread["id"], thread["text"]) for thread in body.get("opened", ())),
        closed=tuple(body.get("closed", ())),
        noticed=tuple(body.get("noticed", ())),
        changes=tuple(_proposal_of(row) for row in body.get("changes", ())),
    )


def chapter_of(turn: str, body: Mapping[str, Any]) -> Chapter:
    """The chapter of a "chapter" node that begins after `turn`."""
    events = tuple(KeyEvent(event["id"], event["text"]) for event in body.get("key_events", ()))
    texts = {
        name: str(body.get(name, ""))
        for name in ("location", "time", "scenario", "climax", "resolution", "scene")
    }
    return Chapter(body["id"], turn, str(body["title"]), key_events=events, **texts)


def sheet_change_of(id: str, turn: str, body: Mapping[str, Any]) -> SheetChange:
    """The changes to a character's numbers by the "sheet" node `id`."""
    changes = tuple(Change(**change) for change in body.get("changes", ()))
    scene, proposal = str(body.get("scene", "")), int(body.get("proposal", 0))
    return SheetChange(id, body["name"], changes, bool(body.get("removed")), turn, scene, proposal)


def initiative_of(turn: str, body: Mapping[str, Any]) -> Initiative:
    """The order of a fight after `turn`, with the round and the index brought into their ranges."""
    order = tuple(Fighter(row["name"], row["score"]) for row in body["order"])
    return Initiative(order, max(1, body["round"]), max(0, min(body["at"], len(order) - 1)), turn)


def _proposal_of(row: Mapping[str, Any]) -> Proposal:
    return Proposal(row["name"], row["text"], tuple(Change(**change) for change in row["changes"]))
