"""A question about a script: its intent, whether it needs tools, and the snapshot of its run. Pure.

Keywords, which cost nothing, decide the intent; without any, a small model is asked (`answer`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

from bot.conversation import Note
from bot.prompts import PromptText
from bot.retrieval.lexical import fold

Intent: TypeAlias = Literal["LOCAL_EDIT", "SCENE_FEEDBACK", "GLOBAL_QUESTION", "BRAINSTORM"]
INTENTS: Final[tuple[Intent, ...]] = get_args(Intent)

_CHANGE: Final = (
    r"(?:(?:^|[.!?:;,]\s*|\b(?:please|you|to|we|i|and|then|por favor|pode|e)\s+)(?:change|fix|mude|muda)\b)"
)
""""Change the ending" is an instruction, "how does Anna change" is not."""
_KEYWORDS: Final[dict[Intent, str]] = {
    "BRAINSTORM": r"\b(?:ideas?|what if|alternatives?|brainstorm|ideias?|e se|alternativas?)\b",
    "LOCAL_EDIT": r"\b(?:punch up|rewrite|rework|shorten|tighten|reescrev\w*|corrij\w*|encurt\w*|enxug\w*)\b|"
    + _CHANGE,
    "SCENE_FEEDBACK": r"\b(?:analy[sz]e (?:the |this )?scene|feedback|review|analis\w* (?:a |esta )?cena|avali\w*)\b",
    "GLOBAL_QUESTION": r"\b(?:arcs?|themes?|structure|pac(?:e|ing)|acts?|arcos?|temas?|estrutura|ritmo|atos?)\b",
}
"""Patterns for questions without accents, tried in this order."""
_PATTERNS: Final = {intent: re.compile(words) for intent, words in _KEYWORDS.items()}
_ANALYTICAL: Final = re.compile(
    r"\b(?:analy[sz]e|track|find all|search|(?:every|all) scenes?"
    r"|analis\w*|acompanh\w*|todas as cenas|procur\w*|busc\w*)\b"
)
_SCENE: Final = re.compile(
    r"\b(?:scene|scenes|cena|cenas)\s+#?([1-9]\d{0,2}(?:[.,]\d{3})*\d*|\d+[a-z]|[a-z]\d+)\b"
)

FORMS: Final[dict[Intent, str]] = {
    "LOCAL_EDIT": "Give the new version as it would stand in the script, in a quote block, without quotation marks "
    "around it; then say in a sentence or two what you changed and why.",
    "SCENE_FEEDBACK": "Say what works and what does not, each with the line or the moment that shows it; then the one "
    "or two changes that would help most.",
    "GLOBAL_QUESTION": "Give the answer in its first sentence; then what shows it, scene by scene, in their order.",
    "BRAINSTORM": "Give three to five different ideas as a numbered list, each in two or three sentences, with the "
    "scene that it would touch. Lines that you make up stand without quotation marks.",
}
"""The form of an answer, as the model reads it."""


def by_keywords(question: str) -> Intent | None:
    """The intent that the question's own words express; None for none."""
    words = fold(question)
    return next((intent for intent, pattern in _PATTERNS.items() if pattern.search(words)), None)


def scene_named(question: str) -> str:
    """The first scene that the question names ("scene 12", "cena 12A"), as named there; "" for none."""
    match = _SCENE.search(fold(question))
    return re.sub(r"[.,]", "", match[1]) if match else ""


def uses_tools(question: str, intent: Intent, *, focus: bool, choice: str = "auto") -> bool:
    """Whether tools are used. `choice` "on" or "off" decides; `focus`: the question is about one scene."""
    if choice in ("on", "off"):
        return choice == "on"
    if _ANALYTICAL.search(fold(question)):
        return True
    return not (focus and intent in ("LOCAL_EDIT", "SCENE_FEEDBACK"))


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the run of one question decides first, so that a replay decides the same.

    `intent` is "" if a small model must decide it; `scene` is the number of the scene in question, 0 for none.
    `answerer` is the model that answers, None without one; `reads`: a model answers, not code. `history` is empty if a
    new topic begins. `ideas` are already stored with the script: others are wanted.
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
    notes: list[Note] = field(default_factory=list)
    roles: dict[str, list[str]] = field(default_factory=dict)
    ideas: list[str] = field(default_factory=list)
