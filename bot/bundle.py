"""Finds the files that ship with the program: at the top of a checkout, in bot/bundled of an installed wheel.

setup.py runs this file by its path, so it imports nothing of ours.
"""

from __future__ import annotations

from pathlib import Path

PATTERNS = (
    "prompts.yml",
    "config.toml.example",
    ".env.example",
    "examples/*",
    "docs/*.md",
    "docs/*.yaml",
)
"""The files that a wheel contains besides the code, as patterns from the top of a checkout."""

_BUNDLED = Path(__file__).with_name("bundled")
_CHECKOUT = Path(__file__).resolve().parents[1]
ROOT = _BUNDLED if _BUNDLED.is_dir() else _CHECKOUT
"""The folder that holds prompts.yml, examples/ and docs/."""


def copy_to(target: Path) -> None:
    """Copy the files of `PATTERNS` from the checkout."""
    import shutil  # most processes never copy

    for pattern in PATTERNS:
        for file in sorted(_CHECKOUT.glob(pattern)):
            copy = target / file.relative_to(_CHECKOUT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
