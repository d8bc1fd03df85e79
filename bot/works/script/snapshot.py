"""What the run of a question to a script decides first, so that a replay decides the same."""

from __future__ import annotations

from dataclasses import dataclass, field

from bot.prompts import PromptText


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The decisions of one question.

    `intent` is "" where a small model has to tell it; `scene` is the number of the scene that is meant, 0 for none.
    `answerer` is the model that answers, None where there is none; `reads`: a model answers, not code. `history` is
    empty where a new topic begins. `ideas` are stored with the script already: others are wanted.
    """

    question: str
    language: str
    script: str
    alias: str
    tier: str
    tools: str
    calls: int
    intent: str
    scene: int
    session: str | None
    answerer: str | None
    reads: bool
    demo: bool
    introduced: bool
    prompts: dict[str, PromptText]
    history: list[tuple[str, str]] = field(default_factory=list)
    earlier: str = ""
    roles: dict[str, list[str]] = field(default_factory=dict)
    ideas: list[str] = field(default_factory=list)
