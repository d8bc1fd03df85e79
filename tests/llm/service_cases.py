"""The answers of services that are not plain answers, and what the bot must make of them.

They are in tests/data/services.jsonl, one case a line, from the services' documentation and their users' reports. This
module also prints their table in docs/models.md: `python -m tests.llm.service_cases`.

Names, ids and keys in the bodies are made up.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.fakes.reply import Reply

FILE: Final = Path(__file__).parents[1] / "data" / "services.jsonl"

COLUMNS: Final = (
    *("plain", "stream", "tools", "JSON", "picture", "thinking", "stop"),
    *("400", "401", "403", "404", "413", "429", "5xx", "refusal", "cut"),
)
WORKING: Final = COLUMNS[:7]
"""What works: each stand-in plays it by itself, without a case."""


@dataclass(frozen=True)
class Service:
    """`wire` and `settings` configure its stand-in; `never` lists cases that it does not have."""

    name: str
    wire: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    never: tuple[str, ...] = ()


_REASONER = {"limit": ("max_completion_tokens",), "temperature": False}
_LOCAL = ("403", "413", "429", "refusal")
SERVICES: Final = (
    Service("Anthropic", "messages"),
    Service("OpenAI, Responses", "responses"),
    Service("OpenAI, chat", "chat", _REASONER),
    Service("Azure OpenAI", "chat", {"dialect": "azure", **_REASONER}),
    Service("OpenRouter", "chat", {"dialect": "openrouter"}),
    Service("Gemini", "chat", {"dialect": "gemini"}),
    Service("DeepSeek", "chat", {"dialect": "deepseek", "sees": False}, ("413",)),
    Service("Mistral", "chat", {"dialect": "mistral", "stream_options": "refused"}),
    Service("Groq", "chat", {"thoughts": "reasoning", "minute": 100_000}),
    Service("Ollama", "chat", {"thoughts": "reasoning"}, ("401", *_LOCAL)),
    Service("vLLM", "chat", {"window": 100_000}, _LOCAL),
    Service("llama.cpp", "chat", {}, _LOCAL),
    Service("LM Studio", "chat", {"dialect": "lmstudio"}, _LOCAL),
    Service("Bedrock", "chat", {"thoughts": "reasoning"}),
    Service("Vertex AI", "chat", {"dialect": "gemini"}),
)


@dataclass(frozen=True)
class Case:
    """`status`, `headers` and `body` are what the service sends; `frames` instead of a body are a stream's.

    `comes`: a fault, "refusal", or "answer", and then `learnt`, the parameters of the second request that show why.
    `wait`: the seconds that the model rests. `again`: it is asked again by itself. `says`: the service's own words,
    which people read. `asks`: what the request has: "picture", "effort" or "tools".
    """

    service: str
    column: str
    status: int
    comes: str
    body: Any = None
    frames: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    says: str = ""
    wait: float | None = None
    again: bool = False
    learnt: Mapping[str, Any] = field(default_factory=dict)
    asks: str = ""

    @property
    def ways(self) -> tuple[bool, ...]:
        """Whether the answer is to a streamed question, an unstreamed one, or either."""
        if self.frames:
            return (False,)
        whole = self.status == 200 and not {"choices", "object"}.isdisjoint(self.body)
        return (True,) if whole else (True, False)

    def reply(self, times: int = 1) -> Reply:
        kind = "event-stream" if self.frames else "html" if isinstance(self.body, str) else "json"
        text = self.body if isinstance(self.body, str) else "".join(self.frames) or json.dumps(self.body)
        headers = {"Content-Type": f"{'application' if kind == 'json' else 'text'}/{kind}", **self.headers}
        return Reply(status=self.status, body=text, headers=headers, times=times)


def _read() -> tuple[Case, ...]:
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return tuple(Case(**json.loads(line)) for line in lines)


CASES: Final = _read()


def table() -> str:
    """Services by case: ● played by a stand-in, ○ only documented, – does not occur."""
    seen = {(case.service, case.column) for case in CASES}
    lines = [f"| | {' | '.join(COLUMNS)} |", f"|---|{':-:|' * len(COLUMNS)}"]
    for service in SERVICES:
        played = [column in WORKING or (service.name, column) in seen for column in COLUMNS]
        cells = [
            "–" if column in service.never else "●" if done else "○"
            for column, done in zip(COLUMNS, played, strict=True)
        ]
        lines.append(f"| {service.name} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
