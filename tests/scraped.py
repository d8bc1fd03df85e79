"""Reads Prometheus' text format as strictly as Prometheus' own parser."""

from __future__ import annotations

import re

_SAMPLE = re.compile(
    r'([a-zA-Z_:][\w:]*(?:\{\w+="(?:[^"\\\n]|\\[\\"n])*"(?:,\w+="(?:[^"\\\n]|\\[\\"n])*")*\})?) (\S+)'
)
_HEAD = re.compile(r"# (HELP|TYPE) ([a-zA-Z_:][\w:]*) \S.*")


def read(text: str) -> dict[str, float]:
    """The samples by name and labels. Raises AssertionError for a line that is not in the format."""
    assert text.endswith("\n")
    values: dict[str, float] = {}
    described = ""
    for line in text[:-1].split("\n"):
        if head := _HEAD.fullmatch(line):
            described = head[2]
            continue
        sample = _SAMPLE.fullmatch(line)
        assert sample is not None, line
        assert sample[1].startswith(described), f"{line} stands below {described}"
        assert sample[1] not in values, f"{line} is there twice"
        values[sample[1]] = float(sample[2])
    return values
