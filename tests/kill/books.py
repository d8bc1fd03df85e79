"""Generated rulebooks for the indexing tests: English, many short sections, the same for the same seed."""

from __future__ import annotations

import random
from pathlib import Path

THINGS = ("lantern", "candle", "wolf", "river", "bell", "keeper", "road", "bridge", "ferry", "chart", "storm")
DEEDS = ("burns", "fades", "returns", "sleeps", "waits", "follows", "breaks", "opens", "sinks", "sings")


def write(file: Path, sections: int, *, edition: int = 1) -> Path:
    """Write a book with about as many passages as sections."""
    chance = random.Random(f"{file.name} {edition}")
    parts = [f"# The book of {file.stem}, edition {edition}\n"]
    for n in range(sections):
        thing, deed = chance.choice(THINGS), chance.choice(DEEDS)
        parts.append(
            f"## {thing.title()} {n}\n\nThe {thing} {deed} for {chance.randrange(2, 99)} turns, and then "
            f"the {chance.choice(THINGS)} {chance.choice(DEEDS)} when the {chance.choice(THINGS)} is near.\n"
        )
    file.write_text("\n".join(parts), encoding="utf-8")
    return file
