"""A story without a database: a list of nodes, folded."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from typing import Any

from bot.works.story.log.nodes import Part
from bot.works.story.log.story import Story, fold

WORDS = (
    "the lamp went down into the water and a door opened where no door had been before she could speak".split()  # noqa: SIM905
)


@dataclass(frozen=True)
class Line:
    seq: int
    id: str
    kind: str
    turn: str
    body: str
    branch_id: str = "main"
    run_id: str = "run"
    author_id: str = "ana"
    created_at: datetime = datetime(2026, 3, 4, tzinfo=UTC)


class Tale:
    def __init__(self, **settings: Any) -> None:
        self.nodes: list[Line] = []
        self._numbers = count(1)
        self.add("set", {"premise": "A lighthouse keeper finds a door in the sea.", **settings})

    def add(self, kind: str, body: dict[str, Any], turn: str = "") -> str:
        seq = next(self._numbers)
        id = f"n{seq}"
        self.nodes.append(Line(seq, id, kind, turn or id, json.dumps(body), run_id=f"run-{turn or id}"))
        return id

    def turn(self, text: str, scene: str) -> str:
        id = self.add("act", {"mode": "act", "text": text, "name": "Ana"})
        self.add("scene", {"text": scene, "at": len(self.nodes)}, id)
        return id

    @property
    def story(self) -> Story:
        return fold([Part("main")], self.nodes)


def prose(n: int, words: int = 200) -> str:
    """Scene number `n`, of so many words, no two alike."""
    return f"Scene number {n}. " + " ".join(
        WORDS[(n * 7 + at * (n % 5 + 1)) % len(WORDS)] for at in range(words)
    )


def shown(story: Story) -> list[tuple[str, str]]:
    """The act and the scene of each turn that counts."""
    return [
        (turn.act.text, turn.scene.text if turn.scene is not None else "") for turn in story.current_turns
    ]
