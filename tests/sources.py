"""The imports of the bot's modules, read from their source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@cache
def imports() -> tuple[tuple[str, str, str], ...]:
    """(importing module, the module that is imported, what of it) for every import of bot, cogs and storage, wherever
    it is; the last is "" for `import x`.
    """
    return tuple(_imports())


def _imports() -> Iterator[tuple[str, str, str]]:
    for package in ("bot", "cogs", "storage"):
        for file in (ROOT / package).rglob("*.py"):
            module = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            for node in _statements(ast.parse(file.read_bytes())):
                if isinstance(node, ast.Import):
                    yield from ((module, alias.name, "") for alias in node.names)
                elif isinstance(node, ast.ImportFrom):
                    assert node.module is not None, f"{module} has a relative import"
                    assert node.level == 0, f"{module} has a relative import"
                    yield from ((module, node.module, alias.name) for alias in node.names)


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """All statements. Expressions contain none and are most of a tree, so they are skipped."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for node in getattr(tree, name, ()):
            yield node
            yield from _statements(node)
