"""What config.toml's [script] says: how questions to screenplays are asked. The numbers are seed 004's."""

from __future__ import annotations

from dataclasses import dataclass

from bot.config.settings import within


@dataclass(frozen=True, slots=True)
class ScriptConfig:
    """`quick`, `standard` and `deep` are tokens of what a prompt tells of the script, the conversation included.

    An answer is made from at most `evidence_items` of what tools find: `evidence_item_chars` of each, `evidence_chars`
    in all. It takes at most `answer_tokens`; a model's thinking comes on top. A model may use `rounds` of tools, with
    `calls` in all. A thread's prompts repeat its last `memory` exchanges, and describe the `characters` who speak in
    the most scenes. `analyse`: a small model reads each new script, scene by scene.
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
