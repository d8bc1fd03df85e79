"""The settings of [script] in config.toml: how questions to screenplays are answered."""

from __future__ import annotations

from dataclasses import dataclass

from bot.config.settings import in_range


@dataclass(frozen=True, slots=True)
class ScriptConfig:
    """`quick`, `standard` and `deep` are how many tokens of a prompt describe the script, including the conversation.

    An answer uses at most `evidence_items` results of tools: `evidence_item_chars` of each, `evidence_chars` in total.
    It has at most `answer_tokens`, plus a model's thinking. A model may use tools for `rounds` rounds, with `calls`
    calls in total. A thread's prompts repeat its last `memory` exchanges, and describe the `characters` who speak in
    the most scenes. `analyse`: a small model reads each new script, scene by scene.
    """

    quick: int = in_range(1_200, 300, 100_000)
    standard: int = in_range(5_000, 300, 100_000)
    deep: int = in_range(20_000, 300, 100_000)
    answer_tokens: int = in_range(1_200, 100, 20_000)
    evidence_items: int = in_range(10, 1, 100)
    evidence_item_chars: int = in_range(1_500, 100, 20_000)
    evidence_chars: int = in_range(8_000, 100, 100_000)
    rounds: int = in_range(3, 1, 10)
    calls: int = in_range(8, 1, 50)
    memory: int = in_range(3, 0, 20)
    characters: int = in_range(3, 0, 20)
    analyse: bool = True

    def tokens(self, tier: str) -> int:
        """The tokens of "quick", "standard" or "deep"."""
        return {"quick": self.quick, "standard": self.standard, "deep": self.deep}[tier]
