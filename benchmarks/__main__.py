"""Runs `make bench`: every figure, as Markdown tables. Arguments choose from PARTS.

Longer benchmarks, which compare settings, are separate commands: python -m benchmarks.variants, .strategies, .rows,
.cross_lingual, .sentences and .prose (docs/retrieval-lab.md), .council (docs/council.md), and a long talk on Discord
(python -m benchmarks.discord soak).
"""

from __future__ import annotations

import importlib
import sys

from benchmarks.figures import table

PARTS = (
    "startup", "answering", "demo", "discord", "slack", "scale", "council", "story", "memory", "planted",
    "planted_turns", "course", "script", "voice", "voice_channels", "schedules", "retrieval", "formats", "seeds",
    "indexing",
)  # fmt: skip


def main(parts: list[str]) -> int:
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        print(f"There is no part {unknown[0]}; there are {', '.join(PARTS)}.", file=sys.stderr)
        return 2
    missed = False
    for part in parts or PARTS:
        figures = list(importlib.import_module(f"benchmarks.{part}").figures())
        print(f"\n## {part}\n\n{table(figures)}", flush=True)
        missed = missed or any(figure.good is False for figure in figures)
    return 1 if missed else 0


sys.exit(main(sys.argv[1:]))
