"""Escapes words of files and people as Markdown. A leaf; how a platform shows Markdown, its adapter knows."""

from __future__ import annotations

import re


def harmless(words_of_a_file: str) -> str:
    """The words with every sign of Markdown escaped."""
    return re.sub(r"([\\`*_{}\[\]<>|~])", r"\\\1", words_of_a_file)


def harmless_link(link: str) -> str:
    """An address for use between parentheses."""
    return link.replace("(", "%28").replace(")", "%29")
