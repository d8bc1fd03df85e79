"""File permissions of a data folder: only its owner may read it, because it contains private answers and tokens.

Knows the names of the bot's files; other files in the folder are not changed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

OURS = (
    "chroma*",
    "engine.db*",
    "files",
    "history",
    "incoming",
    "lock",
    "lock.pid",
    "moved",
    "originals",
    "passing",
    "restoring*",
    "sutradhar.db*",
    "sutradhar.log",
)
BESIDE = (".env", "config.toml", "models")
"""What may lie there, too, without the folder being anybody else's."""

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def restrict(folder: Path) -> None:
    """Remove other users' permissions from the bot's files, and from the folder if it holds nothing else.

    Changes only this user's files; `exposed` lists the rest. Does nothing on systems without such permissions.
    """
    if os.name == "nt":
        return
    for path in _ours(folder):
        _close(path)
    if all(any(fnmatch(path.name, name) for name in OURS + BESIDE) for path in folder.iterdir()):
        _close(folder)


def exposed(folder: Path) -> list[str]:
    """The names of what others of this machine can read or change, though it is ours."""
    if os.name == "nt" or not _open(folder):
        return []
    return sorted(path.name for path in _ours(folder) if _open(path))


def _ours(folder: Path) -> Iterator[Path]:
    for name in OURS:
        yield from (path for path in folder.glob(name) if not path.is_symlink())


def _open(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & _OTHERS)
    except OSError:  # it has gone meanwhile
        return False


def _close(path: Path) -> None:
    try:
        status = path.stat()
        if status.st_mode & _OTHERS and status.st_uid == os.geteuid():
            path.chmod(stat.S_IMODE(status.st_mode) & ~_OTHERS)
    except OSError:
        return
