"""What one model of one service was found to accept: learnt from its refusals, kept while we run.

Knows no SDK: parameters by name, and complaints.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.llm.faults import Complaint

_VALUE = re.compile(
    r"max_?(?:completion_|output_)?tokens\W.{0,60}(?:too (?:large|high|big)|exceed|above|out of range)", re.I
)
"""What is said of a limit whose value is refused, and not the parameter itself."""


@dataclass(slots=True)
class Manners:
    """`optional` parameters may be left out; those of `other_names` may be called otherwise, and `limits` are the
    names of the one that bounds the answer.

    Each lesson is learnt once.
    """

    optional: tuple[str, ...] = ()
    other_names: dict[str, str] = field(default_factory=dict)
    limits: tuple[str, ...] = ("max_tokens", "max_completion_tokens", "max_output_tokens")
    left_out: set[str] = field(default_factory=set)
    _renamed: dict[str, str] = field(default_factory=dict)
    _most: int | None = None

    def fit(self, sent: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters as this model takes them."""
        return {
            self._renamed.get(name, name): self._bounded(name, value)
            for name, value in sent.items()
            if name not in self.left_out
        }

    def learn(self, refusal: Complaint, sent: Mapping[str, Any], once: dict[str, Any]) -> bool:
        """Mind a refused parameter of what was `sent` (as fitted). True when asking again may help.

        What holds for this prompt only goes into `once`: other values, and with None what is to be left out.
        """
        for name in self.limits:
            if name in sent and name not in once and (most := refusal.most_output(sent[name])):
                once[name] = most
                # What a long prompt leaves of the window says nothing about the next prompt.
                if refusal.fault != "context":
                    self._most = most
                return True
            if name in sent and refusal.fault == "bad_request" and _VALUE.search(refusal.message):
                return False
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

    def _bounded(self, name: str, value: Any) -> Any:
        return min(value, self._most) if name in self.limits and self._most is not None else value
