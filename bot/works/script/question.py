"""A question to a script: what is wanted, whether tools look things up for it, and what its run decides first. Pure.

What is wanted is told by keywords, which cost nothing; where they say nothing, a small model is asked (`answer`).
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

_ASKED: Final = (
    r"(?:(?:^|[.!?:;,]\s*|\b(?:please|you|to|we|i|and|then|por favor|pode|e)\s+)(?:change|fix|mude|muda)\b)"
)
""" "Change the ending" is an order, "how does Anna change" is none."""
_KEYWORDS: Final[dict[Intent, str]] = {
    "BRAINSTORM": r"\b(?:ideas?|what if|alternatives?|brainstorm|ideias?|e se|alternativas?)\b",
    "LOCAL_EDIT": r"\b(?:punch up|rewrite|rework|shorten|tighten|reescrev\w*|corrij\w*|encurt\w*|enxug\w*)\b|"
    + _ASKED,
    "SCENE_FEEDBACK": r"\b(?:analy[sz]e (?:the |this )?scene|feedback|review|analis\w* (?:a |esta )?cena|avali\w*)\b",
    "GLOBAL_QUESTION": r"\b(?:arcs?|themes?|structure|pac(?:e|ing)|acts?|arcos?|temas?|estrutura|ritmo|atos?)\b",
}
"""Tried in this order; without accents."""
_FOUND: Final = {intent: re.compile(words) for intent, words in _KEYWORDS.items()}
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
"""How an answer is to be formed."""


def by_keywords(question: str) -> Intent | None:
    """What the question's own words say that is wanted; None where they say nothing."""
    words = fold(question)
    return next((intent for intent, pattern in _FOUND.items() if pattern.search(words)), None)


def scene_named(question: str) -> str:
    """The first scene that the question names ("scene 12", "cena 12A"), as it is called there; "" for none."""
    match = _SCENE.search(fold(question))
    return re.sub(r"[.,]", "", match[1]) if match else ""


def with_tools(question: str, intent: Intent, *, focus: bool, choice: str = "auto") -> bool:
    """Whether tools look things up. `choice` "on" or "off" decides; `focus`: the question is about one scene."""
    if choice in ("on", "off"):
        return choice == "on"
    if _ANALYTICAL.search(fold(question)):
        return True
    return not (focus and intent in ("LOCAL_EDIT", "SCENE_FEEDBACK"))


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the run of one question decides first, so that a replay decides the same.

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
    notes: list[Note] = field(default_factory=list)
    roles: dict[str, list[str]] = field(default_factory=dict)
    ideas: list[str] = field(default_factory=list)
