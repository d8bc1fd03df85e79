"""What config.toml's [script] says: how questions to screenplays are asked. The numbers are seed 004's."""

from __future__ import annotations

from dataclasses import dataclass

from bot.config.settings import within


@dataclass(frozen=True, slots=True)
class ScriptConfig:
    """`quick`, `standard` and `deep` are tokens of what a prompt tells of the script, the conversation included.

    Of what tools have found, `evidence_items` are told at most, each of `evidence_item_chars`, and `evidence_chars` of
    all. An answer takes `answer_tokens`; a model's thinking comes on top. `rounds` of tools are asked for, `calls` in
    all, and `memory` exchanges of a thread are remembered. `characters` of those who speak in most scenes are told of
    in each prompt.
    `analyse`: a script that comes in is looked into by a small model, scene by scene.
    """

    quick: int = within(1_200, 300, 100_000)
    standard: int = within(5_000, 300, 100_000)
    deep: int = within(20_000, 300, 100_000)
    answer_tokens: int = within(1_200, 100, 20_000)
    evidence_items: int = within(10, 1, 100)
    evidence_item_chars: int = within(1_500, 100, 20_000)
    evidence_chars: int = within(8_000, 100, 100_000)
    rounds: int = within(3, 1, 10)
    calls: int = within(8, 1, 50)
    memory: int = within(3, 0, 20)
    characters: int = within(3, 0, 20)
    analyse: bool = True

    def tokens(self, tier: str) -> int:
        """Those of "quick", "standard" or "deep"."""
        return {"quick": self.quick, "standard": self.standard, "deep": self.deep}[tier]
