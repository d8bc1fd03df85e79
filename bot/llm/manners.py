"""What one model of one service was found to accept: learnt from its refusals, kept while we run.

Knows no SDK: parameters by name, and complaints.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.llm.faults import Complaint


@dataclass(slots=True)
class Manners:
    """`optional` parameters may be left out; those of `other_names` may be called otherwise.

    Each lesson is learnt once.
    """

    optional: tuple[str, ...] = ()
    other_names: dict[str, str] = field(default_factory=dict)
    left_out: set[str] = field(default_factory=set)
    _renamed: dict[str, str] = field(default_factory=dict)

    def fit(self, sent: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters as this model takes them."""
        return {
            self._renamed.get(name, name): value for name, value in sent.items() if name not in self.left_out
        }

    def learn(self, refusal: Complaint, sent: Mapping[str, Any]) -> bool:
        """Mind a refused parameter of what was `sent` (as fitted). True when asking again may help."""
        for name in self.optional:
            if name in sent and refusal.refuses(name):
                self.left_out.add(name)
                return True
        for name, other in self.other_names.items():
            if name in sent and refusal.refuses(name):
                del self.other_names[name]
                self._renamed[name] = other
                return True
        return False
